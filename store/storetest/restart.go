package storetest

import (
	"time"

	"github.com/octostore/octostore/lease"
)

// What a stop on the same boot leaves as it was: everything.
func restartScenarios() []scenario {
	var scenarios []scenario
	for _, how := range []Stop{CleanStop, Crash} {
		for _, sc := range restartsBy(how) {
			scenarios = append(scenarios, scenario{sc.name + "After" + how.String(), sc.play})
		}
	}
	return scenarios
}

func restartsBy(how Stop) []scenario {
	return []scenario{
		{"EveryFieldIsThere", func(s *scene) {
			a, b, c, d := room("a"), lock("b"), lock("c"), room("d")
			s.take(a, time.Hour, labelled("", ""), s.keyed("k", "p"))
			s.renew(a, s.read(a).Record.Ref(), 30*time.Minute)
			s.take(b, time.Hour, labelled("worker é", "notes \U0001f419"), func(r *lease.Acquire) {
				r.Bound = &lease.Binding{
					Principal: "p", Session: s.ring.Digest("session", "x"), Ephemeral: true, LockDelay: 7 * time.Second,
				}
			})
			s.release(c, s.take(c, time.Hour, delayed(time.Minute), s.keyed("k")).Record.Ref())
			s.take(d, time.Hour)
			s.force(d)
			s.take(d, time.Hour)
			var before []lease.Record
			for _, key := range []lease.Key{a, b, c, d} {
				before = append(before, s.read(key).Record)
			}
			s.Reopen(how, 3*time.Second)
			for _, was := range before {
				s.unchanged(was)
			}
		}},
		{"DeadlineIsTheSameToTheInstant", func(s *scene) {
			key := room("r")
			rec := s.take(key, 30*time.Second).Record
			s.Advance(2 * time.Second)
			s.Reopen(how, 3*time.Second)
			s.unchanged(rec)
			read := s.read(key)
			if left := read.Record.Remaining(read.At.At); left > 25*time.Second+lease.MinGuard {
				s.Errorf("%v remain 5 s after a grant of 30 s", left)
			}
			s.want(lease.Taken, s.acquire(key, ttl))
			if out := s.want(lease.Confirmed, s.renew(key, rec.Ref(), 0)); out.Record.Term != rec.Term {
				s.Errorf("term %d, want %d", out.Record.Term, rec.Term)
			}
		}},
		{"RestartsDoNotAddUp", func(s *scene) {
			key := room("r")
			rec := s.take(key, ttl).Record
			for range 3 {
				s.Advance(2 * time.Second)
				s.Reopen(how, time.Second)
				s.want(lease.Taken, s.acquire(key, ttl))
			}
			s.until(rec.Lease.Deadline - lease.Instant(tick))
			s.want(lease.Taken, s.acquire(key, ttl))
			s.until(rec.Lease.Deadline)
			s.take(key, ttl)
		}},
		{"ExpiryInTheDowntimeIsToldAtTheStart", func(s *scene) {
			key := room("r")
			rec := s.take(key, 5*time.Second).Record
			s.Advance(time.Second)
			s.Reopen(how, 20*time.Second)
			s.Advance(prompt)
			e := s.told(key, lease.Acquired, lease.Expired)[1]
			if e.At.At != rec.Lease.Deadline || e.Revision != rec.Revision+1 || e.Previous != rec.Revision {
				s.Errorf("told as of %v with revision %d after %d; want %v, %d, %d",
					e.At.At, e.Revision, e.Previous, rec.Lease.Deadline, rec.Revision+1, rec.Revision)
			}
			s.Reopen(how, time.Second)
			s.told(key, lease.Acquired, lease.Expired) // and only once
		}},
		{"FirstRequestDoesNotReviveWhatEndedInTheDowntime", func(s *scene) {
			key := room("r")
			rec := s.take(key, 2*time.Second).Record
			s.Reopen(how, 5*time.Second)
			s.want(lease.NotCurrent, s.renew(key, rec.Ref(), 0))
			if next := s.take(key, ttl).Record; next.Term <= rec.Term {
				s.Errorf("term %d after %d", next.Term, rec.Term)
			}
			s.want(lease.NotCurrent, s.renew(key, rec.Ref(), 0))
			s.told(key, lease.Acquired, lease.Expired, lease.Acquired)
		}},
		{"DelayAfterAnExpiryInTheDowntimeCountsFromTheDeadline", func(s *scene) {
			key := lock("l")
			rec := s.take(key, 5*time.Second, delayed(30*time.Second)).Record
			s.Reopen(how, 15*time.Second)
			out := s.want(lease.Delayed, s.acquire(key, ttl))
			free := rec.Lease.Deadline.Add(30 * time.Second)
			if got := out.Record.GrantableAt(); got != free {
				s.Errorf("free at %v, want %v", got, free)
			}
			w := s.queueUp(key, time.Minute, ttl)
			s.until(free - lease.Instant(tick))
			s.pending(w)
			s.until(free)
			s.answered(lease.Granted, w)
		}},
		{"DelayGoesOn", func(s *scene) {
			key := lock("l")
			out := s.release(key, s.take(key, ttl, delayed(30*time.Second)).Record.Ref())
			s.Reopen(how, 10*time.Second)
			s.want(lease.Delayed, s.acquire(key, ttl))
			s.until(out.At.At.Add(30*time.Second) - lease.Instant(tick))
			s.want(lease.Delayed, s.acquire(key, ttl))
			s.until(out.At.At.Add(30 * time.Second))
			s.take(key, ttl)
		}},
		{"RepeatsAreRemembered", func(s *scene) {
			live, ended := room("live"), room("ended")
			first := s.take(live, time.Hour, s.keyed("k", "a")).Record
			past := s.take(ended, ttl, s.keyed("k", "a")).Record
			s.release(ended, past.Ref())
			s.Reopen(how, time.Second)
			out := s.want(lease.Confirmed, s.acquire(live, ttl, s.keyed("k", "a")))
			if out.Record.Ref() != first.Ref() {
				s.Error("the repeat found another lease")
			}
			s.want(lease.Conflict, s.acquire(live, ttl, s.keyed("k", "b")))
			s.want(lease.Conflict, s.acquire(ended, ttl, s.keyed("k", "a")))
			s.want(lease.Repeated, s.release(ended, past.Ref()))
		}},
		{"RevisionsGoOnByOne", func(s *scene) {
			key := room("r")
			rec := s.take(key, time.Hour).Record
			for range 3 {
				s.Reopen(how, time.Second)
				next := s.renew(key, rec.Ref(), 0).Record
				if next.Revision != rec.Revision+1 {
					s.Fatalf("revision %d after %d", next.Revision, rec.Revision)
				}
				rec = next
			}
		}},
		{"OldestAreCleanedUpFirst", func(s *scene) {
			// The order in which names ended is not the order of their rows.
			older, newer := room("older"), room("newer")
			s.take(newer, time.Hour)
			s.release(older, s.take(older, time.Hour).Record.Ref())
			s.Advance(30 * time.Minute)
			s.force(newer)
			s.Reopen(how, time.Second)
			s.Advance(30*time.Minute + time.Minute)
			if rec := s.read(older).Record; rec.Revision != 0 {
				s.Error("a name that ended more than an hour ago is still there")
			}
			if rec := s.read(newer).Record; rec.Revision == 0 {
				s.Error("a name that ended half an hour ago is gone")
			}
		}},
	}
}

