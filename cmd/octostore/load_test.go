package main

import (
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// One client campaigns at far more than its budget while the leader of another
// room, behind the same address, goes on. Admission refuses the flood and
// touches nothing else.
func TestFloodOfCampaignsUnseatsNobody(t *testing.T) {
	t.Parallel()
	const budget, floods = 60, 20 * 60
	p := start(t, t.TempDir(), fmt.Sprintf("PUBLIC_ELECTION_REQUESTS_PER_MINUTE=%d", budget))
	_, won := campaign(p, "calm-room", "leader", 5)
	term := leaderOf(t, won)["term"]
	token := fmt.Sprintf(`{"leader_token":%q,"ttl_seconds":5}`, won["leader_token"])

	var admitted, refused, other atomic.Int64
	var flood sync.WaitGroup
	for i := range 8 {
		flood.Go(func() {
			for n := range floods / 8 {
				code, body, err := p.try("POST", fmt.Sprintf("/elections/flooded-%d-%d/campaign", i, n), `{"candidate_id":"x","ttl_seconds":5}`)
				switch {
				case err == nil && code == http.StatusOK:
					admitted.Add(1)
				case err == nil && code == http.StatusTooManyRequests && body["code"] == "rate_limited":
					refused.Add(1)
				default:
					other.Add(1)
				}
			}
		})
	}
	done := make(chan struct{})
	go func() { flood.Wait(); close(done) }()
	began, renewals := time.Now(), 0
	for flooding := true; flooding || time.Since(began) < 6*time.Second; {
		select {
		case <-done:
			flooding = false
		default:
		}
		code, body := p.call("POST", "/elections/calm-room/renew", token)
		if code != http.StatusOK || leaderOf(t, body)["term"] != term {
			t.Fatalf("renewal %d: %d %v", renewals, code, body)
		}
		renewals++
		if code, body := p.call("GET", "/elections/calm-room", ""); code != http.StatusOK || body["status"] != "leader" {
			t.Fatalf("status: %d %v", code, body)
		}
	}
	if code, body := p.call("POST", "/elections/calm-room/resign", token); code != http.StatusOK {
		t.Errorf("resign: %d %v", code, body)
	}
	if n := admitted.Load() + 1; n > budget {
		t.Errorf("%d campaigns were admitted, the budget is %d", n, budget)
	}
	if refused.Load() < floods-budget || other.Load() != 0 {
		t.Errorf("%d refused, %d answered otherwise", refused.Load(), other.Load())
	}
	t.Logf("%d renewals during the flood", renewals)
}

// Sixty-four candidates wait for one room. Each resignation is followed by
// exactly one new leader, in the order in which they came, though newcomers
// keep trying.
func TestWaitersLeadInOrderOfArrival(t *testing.T) {
	t.Parallel()
	const n = 64
	p := start(t, t.TempDir(), "PUBLIC_ELECTION_REQUESTS_PER_MINUTE=1000000")
	_, won := campaign(p, "busy-room", "first", 60)
	type win struct {
		i    int
		body map[string]any
	}
	wins := make(chan win, n)
	for i := range n {
		go func() {
			code, body, err := p.try("POST", "/elections/busy-room/campaign", fmt.Sprintf(`{"candidate_id":"c%d","ttl_seconds":60,"wait_ms":60000}`, i))
			if err != nil || code != http.StatusOK || body["status"] != "leader" {
				t.Errorf("candidate %d: %d %v %v", i, code, body, err)
			}
			wins <- win{i, body}
		}()
		// The next one comes when this one stands in the queue.
		for {
			if _, st := p.call("GET", "/elections/busy-room", ""); st["waiters"] == float64(i+1) {
				break
			}
		}
	}
	stop := make(chan struct{})
	var newcomers sync.WaitGroup
	for range 4 {
		newcomers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if _, body, err := p.try("POST", "/elections/busy-room/campaign", `{"candidate_id":"newcomer"}`); err != nil || body["status"] != "follower" {
					t.Errorf("a newcomer overtook the queue: %v %v", body, err)
					return
				}
			}
		})
	}
	token, term := won["leader_token"], leaderOf(t, won)["term"].(float64)
	for i := range n {
		if code, body := p.call("POST", "/elections/busy-room/resign", fmt.Sprintf(`{"leader_token":%q}`, token)); code != http.StatusOK {
			t.Fatalf("resign before %d: %d %v", i, code, body)
		}
		w := <-wins
		if w.i != i {
			t.Fatalf("candidate %d leads, it is the turn of %d", w.i, i)
		}
		select {
		case second := <-wins:
			t.Fatalf("candidate %d leads beside %d", second.i, w.i)
		default:
		}
		next := leaderOf(t, w.body)["term"].(float64)
		if next <= term {
			t.Fatalf("term %v after %v", next, term)
		}
		if waited, ok := w.body["waited_ms"].(float64); !ok || waited < 0 {
			t.Errorf("waited_ms is %v", w.body["waited_ms"])
		}
		token, term = w.body["leader_token"], next
	}
	close(stop)
	newcomers.Wait()
}
