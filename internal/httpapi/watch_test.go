package httpapi_test

import (
	"context"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/octostore/octostore/api"
	"github.com/octostore/octostore/internal/events"
	"github.com/octostore/octostore/internal/httpapi"
	"github.com/octostore/octostore/lease"
)

func TestWatch(t *testing.T) {
	t.Parallel()
	s := start(t, func(c *setup) { c.perClient = 100 })

	t.Run("BeginsWithThePresentStateAndFollows", func(t *testing.T) {
		t.Parallel()
		room := s.room()
		w := s.watch(room)
		for name, want := range map[string]string{
			"Content-Type": "text/event-stream", "Cache-Control": "no-cache", "X-Accel-Buffering": "no", "Content-Encoding": "", "Content-Length": "",
		} {
			if got := w.header.Get(name); got != want {
				t.Errorf("%s: %q, want %q", name, got, want)
			}
		}
		first := w.next()
		if st := first.state(t); st.Status != "vacant" || st.Leader != nil || first.id != "0" || first.retry != "1000" {
			t.Fatalf("first frame: %+v", first)
		}
		token := s.lead(room, "worker-a")
		led := w.next().state(t)
		if led.Status != "leader" || led.Leader.CandidateID != "worker-a" || led.RetryAfterMs != 30_050 {
			t.Fatalf("campaign: %+v", led)
		}
		s.post(room+"/renew", `{"leader_token":"`+token+`","ttl_seconds":60}`)
		renewed := w.next().state(t)
		if renewed.Revision != led.Revision+1 || renewed.RetryAfterMs != 60_060 || renewed.Leader.Term != led.Leader.Term {
			t.Fatalf("renewal: %+v", renewed)
		}
		s.post(room+"/resign", `{"leader_token":"`+token+`"}`)
		f := w.next()
		if st := f.state(t); st.Status != "vacant" || st.RetryAfterMs != 0 || !strings.Contains(f.data, `"leader":null`) {
			t.Fatalf("resignation: %+v", f)
		}
		if status := s.get(room); status.number(t, "revision") != float64(f.state(t).Revision) {
			t.Fatalf("the last frame and the status differ: %s", status.body)
		}
	})

	t.Run("TellsOfAnExpiryInTime", func(t *testing.T) {
		t.Parallel()
		s := start(t)
		room := s.room()
		s.lead(room, "worker-a")
		w := s.watch(room)
		w.next()
		before := time.Now()
		s.clock.advance(31 * time.Second)
		if st := w.next().state(t); st.Status != "vacant" {
			t.Fatalf("%+v", st)
		}
		if took := time.Since(before); took > 10*time.Second {
			t.Fatalf("after %v", took)
		}
	})

	t.Run("ResumesWithWhatWasMissed", func(t *testing.T) {
		t.Parallel()
		room := s.room()
		w := s.watch(room)
		w.next()
		token := s.lead(room, "worker-a")
		seen := w.next()
		w.close()
		s.post(room+"/renew", `{"leader_token":"`+token+`"}`)
		s.post(room+"/resign", `{"leader_token":"`+token+`"}`)
		back := s.watch(room, "Last-Event-ID", seen.id)
		renewed, resigned := back.next().state(t), back.next().state(t)
		if renewed.Revision != seen.state(t).Revision+1 || resigned.Revision != renewed.Revision+1 || resigned.Status != "vacant" {
			t.Fatalf("missed: %+v, then %+v", renewed, resigned)
		}
		// Whoever missed nothing reads the present state again.
		if all := s.watch(room, "Last-Event-ID", "0"); all.next().id != seen.id {
			t.Fatal("a reader that has seen the unused room is told of its first leader next")
		}
		again := s.watch(room, "Last-Event-ID", s.watch(room).next().id).next()
		if again.state(t).Revision != resigned.Revision {
			t.Fatalf("nothing missed: %+v", again)
		}
	})

	t.Run("AnnouncesAGapForWhatIsNotKnown", func(t *testing.T) {
		t.Parallel()
		room := s.room()
		s.lead(room, "worker-a")
		for _, id := range []string{"garbage", "-1", "1", "9223372036854775807", "99999999999999999999", "0x10", "7 ", "é"} {
			w := s.watch(room, "Last-Event-ID", id)
			gap := w.next()
			if gap.event != api.EventGap || gap.data != "{}" || gap.id != "" {
				t.Fatalf("id %q: %+v", id, gap)
			}
			if st := w.next().state(t); st.Status != "leader" {
				t.Fatalf("id %q: %+v", id, st)
			}
			w.close()
		}
	})
}

