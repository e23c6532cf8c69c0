package storetest

import (
	"fmt"
	"time"

	"github.com/octostore/octostore/lease"
)

func idempotencyScenarios() []scenario {
	return []scenario{
		{"RepeatFindsTheSameLeaseAndExtendsIt", func(s *scene) {
			key := room("r")
			first := s.take(key, ttl, s.keyed("k", "a"))
			s.Advance(4 * time.Second)
			out := s.want(lease.Confirmed, s.acquire(key, ttl, s.keyed("k", "a")))
			if out.Record.Ref() != first.Record.Ref() {
				s.Errorf("the repeat found %v, the first got %v", out.Record.Ref(), first.Record.Ref())
			}
			s.lasts(ttl, out)
			s.unchanged(out.Record)
			s.told(key, lease.Acquired, lease.Renewed)
		}},
		{"RepeatNeverShortens", func(s *scene) {
			key := room("r")
			first := s.take(key, ttl, s.keyed("k")).Record
			long := s.renew(key, first.Ref(), time.Hour).Record
			out := s.want(lease.Confirmed, s.acquire(key, ttl, s.keyed("k")))
			if out.Record.Lease.Deadline != long.Lease.Deadline || out.Record.Lease.TTL != time.Hour {
				s.Errorf("deadline %v, want %v as before", out.Record.Lease.Deadline, long.Lease.Deadline)
			}
		}},
		{"ManyRepeatsSpendNoTerm", func(s *scene) {
			key := room("r")
			first := s.take(key, ttl, s.keyed("k")).Record
			for range 20 {
				s.Advance(ttl)
				if out := s.want(lease.Confirmed, s.acquire(key, ttl, s.keyed("k"))); out.Record.Term != first.Term {
					s.Fatalf("term %d, want %d", out.Record.Term, first.Term)
				}
			}
		}},
		{"OtherParametersConflict", func(s *scene) {
			key := room("r")
			rec := s.take(key, ttl, s.keyed("k", "a", "b")).Record
			for _, params := range [][]string{nil, {"a"}, {"b", "a"}, {"ab"}, {"a", "b", ""}} {
				s.want(lease.Conflict, s.acquire(key, ttl, s.keyed("k", params...)))
			}
			s.unchanged(rec)
		}},
		{"OtherKeyIsAnotherCaller", func(s *scene) {
			key := room("r")
			s.take(key, ttl, s.keyed("k"))
			s.want(lease.Taken, s.acquire(key, ttl, s.keyed("K")))
			s.want(lease.Taken, s.acquire(key, ttl))
		}},
		{"KeyOfAnotherScopeLearnsNothing", func(s *scene) {
			key := room("r")
			scoped := func(scope string) option {
				return func(a *lease.Acquire) { a.Idem = s.ring.Repeatable([]string{scope, "k"}, nil) }
			}
			rec := s.take(key, ttl, scoped("one")).Record
			with := s.want(lease.Taken, s.acquire(key, ttl, scoped("two")))
			without := s.want(lease.Taken, s.acquire(key, ttl))
			if d := diff(without.Record, with.Record); d != "" {
				s.Errorf("the same key in another scope is answered differently:\n%s", d)
			}
			s.release(key, rec.Ref())
			s.take(key, ttl, scoped("two"))
		}},
		{"KeyOfAnotherNameIsNew", func(s *scene) {
			s.take(room("a"), ttl, s.keyed("k"))
			s.take(room("b"), ttl, s.keyed("k"))
		}},
		{"AfterTheLeaseEndedItConflictsAndNeverRevives", func(s *scene) {
			for name, end := range map[string]func(lease.Key, lease.Record){
				"release":       func(k lease.Key, r lease.Record) { s.release(k, r.Ref()) },
				"force-release": func(k lease.Key, _ lease.Record) { s.force(k) },
				"expiry":        func(_ lease.Key, r lease.Record) { s.until(r.Lease.Deadline) },
			} {
				key := room("after-" + name)
				rec := s.take(key, ttl, s.keyed("k", "a")).Record
				end(key, rec)
				after := s.read(key).Record
				s.want(lease.Conflict, s.acquire(key, ttl, s.keyed("k", "a")))
				s.want(lease.Conflict, s.acquire(key, ttl, s.keyed("k", "b")))
				s.unchanged(after)

				successor := s.take(key, ttl).Record
				s.want(lease.Conflict, s.acquire(key, ttl, s.keyed("k", "a")))
				s.unchanged(successor)
			}
		}},
		{"EndIsJudgedWhenItIsDecided", func(s *scene) {
			key := room("r")
			rec := s.take(key, 5*time.Second, s.keyed("k")).Record
			release := s.hold()
			repeat := s.sendAcquire(key, 0, 5*time.Second, s.keyed("k"))
			s.pending(repeat)
			s.until(rec.Lease.Deadline)
			release()
			s.answered(lease.Conflict, repeat)
			s.told(key, lease.Acquired, lease.Expired)
		}},
		{"KeyIsANewOneOnceALaterLeaseHasEnded", func(s *scene) {
			key := room("r")
			first := s.take(key, ttl, s.keyed("k")).Record
			s.release(key, first.Ref())
			s.release(key, s.take(key, ttl).Record.Ref())
			if again := s.take(key, ttl, s.keyed("k")).Record; again.Term <= first.Term {
				s.Errorf("term %d after %d", again.Term, first.Term)
			}
		}},
		{"KeyUnderAPreviousServerKeyStillMatches", func(s *scene) {
			key := room("r")
			ring := func(current byte, previous ...byte) *lease.Keyring {
				var older [][]byte
				for _, p := range previous {
					older = append(older, serverKey(p))
				}
				r, err := lease.NewKeyring(serverKey(current), older...)
				if err != nil {
					s.Fatal(err)
				}
				return r
			}
			first := s.take(key, ttl, keyedUnder(ring(1), "k", "a")).Record
			changed := ring(2, 3, 1)
			out := s.want(lease.Confirmed, s.acquire(key, ttl, keyedUnder(changed, "k", "a")))
			if out.Record.Ref() != first.Ref() {
				s.Error("found another lease")
			}
			s.want(lease.Conflict, s.acquire(key, ttl, keyedUnder(changed, "k", "b")))
			s.want(lease.Taken, s.acquire(key, ttl, keyedUnder(ring(2, 3), "k", "a")))
			s.release(key, first.Ref())
			s.want(lease.Conflict, s.acquire(key, ttl, keyedUnder(changed, "k", "a")))
		}},
		{"RepeatWhileTheFirstIsQueuedGetsTheSameGrant", func(s *scene) {
			key := room("r")
			release := s.hold()
			a := s.sendAcquire(key, 0, ttl, s.keyed("k"))
			b := s.sendAcquire(key, 0, ttl, s.keyed("k"))
			s.pending(a, b)
			release()
			first, second := s.oneGrant(key, a, b)
			if first.Record.Ref() != second.Record.Ref() {
				s.Errorf("two leases: %v and %v", first.Record.Ref(), second.Record.Ref())
			}
		}},
	}
}

