package storetest

import (
	"context"
	"errors"
	"time"

	"github.com/octostore/octostore/lease"
)

// A commit that certainly did not happen: everything is as before.
func notAppliedScenarios() []scenario {
	return []scenario{
		{"GrantChangesNothingAndCanBeSentAgain", func(s *scene) {
			key := room("r")
			s.Fail(NotApplied)
			s.refused(s.sendAcquire(key, 0, ttl))
			if rec := s.read(key).Record; rec.Term != 0 || rec.Revision != 0 {
				s.Errorf("a failed grant left %+v", rec)
			}
			s.told(key)
			s.take(key, ttl, limited(1)) // and is not counted
			if s.Failed() {
				s.Error("the store gave up")
			}
		}},
		{"GrantAfterAnotherChangesNothing", func(s *scene) {
			key := room("r")
			first := s.take(key, ttl).Record
			after := s.release(key, first.Ref()).Record
			s.Fail(NotApplied)
			s.refused(s.sendAcquire(key, 0, ttl))
			s.unchanged(after)
			s.want(lease.Repeated, s.release(key, first.Ref()))
			if next := s.take(key, ttl).Record; next.Term <= first.Term || next.Revision != after.Revision+1 {
				s.Errorf("term %d after %d, revision %d after %d", next.Term, first.Term, next.Revision, after.Revision)
			}
		}},
		{"RenewalLeavesTheDeadline", func(s *scene) {
			key := room("r")
			rec := s.take(key, ttl).Record
			s.Advance(4 * time.Second)
			s.Fail(NotApplied)
			s.refused(s.sendRenew(key, rec.Ref(), time.Hour))
			s.unchanged(rec)
			s.told(key, lease.Acquired)
			s.lasts(ttl, s.renew(key, rec.Ref(), 0))
		}},
		{"ReleaseLeavesTheLease", func(s *scene) {
			key := lock("l")
			rec := s.take(key, ttl, delayed(time.Minute)).Record
			s.Fail(NotApplied)
			s.refused(s.sendRelease(key, rec.Ref()))
			s.unchanged(rec)
			s.want(lease.Confirmed, s.renew(key, rec.Ref(), 0))
			s.want(lease.Released, s.release(key, rec.Ref()))
		}},
		{"QuotaIsAsBefore", func(s *scene) {
			rec := s.take(room("a"), ttl).Record
			s.Fail(NotApplied)
			s.refused(s.sendRelease(room("a"), rec.Ref()))
			s.want(lease.Full, s.acquire(room("b"), ttl, limited(1)))
			s.Fail(NotApplied)
			s.refused(s.sendAcquire(room("b"), 0, ttl, limited(2)))
			s.take(room("b"), ttl, limited(2))
		}},
		{"WholeGroupIsRefused", func(s *scene) {
			a := s.take(room("a"), time.Hour).Record
			b := s.take(room("b"), time.Hour).Record
			release := s.hold()
			calls := []*call{
				s.sendRenew(a.Key, a.Ref(), 0),
				s.sendRelease(b.Key, b.Ref()),
				s.sendAcquire(room("c"), 0, ttl),
			}
			s.pending(calls...)
			s.Fail(NotApplied)
			release()
			for _, c := range calls {
				s.refused(c)
			}
			s.unchanged(a)
			s.unchanged(b)
			s.told(room("c"))
		}},
		{"WaitersKeepTheirPlaces", func(s *scene) {
			key := room("r")
			holder := s.take(key, time.Hour).Record
			first := s.queueUp(key, time.Minute, ttl)
			second := s.queueUp(key, time.Minute, ttl)
			s.Fail(NotApplied)
			s.refused(s.sendRelease(key, holder.Ref()))
			s.pending(first, second)
			s.waiters(key, 2)
			s.unchanged(holder)
			s.release(key, holder.Ref())
			out := s.answered(lease.Granted, first)
			s.pending(second)
			s.release(key, out.Record.Ref())
			s.answered(lease.Granted, second)
		}},
		{"PlaceOfSeveralIsKeptForAll", func(s *scene) {
			key := room("r")
			holder := s.take(key, time.Hour).Record
			a := s.queueUp(key, time.Minute, ttl, s.keyed("k"))
			b := s.queueUp(key, time.Minute, ttl, s.keyed("k"))
			s.Fail(NotApplied)
			s.refused(s.sendRelease(key, holder.Ref()))
			s.pending(a, b)
			c := s.queueUp(key, time.Minute, ttl, s.keyed("k")) // and can still be joined
			s.waiters(key, 3)
			s.release(key, holder.Ref())
			for _, w := range []*call{a, b, c} {
				s.answered(lease.Granted, w)
			}
		}},
		{"WaiterIsServedByTheNextTryAtAPassedDeadline", func(s *scene) {
			key := room("r")
			holder := s.take(key, ttl).Record
			first := s.queueUp(key, time.Minute, ttl)
			second := s.queueUp(key, time.Minute, ttl)
			s.Fail(NotApplied)
			s.until(holder.Lease.Deadline)
			s.pending(first, second)
			s.Advance(time.Second)
			s.answered(lease.Granted, first)
			s.pending(second)
			s.told(key, lease.Acquired, lease.Expired, lease.Acquired)
		}},
		{"WaiterIsServedByTheNextTryAtTheEndOfADelay", func(s *scene) {
			key := lock("l")
			out := s.release(key, s.take(key, ttl, delayed(5*time.Second)).Record.Ref())
			first := s.queueUp(key, time.Minute, ttl)
			second := s.queueUp(key, time.Minute, ttl)
			s.Fail(NotApplied)
			s.until(out.Record.Free)
			s.pending(first, second)
			s.Advance(time.Second)
			s.answered(lease.Granted, first)
			s.pending(second)
			s.told(key, lease.Acquired, lease.WasReleased, lease.Acquired)
		}},
		{"NextTryAtTheEndOfADelayIsNotMistakenForAnotherOne", func(s *scene) {
			key := lock("l")
			out := s.release(key, s.take(key, ttl, delayed(5*time.Second)).Record.Ref())
			first := s.queueUp(key, time.Minute, ttl)
			second := s.queueUp(key, time.Minute, ttl)
			s.Fail(NotApplied)
			s.until(out.Record.Free)
			s.pending(first, second)
			// Somebody else looks at the name before the second try.
			s.answered(lease.Taken, s.sendAcquire(key, 0, ttl, s.keyed("newcomer")))
			s.answered(lease.Granted, first)
			s.Advance(time.Second)
			s.pending(second)
			s.waiters(key, 1)
		}},
		{"WaiterWhoseTimeEndsDuringTheCommitIsAnsweredAllTheSame", func(s *scene) {
			key := room("r")
			holder := s.take(key, time.Hour).Record
			w := s.queueUp(key, 2*time.Second, ttl)
			next := s.queueUp(key, time.Minute, ttl)
			letGo := s.Hold()
			s.Fail(NotApplied)
			ended := s.sendRelease(key, holder.Ref())
			s.Advance(3 * time.Second) // w was chosen, and its time is over
			s.pending(ended, w)
			letGo()
			s.refused(ended)
			s.answered(lease.Taken, w)
			s.pending(next)
			s.waiters(key, 1)
			s.release(key, holder.Ref())
			s.answered(lease.Granted, next)
		}},
		{"WaiterWhoHungUpDuringTheCommitIsAnsweredAllTheSame", func(s *scene) {
			key := room("r")
			holder := s.take(key, time.Hour).Record
			w := s.queueUp(key, time.Minute, ttl)
			letGo := s.Hold()
			s.Fail(NotApplied)
			ended := s.sendRelease(key, holder.Ref())
			s.pending(ended, w)
			w.hangUp()
			letGo()
			s.refused(ended)
			if _, err := s.answer(w); !errors.Is(err, context.Canceled) {
				s.Errorf("ended with %v", err)
			}
			s.waiters(key, 0)
			s.unchanged(holder)
		}},
		{"RequestThatWouldHaveWaitedIsRefused", func(s *scene) {
			// It joins the queue in the group that fails.
			key := room("r")
			holder := s.take(key, time.Hour).Record
			release := s.hold()
			renewal := s.sendRenew(key, holder.Ref(), 0)
			joins := s.sendAcquire(key, time.Minute, ttl)
			s.pending(renewal, joins)
			s.Fail(NotApplied)
			release()
			s.refused(renewal)
			s.refused(joins)
			s.waiters(key, 0)
			s.unchanged(holder)
		}},
		{"ExpiryIsTriedAgainAndToldLaterAsOfTheDeadline", func(s *scene) {
			key := room("r")
			rec := s.take(key, ttl).Record
			s.Fail(NotApplied)
			s.until(rec.Lease.Deadline)
			s.told(key, lease.Acquired)
			read := s.read(key)
			if read.Record.Live(read.At.At) {
				s.Error("a lease that is over is shown as live")
			}
			s.want(lease.NotCurrent, s.renew(key, rec.Ref(), 0)) // whatever was recorded
			s.Advance(time.Second)
			e := s.told(key, lease.Acquired, lease.Expired)[1]
			if e.At.At != rec.Lease.Deadline {
				s.Errorf("told as of %v, the deadline was %v", e.At.At, rec.Lease.Deadline)
			}
		}},
		{"LeavesNothingForARestartToFind", func(s *scene) {
			key := room("r")
			rec := s.take(key, time.Hour).Record
			s.Fail(NotApplied)
			s.refused(s.sendRelease(key, rec.Ref()))
			s.Fail(NotApplied)
			s.refused(s.sendAcquire(room("other"), 0, ttl))
			for _, how := range []Stop{Crash, CleanStop} {
				s.Reopen(how, time.Second)
				s.unchanged(rec)
				if other := s.read(room("other")).Record; other.Term != 0 {
					s.Errorf("a grant that failed came back: %+v", other)
				}
			}
		}},
		{"WhileTheServerStopsAnswersEveryone", func(s *scene) {
			key := room("r")
			holder := s.take(key, time.Hour).Record
			w := s.queueUp(key, time.Minute, ttl)
			s.Fail(NotApplied)
			s.refused(s.sendRelease(key, holder.Ref()))
			s.Reopen(CleanStop, 0)
			s.refused(w)
			s.unchanged(holder)
		}},
	}
}
