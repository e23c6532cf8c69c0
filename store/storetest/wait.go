package storetest

import (
	"context"
	"errors"
	"fmt"
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
		{"DoesNotCountTheTimeBeforeTheDecision", func(s *scene) {
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

// Handing over: who gets a name that becomes free while others wait for it.
func handOverScenarios() []scenario {
	ends := []struct {
		name string
		end  func(*scene, lease.Record)
	}{
		{"AfterARelease", func(s *scene, r lease.Record) { s.want(lease.Released, s.release(r.Key, r.Ref())) }},
		{"AfterAnExpiry", func(s *scene, r lease.Record) { s.until(r.Lease.Deadline) }},
		{"AfterAForceRelease", func(s *scene, r lease.Record) { s.want(lease.Released, s.force(r.Key)) }},
		{"AfterAGiveBack", func(s *scene, r lease.Record) { s.giveBack(r.Key, r.Ref()) }},
		{"ThroughALockDelay", func(s *scene, r lease.Record) {
			out := s.want(lease.Released, s.release(r.Key, r.Ref()))
			if free := out.Record.Free; free > out.At.At {
				s.until(free - lease.Instant(tick))
				if s.read(r.Key).Record.Held {
					s.Error("handed over within the delay")
				}
				s.until(free)
			}
		}},
	}
	var scenarios []scenario
	for _, e := range ends {
		scenarios = append(scenarios, scenario{"FirstComeFirstServed" + e.name, func(s *scene) {
			key := lock("l")
			holder := s.take(key, ttl, delayed(5*time.Second)).Record
			var line []*call
			for i := range 5 {
				line = append(line, s.queueUp(key, time.Hour, ttl+time.Duration(i)*time.Second, delayed(5*time.Second)))
			}
			for i, w := range line {
				s.pending(line[i:]...)
				e.end(s, holder)
				out := s.answered(lease.Granted, w)
				s.freshlyGranted(out, ttl+time.Duration(i)*time.Second)
				if out.Record.Term <= holder.Term {
					s.Errorf("term %d after %d", out.Record.Term, holder.Term)
				}
				s.pending(line[i+1:]...)
				s.waiters(key, len(line)-1-i)
				holder = out.Record
			}
		}})
	}
	return append(scenarios, []scenario{
		{"SkipsAWaiterThatHungUp", func(s *scene) {
			key := room("r")
			holder := s.take(key, time.Hour).Record
			gone := s.queueUp(key, time.Minute, ttl)
			next := s.queueUp(key, time.Minute, ttl)
			gone.hangUp()
			s.release(key, holder.Ref())
			s.answered(lease.Granted, next)
			s.told(key, lease.Acquired, lease.WasReleased, lease.Acquired)
		}},
		{"SkipsAWaiterThatHangsUpWhileTheGroupGathers", func(s *scene) {
			key := room("r")
			holder := s.take(key, time.Hour).Record
			gone := s.queueUp(key, time.Minute, ttl)
			next := s.queueUp(key, time.Minute, ttl)
			release := s.hold()
			ended := s.sendRelease(key, holder.Ref())
			s.pending(ended)
			gone.hangUp()
			release()
			s.answered(lease.Released, ended)
			s.answered(lease.Granted, next)
			s.told(key, lease.Acquired, lease.WasReleased, lease.Acquired)
		}},
		{"GivesBackTheGrantOfAWaiterThatHungUpDuringTheCommit", func(s *scene) {
			key := lock("l")
			holder := s.take(key, time.Hour).Record
			gone := s.queueUp(key, time.Minute, ttl, delayed(30*time.Second))
			next := s.queueUp(key, time.Minute, ttl)
			last := s.queueUp(key, time.Minute, ttl)
			letGo := s.Hold()
			ended := s.sendRelease(key, holder.Ref())
			s.pending(ended, gone)
			gone.hangUp()
			letGo()
			s.answered(lease.Released, ended)
			if _, err := s.answer(gone); !errors.Is(err, context.Canceled) {
				s.Errorf("the caller that left got %v", err)
			}
			out := s.answered(lease.Granted, next)
			s.freshlyGranted(out, ttl)
			s.pending(last)
			events := s.told(key, lease.Acquired, lease.WasReleased, lease.Acquired, lease.WasReleased, lease.Acquired)
			if returned := events[3].Record; returned.Free != 0 {
				s.Error("the give-back left a delay")
			}
		}},
		{"KeepsTheGrantOfAWaiterWithAKeyThatHungUpDuringTheCommit", func(s *scene) {
			key := room("r")
			holder := s.take(key, time.Hour).Record
			gone := s.queueUp(key, time.Minute, ttl, s.keyed("k"))
			next := s.queueUp(key, time.Minute, ttl)
			letGo := s.Hold()
			ended := s.sendRelease(key, holder.Ref())
			s.pending(ended, gone)
			gone.hangUp()
			letGo()
			granted := s.told(key, lease.Acquired, lease.WasReleased, lease.Acquired)[2].Record
			found := s.want(lease.Confirmed, s.acquire(key, ttl, s.keyed("k")))
			if found.Record.Ref() != granted.Ref() {
				s.Error("the repeat found another lease")
			}
			s.pending(next)
		}},
		{"GoesToTheWaiterAndNotToANewcomerOfTheSameGroup", func(s *scene) {
			key := room("r")
			holder := s.take(key, time.Hour).Record
			first := s.queueUp(key, time.Minute, ttl)
			second := s.queueUp(key, time.Minute, ttl)
			release := s.hold()
			early := s.sendAcquire(key, time.Minute, ttl)
			s.pending(early)
			ended := s.sendRelease(key, holder.Ref())
			s.pending(ended)
			late := s.sendAcquire(key, time.Minute, ttl)
			s.pending(late)
			impatient := s.sendAcquire(key, 0, ttl, s.keyed("needs a decision"))
			s.pending(impatient)
			release()
			s.answered(lease.Released, ended)
			out := s.answered(lease.Granted, first)
			s.answered(lease.Taken, impatient)
			for _, w := range []*call{second, early, late} {
				s.pending(w)
				s.release(key, out.Record.Ref())
				out = s.answered(lease.Granted, w)
			}
		}},
		{"GoesToTheWaiterAndNotToANewcomerAtTheDeadline", func(s *scene) {
			key := room("r")
			holder := s.take(key, 5*time.Second).Record
			first := s.queueUp(key, time.Minute, ttl)
			release := s.hold()
			s.until(holder.Lease.Deadline)
			newcomer := s.sendAcquire(key, 0, ttl)
			s.pending(newcomer)
			release()
			s.answered(lease.Granted, first)
			s.answered(lease.Taken, newcomer)
			s.told(key, lease.Acquired, lease.Expired, lease.Acquired)
		}},
		{"GoesToTheWaiterAndNotToANewcomerAtTheEndOfADelay", func(s *scene) {
			key := lock("l")
			out := s.release(key, s.take(key, ttl, delayed(5*time.Second)).Record.Ref())
			first := s.queueUp(key, time.Minute, ttl)
			release := s.hold()
			s.until(out.Record.Free)
			newcomer := s.sendAcquire(key, 0, ttl)
			release()
			s.answered(lease.Granted, first)
			s.answered(lease.Taken, newcomer)
		}},
		{"GoesOnThoughAnEarlierWaiterOfTheDelayGaveUp", func(s *scene) {
			key := lock("l")
			out := s.release(key, s.take(key, ttl, delayed(10*time.Second)).Record.Ref())
			s.queueUp(key, time.Second, ttl)
			s.Advance(2 * time.Second) // the only waiter has given up
			first := s.queueUp(key, time.Minute, ttl)
			second := s.queueUp(key, time.Minute, ttl)
			s.until(out.Record.Free)
			granted := s.answered(lease.Granted, first)
			s.pending(second) // has its place still, and is not told that the name is taken
			s.waiters(key, 1)
			s.release(key, granted.Record.Ref())
			s.answered(lease.Granted, second)
		}},
		{"ChecksThatTheWaitIsNotOver", func(s *scene) {
			key := room("r")
			holder := s.take(key, time.Hour).Record
			short := s.queueUp(key, 2*time.Second, ttl)
			next := s.queueUp(key, time.Minute, ttl)
			release := s.hold()
			ended := s.sendRelease(key, holder.Ref())
			s.pending(ended)
			s.Advance(3 * time.Second)
			release()
			s.answered(lease.Granted, next)
			s.answered(lease.Taken, short)
		}},
		{"GoesFromOneToTheNextInOneStep", func(s *scene) {
			key := room("r")
			holder := s.take(key, time.Hour).Record
			w := s.queueUp(key, time.Minute, ttl)
			s.Advance(7 * time.Second)
			out := s.release(key, holder.Ref())
			granted := s.answered(lease.Granted, w)
			if granted.At != out.At {
				s.Errorf("released at %v, granted at %v: there was a moment in between", out.At, granted.At)
			}
			if granted.Record.Revision != out.Record.Revision+1 {
				s.Errorf("revision %d after %d", granted.Record.Revision, out.Record.Revision)
			}
		}},
		{"GoesThroughAWholeLineOfExpiries", func(s *scene) {
			key := room("r")
			holder := s.take(key, ttl).Record
			var line []*call
			for range 6 {
				line = append(line, s.queueUp(key, time.Hour, ttl))
			}
			for _, w := range line {
				s.until(holder.Lease.Deadline)
				holder = s.answered(lease.Granted, w).Record
			}
			s.promptly()
		}},
		{"SkipsAWholeLineThatIsGone", func(s *scene) {
			key := room("r")
			holder := s.take(key, time.Hour).Record
			for range 20 {
				s.queueUp(key, time.Minute, ttl).hangUp()
				s.Settle()
			}
			s.release(key, holder.Ref())
			if s.read(key).Record.Held {
				s.Error("somebody who is gone got the name")
			}
			s.take(key, ttl)
		}},
		{"DoesNotMixNames", func(s *scene) {
			var holders []lease.Record
			var line []*call
			for i := range 8 {
				key := room(fmt.Sprint("r", i))
				holders = append(holders, s.take(key, time.Hour).Record)
				line = append(line, s.queueUp(key, time.Minute, ttl))
			}
			for i, h := range holders {
				s.pending(line[i:]...)
				s.release(h.Key, h.Ref())
				if out := s.answered(lease.Granted, line[i]); out.Record.Key != h.Key {
					s.Errorf("got %q, waited for %q", out.Record.Key.Name(), h.Key.Name())
				}
			}
		}},
	}...)
}

// freshlyGranted checks that a waiter got its full TTL from the grant.
func (s *scene) freshlyGranted(out lease.Outcome, ttl time.Duration) {
	s.Helper()
	if !out.Waited {
		s.Error("the answer does not say that its caller waited")
	}
	if got := out.Record.Lease.Deadline.Sub(out.At.At); got != guarded(ttl) {
		s.Errorf("the deadline is %v after the grant, want %v", got, guarded(ttl))
	}
	if now := s.now().At; out.At.At > now || now.Sub(out.At.At) > prompt {
		s.Errorf("granted at %v, it is %v", out.At.At, now)
	}
}
