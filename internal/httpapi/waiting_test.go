package httpapi_test

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/octostore/octostore/api"
	"github.com/octostore/octostore/elections"
	"github.com/octostore/octostore/lease"
)

// waitForWaiters blocks until a room has n waiters.
func (s *server) waitForWaiters(room string, n int) {
	s.t.Helper()
	timeout := time.After(20 * time.Second)
	for {
		news := s.observer.next()
		read, err := s.store.Read(context.Background(), lease.ElectionKey(room[len("/elections/"):]))
		must(s.t, err)
		if read.Waiters == n {
			return
		}
		select {
		case <-news:
		case <-timeout:
			s.t.Fatalf("%d waiters, want %d", read.Waiters, n)
		}
	}
}

func TestWaiting(t *testing.T) {
	t.Parallel()
	s := start(t)

	t.Run("IsServedFirstComeFirstServed", func(t *testing.T) {
		t.Parallel()
		room := s.room()
		token := s.lead(room, "leader")
		const n = 8
		answers := make([]chan reply, n)
		for i := range n {
			answers[i] = make(chan reply, 1)
			go func() {
				answers[i] <- s.post(room+"/campaign", fmt.Sprintf(`{"candidate_id":"w%d","wait_ms":60000}`, i))
			}()
			s.waitForWaiters(room, i+1)
		}
		if got := s.get(room).number(t, "waiters"); got != n {
			t.Fatalf("status tells %v waiters", got)
		}
		for i := range n {
			before := time.Now()
			s.post(room+"/resign", `{"leader_token":"`+token+`"}`).want(t, http.StatusOK, "")
			r := <-answers[i]
			if time.Since(before) > 5*time.Second || r.text(t, "status") != "leader" {
				t.Fatalf("waiter %d: %s", i, r.body)
			}
			token = r.text(t, "leader_token")
			leader, _ := r.field(t, "leader").(map[string]any)
			if leader["candidate_id"] != fmt.Sprintf("w%d", i) {
				t.Fatalf("waiter %d got the answer of %v", i, leader["candidate_id"])
			}
		}
	})

	t.Run("TellsHowLongItWaited", func(t *testing.T) {
		t.Parallel()
		s := start(t)
		room := s.room()
		token := s.lead(room, "leader")
		answer := make(chan reply, 1)
		sent := time.Now()
		go func() { answer <- s.post(room+"/campaign", `{"candidate_id":"w","wait_ms":60000}`) }()
		s.waitForWaiters(room, 1)
		s.clock.advance(3 * time.Second)
		s.post(room+"/resign", `{"leader_token":"`+token+`"}`)
		r := <-answer
		upper := 3*time.Second + time.Since(sent)
		if ms := time.Duration(r.number(t, "waited_ms")) * time.Millisecond; ms < 3*time.Second || ms > upper {
			t.Fatalf("waited_ms %v, want 3 s to %v", ms, upper)
		}
	})

	t.Run("EndsAsAFollower", func(t *testing.T) {
		t.Parallel()
		room := s.room()
		s.lead(room, "leader")
		before := time.Now()
		r := s.post(room+"/campaign", `{"candidate_id":"w","wait_ms":150}`)
		took := time.Since(before)
		if r.text(t, "status") != "follower" || took < 150*time.Millisecond || took > 10*time.Second {
			t.Fatalf("after %v: %s", took, r.body)
		}
		if got := s.get(room).number(t, "waiters"); got != 0 {
			t.Fatalf("%v waiters are left", got)
		}
	})

	t.Run("PassesOverWhoHungUp", func(t *testing.T) {
		t.Parallel()
		room := s.room()
		token := s.lead(room, "leader")
		ctx, hangUp := context.WithCancel(context.Background())
		gone := make(chan error, 1)
		go func() {
			_, err := s.try(ctx, call{method: http.MethodPost, path: room + "/campaign", body: `{"candidate_id":"gone","wait_ms":60000}`})
			gone <- err
		}()
		s.waitForWaiters(room, 1)
		answer := make(chan reply, 1)
		go func() { answer <- s.post(room+"/campaign", `{"candidate_id":"stays","wait_ms":60000}`) }()
		s.waitForWaiters(room, 2)
		hangUp()
		if err := <-gone; err == nil {
			t.Fatal("the first one was answered")
		}
		s.waitForWaiters(room, 1)
		s.post(room+"/resign", `{"leader_token":"`+token+`"}`)
		if r := <-answer; r.text(t, "status") != "leader" {
			t.Fatalf("the second one: %s", r.body)
		}
	})

	t.Run("FollowsAnExpiry", func(t *testing.T) {
		t.Parallel()
		s := start(t)
		room := s.room()
		s.lead(room, "leader")
		answer := make(chan reply, 1)
		go func() { answer <- s.post(room+"/campaign", `{"candidate_id":"w","wait_ms":60000}`) }()
		s.waitForWaiters(room, 1)
		s.clock.advance(31 * time.Second)
		if r := <-answer; r.text(t, "status") != "leader" || r.number(t, "waited_ms") < 30_000 {
			t.Fatalf("%s", r.body)
		}
	})
}

