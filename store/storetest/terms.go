package storetest

import (
	"fmt"
	"time"

	"github.com/octostore/octostore/lease"
)

func termScenarios() []scenario {
	return []scenario{
		{"RiseAcrossEveryWayToEnd", func(s *scene) {
			key := lock("l")
			var last lease.Term
			for round := range 3 {
				for name, end := range map[string]func(lease.Record){
					"release":       func(r lease.Record) { s.release(key, r.Ref()) },
					"give-back":     func(r lease.Record) { s.giveBack(key, r.Ref()) },
					"force-release": func(lease.Record) { s.force(key) },
					"expiry":        func(r lease.Record) { s.until(r.Lease.Deadline) },
				} {
					rec := s.take(key, ttl).Record
					if rec.Term <= last {
						s.Fatalf("round %d: term %d after %d, before the %s", round, rec.Term, last, name)
					}
					last = rec.Term
					end(rec)
				}
			}
		}},
		{"AreOneMoreThanTheLastWhenTheWallClockWentBack", func(s *scene) {
			key := room("r")
			first := s.take(key, ttl).Record
			s.release(key, first.Ref())
			s.StepWall(-day)
			second := s.take(key, ttl).Record
			if second.Term != first.Term+1 {
				s.Errorf("term %d, want one more than %d", second.Term, first.Term)
			}
			s.release(key, second.Ref())
			s.StepWall(2 * day)
			third := s.take(key, ttl)
			if want := lease.Term(third.At.Wall); third.Record.Term != want {
				s.Errorf("term %d, want the wall clock, %d", third.Record.Term, want)
			}
		}},
		{"RiseAcrossStopsOfEveryKind", func(s *scene) {
			key := lock("l")
			var last lease.Term
			for range 2 {
				for _, how := range []Stop{CleanStop, Crash, Reboot} {
					rec := s.take(key, ttl).Record
					if rec.Term <= last {
						s.Fatalf("term %d after %d", rec.Term, last)
					}
					last = rec.Term
					s.StepWall(-day)
					s.Reopen(how, time.Second)
					s.want(lease.Released, s.release(key, rec.Ref()))
				}
			}
		}},
		{"RiseAcrossCleanUp", func(s *scene) {
			for _, how := range []Stop{0, CleanStop, Crash, Reboot} {
				key := room("cleaned-before-" + how.String())
				rec := s.take(key, ttl).Record
				s.release(key, rec.Ref())
				s.crowdOut(key)
				s.StepWall(-day)
				if how != 0 {
					s.Reopen(how, time.Second)
				}
				if next := s.take(key, ttl).Record; next.Term <= rec.Term {
					s.Fatalf("%v: term %d after %d", how, next.Term, rec.Term)
				}
				s.StepWall(day)
			}
		}},
		{"AreSpentOnGrantsAlone", func(s *scene) {
			key := room("r")
			s.StepWall(-day) // so that the next one is the last + 1
			first := s.take(key, ttl).Record
			s.StepWall(-day)
			s.renew(key, first.Ref(), 0)
			s.want(lease.Taken, s.acquire(key, ttl))
			s.want(lease.NotCurrent, s.renew(key, lease.Ref{}, 0))
			s.release(key, first.Ref())
			if second := s.take(key, ttl).Record; second.Term != first.Term+1 {
				s.Errorf("term %d after %d", second.Term, first.Term)
			}
		}},
	}
}

// crowdOut makes so many ended names that the row of key is cleaned up.
func (s *scene) crowdOut(key lease.Key) {
	s.Helper()
	for i := range 2*s.MaxIdle + 1 {
		other := room(fmt.Sprintf("crowd-%s-%d", key.Name(), i))
		s.release(other, s.take(other, ttl).Record.Ref())
	}
	s.Advance(2 * time.Second)
	if rec := s.read(key).Record; rec.Term != 0 || rec.Revision != 0 {
		s.Fatalf("the row was not cleaned up: %+v", rec)
	}
}

