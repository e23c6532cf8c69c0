package lease_test

import (
	"testing"
	"time"

	"github.com/octostore/octostore/lease"
)

func TestRenewal(t *testing.T) {
	t.Parallel()
	const at = 20 * time.Second
	for name, c := range map[string]struct {
		asked, ttl, end time.Duration // end counts from dawn
	}{
		"KeepsItsOwnTTLWithoutOne":   {0, aliceTTL, at + aliceDeadline},
		"TakesTheTTLThatIsAsked":     {90 * time.Second, 90 * time.Second, at + 90*time.Second + 90*time.Millisecond},
		"ShortensWhenTheHolderAsks":  {5 * time.Second, 5 * time.Second, at + 5*time.Second + lease.MinGuard},
		"ExtendsByAnEqualTTLFromNow": {aliceTTL, aliceTTL, at + aliceDeadline},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			now := after(at)
			got, out, events := held().Renew(now, aliceRef(), c.asked)
			want := held()
			want.Revision++
			want.Lease.TTL, want.Lease.Renewed = c.ttl, now.Wall
			want.Lease.Deadline, want.Lease.Expires = after(c.end).At, after(at+c.ttl).Wall
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
	}

	t.Run("KeepsAShortenedTTL", func(t *testing.T) {
		t.Parallel()
		r := first(held().Renew(after(at), aliceRef(), 5*time.Second))
		r = first(r.Renew(after(at+time.Second), aliceRef(), 0))
		if want := after(at + 6*time.Second + lease.MinGuard).At; r.Lease.Deadline != want {
			t.Errorf("deadline %d, want %d", r.Lease.Deadline, want)
		}
	})

	t.Run("NeedsTheExactLease", func(t *testing.T) {
		t.Parallel()
		ref := aliceRef()
		for _, wrong := range []lease.Ref{{}, {Term: ref.Term}, {Nonce: ref.Nonce}, {Term: ref.Term - 1, Nonce: ref.Nonce}, {Term: ref.Term, Nonce: bobNonce}} {
			next, out, events := held().Renew(after(at), wrong, 0)
			if out.Verdict != lease.NotCurrent || len(events) != 0 || !same(next, held()) {
				t.Errorf("%+v: %s", wrong, out.Verdict)
			}
		}
	})

	t.Run("NeedsALeaseAtAll", func(t *testing.T) {
		t.Parallel()
		// The term of a name outlives its lease, the nonce does not.
		for name, r := range map[string]lease.Record{"unused": unused(), "released": released()} {
			next, out, events := r.Renew(after(time.Minute), lease.Ref{Term: r.Term}, 0)
			if out.Verdict != lease.NotCurrent || len(events) != 0 || !same(next, r) {
				t.Errorf("%s: %s", name, out.Verdict)
			}
		}
	})

	t.Run("DoesNotReviveALeaseThatNobodyTook", func(t *testing.T) {
		t.Parallel()
		next, out, events := held().Renew(after(aliceDeadline), aliceRef(), 0)
		if out.Verdict != lease.NotCurrent || next.Held || len(events) != 1 || events[0].Type != lease.Expired {
			t.Fatalf("%s, held %t, %d events", out.Verdict, next.Held, len(events))
		}
		if _, out, _ := next.Renew(after(aliceDeadline+1), aliceRef(), time.Hour); out.Verdict != lease.NotCurrent {
			t.Errorf("once more: %s", out.Verdict)
		}
	})

	t.Run("DoesNotReachASuccessor", func(t *testing.T) {
		t.Parallel()
		next, out, events := succeeded().Renew(after(41*time.Second), aliceRef(), time.Hour)
		if out.Verdict != lease.NotCurrent || len(events) != 0 || !same(next, succeeded()) {
			t.Errorf("%s: %s", out.Verdict, diff(succeeded(), next))
		}
	})
}