// The server's timeouts are absolute: one that strikes while a request waits must
// neither end the wait nor lose the answer.
func TestWaitOutlivesTheServersTimeouts(t *testing.T) {
	t.Parallel()
	s := start(t, func(c *setup) {
		c.server = func(h *http.Server) { h.ReadTimeout, h.WriteTimeout = 200*time.Millisecond, 300*time.Millisecond }
	})
	room := s.room()
	s.lead(room, "leader")
	if r := s.post(room+"/campaign", `{"candidate_id":"w","wait_ms":900}`); r.text(t, "status") != "follower" {
		t.Fatalf("%s", r.body)
	}
	// The connection is as good as new.
	s.get(room).want(t, http.StatusOK, "")
}

func TestWaitersOfOneClientAreBounded(t *testing.T) {
	t.Parallel()
	s := start(t, func(c *setup) { c.waiters = 1 })
	room := s.room()
	token := s.lead(room, "leader")
	answer := make(chan reply, 1)
	go func() { answer <- s.post(room+"/campaign", `{"candidate_id":"w","wait_ms":60000}`) }()
	s.waitForWaiters(room, 1)

	refused := s.post(room+"/campaign", `{"candidate_id":"x","wait_ms":60000}`)
	refused.want(t, http.StatusTooManyRequests, api.CodeRateLimited)
	if refused.number(t, "retry_after_ms") != 1000 {
		t.Fatalf("hint: %s", refused.body)
	}
	if got := s.post(room+"/campaign", `{"candidate_id":"x"}`).text(t, "status"); got != "follower" {
		t.Fatalf("one that does not wait: %q", got)
	}
	if got := s.post(s.room()+"/campaign", `{"candidate_id":"x","wait_ms":60000}`).text(t, "status"); got != "leader" {
		t.Fatalf("one that need not wait: %q", got)
	}
	s.post(room+"/resign", `{"leader_token":"`+token+`"}`)
	if r := <-answer; r.text(t, "status") != "leader" {
		t.Fatalf("%s", r.body)
	}
}

func TestShutdownAnswersWaiters(t *testing.T) {
	t.Parallel()
	s := start(t)
	room := s.room()
	token := s.lead(room, "leader")
	answer := make(chan reply, 1)
	go func() { answer <- s.post(room+"/campaign", `{"candidate_id":"w","wait_ms":60000}`) }()
	s.waitForWaiters(room, 1)
	s.api.BeginShutdown()
	s.store.Drain()
	r := <-answer
	r.want(t, http.StatusServiceUnavailable, api.CodeUnavailable)
	if r.number(t, "retry_after_ms") != 1000 {
		t.Fatalf("hint: %s", r.body)
	}
	// The one who leads goes on until the end.
	s.post(room+"/renew", `{"leader_token":"`+token+`"}`).want(t, http.StatusOK, "")
	s.post(room+"/resign", `{"leader_token":"`+token+`"}`).want(t, http.StatusOK, "")
}

// heldGrant lets a campaign commit and keeps its answer until the test says so.
type heldGrant struct {
	elections.Store
	granted chan struct{} // closed when a grant is durable
	goOn    chan struct{}
	once    sync.Once
	back    chan lease.Ref // what was given back
}

func (h *heldGrant) Acquire(ctx context.Context, key lease.Key, req lease.Acquire, wait time.Duration) (lease.Outcome, error) {
	out, err := h.Store.Acquire(context.WithoutCancel(ctx), key, req, wait)
	if err == nil && out.Verdict == lease.Granted {
		first := false
		h.once.Do(func() { first = true })
		if first {
			close(h.granted)
			<-h.goOn
			<-ctx.Done() // net/http has noticed
		}
	}
	return out, err
}

