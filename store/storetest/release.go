package storetest

import (
	"context"
	"time"

	"github.com/octostore/octostore/lease"
)

func releaseScenarios() []scenario {
	return []scenario{
		{"EndsTheLeaseAtOnce", func(s *scene) {
			key := room("r")
			rec := s.take(key, ttl, labelled("worker", "")).Record
			out := s.want(lease.Released, s.release(key, rec.Ref()))
			if out.Record.Held || out.Record.Term != rec.Term || out.Record.Revision != rec.Revision+1 {
				s.Errorf("after the release: %+v", out.Record)
			}
			e := s.told(key, lease.Acquired, lease.WasReleased)[1]
			if e.At != out.At || e.Reason != lease.ByRelease || e.Was == nil || e.Was.Label != "worker" {
				s.Errorf("the event does not tell what ended: %+v", e)
			}
			s.want(lease.NotCurrent, s.renew(key, rec.Ref(), 0))
			s.take(key, ttl)
		}},
		{"RepeatedSucceedsAndChangesNothing", func(s *scene) {
			key := room("r")
			rec := s.take(key, ttl).Record
			after := s.release(key, rec.Ref()).Record
			for range 3 {
				s.Advance(time.Minute)
				s.want(lease.Repeated, s.release(key, rec.Ref()))
			}
			s.unchanged(after)
			s.told(key, lease.Acquired, lease.WasReleased)
		}},
		{"RepeatedSucceedsWhileAnotherHolds", func(s *scene) {
			key := room("r")
			first := s.take(key, ttl).Record
			s.release(key, first.Ref())
			second := s.take(key, time.Hour).Record
			s.want(lease.Repeated, s.release(key, first.Ref()))
			s.unchanged(second)
		}},
		{"RepeatedFailsOnceALaterTermHasEnded", func(s *scene) {
			key := room("r")
			first := s.take(key, ttl).Record
			s.release(key, first.Ref())
			second := s.take(key, ttl).Record
			s.release(key, second.Ref())
			s.want(lease.NotCurrent, s.release(key, first.Ref()))
			s.want(lease.Repeated, s.release(key, second.Ref()))
		}},
		{"FailsForALeaseThatExpired", func(s *scene) {
			key := room("r")
			rec := s.take(key, ttl).Record
			s.until(rec.Lease.Deadline)
			s.want(lease.NotCurrent, s.release(key, rec.Ref()))
			s.Advance(time.Second)
			s.want(lease.NotCurrent, s.release(key, rec.Ref()))
			s.told(key, lease.Acquired, lease.Expired)
		}},
		{"FailsForALeaseThatWasForced", func(s *scene) {
			key := room("r")
			rec := s.take(key, ttl).Record
			s.want(lease.Released, s.force(key))
			s.want(lease.NotCurrent, s.release(key, rec.Ref()))
			s.want(lease.NotCurrent, s.renew(key, rec.Ref(), 0))
			s.told(key, lease.Acquired, lease.WasReleased)
		}},
		{"FailsForANameThatNobodyHasUsed", func(s *scene) {
			key := room("r")
			s.want(lease.NotCurrent, s.release(key, lease.Ref{}))
			s.want(lease.NotCurrent, s.release(key, lease.Ref{Term: 1}))
			if rec := s.read(key).Record; rec.Revision != 0 {
				s.Errorf("a refusal made a row: %+v", rec)
			}
		}},
		{"LateOneNeverTouchesTheSuccessor", func(s *scene) {
			key := room("r")
			first := s.take(key, ttl).Record
			s.until(first.Lease.Deadline)
			second := s.take(key, time.Hour).Record
			s.want(lease.NotCurrent, s.release(key, first.Ref()))
			s.want(lease.NotCurrent, s.renew(key, first.Ref(), time.Hour))
			s.giveBack(key, first.Ref())
			s.unchanged(second)
			s.told(key, lease.Acquired, lease.Expired, lease.Acquired)
		}},
		{"LateOneInTheGroupOfTheHandOverNeverTouchesTheSuccessor", func(s *scene) {
			key := room("r")
			first := s.take(key, 5*time.Second).Record
			next := s.queueUp(key, time.Minute, time.Hour)
			release := s.hold()
			late := s.sendRelease(key, first.Ref())
			s.pending(late)
			s.until(first.Lease.Deadline)
			release()
			s.answered(lease.NotCurrent, late)
			s.unchanged(s.answered(lease.Granted, next).Record)
			s.told(key, lease.Acquired, lease.Expired, lease.Acquired)
		}},
		{"ByForceEndsWhateverIsHeld", func(s *scene) {
			key := room("r")
			s.want(lease.NotHeld, s.force(key))
			rec := s.take(key, ttl).Record
			out := s.want(lease.Released, s.force(key))
			if out.Record.Held || out.Record.Term != rec.Term {
				s.Errorf("after the force-release: %+v", out.Record)
			}
			e := s.told(key, lease.Acquired, lease.WasReleased)[1]
			if e.Reason != lease.ByForce || e.Reason.String() != "force_released" {
				s.Errorf("reason %d, %q", e.Reason, e.Reason)
			}
			s.want(lease.NotHeld, s.force(key))
			if next := s.take(key, ttl).Record; next.Term <= rec.Term {
				s.Errorf("term %d after %d", next.Term, rec.Term)
			}
		}},
		{"ByForceFindsNothingInALeaseThatIsOver", func(s *scene) {
			key := room("r")
			rec := s.take(key, ttl).Record
			s.until(rec.Lease.Deadline)
			s.want(lease.NotHeld, s.force(key))
			s.told(key, lease.Acquired, lease.Expired)
		}},
		{"GiveBackLeavesNoDelay", func(s *scene) {
			key := lock("l")
			rec := s.take(key, ttl, delayed(30*time.Second)).Record
			s.giveBack(key, rec.Ref())
			s.take(key, ttl)
			s.told(key, lease.Acquired, lease.WasReleased, lease.Acquired)
		}},
		{"GiveBackDoesItsWorkForACallerThatIsGone", func(s *scene) {
			key := room("r")
			rec := s.take(key, ttl).Record
			gone, cancel := context.WithCancel(s.ctx)
			cancel()
			if err := s.Store.GiveBack(gone, key, rec.Ref()); err != nil {
				s.Fatal(err)
			}
			if s.read(key).Record.Held {
				s.Error("the lease is still held")
			}
		}},
		{"GrantWhoseCallerLeftDuringTheCommitIsGivenBack", func(s *scene) {
			key := room("r")
			letGo := s.Hold()
			c := s.sendAcquire(key, 0, ttl)
			s.pending(c)
			c.hangUp()
			s.pending(c) // it may have been granted: that has to be found out first
			letGo()
			if _, err := s.answer(c); err == nil {
				s.Error("a caller that is gone was told of a grant")
			}
			s.told(key, lease.Acquired, lease.WasReleased)
			s.take(key, ttl)
		}},
		{"GrantWithAKeyStaysThoughItsCallerLeft", func(s *scene) {
			key := room("r")
			letGo := s.Hold()
			c := s.sendAcquire(key, 0, ttl, s.keyed("k"))
			s.pending(c)
			c.hangUp()
			letGo()
			s.told(key, lease.Acquired)
			found := s.want(lease.Confirmed, s.acquire(key, ttl, s.keyed("k")))
			if got := s.Events.Of(key)[0].Record.Ref(); got != found.Record.Ref() {
				s.Errorf("the repeat found %v, the grant was %v", found.Record.Ref(), got)
			}
		}},
	}
}

