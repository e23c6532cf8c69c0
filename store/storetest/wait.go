package storetest

import (
	"context"
	"errors"
	"time"

	"github.com/octostore/octostore/lease"
	"github.com/octostore/octostore/store"
)

// Waiting itself: how long, how many, and what those are told who do not get
// the name.
func waitScenarios() []scenario {
	return []scenario{
		{"IsOverOnTimeAndAnswersTaken", func(s *scene) {
			key := room("r")
			rec := s.take(key, time.Hour).Record
			short, long := s.queueUp(key, 2*time.Second, ttl), s.queueUp(key, 5*time.Second, ttl)
			s.Advance(2*time.Second - prompt)
			s.pending(short, long)
			s.Advance(2 * prompt)
			out := s.answered(lease.Taken, short)
			if out.Record.Ref() != rec.Ref() || out.Waited {
				s.Errorf("answered with %+v", out)
			}
			s.pending(long)
			s.waiters(key, 1)
			s.Advance(3 * time.Second)
			s.answered(lease.Taken, long)
			s.waiters(key, 0)
			s.unchanged(rec)
		}},
		{"IsOverOnTimeInALockDelayAndAnswersDelayed", func(s *scene) {
			key := lock("l")
			s.release(key, s.take(key, ttl, delayed(30*time.Second)).Record.Ref())
			w := s.queueUp(key, 2*time.Second, ttl)
			s.Advance(2*time.Second - prompt)
			s.pending(w)
			s.Advance(2 * prompt)
			s.answered(lease.Delayed, w)
			s.waiters(key, 0)
		}},
		{"ThatIsOverBeforeTheDecisionAnswersTaken", func(s *scene) {
			key := room("r")
			s.take(key, time.Hour)
			release := s.hold()
			w := s.sendAcquire(key, 2*time.Second, ttl)
			s.Advance(3 * time.Second) // its time is over before it was looked at
			release()
			s.answered(lease.Taken, w)
			s.waiters(key, 0)
		}},
		{"ThatIsNotWantedAnswersAtOnce", func(s *scene) {
			key := room("r")
			s.take(key, ttl)
			for _, wait := range []time.Duration{0, -time.Second} {
				s.answered(lease.Taken, s.sendAcquire(key, wait, ttl))
			}
		}},
		{"OfACallerWhoHangsUpEndsWithItsError", func(s *scene) {
			key := room("r")
			s.take(key, ttl)
			w := s.queueUp(key, time.Minute, ttl)
			w.hangUp()
			if _, err := s.answer(w); !errors.Is(err, context.Canceled) {
				s.Errorf("ended with %v", err)
			}
			s.waiters(key, 0)
		}},
		{"IsCountedInEveryAnswer", func(s *scene) {
			key := room("r")
			ref := s.take(key, time.Hour).Record.Ref()
			var ws []*call
			for i := range 4 {
				ws = append(ws, s.queueUp(key, time.Minute, ttl))
				if out := s.want(lease.Taken, s.acquire(key, ttl)); out.Waiters != i+1 {
					s.Errorf("a refusal tells of %d waiters, want %d", out.Waiters, i+1)
				}
			}
			ws[1].hangUp()
			s.waiters(key, 3)
			s.release(key, ref)
			if out := s.answered(lease.Granted, ws[0]); out.Waiters != 2 {
				s.Errorf("the grant tells of %d waiters, want 2", out.Waiters)
			}
			s.waiters(key, 2)
			s.waiters(room("another"), 0)
		}},
		{"IsNotPossibleForMoreThanTheNameAdmits", func(s *scene) {
			key := room("r")
			ref := s.take(key, time.Hour).Record.Ref()
			ws := make([]*call, store.WaitersPerName)
			for i := range ws {
				ws[i] = s.sendAcquire(key, time.Minute, time.Hour)
			}
			s.pending(ws...)
			s.waiters(key, store.WaitersPerName)
			if _, err := s.answer(s.sendAcquire(key, time.Minute, ttl)); !errors.Is(err, lease.ErrTooManyWaiters) {
				s.Errorf("one too many was answered %v", err)
			} else if lease.RetryAfter(err, 0) <= 0 {
				s.Error("the refusal says nothing about when to come again")
			}
			s.take(room("another"), time.Hour)
			s.queueUp(room("another"), time.Minute, ttl) // other names do not suffer
			ws[7].hangUp()
			s.waiters(key, store.WaitersPerName-1)
			s.pending(s.sendAcquire(key, time.Minute, ttl)) // there is a place again
			s.release(key, ref)
			s.waiters(key, store.WaitersPerName-1)
		}},
		{"EndsWithARetryableAnswerWhenTheServerStops", func(s *scene) {
			key := room("r")
			held := s.take(key, time.Hour).Record
			w := s.queueUp(key, time.Minute, ttl)
			s.Reopen(CleanStop, 0)
			if _, err := s.answer(w); !errors.Is(err, lease.ErrUnavailable) || lease.RetryAfter(err, 0) != time.Second {
				s.Errorf("answered %v, retry after %v", err, lease.RetryAfter(err, 0))
			}
			s.unchanged(held)
			s.waiters(key, 0)
		}},
		{"WithTheKeyOfAnEndedLeaseConflictsAtOnce", func(s *scene) {
			key := room("r")
			s.release(key, s.take(key, ttl, s.keyed("k")).Record.Ref())
			s.take(key, ttl)
			s.answered(lease.Conflict, s.sendAcquire(key, time.Minute, ttl, s.keyed("k")))
		}},
		{"RepeatJoinsThePlaceAndBothGetTheSameLease", func(s *scene) {
			key := room("r")
			held := s.take(key, time.Hour).Record
			a := s.queueUp(key, time.Minute, ttl, s.keyed("k"))
			behind := s.queueUp(key, time.Minute, ttl)
			b := s.queueUp(key, 30*time.Second, ttl, s.keyed("k"))
			s.Advance(time.Second)
			s.release(key, held.Ref())
			first, second := s.answered(lease.Granted, a), s.answered(lease.Granted, b)
			if first.Record.Ref() != second.Record.Ref() || first.At != second.At || !first.Waited || !second.Waited {
				s.Errorf("not the same lease: %+v and %+v", first, second)
			}
			s.pending(behind)
			s.waiters(key, 1)
			s.told(key, lease.Acquired, lease.WasReleased, lease.Acquired)
		}},
		{"PlaceLivesWhileOneOfItsCallersIsThere", func(s *scene) {
			key := room("r")
			held := s.take(key, time.Hour).Record
			gone := s.queueUp(key, time.Minute, ttl, s.keyed("k"))
			late := s.queueUp(key, 2*time.Second, ttl, s.keyed("k"))
			stays := s.queueUp(key, time.Minute, ttl, s.keyed("k"))
			behind := s.queueUp(key, time.Minute, ttl)
			gone.hangUp()
			s.Advance(3 * time.Second)
			s.answered(lease.Taken, late) // each keeps its own end
			s.waiters(key, 2)
			s.release(key, held.Ref())
			s.answered(lease.Granted, stays)
			s.pending(behind)
		}},
		{"RepeatWithOtherParametersConflicts", func(s *scene) {
			key := room("r")
			s.take(key, time.Hour)
			w := s.queueUp(key, time.Minute, ttl, s.keyed("k", "a"))
			for _, wait := range []time.Duration{0, time.Minute} {
				s.answered(lease.Conflict, s.sendAcquire(key, wait, ttl, s.keyed("k", "b")))
			}
			s.pending(w)
			s.waiters(key, 1)
		}},
		{"RepeatThatDoesNotWaitIsAnsweredAndLeavesThePlace", func(s *scene) {
			key := room("r")
			held := s.take(key, time.Hour).Record
			w := s.queueUp(key, time.Minute, ttl, s.keyed("k"))
			s.answered(lease.Taken, s.sendAcquire(key, 0, ttl, s.keyed("k")))
			s.release(key, held.Ref())
			s.answered(lease.Granted, w)
		}},
		{"RepeatUnderANewServerKeyJoinsThePlace", func(s *scene) {
			key := room("r")
			held := s.take(key, time.Hour).Record
			changed, err := lease.NewKeyring(serverKey(2), serverKey(1))
			if err != nil {
				s.Fatal(err)
			}
			a := s.queueUp(key, time.Minute, ttl, s.keyed("k"))
			b := s.queueUp(key, time.Minute, ttl, keyedUnder(changed, "k"))
			s.release(key, held.Ref())
			if x, y := s.answered(lease.Granted, a), s.answered(lease.Granted, b); x.Record.Ref() != y.Record.Ref() {
				s.Error("two leases for one request")
			}
		}},
	}
}
