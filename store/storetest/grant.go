package storetest

import (
	"time"

	"github.com/octostore/octostore/lease"
)

func grantScenarios() []scenario {
	return []scenario{
		{"LivesForTTLAndGuardFromTheDecision", func(s *scene) {
			for _, c := range []struct{ ttl, guard time.Duration }{
				{time.Second, 50 * time.Millisecond},
				{30 * time.Second, 50 * time.Millisecond},
				{5 * time.Minute, 300 * time.Millisecond},
				{time.Hour, 3600 * time.Millisecond},
			} {
				key := room("of-" + c.ttl.String())
				before := s.now()
				out := s.take(key, c.ttl)
				after := s.now()
				if out.At.At < before.At || out.At.At > after.At {
					s.Errorf("decided at %v, outside of the call, %v to %v", out.At.At, before.At, after.At)
				}
				l := out.Record.Lease
				if got, want := l.Deadline.Sub(out.At.At), c.ttl+c.guard; got != want {
					s.Errorf("ttl %v: the deadline is %v after the decision, want %v", c.ttl, got, want)
				}
				if want := out.At.Wall.Add(c.ttl); l.Expires != want || l.Granted != out.At.Wall {
					s.Errorf("ttl %v: granted %v, expires %v, want %v and %v", c.ttl,
						l.Granted.Time(), l.Expires.Time(), out.At.Wall.Time(), want.Time())
				}
				rec := out.Record
				if !rec.Live(l.Deadline-1) || rec.Live(l.Deadline) || rec.Remaining(out.At.At) != c.ttl+c.guard {
					s.Errorf("ttl %v: lives from the decision to the deadline, and no longer: %+v", c.ttl, rec)
				}
			}
		}},
		{"BeginsWithTheWallClockAsTermAndRevision", func(s *scene) {
			out := s.take(room("r"), ttl)
			if got, want := out.Record.Term, lease.Term(out.At.Wall); got != want {
				s.Errorf("first term is %d, want the Unix microseconds of the grant, %d", got, want)
			}
			if got, want := out.Record.Revision, int64(out.At.Wall); got != want {
				s.Errorf("first revision is %d, want the Unix microseconds of the grant, %d", got, want)
			}
		}},
		{"RefusesEveryoneElseWhileHeld", func(s *scene) {
			key := room("r")
			held := s.take(key, ttl, labelled("worker", "notes")).Record
			for i, o := range [][]option{
				nil,
				{labelled("worker", "notes")},
				{labelled("other", "")},
				{s.keyed("a key of its own")},
				{limited(1)},
			} {
				out := s.want(lease.Taken, s.acquire(key, ttl, o...))
				if d := diff(held, out.Record); d != "" {
					s.Errorf("refusal %d shows another record (-held +shown):\n%s", i, d)
				}
			}
			s.Advance(ttl)
			s.want(lease.Taken, s.acquire(key, ttl)) // the guard counts as well
			s.unchanged(held)
			s.told(key, lease.Acquired)
		}},
		{"RefusalTellsTheInstantItWasMade", func(s *scene) {
			key := room("r")
			s.take(key, ttl)
			s.Advance(3 * time.Second)
			before := s.now()
			out := s.want(lease.Taken, s.acquire(key, ttl))
			if out.At.At < before.At || out.At.At > s.now().At {
				s.Errorf("refused at %v, want between %v and %v", out.At.At, before.At, s.now().At)
			}
			if got := out.Record.Remaining(out.At.At); got > ttl+lease.MinGuard-3*time.Second {
				s.Errorf("%v remain after 3 s of %v", got, ttl)
			}
		}},
		{"KindsAndTenantsDoNotMeet", func(s *scene) {
			for _, key := range []lease.Key{
				lease.ElectionKey("same"), lease.LockKey("acme", "same"), lease.LockKey("other", "same"), lease.LockKey("", "same"),
			} {
				s.take(key, ttl)
			}
		}},
		{"ReadSeesWhatWasAnswered", func(s *scene) {
			key := lock("r")
			for range 20 {
				a := s.take(key, ttl)
				s.unchanged(a.Record)
				b := s.renew(key, a.Record.Ref(), 0)
				s.unchanged(b.Record)
				c := s.release(key, a.Record.Ref())
				s.unchanged(c.Record)
			}
		}},
		{"NothingIsSeenBeforeItIsDurable", func(s *scene) {
			key := room("r")
			was := s.take(key, ttl).Record
			letGo := s.Hold()
			renewal := s.sendRenew(key, was.Ref(), time.Minute)
			s.pending(renewal)
			s.unchanged(was)
			s.told(key, lease.Acquired)
			letGo()
			out := s.answered(lease.Confirmed, renewal)
			s.unchanged(out.Record)
			s.told(key, lease.Acquired, lease.Renewed)
		}},
		{"NothingIsToldWhileItsCommitIsUnderWay", func(s *scene) {
			key := room("r")
			letGo := s.Hold()
			c := s.sendAcquire(key, 0, ttl)
			s.pending(c)
			s.told(key)
			if rec := s.read(key).Record; rec.Held || rec.Term != 0 {
				s.Errorf("a read shows what is not durable: %+v", rec)
			}
			letGo()
			s.answered(lease.Granted, c)
			s.told(key, lease.Acquired)
		}},
		{"EventsArriveInTheOrderOfTheDecisions", func(s *scene) {
			release := s.hold()
			names := []string{"c", "a", "b", "e", "d"}
			for _, n := range names {
				s.pending(s.sendAcquire(room(n), 0, ttl))
			}
			release()
			var got, want []string
			for _, e := range s.Events.All()[1:] {
				got = append(got, e.Record.Key.Name())
			}
			want = append(want, names...)
			if d := diff(want, got); d != "" {
				s.Errorf("first come, first decided (-want +got):\n%s", d)
			}
		}},
		{"ProofByTheLeaseGoesOnAndNeverBegins", func(s *scene) {
			key := lock("l")
			first := s.take(key, ttl, labelled("before", "before"))
			s.Advance(time.Second)
			out := s.want(lease.Confirmed, s.acquire(key, ttl, proving(first.Record.Ref()), labelled("after", "after")))
			l := out.Record.Lease
			if out.Record.Ref() != first.Record.Ref() || l.Label != "after" || l.Metadata != "after" {
				s.Errorf("the lease with its new label: %+v", out.Record)
			}
			if want := out.At.At.Add(ttl + lease.MinGuard); l.Deadline != want {
				s.Errorf("deadline %v, want %v", l.Deadline, want)
			}
			out = s.want(lease.Confirmed, s.acquire(key, ttl, proving(first.Record.Ref())))
			if out.Record.Lease.Label != "after" {
				s.Error("a label that was not given replaced the old one")
			}
			s.want(lease.NotCurrent, s.acquire(key, ttl, proving(lease.Ref{Term: first.Record.Term})))
			s.release(key, first.Record.Ref())
			s.want(lease.NotCurrent, s.acquire(key, ttl, proving(first.Record.Ref())))
			if s.read(key).Record.Held {
				s.Error("a stale proof began a lease")
			}
		}},
		{"SessionThatHoldsFindsItsLease", func(s *scene) {
			key := lock("l")
			bind := func(session string) option {
				return func(a *lease.Acquire) {
					a.Bound = &lease.Binding{Principal: "p", Session: s.ring.Digest("session", session), Ephemeral: true}
				}
			}
			first := s.take(key, ttl, bind("one"))
			out := s.want(lease.Confirmed, s.acquire(key, ttl, bind("one")))
			if out.Record.Ref() != first.Record.Ref() {
				s.Error("the session found another lease than its own")
			}
			s.want(lease.Taken, s.acquire(key, ttl, bind("two")))
		}},
	}
}