func delayScenarios() []scenario {
	const delay = 30 * time.Second
	// cools checks that the name is refused to everyone until free, and to
	// nobody from then on.
	cools := func(s *scene, key lease.Key, free lease.Instant, holder option) {
		s.Helper()
		for _, o := range [][]option{nil, {holder}, {delayed(0)}} {
			out := s.want(lease.Delayed, s.acquire(key, ttl, o...))
			if got := out.Record.GrantableAt(); got != free {
				s.Errorf("free at %v, want %v", got, free)
			}
		}
		s.until(free - lease.Instant(tick))
		s.want(lease.Delayed, s.acquire(key, ttl, holder))
		s.until(free)
		s.take(key, ttl)
	}
	return []scenario{
		{"CountsFromTheRelease", func(s *scene) {
			key := lock("l")
			rec := s.take(key, ttl, delayed(delay)).Record
			s.Advance(time.Second)
			out := s.release(key, rec.Ref())
			s.Advance(time.Second)
			s.want(lease.Repeated, s.release(key, rec.Ref())) // no second delay
			cools(s, key, out.At.At.Add(delay), delayed(delay))
		}},
		{"CountsFromTheDeadline", func(s *scene) {
			key := lock("l")
			rec := s.take(key, ttl, delayed(delay)).Record
			s.until(rec.Lease.Deadline)
			cools(s, key, rec.Lease.Deadline.Add(delay), delayed(delay))
		}},
		{"CountsFromTheDeadlineThoughItIsNoticedLate", func(s *scene) {
			key := lock("l")
			rec := s.take(key, ttl, delayed(delay)).Record
			release := s.hold()
			s.until(rec.Lease.Deadline.Add(5 * time.Second))
			release()
			cools(s, key, rec.Lease.Deadline.Add(delay), delayed(delay))
		}},
		{"CountsFromTheForceRelease", func(s *scene) {
			key := lock("l")
			s.take(key, ttl, delayed(delay))
			s.Advance(time.Second)
			out := s.force(key)
			cools(s, key, out.At.At.Add(delay), delayed(delay))
		}},
		{"IsShownToReaders", func(s *scene) {
			key := lock("l")
			rec := s.take(key, ttl, delayed(delay)).Record
			out := s.release(key, rec.Ref())
			read := s.read(key)
			if !read.Record.Cooling(read.At.At) || read.Record.Live(read.At.At) {
				s.Errorf("shown as %+v", read.Record)
			}
			if got, want := read.Record.AvailableAt(read.At), out.At.Wall.Add(delay); got != want {
				s.Errorf("available at %v, want %v", got.Time(), want.Time())
			}
			s.until(out.At.At.Add(delay))
			if read = s.read(key); read.Record.Cooling(read.At.At) {
				s.Error("cools after the delay")
			}
			s.told(key, lease.Acquired, lease.WasReleased) // its end is no event
		}},
		{"IsThatOfTheLeaseThatEnded", func(s *scene) {
			key := lock("l")
			first := s.take(key, ttl, delayed(delay)).Record
			s.giveBack(key, first.Ref())
			second := s.take(key, ttl, delayed(time.Second)).Record
			out := s.release(key, second.Ref())
			cools(s, key, out.At.At.Add(time.Second), delayed(delay))
		}},
	}
}