// What a reboot does: nobody knows how long it took, so whoever holds gets the
// full time once more and never less.
func rebootScenarios() []scenario {
	return []scenario{
		{"GivesEachLiveLeaseItsFullTTL", func(s *scene) {
			a, b := room("a"), lock("b")
			recs := []lease.Record{s.take(a, 30*time.Second).Record, s.take(b, 10*time.Minute).Record}
			s.Advance(20 * time.Second)
			before := s.now()
			s.Reopen(Reboot, time.Second)
			if s.now().At >= before.At {
				s.Fatal("the deciding clock did not start anew")
			}
			for i, ttl := range []time.Duration{30 * time.Second, 10 * time.Minute} {
				key := recs[i].Key
				read := s.read(key)
				if left := read.Record.Remaining(read.At.At); left > guarded(ttl) || left < guarded(ttl)-prompt {
					s.Errorf("%v remain of %v", left, guarded(ttl))
				}
				if read.Record.Ref() != recs[i].Ref() {
					s.Error("another lease than before")
				}
				if got, want := read.Record.ExpiresAt(read.At), read.At.Wall.Add(ttl); got > want || got < want.Add(-prompt) {
					s.Errorf("expires at %v, want %v", got.Time(), want.Time())
				}
			}
			s.want(lease.Taken, s.acquire(a, ttl))
			s.until(s.read(a).Record.Lease.Deadline - lease.Instant(tick))
			s.want(lease.Confirmed, s.renew(a, recs[0].Ref(), 0))
			s.until(s.read(a).Record.Lease.Deadline)
			s.want(lease.NotCurrent, s.renew(a, recs[0].Ref(), 0))
		}},
		{"RunsEachDelayInFull", func(s *scene) {
			key := lock("l")
			s.release(key, s.take(key, ttl, delayed(30*time.Second)).Record.Ref())
			s.Advance(20 * time.Second)
			s.Reopen(Reboot, time.Second)
			free := s.want(lease.Delayed, s.acquire(key, ttl)).Record.GrantableAt()
			if left := free.Sub(s.now().At); left > 30*time.Second || left < 30*time.Second-prompt {
				s.Errorf("%v remain of a delay of 30 s", left)
			}
			s.until(free - lease.Instant(tick))
			s.want(lease.Delayed, s.acquire(key, ttl))
			s.until(free)
			s.take(key, ttl)
		}},
		{"DoesNotBringBackADelayThatWasOver", func(s *scene) {
			key := lock("l")
			s.release(key, s.take(key, ttl, delayed(time.Second)).Record.Ref())
			s.Advance(2 * time.Second)
			s.take(room("later"), time.Hour) // so that the end of the delay is known to have passed
			s.Reopen(Reboot, time.Second)
			s.take(key, ttl)
		}},
		{"LeavesEndedLeasesEnded", func(s *scene) {
			ended := map[lease.Verdict]lease.Record{}
			rec := s.take(room("released"), ttl).Record
			s.release(rec.Key, rec.Ref())
			ended[lease.Repeated] = rec
			rec = s.take(room("expired"), ttl).Record
			s.until(rec.Lease.Deadline)
			ended[lease.NotCurrent] = rec
			s.Reopen(Reboot, time.Second)
			for want, rec := range ended {
				if s.read(rec.Key).Record.Held {
					s.Errorf("%q is held again", rec.Key.Name())
				}
				s.want(lease.NotCurrent, s.renew(rec.Key, rec.Ref(), 0))
				s.want(want, s.release(rec.Key, rec.Ref()))
			}
		}},
		{"RebasesRevisions", func(s *scene) {
			key := room("r")
			rec := s.take(key, time.Hour).Record
			s.Advance(time.Minute)
			s.Reopen(Reboot, time.Second)
			out := s.renew(key, rec.Ref(), 0)
			if want := int64(out.At.Wall); out.Record.Revision != want {
				s.Errorf("revision %d, want the Unix microseconds, %d", out.Record.Revision, want)
			}
			if next := s.renew(key, rec.Ref(), 0); next.Record.Revision != out.Record.Revision+1 {
				s.Errorf("revision %d after %d: rebased more than once", next.Record.Revision, out.Record.Revision)
			}
			events := s.told(key, lease.Acquired, lease.Renewed, lease.Renewed)
			if events[1].Previous != rec.Revision {
				s.Errorf("the jump comes after revision %d, want %d", events[1].Previous, rec.Revision)
			}
		}},
		{"CanHappenAgainAndAgain", func(s *scene) {
			key := room("r")
			rec := s.take(key, ttl).Record
			for range 3 {
				s.Advance(9 * time.Second)
				s.Reopen(Reboot, time.Second)
			}
			s.want(lease.Confirmed, s.renew(key, rec.Ref(), 0))
			s.Reopen(Crash, 5*time.Second)
			s.want(lease.Confirmed, s.renew(key, rec.Ref(), 0))
			s.Reopen(CleanStop, 15*time.Second) // the same boot: this time the downtime counts
			s.want(lease.NotCurrent, s.renew(key, rec.Ref(), 0))
		}},
		{"RemembersRepeats", func(s *scene) {
			rec := s.take(room("live"), ttl, s.keyed("k")).Record
			past := s.take(room("ended"), ttl, s.keyed("k")).Record
			s.release(past.Key, past.Ref())
			s.Reopen(Reboot, time.Second)
			if out := s.want(lease.Confirmed, s.acquire(rec.Key, ttl, s.keyed("k"))); out.Record.Ref() != rec.Ref() {
				s.Error("the repeat found another lease")
			}
			s.want(lease.Conflict, s.acquire(past.Key, ttl, s.keyed("k")))
			s.want(lease.Repeated, s.release(past.Key, past.Ref()))
		}},
		{"WaitsOutTheFullTTLBeforeTheNextGrant", func(s *scene) {
			key := room("r")
			s.take(key, ttl)
			s.Advance(9 * time.Second)
			s.Reopen(Reboot, time.Second)
			w := s.queueUp(key, time.Minute, ttl)
			deadline := s.read(key).Record.Lease.Deadline
			s.until(deadline - lease.Instant(tick))
			s.pending(w)
			s.until(deadline)
			s.answered(lease.Granted, w)
		}},
	}
}
