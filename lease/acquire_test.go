package lease_test

import (
	"testing"
	"time"

	"github.com/octostore/octostore/lease"
)

func TestGrant(t *testing.T) {
	t.Parallel()

	t.Run("KeepsWhatWasAsked", func(t *testing.T) {
		t.Parallel()
		req := aliceAcquires()
		got, out, events := unused().Acquire(ground(dawn), req)
		want := lease.Record{
			Key: lease.LockKey("acme", "deploy"), Term: lease.Term(dawn.Wall), Revision: int64(dawn.Wall), Held: true,
			Lease: lease.Lease{
				Nonce: aliceNonce, KeyID: 7, TTL: aliceTTL,
				Deadline: after(aliceDeadline).At, Granted: dawn.Wall, Expires: after(aliceTTL).Wall,
				Label: "alice", Metadata: "on host 1", Described: true, Idem: &aliceKey, Bound: req.Bound,
			},
		}
		if d := diff(want, got); d != "" {
			t.Error(d)
		}
		if d := diff(lease.Outcome{Verdict: lease.Granted, Record: want, At: dawn}, out); d != "" {
			t.Error(d)
		}
		if d := diff([]lease.Event{{Type: lease.Acquired, Revision: want.Revision, Record: want, At: dawn}}, events); d != "" {
			t.Error(d)
		}
	})

	t.Run("EndsBehindItsAnnouncedExpiryByTheGuard", func(t *testing.T) {
		t.Parallel()
		for ttl, guard := range map[time.Duration]time.Duration{
			time.Second:       50 * time.Millisecond,
			30 * time.Second:  50 * time.Millisecond,
			50 * time.Second:  50 * time.Millisecond,
			51 * time.Second:  51 * time.Millisecond,
			300 * time.Second: 300 * time.Millisecond,
			time.Hour:         3600 * time.Millisecond,
		} {
			req := bobAcquires()
			req.TTL = ttl
			got := first(unused().Acquire(ground(dawn), req))
			if end := got.Lease.Deadline.Sub(dawn.At); end != ttl+guard {
				t.Errorf("a TTL of %v ends after %v, want %v", ttl, end, ttl+guard)
			}
			if got.Lease.Expires != after(ttl).Wall {
				t.Errorf("a TTL of %v is announced to end after %v", ttl, got.Lease.Expires-dawn.Wall)
			}
		}
	})

	t.Run("ForgetsTheLockDelayBeforeIt", func(t *testing.T) {
		t.Parallel()
		got := succeeded()
		if got.Free != 0 || got.FreeWall != 0 {
			t.Errorf("free at %d, %d although held", got.Free, got.FreeWall)
		}
		if got.Last == nil || got.Last.Ref != aliceRef() || got.Last.Reason != lease.ByRelease {
			t.Errorf("the lease before is remembered as %+v", got.Last)
		}
	})

	t.Run("KeepsOnlyTheDigestUnderTheCurrentServerKey", func(t *testing.T) {
		t.Parallel()
		req := aliceAcquires()
		req.Idem = lease.Repeatable{aliceKey, {Key: lease.Digest{'o'}, Params: lease.Digest{'o'}}}
		got := first(unused().Acquire(ground(dawn), req))
		req.Idem[0] = lease.Idempotency{} // the request's memory is its own
		if d := diff(&aliceKey, got.Lease.Idem); d != "" {
			t.Error(d)
		}
	})
}

func TestTermOfAGrant(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		last, floor lease.Term
		wall        lease.Wall
		want        lease.Term
	}{
		"IsTheWallClockInMicroseconds":         {wall: 1_700_000_000_000_000, want: 1_700_000_000_000_000},
		"RisesWhenTheWallClockStoodStill":      {last: 1_700_000_000_000_000, wall: 1_700_000_000_000_000, want: 1_700_000_000_000_001},
		"RisesWhenTheWallClockWentBackADay":    {last: 1_700_000_000_000_000, wall: 1_699_913_600_000_000, want: 1_700_000_000_000_001},
		"RisesAboveWhatWasCleanedUp":           {floor: 1_800_000_000_000_000, wall: 1_700_000_000_000_000, want: 1_800_000_000_000_001},
		"RisesAboveTheFloorThatIsTheWallClock": {floor: 1_700_000_000_000_000, wall: 1_700_000_000_000_000, want: 1_700_000_000_000_001},
		"RisesAboveTheLargerOfLastAndFloor":    {last: 1_900_000_000_000_000, floor: 1_800_000_000_000_000, wall: 5, want: 1_900_000_000_000_001},
		"BeginsAtOneBeforeTheEpoch":            {wall: -5, want: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := unused()
			r.Term = c.last
			got := first(r.Acquire(lease.Ground{Now: lease.Now{At: dawn.At, Wall: c.wall}, Floor: c.floor}, bobAcquires()))
			if got.Term != c.want {
				t.Errorf("term %d, want %d", got.Term, c.want)
			}
		})
	}

	t.Run("FitsInto53BitsFor200Years", func(t *testing.T) {
		t.Parallel()
		far := lease.WallOf(time.Date(2255, 1, 1, 0, 0, 0, 0, time.UTC))
		if term := lease.NextTerm(0, 0, far); term >= 1<<53 {
			t.Errorf("term %d in %s", term, far.Time())
		}
	})
}