func revisionScenarios() []scenario {
	return []scenario{
		{"RiseByOneWhileTheRowLives", func(s *scene) {
			key := lock("l")
			s.StepWall(-day)
			first := s.take(key, ttl)
			next := first.Record.Revision
			step := func(rec lease.Record) {
				s.Helper()
				if next++; rec.Revision != next {
					s.Fatalf("revision %d, want %d", rec.Revision, next)
				}
			}
			s.StepWall(day) // does not matter any more
			step(s.renew(key, first.Record.Ref(), 0).Record)
			step(s.acquire(key, ttl, proving(first.Record.Ref())).Record)
			step(s.release(key, first.Record.Ref()).Record)
			second := s.take(key, ttl).Record
			step(second)
			s.until(second.Lease.Deadline)
			step(s.read(key).Record)
			step(s.take(key, ttl).Record)
			step(s.force(key).Record)
			for i, e := range s.Events.Of(key) {
				if i > 0 && (e.Revision != first.Record.Revision+int64(i) || e.Previous != e.Revision-1) {
					s.Errorf("event %d has revision %d after %d", i, e.Revision, e.Previous)
				}
			}
		}},
		{"StayWhereTheyAreWhenNothingHappens", func(s *scene) {
			key := room("r")
			rec := s.take(key, ttl).Record
			s.acquire(key, ttl)
			s.renew(key, lease.Ref{}, 0)
			s.release(key, lease.Ref{})
			s.unchanged(rec)
		}},
		{"BeginAnewWithANewRow", func(s *scene) {
			key := room("r")
			s.release(key, s.take(key, ttl).Record.Ref())
			s.crowdOut(key)
			out := s.take(key, ttl)
			if got, want := out.Record.Revision, int64(out.At.Wall); got != want {
				s.Errorf("revision %d, want the Unix microseconds, %d", got, want)
			}
			events := s.Events.Of(key)
			if e := events[len(events)-1]; e.Previous != 0 {
				s.Errorf("a new row's first event comes after revision %d", e.Previous)
			}
		}},
	}
}

// Ended names are remembered for a while, and then only by the floor.
func cleanUpScenarios() []scenario {
	forget := func(s *scene, key lease.Key, forgotten bool) {
		s.Helper()
		if rec := s.read(key).Record; (rec.Revision == 0) != forgotten {
			s.Fatalf("%q: forgotten %v, want %v", key.Name(), rec.Revision == 0, forgotten)
		}
	}
	return []scenario{
		{"RemembersARoomForAnHour", func(s *scene) {
			key := room("r")
			rec := s.take(key, ttl).Record
			s.release(key, rec.Ref())
			s.Advance(time.Hour - 2*time.Second)
			s.want(lease.Repeated, s.release(key, rec.Ref()))
			s.Advance(4 * time.Second)
			forget(s, key, true)
			s.want(lease.NotCurrent, s.release(key, rec.Ref()))
		}},
		{"RemembersALockForLonger", func(s *scene) {
			key := lock("l")
			rec := s.take(key, ttl).Record
			s.release(key, rec.Ref())
			s.Advance(time.Hour + time.Minute)
			s.want(lease.Repeated, s.release(key, rec.Ref()))
		}},
		{"DropsTheOldestAfterTenMinutesWhenThereAreMany", func(s *scene) {
			var keys []lease.Key
			for i := range s.MaxIdle + 2 {
				keys = append(keys, room(fmt.Sprint("r", i)))
				s.release(keys[i], s.take(keys[i], ttl).Record.Ref())
			}
			s.Advance(10*time.Minute - time.Second)
			forget(s, keys[0], false)
			s.Advance(3 * time.Second)
			forget(s, keys[0], true)
			forget(s, keys[1], true)
			forget(s, keys[2], false)
		}},
		{"DropsTheOldestAtOnceWhenThereAreTooMany", func(s *scene) {
			keep := room("held")
			held := s.take(keep, time.Hour).Record
			first := room("first")
			s.release(first, s.take(first, ttl).Record.Ref())
			s.crowdOut(first)
			s.unchanged(held)
		}},
		{"NeverDropsANameThatCools", func(s *scene) {
			key := lock("l")
			s.release(key, s.take(key, ttl, delayed(30*time.Second)).Record.Ref())
			for i := range 2*s.MaxIdle + 1 {
				other := lock(fmt.Sprint("crowd-", i))
				s.release(other, s.take(other, ttl).Record.Ref())
			}
			s.Advance(2 * time.Second)
			s.want(lease.Delayed, s.acquire(key, ttl))
		}},
		{"ForgetsTheKeyWithTheRow", func(s *scene) {
			key := room("r")
			s.release(key, s.take(key, ttl, s.keyed("k")).Record.Ref())
			s.want(lease.Conflict, s.acquire(key, ttl, s.keyed("k")))
			s.crowdOut(key)
			s.take(key, ttl, s.keyed("k"))
		}},
	}
}
