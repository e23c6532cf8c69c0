package lease_test

import (
	"testing"
	"time"

	"github.com/octostore/octostore/lease"
)

func TestEndOfALease(t *testing.T) {
	t.Parallel()
	at := after(30 * time.Second)
	session := after(20 * time.Second)
	for name, c := range map[string]struct {
		end    func(lease.Record) (lease.Record, lease.Outcome, []lease.Event)
		event  lease.Type
		reason lease.Reason
		ended  lease.Now
		delay  time.Duration
	}{
		"ByItsOwnRelease": {
			func(r lease.Record) (lease.Record, lease.Outcome, []lease.Event) { return r.Release(at, aliceRef()) },
			lease.WasReleased, lease.ByRelease, at, aliceDelay,
		},
		"ByBeingGivenBackHasNoDelay": {
			func(r lease.Record) (lease.Record, lease.Outcome, []lease.Event) { return r.GiveBack(at, aliceRef()) },
			lease.WasReleased, lease.ByRelease, at, 0,
		},
		"ByForce": {
			func(r lease.Record) (lease.Record, lease.Outcome, []lease.Event) { return r.ForceRelease(at) },
			lease.WasReleased, lease.ByForce, at, aliceDelay,
		},
		"ByItsSessionAsOfTheSessionsEnd": {
			func(r lease.Record) (lease.Record, lease.Outcome, []lease.Event) {
				return r.EndWithSession(at, session, aliceSession, lease.BySession)
			},
			lease.WasReleased, lease.BySession, session, aliceDelay,
		},
		"ByItsSessionBeingDeleted": {
			func(r lease.Record) (lease.Record, lease.Outcome, []lease.Event) {
				return r.EndWithSession(at, at, aliceSession, lease.BySessionEnd)
			},
			lease.WasReleased, lease.BySessionEnd, at, aliceDelay,
		},
		"ByItsSessionThatEndedBeforeADeadlineNobodyRecorded": {
			func(r lease.Record) (lease.Record, lease.Outcome, []lease.Event) {
				return r.EndWithSession(after(time.Hour), session, aliceSession, lease.BySession)
			},
			lease.WasReleased, lease.BySession, session, aliceDelay,
		},
		"ByExpiryThoughItsSessionEndedLater": {
			func(r lease.Record) (lease.Record, lease.Outcome, []lease.Event) {
				return r.EndWithSession(after(time.Hour), after(30*time.Minute), aliceSession, lease.BySession)
			},
			lease.Expired, lease.ByExpiry, after(aliceDeadline), aliceDelay,
		},
		"ByExpiryThoughItsSessionEndedAtThatInstant": {
			func(r lease.Record) (lease.Record, lease.Outcome, []lease.Event) {
				return r.EndWithSession(after(time.Hour), after(aliceDeadline), aliceSession, lease.BySessionEnd)
			},
			lease.Expired, lease.ByExpiry, after(aliceDeadline), aliceDelay,
		},
		"ByExpiryAsOfTheDeadlineHoweverLateItIsRecorded": {
			func(r lease.Record) (lease.Record, lease.Outcome, []lease.Event) {
				next, events := r.Settle(after(time.Hour))
				return next, lease.Outcome{Verdict: lease.Released, Record: next, At: after(time.Hour)}, events
			},
			lease.Expired, lease.ByExpiry, after(aliceDeadline), aliceDelay,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before := held()
			got, out, events := c.end(before)
			want := lease.Record{
				Key: before.Key, Term: before.Term, Revision: before.Revision + 1,
				Last: &lease.Past{
					Ref: aliceRef(), KeyID: 7, Reason: c.reason, Idem: &aliceKey,
					At: c.ended.At, Wall: c.ended.Wall, Delay: c.delay,
				},
			}
			if c.delay > 0 {
				want.Free, want.FreeWall = c.ended.At.Add(c.delay), c.ended.Wall.Add(c.delay)
			}
			if d := diff(want, got); d != "" {
				t.Error(d)
			}
			if d := diff(want, out.Record); d != "" || out.Verdict != lease.Released {
				t.Error(out.Verdict, d)
			}
			wantEvent := lease.Event{
				Type: c.event, Reason: c.reason, Revision: want.Revision, Previous: before.Revision,
				Record: want, Was: &before.Lease, At: c.ended,
			}
			if d := diff([]lease.Event{wantEvent}, events); d != "" {
				t.Error(d)
			}
			if at := got.GrantableAt(); c.delay > 0 && at != want.Free || c.delay == 0 && at > c.ended.At {
				t.Errorf("grantable at %d", at)
			}
		})
	}
}