func (h *heldGrant) GiveBack(ctx context.Context, key lease.Key, ref lease.Ref) error {
	err := h.Store.GiveBack(ctx, key, ref)
	h.back <- ref
	return err
}

func TestGrantOfACallerThatLeft(t *testing.T) {
	t.Parallel()
	leave := func(t *testing.T, header ...string) (*server, *heldGrant, string) {
		t.Helper()
		h := &heldGrant{granted: make(chan struct{}), goOn: make(chan struct{}), back: make(chan lease.Ref, 1)}
		s := start(t, func(c *setup) {
			c.elections = func(real elections.Store) elections.Store { h.Store = real; return h }
		})
		room := s.room()
		ctx, hangUp := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() {
			_, err := s.try(ctx, call{method: http.MethodPost, path: room + "/campaign", body: `{"candidate_id":"gone"}`, header: header})
			done <- err
		}()
		<-h.granted
		hangUp()
		if err := <-done; err == nil {
			t.Fatal("the caller was answered")
		}
		close(h.goOn)
		return s, h, room
	}

	t.Run("IsGivenBackAtOnce", func(t *testing.T) {
		t.Parallel()
		s, h, room := leave(t)
		<-h.back
		if got := s.get(room).text(t, "status"); got != "vacant" {
			t.Fatalf("status %q", got)
		}
		s.lead(room, "next")
	})
	t.Run("StaysForTheRepeatOfItsKey", func(t *testing.T) {
		t.Parallel()
		key := "an-idempotency-key-0000001"
		s, h, room := leave(t, "Idempotency-Key", key)
		if got := s.get(room).text(t, "status"); got != "leader" {
			t.Fatalf("status %q", got)
		}
		r := s.post(room+"/campaign", `{"candidate_id":"gone"}`, "Idempotency-Key", key)
		if r.text(t, "status") != "leader" {
			t.Fatalf("the repeat: %s", r.body)
		}
		select {
		case <-h.back:
			t.Fatal("it was given back")
		default:
		}
	})
}

func TestIdempotencyKey(t *testing.T) {
	t.Parallel()
	s := start(t)
	const key = "an-idempotency-key-0000002"
	room := s.room()
	campaign := func(body, key string) reply {
		t.Helper()
		return s.post(room+"/campaign", body, "Idempotency-Key", key)
	}
	first := campaign(`{"candidate_id":"a","ttl_seconds":30}`, key)
	again := campaign(`{"ttl_seconds":30,"candidate_id":"a","wait_ms":5000}`, key)
	if first.text(t, "leader_token") != again.text(t, "leader_token") || again.number(t, "waited_ms") != 0 {
		t.Fatalf("the repeat: %s", again.body)
	}
	campaign(`{"candidate_id":"a","ttl_seconds":60}`, key).want(t, http.StatusConflict, api.CodeConflict)
	if got := campaign(`{"candidate_id":"b","ttl_seconds":30}`, key).text(t, "status"); got != "follower" {
		t.Fatalf("the key of another candidate: %q", got)
	}
	if got := campaign(`{"candidate_id":"a","ttl_seconds":30}`, key+"x").text(t, "status"); got != "follower" {
		t.Fatalf("another key: %q", got)
	}
	s.post(room+"/resign", `{"leader_token":"`+first.text(t, "leader_token")+`"}`)
	campaign(`{"candidate_id":"a","ttl_seconds":30}`, key).want(t, http.StatusConflict, api.CodeConflict)

	t.Run("ManyParallelSendsAreOneGrant", func(t *testing.T) {
		t.Parallel()
		room := s.room()
		var all sync.WaitGroup
		bodies := make([]string, 50)
		for i := range bodies {
			all.Go(func() {
				r := s.post(room+"/campaign", `{"candidate_id":"a"}`, "Idempotency-Key", key)
				bodies[i] = r.text(t, "leader_token") + fmt.Sprint(r.field(t, "leader").(map[string]any)["term"])
			})
		}
		all.Wait()
		for _, b := range bodies {
			if b != bodies[0] || len(b) < 43 {
				t.Fatalf("two grants: %v", bodies)
			}
		}
	})
}
