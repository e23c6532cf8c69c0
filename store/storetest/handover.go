package storetest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/octostore/octostore/lease"
)

// Handing over: who gets a name that becomes free while others wait for it.
func handOverScenarios() []scenario {
	ends := []struct {
		name  string
		delay time.Duration
		end   func(*scene, lease.Record)
	}{
		{"AfterARelease", 0, func(s *scene, r lease.Record) { s.want(lease.Released, s.release(r.Key, r.Ref())) }},
		{"AfterAnExpiry", 0, func(s *scene, r lease.Record) { s.until(r.Lease.Deadline) }},
		{"AfterAForceRelease", 0, func(s *scene, r lease.Record) { s.want(lease.Released, s.force(r.Key)) }},
		{"AfterAGiveBack", 5 * time.Second, func(s *scene, r lease.Record) { s.giveBack(r.Key, r.Ref()) }},
		{"ThroughALockDelay", 5 * time.Second, func(s *scene, r lease.Record) {
			out := s.want(lease.Released, s.release(r.Key, r.Ref()))
			s.until(out.Record.Free - lease.Instant(tick))
			if s.read(r.Key).Record.Held {
				s.Error("handed over within the delay")
			}
			s.until(out.Record.Free)
		}},
	}
	var scenarios []scenario
	for _, e := range ends {
		scenarios = append(scenarios, scenario{"FirstComeFirstServed" + e.name, func(s *scene) {
			key := lock("l")
			holder := s.take(key, ttl, delayed(e.delay)).Record
			var line []*call
			for i := range 5 {
				line = append(line, s.queueUp(key, time.Hour, ttl+time.Duration(i)*time.Second, delayed(e.delay)))
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
func (s *scene) freshlyGranted(out *lease.Outcome, ttl time.Duration) {
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