func TestCapacity(t *testing.T) {
	t.Parallel()
	limited := func(r lease.Record, now lease.Now, live, limit int64, req lease.Acquire) lease.Verdict {
		req.Limit = limit
		_, out, _ := r.Acquire(lease.Ground{Now: now, Live: live}, req)
		return out.Verdict
	}
	ref := aliceRef()
	proof := bobAcquires()
	proof.Proof = &ref
	for name, c := range map[string]struct {
		record      lease.Record
		now         lease.Now
		live, limit int64
		req         lease.Acquire
		want        lease.Verdict
	}{
		"RefusesAGrantBeyondTheLimit":             {unused(), dawn, 3, 3, bobAcquires(), lease.Full},
		"RefusesAGrantFarBeyondALoweredLimit":     {unused(), dawn, 9, 3, bobAcquires(), lease.Full},
		"TakesTheLastPlace":                       {unused(), dawn, 2, 3, bobAcquires(), lease.Granted},
		"HasNoLimitAtZero":                        {unused(), dawn, 1 << 40, 0, bobAcquires(), lease.Granted},
		"CountsALeaseThatIsOverNoMore":            {held(), after(aliceDeadline + aliceDelay), 3, 3, bobAcquires(), lease.Granted},
		"StaysFullWhenOnlyOthersLive":             {held(), after(aliceDeadline + aliceDelay), 4, 3, bobAcquires(), lease.Full},
		"IsNoReasonAtAnOccupiedName":              {held(), dawn, 3, 3, bobAcquires(), lease.Taken},
		"IsNoReasonAtACoolingName":                {released(), after(31 * time.Second), 3, 3, bobAcquires(), lease.Delayed},
		"NeverUnseatsWhoRepeats":                  {held(), dawn, 3, 3, aliceAcquires(), lease.Confirmed},
		"NeverUnseatsWhoProves":                   {held(), dawn, 3, 3, proof, lease.Confirmed},
		"DoesNotHideThatARepeatedLeaseHasEnded":   {released(), after(time.Minute), 3, 3, aliceAcquires(), lease.Conflict},
		"DoesNotHideThatAProvenLeaseIsNoLongerIt": {released(), after(time.Minute), 3, 3, proof, lease.NotCurrent},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := limited(c.record, c.now, c.live, c.limit, c.req); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

// Two who say the same of themselves are two callers.
func TestLookingLikeTheHolderProvesNothing(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*lease.Acquire){
		"EqualLabelMetadataAndPrincipal": func(a *lease.Acquire) {
			a.Bound = &lease.Binding{Principal: "team", LockDelay: aliceDelay}
		},
		"AnotherSession": func(a *lease.Acquire) { a.Bound = &lease.Binding{Principal: "team", Session: lease.Digest{'t'}} },
		"AnotherIdempotencyKey": func(a *lease.Acquire) {
			a.Bound, a.Idem = nil, lease.Repeatable{{Key: lease.Digest{'x'}, Params: aliceKey.Params}}
		},
		"EqualNonce": func(a *lease.Acquire) { a.Bound = nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			req := aliceAcquires()
			req.Idem = nil
			change(&req)
			next, out, events := held().Acquire(ground(after(time.Second)), req)
			if out.Verdict != lease.Taken || len(events) != 0 || !same(next, held()) {
				t.Errorf("%s, %d events, %+v", out.Verdict, len(events), next)
			}
		})
	}

	t.Run("NoSessionOnEitherSide", func(t *testing.T) {
		t.Parallel()
		req := bobAcquires()
		req.Bound = &lease.Binding{Principal: "team"}
		r := first(unused().Acquire(ground(dawn), req))
		if _, out, _ := r.Acquire(ground(after(time.Second)), req); out.Verdict != lease.Taken {
			t.Errorf("%s, want taken", out.Verdict)
		}
	})

	t.Run("NoIdempotencyKeyOnEitherSide", func(t *testing.T) {
		t.Parallel()
		r := first(unused().Acquire(ground(dawn), bobAcquires()))
		if _, out, _ := r.Acquire(ground(after(time.Second)), bobAcquires()); out.Verdict != lease.Taken {
			t.Errorf("%s, want taken", out.Verdict)
		}
		if _, out, _ := r.Acquire(ground(after(time.Second)), aliceAcquires()); out.Verdict != lease.Taken {
			t.Errorf("%s, want taken", out.Verdict)
		}
	})
}

