package storetest

import (
	"time"

	"github.com/octostore/octostore/lease"
)

func renewScenarios() []scenario {
	return []scenario{
		{"KeepsItsOwnTTL", func(s *scene) {
			key := room("r")
			ref := s.take(key, 42*time.Second).Record.Ref()
			s.Advance(5 * time.Second)
			s.lasts(42*time.Second, s.renew(key, ref, 0))
		}},
		{"Extends", func(s *scene) {
			key := room("r")
			ref := s.take(key, ttl).Record.Ref()
			s.Advance(5 * time.Second)
			s.lasts(5*time.Minute, s.renew(key, ref, 5*time.Minute))
			s.Advance(5 * time.Second)
			s.lasts(5*time.Minute, s.renew(key, ref, 0)) // the new TTL is its own now
		}},
		{"Shortens", func(s *scene) {
			key := room("r")
			ref := s.take(key, 5*time.Minute).Record.Ref()
			out := s.renew(key, ref, 5*time.Second)
			s.lasts(5*time.Second, out)
			s.until(out.Record.Lease.Deadline)
			s.want(lease.NotCurrent, s.renew(key, ref, 0))
		}},
		{"KeepsTermAndProof", func(s *scene) {
			key := room("r")
			first := s.take(key, ttl, labelled("worker", "notes"))
			out := s.renew(key, first.Record.Ref(), 0)
			if out.Record.Ref() != first.Record.Ref() || out.Record.Lease.Label != "worker" || out.Record.Lease.Metadata != "notes" {
				s.Errorf("a renewal changed more than the deadline: %+v", out.Record)
			}
			if out.Record.Lease.Granted != first.Record.Lease.Granted || out.Record.Lease.Renewed != out.At.Wall {
				s.Errorf("granted %v, renewed %v", out.Record.Lease.Granted, out.Record.Lease.Renewed)
			}
		}},
		{"WorksUpToTheDeadline", func(s *scene) {
			key := room("r")
			out := s.take(key, ttl)
			for range 3 {
				s.until(out.Record.Lease.Deadline - lease.Instant(tick))
				out = s.want(lease.Confirmed, s.renew(key, out.Record.Ref(), 0))
			}
		}},
		{"FailsFromTheDeadlineOnThoughNobodyTookTheName", func(s *scene) {
			for _, late := range []time.Duration{0, tick, time.Second, 10 * time.Minute} {
				key := room("late-by-" + late.String())
				out := s.take(key, ttl)
				s.until(out.Record.Lease.Deadline.Add(late))
				got := s.want(lease.NotCurrent, s.renew(key, out.Record.Ref(), 0))
				if got.Record.Held || s.read(key).Record.Held {
					s.Errorf("revived %v after the deadline", late)
				}
				s.told(key, lease.Acquired, lease.Expired)
			}
		}},
		{"IsJudgedWhenItIsDecidedAndNotWhenItArrived", func(s *scene) {
			key := room("r")
			out := s.take(key, 5*time.Second)
			release := s.hold()
			renewal := s.sendRenew(key, out.Record.Ref(), 0)
			s.pending(renewal)
			s.until(out.Record.Lease.Deadline) // it waits in the lane all the while
			s.pending(renewal)
			release()
			s.answered(lease.NotCurrent, renewal)
			events := s.told(key, lease.Acquired, lease.Expired)
			if got := events[1].At.At; got != out.Record.Lease.Deadline {
				s.Errorf("expired at %v, the deadline was %v", got, out.Record.Lease.Deadline)
			}
		}},
		{"FailsForAnyOtherLease", func(s *scene) {
			key := room("r")
			s.want(lease.NotCurrent, s.renew(key, lease.Ref{Term: 1}, 0)) // a name that nobody has used
			rec := s.take(key, ttl).Record
			for _, ref := range []lease.Ref{
				{},
				{Term: rec.Term},
				{Nonce: rec.Lease.Nonce},
				{Term: rec.Term - 1, Nonce: rec.Lease.Nonce},
				{Term: rec.Term + 1, Nonce: rec.Lease.Nonce},
			} {
				s.want(lease.NotCurrent, s.renew(key, ref, time.Hour))
			}
			s.want(lease.NotCurrent, s.renew(room("another"), rec.Ref(), 0))
			s.unchanged(rec)
		}},
	}
}

// lasts checks that a lease lives for the TTL and its guard from its renewal.
func (s *scene) lasts(ttl time.Duration, out *lease.Outcome) {
	s.Helper()
	s.want(lease.Confirmed, out)
	l := out.Record.Lease
	if got := l.Deadline.Sub(out.At.At); got != guarded(ttl) || l.TTL != ttl || l.Expires != out.At.Wall.Add(ttl) {
		s.Errorf("deadline %v after the renewal, ttl %v, expires %v; want %v, %v, %v",
			got, l.TTL, l.Expires.Time(), guarded(ttl), ttl, out.At.Wall.Add(ttl).Time())
	}
}