func TestRelease(t *testing.T) {
	t.Parallel()

	t.Run("NeedsTheExactLease", func(t *testing.T) {
		t.Parallel()
		ref := aliceRef()
		for _, wrong := range []lease.Ref{{}, {Term: ref.Term}, {Nonce: ref.Nonce}, {Term: ref.Term - 1, Nonce: ref.Nonce}, {Term: ref.Term, Nonce: bobNonce}} {
			for name, release := range map[string]request{
				"release": func(r lease.Record, now lease.Now) (lease.Record, lease.Outcome, []lease.Event) {
					return r.Release(now, wrong)
				},
				"give back": func(r lease.Record, now lease.Now) (lease.Record, lease.Outcome, []lease.Event) {
					return r.GiveBack(now, wrong)
				},
			} {
				next, out, events := release(held(), after(time.Second))
				if out.Verdict != lease.NotCurrent || len(events) != 0 || !same(next, held()) {
					t.Errorf("%s %+v: %s", name, wrong, out.Verdict)
				}
				next, out, _ = release(released(), after(31*time.Second))
				if out.Verdict != lease.NotCurrent || !same(next, released()) {
					t.Errorf("%s %+v of an ended lease: %s", name, wrong, out.Verdict)
				}
			}
		}
	})

	t.Run("RepeatedStartsNoSecondDelay", func(t *testing.T) {
		t.Parallel()
		next, out, events := released().Release(after(39*time.Second), aliceRef())
		if out.Verdict != lease.Repeated || len(events) != 0 || !same(next, released()) {
			t.Errorf("%s, %d events: %s", out.Verdict, len(events), diff(released(), next))
		}
	})

	t.Run("RepeatedWhileASuccessorHoldsTouchesNothing", func(t *testing.T) {
		t.Parallel()
		next, out, events := succeeded().Release(after(41*time.Second), aliceRef())
		if out.Verdict != lease.Repeated || len(events) != 0 || !same(next, succeeded()) {
			t.Errorf("%s, %d events: %s", out.Verdict, len(events), diff(succeeded(), next))
		}
	})

	t.Run("IsForgottenOnceASuccessorHasEnded", func(t *testing.T) {
		t.Parallel()
		bob := succeeded()
		ended := first(bob.Release(after(50*time.Second), bob.Ref()))
		if _, out, _ := ended.Release(after(51*time.Second), aliceRef()); out.Verdict != lease.NotCurrent {
			t.Errorf("Alice's: %s, want not_current", out.Verdict)
		}
		if _, out, _ := ended.Release(after(51*time.Second), bob.Ref()); out.Verdict != lease.Repeated {
			t.Errorf("Bob's: %s, want repeated", out.Verdict)
		}
	})

	t.Run("OfALeaseWithoutADelayFreesTheNameAtOnce", func(t *testing.T) {
		t.Parallel()
		r := first(unused().Acquire(ground(dawn), bobAcquires()))
		r = first(r.Release(after(time.Second), r.Ref()))
		if _, out, _ := r.Acquire(ground(after(time.Second)), bobAcquires()); out.Verdict != lease.Granted {
			t.Errorf("%s, want granted", out.Verdict)
		}
	})
}

func TestSessionEndOf(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		record  lease.Record
		session lease.Digest
	}{
		"AnotherSessionLeavesTheLease": {held(), lease.Digest{'t'}},
		"NoSessionLeavesTheLease":      {held(), lease.Digest{}},
		"NoSessionLeavesAnUnboundLease": {
			first(unused().Acquire(ground(dawn), bobAcquires())), lease.Digest{},
		},
		"ASessionLeavesAnUnboundLease": {
			first(unused().Acquire(ground(dawn), bobAcquires())), aliceSession,
		},
		"NoSessionLeavesALeaseBoundToNone": {
			first(unused().Acquire(ground(dawn), lease.Acquire{TTL: aliceTTL, Bound: &lease.Binding{Principal: "team"}})), lease.Digest{},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			now := after(time.Second)
			next, out, events := c.record.EndWithSession(now, now, c.session, lease.BySession)
			if out.Verdict != lease.NotHeld || len(events) != 0 || !same(next, c.record) {
				t.Errorf("%s, %d events: %s", out.Verdict, len(events), diff(c.record, next))
			}
		})
	}
}

// The delay of a lock is there for work that its holder may have left behind,
// so nobody is exempt from it.
func TestLockDelayHoldsForEveryone(t *testing.T) {
	t.Parallel()
	for name, r := range map[string]lease.Record{
		"AfterARelease":       released(),
		"AfterAForceRelease":  first(held().ForceRelease(after(30 * time.Second))),
		"AfterTheSessionsEnd": first(held().EndWithSession(after(35*time.Second), after(30*time.Second), aliceSession, lease.BySession)),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			again := aliceAcquires()
			again.Idem = nil
			for who, req := range map[string]lease.Acquire{"another": bobAcquires(), "the one who had it": again} {
				if _, out, _ := r.Acquire(ground(after(40*time.Second-1)), req); out.Verdict != lease.Delayed {
					t.Errorf("%s is %s in the last nanosecond", who, out.Verdict)
				}
				if _, out, _ := r.Acquire(ground(after(40*time.Second)), req); out.Verdict != lease.Granted {
					t.Errorf("%s is %s at the end", who, out.Verdict)
				}
			}
		})
	}

	t.Run("CountsFromTheDeadlineHoweverLateItIsNoticed", func(t *testing.T) {
		t.Parallel()
		end := aliceDeadline + aliceDelay
		for _, noticed := range []time.Duration{aliceDeadline, aliceDeadline + 5*time.Second, end - 1} {
			r, _ := held().Settle(after(noticed))
			if _, out, _ := r.Acquire(ground(after(end-1)), bobAcquires()); out.Verdict != lease.Delayed {
				t.Errorf("noticed after %v: %s in the last nanosecond", noticed, out.Verdict)
			}
			if _, out, _ := r.Acquire(ground(after(end)), bobAcquires()); out.Verdict != lease.Granted {
				t.Errorf("noticed after %v: %s at the end", noticed, out.Verdict)
			}
		}
		if _, out, _ := held().Acquire(ground(after(end)), bobAcquires()); out.Verdict != lease.Granted {
			t.Errorf("noticed by the newcomer: %s at the end", out.Verdict)
		}
	})
}