// A repeat and a proof count as a renewal that never shortens.
func TestConfirmation(t *testing.T) {
	t.Parallel()
	ref := aliceRef()
	byKey := func(ttl time.Duration) lease.Acquire {
		return lease.Acquire{TTL: ttl, Nonce: bobNonce, Idem: lease.Repeatable{aliceKey}, Label: "x", Labelled: true, Metadata: "y", Described: true}
	}
	bySession := func(ttl time.Duration) lease.Acquire {
		return lease.Acquire{
			TTL: ttl, Nonce: bobNonce, Label: "x", Labelled: true, Metadata: "y", Described: true,
			Bound: &lease.Binding{Principal: "other", Session: aliceSession, LockDelay: time.Second},
		}
	}
	byProof := func(ttl time.Duration) lease.Acquire { return lease.Acquire{TTL: ttl, Nonce: bobNonce, Proof: &ref} }
	for name, ask := range map[string]func(time.Duration) lease.Acquire{"ByKey": byKey, "BySession": bySession, "ByProof": byProof} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			t.Run("ExtendsFromNow", func(t *testing.T) {
				t.Parallel()
				now := after(30 * time.Second)
				got, out, events := held().Acquire(ground(now), ask(aliceTTL))
				want := held()
				want.Revision++
				want.Lease.Deadline, want.Lease.Expires = after(30*time.Second+aliceDeadline).At, after(30*time.Second+aliceTTL).Wall
				want.Lease.Renewed = now.Wall
				if d := diff(want, got); d != "" {
					t.Error(d)
				}
				if d := diff(lease.Outcome{Verdict: lease.Confirmed, Record: want, At: now}, out); d != "" {
					t.Error(d)
				}
				renewed := lease.Event{Type: lease.Renewed, Revision: want.Revision, Previous: want.Revision - 1, Record: want, At: now}
				if d := diff([]lease.Event{renewed}, events); d != "" {
					t.Error(d)
				}
			})

			t.Run("TakesALongerTTL", func(t *testing.T) {
				t.Parallel()
				got := first(held().Acquire(ground(dawn), ask(time.Hour)))
				if want := after(time.Hour + 3600*time.Millisecond).At; got.Lease.Deadline != want || got.Lease.TTL != time.Hour {
					t.Errorf("deadline %d with TTL %v, want %d", got.Lease.Deadline, got.Lease.TTL, want)
				}
			})

			t.Run("KeepsTheLaterDeadlineAndItsTTL", func(t *testing.T) {
				t.Parallel()
				now := after(time.Second)
				got := first(held().Acquire(ground(now), ask(5*time.Second)))
				want := held()
				want.Revision++
				want.Lease.Renewed = now.Wall
				if d := diff(want, got); d != "" {
					t.Error(d)
				}
			})

			t.Run("TakesAShorterTTLOnceItEndsLater", func(t *testing.T) {
				t.Parallel()
				got := first(held().Acquire(ground(after(59*time.Second)), ask(5*time.Second)))
				if want := after(64*time.Second + lease.MinGuard).At; got.Lease.Deadline != want || got.Lease.TTL != 5*time.Second {
					t.Errorf("deadline %d with TTL %v, want %d", got.Lease.Deadline, got.Lease.TTL, want)
				}
			})
		})
	}

	t.Run("ByProofReplacesLabelAndMetadata", func(t *testing.T) {
		t.Parallel()
		req := byProof(aliceTTL)
		req.Label, req.Labelled, req.Metadata, req.Described = "alice again", true, "", true
		got := first(held().Acquire(ground(dawn), req))
		if got.Lease.Label != "alice again" || got.Lease.Metadata != "" || !got.Lease.Described {
			t.Errorf("label %q, metadata %q, described %t", got.Lease.Label, got.Lease.Metadata, got.Lease.Described)
		}
	})

	t.Run("ByProofDescribesWhatWasNot", func(t *testing.T) {
		t.Parallel()
		r := first(unused().Acquire(ground(dawn), bobAcquires()))
		bob := r.Ref()
		got := first(r.Acquire(ground(dawn), lease.Acquire{TTL: aliceTTL, Proof: &bob, Metadata: "m", Described: true}))
		if got.Lease.Label != "bob" || got.Lease.Metadata != "m" || !got.Lease.Described {
			t.Errorf("label %q, metadata %q, described %t", got.Lease.Label, got.Lease.Metadata, got.Lease.Described)
		}
	})

	t.Run("ByProofComesBeforeTheKey", func(t *testing.T) {
		t.Parallel()
		req := byProof(aliceTTL)
		req.Idem = lease.Repeatable{{Key: aliceKey.Key, Params: lease.Digest{'q'}}}
		if _, out, _ := held().Acquire(ground(dawn), req); out.Verdict != lease.Confirmed {
			t.Errorf("the right proof: %s", out.Verdict)
		}
		stale := lease.Ref{Term: ref.Term, Nonce: bobNonce}
		req.Proof, req.Idem = &stale, lease.Repeatable{aliceKey}
		if _, out, _ := held().Acquire(ground(dawn), req); out.Verdict != lease.NotCurrent {
			t.Errorf("a wrong proof with the right key: %s", out.Verdict)
		}
	})

	t.Run("ByProofNeedsTheExactLease", func(t *testing.T) {
		t.Parallel()
		for _, wrong := range []lease.Ref{{}, {Term: ref.Term}, {Nonce: ref.Nonce}, {Term: ref.Term + 1, Nonce: ref.Nonce}, {Term: ref.Term, Nonce: bobNonce}} {
			next, out, _ := held().Acquire(ground(dawn), lease.Acquire{TTL: aliceTTL, Proof: &wrong})
			if out.Verdict != lease.NotCurrent || !same(next, held()) {
				t.Errorf("%+v: %s", wrong, out.Verdict)
			}
		}
	})

	t.Run("ByProofNeverBegins", func(t *testing.T) {
		t.Parallel()
		none := lease.Ref{}
		next, out, _ := unused().Acquire(ground(dawn), lease.Acquire{TTL: aliceTTL, Proof: &none})
		if out.Verdict != lease.NotCurrent || next.Held {
			t.Errorf("%s", out.Verdict)
		}
	})
}

