package storetest

import (
	"context"
	"fmt"
	"time"

	"github.com/octostore/octostore/lease"
)

func expiryScenarios() []scenario {
	return []scenario{
		{"IsToldPromptlyAsOfTheDeadline", func(s *scene) {
			key := room("r")
			out := s.take(key, ttl, labelled("worker", ""))
			s.until(out.Record.Lease.Deadline - lease.Instant(tick))
			s.told(key, lease.Acquired)
			s.until(out.Record.Lease.Deadline.Add(prompt))
			e := s.told(key, lease.Acquired, lease.Expired)[1]
			if e.At.At != out.Record.Lease.Deadline || e.Reason != lease.ByExpiry {
				s.Errorf("expired at %v for reason %d, want %v", e.At.At, e.Reason, out.Record.Lease.Deadline)
			}
			if e.Was == nil || e.Was.Label != "worker" || e.Record.Held || e.Record.Term != out.Record.Term {
				s.Errorf("the event does not tell what ended: %+v", e)
			}
			s.promptly()
		}},
		{"IsToldPromptlyWhenHundredsEndAtOnce", func(s *scene) {
			const n = 700 // more than fit into one group
			release := s.hold()
			for i := range n {
				store, req := s.replica(i), s.ask(ttl)
				s.send(func(ctx context.Context) (lease.Outcome, error) {
					return store.Acquire(ctx, lease.ElectionKey(fmt.Sprint("r", i)), req, 0)
				})
			}
			s.Settle()
			release()
			s.Advance(ttl + lease.MinGuard + prompt)
			expired := 0
			for _, e := range s.Events.All() {
				if e.Type == lease.Expired {
					expired++
				}
			}
			if expired != n+1 { // and the commit that was held
				s.Errorf("%d of %d expiries were told", expired, n+1)
			}
			s.promptly()
		}},
		{"FreesTheNameAtTheDeadline", func(s *scene) {
			key := room("r")
			out := s.take(key, ttl)
			s.until(out.Record.Lease.Deadline - lease.Instant(tick))
			s.want(lease.Taken, s.acquire(key, ttl))
			s.until(out.Record.Lease.Deadline)
			s.take(key, ttl)
			s.told(key, lease.Acquired, lease.Expired, lease.Acquired)
		}},
		{"IsRecordedFirstByADecisionThatMeetsIt", func(s *scene) {
			key := room("r")
			out := s.take(key, 5*time.Second)
			release := s.hold()
			s.until(out.Record.Lease.Deadline.Add(3 * time.Second)) // nothing can be recorded meanwhile
			if rec := s.read(key).Record; rec.Live(s.now().At) {
				s.Error("a read shows a lease that is over")
			}
			newcomer := s.sendAcquire(key, 0, ttl)
			s.pending(newcomer)
			release()
			got := s.answered(lease.Granted, newcomer)
			events := s.told(key, lease.Acquired, lease.Expired, lease.Acquired)
			if events[1].At.At != out.Record.Lease.Deadline || events[1].Revision != out.Record.Revision+1 {
				s.Errorf("the expiry is a transition of its own, as of the deadline: %+v", events[1])
			}
			if got.Record.Revision != out.Record.Revision+2 {
				s.Errorf("revision %d, want two more than %d", got.Record.Revision, out.Record.Revision)
			}
		}},
		{"FollowsTheLastRenewal", func(s *scene) {
			key := room("r")
			rec := s.take(key, ttl).Record
			for range 5 {
				s.Advance(7 * time.Second)
				rec = s.renew(key, rec.Ref(), 0).Record
			}
			s.until(rec.Lease.Deadline - lease.Instant(tick))
			if !s.read(key).Record.Held {
				s.Error("ended before its deadline")
			}
			s.until(rec.Lease.Deadline)
			if s.read(key).Record.Held {
				s.Error("is held after its deadline")
			}
		}},
	}
}

// promptly checks that every expiry so far arrived soon after its deadline.
func (s *scene) promptly() {
	s.Helper()
	for _, b := range s.Events.present() {
		for _, e := range b.events {
			if late := b.at.At.Sub(e.At.At); e.Type == lease.Expired && late > prompt {
				s.Errorf("the expiry of %q was told %v after the deadline", e.Record.Key.Name(), late)
			}
		}
	}
}