// oneGrant returns the answers of two calls of which one was granted the name
// and the other found its lease.
func (s *scene) oneGrant(key lease.Key, a, b *call) (granted, found *lease.Outcome) {
	s.Helper()
	out, err := s.answer(a)
	if err != nil {
		s.Fatal(err)
	}
	if out.Verdict != lease.Granted {
		a, b = b, a
	}
	granted, found = s.answered(lease.Granted, a), s.answered(lease.Confirmed, b)
	s.told(key, lease.Acquired, lease.Renewed)
	return granted, found
}

func quotaScenarios() []scenario {
	return []scenario{
		{"RefusesTheGrantThatWouldBeOneTooMany", func(s *scene) {
			for i := range 3 {
				s.take(room(fmt.Sprint("r", i)), ttl, limited(3))
			}
			key := room("one-more")
			s.want(lease.Full, s.acquire(key, ttl, limited(3)))
			if rec := s.read(key).Record; rec.Revision != 0 {
				s.Errorf("a refusal made a row: %+v", rec)
			}
			s.take(key, ttl, limited(4))
			s.take(room("unlimited"), ttl)
		}},
		{"IsFreedByARelease", func(s *scene) {
			ref := s.take(room("a"), ttl, limited(1)).Record.Ref()
			s.want(lease.Full, s.acquire(room("b"), ttl, limited(1)))
			s.release(room("a"), ref)
			s.release(room("a"), ref) // repeated: frees nothing more
			s.take(room("b"), ttl, limited(1))
			s.want(lease.Full, s.acquire(room("a"), ttl, limited(1)))
		}},
		{"IsFreedByForceAndGiveBack", func(s *scene) {
			s.take(room("a"), ttl, limited(1))
			s.force(room("a"))
			s.giveBack(room("b"), s.take(room("b"), ttl, limited(1)).Record.Ref())
			s.take(room("c"), ttl, limited(1))
		}},
		{"IsFreedByExpiry", func(s *scene) {
			rec := s.take(room("a"), ttl, limited(1)).Record
			s.until(rec.Lease.Deadline - lease.Instant(tick))
			s.want(lease.Full, s.acquire(room("b"), ttl, limited(1)))
			s.until(rec.Lease.Deadline)
			s.take(room("b"), ttl, limited(1))
		}},
		{"IsFreedByAnExpiryThatNobodyHasRecordedYet", func(s *scene) {
			rec := s.take(room("a"), 5*time.Second).Record
			release := s.hold() // holds one lease itself
			s.until(rec.Lease.Deadline)
			c := s.sendAcquire(room("b"), 0, ttl, limited(2))
			s.pending(c)
			release()
			s.answered(lease.Granted, c)
		}},
		{"IsNotMetByAnOccupiedName", func(s *scene) {
			s.take(room("a"), ttl, limited(1))
			s.want(lease.Taken, s.acquire(room("a"), ttl, limited(1)))
			s.queueUp(room("a"), time.Second, ttl, limited(1))
		}},
		{"IsNotMetByTheHolder", func(s *scene) {
			ref := s.take(room("a"), ttl, limited(1), s.keyed("k")).Record.Ref()
			s.want(lease.Confirmed, s.acquire(room("a"), ttl, limited(1), s.keyed("k")))
			s.want(lease.Confirmed, s.renew(room("a"), ref, 0))
		}},
		{"CountsEachKindAndTenantApart", func(s *scene) {
			for _, tenant := range []string{"a", "b"} {
				s.take(lease.LockKey(tenant, "one"), ttl, limited(1))
				s.want(lease.Full, s.acquire(lease.LockKey(tenant, "two"), ttl, limited(1)))
			}
			s.take(room("one"), ttl, limited(1))
		}},
		{"IsCountedAgainWhenAWaiterGetsTheName", func(s *scene) {
			a := s.take(room("a"), ttl).Record
			w := s.queueUp(room("a"), time.Minute, ttl, limited(1))
			s.take(room("b"), ttl)
			s.release(room("a"), a.Ref())
			s.answered(lease.Full, w)
			if s.read(room("a")).Record.Held {
				s.Error("the waiter got the name although the scope is full")
			}
		}},
		{"SurvivesStopsOfEveryKind", func(s *scene) {
			s.take(room("a"), time.Hour)
			b := s.take(room("b"), time.Hour).Record
			for _, how := range []Stop{CleanStop, Crash, Reboot} {
				s.Reopen(how, time.Second)
				s.want(lease.Full, s.acquire(room("c"), ttl, limited(2)))
			}
			s.release(room("b"), b.Ref())
			s.take(room("c"), ttl, limited(2))
		}},
	}
}