func TestIdempotencyKey(t *testing.T) {
	t.Parallel()
	other := lease.Idempotency{Key: lease.Digest{'2'}, Params: lease.Digest{'p'}}
	ask := func(r lease.Record, at time.Duration, forms ...lease.Idempotency) (lease.Record, lease.Verdict) {
		req := aliceAcquires()
		req.Bound, req.Nonce, req.Idem = nil, bobNonce, forms
		next, out, _ := r.Acquire(ground(after(at)), req)
		return next, out.Verdict
	}

	t.Run("IsFoundUnderAnOlderServerKey", func(t *testing.T) {
		t.Parallel()
		if _, v := ask(held(), 0, other, aliceKey); v != lease.Confirmed {
			t.Errorf("%s, want confirmed", v)
		}
		if _, v := ask(released(), time.Minute, other, aliceKey); v != lease.Conflict {
			t.Errorf("%s, want conflict", v)
		}
	})

	t.Run("ComparesParametersUnderTheSameServerKey", func(t *testing.T) {
		t.Parallel()
		// The parameters of one form must not count for the key of another.
		mixed := lease.Idempotency{Key: lease.Digest{'n'}, Params: aliceKey.Params}
		changed := lease.Idempotency{Key: aliceKey.Key, Params: lease.Digest{'q'}}
		if _, v := ask(held(), 0, mixed, changed); v != lease.Conflict {
			t.Errorf("%s, want conflict", v)
		}
	})

	t.Run("IsForgottenOnceAnotherLeaseHasEnded", func(t *testing.T) {
		t.Parallel()
		r := succeeded()
		r = first(r.Release(after(50*time.Second), r.Ref()))
		next, v := ask(r, time.Minute, aliceKey)
		if v != lease.Granted || next.Lease.Nonce != bobNonce || next.Term <= r.Term {
			t.Errorf("%s of term %d after %d", v, next.Term, r.Term)
		}
	})

	t.Run("OfAnEndedLeaseStaysAConflictForItsSession", func(t *testing.T) {
		t.Parallel()
		again := aliceAcquires()
		again.Idem = lease.Repeatable{other}
		r := first(released().Acquire(ground(after(40*time.Second)), again))
		if _, out, _ := r.Acquire(ground(after(41*time.Second)), aliceAcquires()); out.Verdict != lease.Conflict {
			t.Errorf("%s, want conflict", out.Verdict)
		}
	})

	t.Run("OfTheSessionsSecondRequestFindsItsLease", func(t *testing.T) {
		t.Parallel()
		again := aliceAcquires()
		again.Idem = lease.Repeatable{other}
		next, out, _ := held().Acquire(ground(after(time.Second)), again)
		if out.Verdict != lease.Confirmed || next.Term != held().Term {
			t.Errorf("%s", out.Verdict)
		}
	})

	t.Run("IsNotRememberedForALeaseThatHadNone", func(t *testing.T) {
		t.Parallel()
		r := first(unused().Acquire(ground(dawn), bobAcquires()))
		if _, v := ask(r, time.Second, aliceKey); v != lease.Taken {
			t.Errorf("%s, want taken", v)
		}
		r = first(r.Release(after(2*time.Second), r.Ref()))
		if _, v := ask(r, 3*time.Second, aliceKey); v != lease.Granted {
			t.Errorf("%s, want granted", v)
		}
	})
}