func TestWatchHeartbeatAndAge(t *testing.T) {
	t.Parallel()
	t.Run("HeartbeatsWhileNothingHappens", func(t *testing.T) {
		t.Parallel()
		// The timeouts of the server are shorter than the stream lives.
		s := start(t, func(c *setup) {
			c.Heartbeat = 50 * time.Millisecond
			c.server = func(h *http.Server) { h.ReadTimeout, h.WriteTimeout = 100*time.Millisecond, 100*time.Millisecond }
		})
		room := s.room()
		w := s.watch(room)
		beats := 0
		begin := time.Now()
		for f := range w.frames {
			if f.comment == "keepalive" {
				beats++
			}
			if beats >= 5 && time.Since(begin) > 300*time.Millisecond {
				break
			}
		}
		s.lead(room, "worker-a")
		if st := w.next().state(t); st.Status != "leader" {
			t.Fatalf("%+v", st)
		}
	})
	t.Run("EndsAtItsAgeAndSaysSo", func(t *testing.T) {
		t.Parallel()
		s := start(t, func(c *setup) { c.WatchLifetime = 150 * time.Millisecond })
		w := s.watch(s.room())
		w.next()
		if f := w.next(); f.event != api.EventReconnect || f.data != "{}" {
			t.Fatalf("%+v", f)
		}
		if !w.ended() {
			t.Fatalf("not a clean end: %v", w.err)
		}
	})
	t.Run("EndsAtOnceAtShutdown", func(t *testing.T) {
		t.Parallel()
		s := start(t)
		w := s.watch(s.room())
		w.next()
		s.api.BeginShutdown()
		if f := w.next(); f.event != api.EventReconnect {
			t.Fatalf("%+v", f)
		}
		if !w.ended() {
			t.Fatalf("not a clean end: %v", w.err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		s.client.CloseIdleConnections()
		if err := s.http.Shutdown(ctx); err != nil {
			t.Fatalf("shutdown: %v", err)
		}
	})
	t.Run("EndsWhenTheHubCloses", func(t *testing.T) {
		t.Parallel()
		s := start(t)
		room := s.room()
		w := s.watch(room)
		w.next()
		s.hub.Close()
		if f := w.next(); f.event != api.EventReconnect {
			t.Fatalf("%+v", f)
		}
		r := s.do(call{method: http.MethodGet, path: room + "/watch"})
		r.want(t, http.StatusServiceUnavailable, api.CodeUnavailable)
	})
}

func TestWatchBounds(t *testing.T) {
	t.Parallel()
	t.Run("ClientFirst", func(t *testing.T) {
		t.Parallel()
		s := start(t, func(c *setup) { c.perClient, c.global = 2, 2 })
		room := s.room()
		one, two := s.watch(room), s.watch(room)
		one.next()
		two.next()
		r := s.get(room + "/watch")
		r.want(t, http.StatusTooManyRequests, api.CodeRateLimited)
		if r.header.Get("Retry-After") != "30" {
			t.Fatalf("hint: %v", r.header)
		}
		// A HEAD takes no place, and a stream that ends gives its own back.
		s.do(call{method: http.MethodHead, path: room + "/watch"}).want(t, http.StatusOK, "")
		one.close()
		one.ended()
		s.waitForStreams(1)
		s.watch(room).next()
	})
	t.Run("ThenAllTogether", func(t *testing.T) {
		t.Parallel()
		s := start(t, func(c *setup) { c.perClient, c.global = 3, 1 })
		room := s.room()
		s.watch(room).next()
		r := s.get(room + "/watch")
		r.want(t, http.StatusTooManyRequests, api.CodeRateLimited)
		if r.header.Get("Retry-After") != "1" {
			t.Fatalf("hint: %v", r.header)
		}
	})
	t.Run("ThenNames", func(t *testing.T) {
		t.Parallel()
		s := start(t, func(c *setup) { c.hub = events.Options{Names: 1} })
		room := s.room()
		s.watch(room).next()
		s.watch(room).next()
		r := s.get(s.room() + "/watch")
		r.want(t, http.StatusConflict, api.CodeCapacityExceeded)
		if r.header.Get("Retry-After") != "1" {
			t.Fatalf("hint: %v", r.header)
		}
	})
}

// waitForStreams blocks until n streams are open.
func (s *server) waitForStreams(n int) {
	s.t.Helper()
	for deadline := time.Now().Add(20 * time.Second); s.hub.Stats().Streams != n; runtime.Gosched() {
		if time.Now().After(deadline) {
			s.t.Fatalf("%d streams, want %d", s.hub.Stats().Streams, n)
		}
	}
}

// brokenRecords fails to read while it is told to.
type brokenRecords struct {
	httpapi.Records
	broken atomic.Bool
}

func (b *brokenRecords) Read(ctx context.Context, key lease.Key) (lease.Reading, error) {
	if b.broken.Load() {
		return lease.Reading{}, &lease.Retry{Err: lease.ErrUnavailable, After: 2 * time.Second}
	}
	return b.Records.Read(ctx, key)
}

func TestWatchOfAStoreThatCanNotBeRead(t *testing.T) {
	t.Parallel()
	b := new(brokenRecords)
	s := start(t, func(c *setup) {
		c.records = func(real httpapi.Records) httpapi.Records { b.Records = real; return b }
		c.hub = events.Options{Buffer: 1}
	})
	room := s.room()
	b.broken.Store(true)
	r := s.get(room + "/watch")
	r.want(t, http.StatusServiceUnavailable, api.CodeUnavailable)
	if r.number(t, "retry_after_ms") != 2000 {
		t.Fatalf("hint: %s", r.body)
	}
	s.waitForStreams(0)
}

func TestWatchersDoNotCountAsLatency(t *testing.T) {
	t.Parallel()
	s := start(t)
	room := s.room()
	w := s.watch(room)
	w.next()
	w.close()
	w.ended()
	s.waitForStreams(0)
	metrics := s.scrapeUntil(`octostore_http_requests_total{code="",method="GET",route="/elections/{election_id}/watch",status="200"} 1`)
	if !strings.Contains(metrics, `octostore_streams_closed_total{kind="election",reason="client"} 1`) ||
		!strings.Contains(metrics, `octostore_streams_open{kind="election"} 0`) {
		t.Fatal("the stream was not counted")
	}
	if strings.Contains(metrics, `octostore_http_request_duration_seconds_count{route="/elections/{election_id}/watch"} 1`) {
		t.Fatal("the stream's length was measured as a latency")
	}
}

// scrape returns the metrics as text.
func (s *server) scrape() string {
	s.t.Helper()
	r := s.get("/metrics", "X-Admin-Key", adminKey)
	r.want(s.t, http.StatusOK, "")
	return string(r.body)
}

// scrapeUntil reads the metrics until they have a line: an answer is complete for
// its reader a moment before it is counted.
func (s *server) scrapeUntil(line string) string {
	s.t.Helper()
	for range 100 {
		if text := s.scrape(); strings.Contains(text, line) {
			return text
		}
	}
	s.t.Fatalf("the metrics never had the line %s", line)
	return ""
}
