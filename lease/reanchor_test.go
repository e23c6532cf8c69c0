package lease_test

import (
	"testing"
	"time"

	"github.com/octostore/octostore/lease"
)

// The clock after a reboot begins anew and has nothing to do with the one
// before; the wall clock of the other host may be behind.
var rebooted = lease.Now{At: lease.Instant(3 * time.Second), Wall: dawn.Wall.Add(-time.Hour)}

func TestReanchor(t *testing.T) {
	t.Parallel()
	seen := func(d time.Duration) lease.Instant { return after(d).At }
	expired, _ := held().Settle(after(aliceDeadline))

	t.Run("GivesALiveLeaseItsFullTTLOnceMore", func(t *testing.T) {
		t.Parallel()
		got := held().Reanchor(rebooted, seen(aliceDeadline-1))
		want := held()
		want.Lease.Deadline, want.Lease.Expires = rebooted.At.Add(aliceDeadline), rebooted.Wall.Add(aliceTTL)
		want.Rebase = true
		if d := diff(want, got); d != "" {
			t.Error(d)
		}
		if _, out, _ := got.Renew(rebooted, aliceRef(), 0); out.Verdict != lease.Confirmed {
			t.Errorf("its holder is told %s", out.Verdict)
		}
	})

	t.Run("GivesTheTTLOfTheLastRenewal", func(t *testing.T) {
		t.Parallel()
		r := first(held().Renew(after(time.Second), aliceRef(), 5*time.Second))
		got := r.Reanchor(rebooted, seen(2*time.Second))
		if want := rebooted.At.Add(5*time.Second + lease.MinGuard); got.Lease.Deadline != want {
			t.Errorf("deadline %d, want %d", got.Lease.Deadline, want)
		}
	})

	t.Run("EndsALeaseWhoseDeadlineHadBeenSeen", func(t *testing.T) {
		t.Parallel()
		for _, stamp := range []time.Duration{aliceDeadline, aliceDeadline + aliceDelay, time.Hour} {
			got := held().Reanchor(rebooted, seen(stamp))
			if got.Live(rebooted.At) {
				t.Fatalf("lives with a stamp at %v", stamp)
			}
			if _, out, _ := got.Renew(rebooted, aliceRef(), 0); out.Verdict != lease.NotCurrent {
				t.Errorf("its holder is told %s", out.Verdict)
			}
			next, events := got.Settle(rebooted)
			if len(events) != 1 || events[0].Type != lease.Expired || events[0].At.At != rebooted.At {
				t.Fatalf("events %+v", events)
			}
			if next.Free != rebooted.At.Add(aliceDelay) {
				t.Errorf("its delay ends %v after the start, want %v", next.Free.Sub(rebooted.At), aliceDelay)
			}
		}
	})

	t.Run("RunsADelayInFullOnceMore", func(t *testing.T) {
		t.Parallel()
		for name, r := range map[string]lease.Record{"released": released(), "expired": expired} {
			free := r.Free
			got := r.Reanchor(rebooted, free-1)
			if got.Free != rebooted.At.Add(aliceDelay) || got.FreeWall != rebooted.Wall.Add(aliceDelay) {
				t.Errorf("%s: free %v after the start", name, got.Free.Sub(rebooted.At))
			}
			if got.Last.At != rebooted.At || r.Last.At == rebooted.At {
				t.Errorf("%s: ended at %d, in the record before at %d", name, got.Last.At, r.Last.At)
			}
		}
	})

	t.Run("LeavesADelayThatHadRunOut", func(t *testing.T) {
		t.Parallel()
		got := released().Reanchor(rebooted, released().Free)
		if got.Free != 0 || got.FreeWall != 0 || got.Cooling(rebooted.At) {
			t.Errorf("free at %d, %d", got.Free, got.FreeWall)
		}
		if _, out, _ := got.Acquire(ground(rebooted), bobAcquires()); out.Verdict != lease.Granted {
			t.Errorf("a newcomer is told %s", out.Verdict)
		}
	})

	t.Run("NeverRevivesWhatWasRecordedAsEnded", func(t *testing.T) {
		t.Parallel()
		given := first(held().GiveBack(after(time.Second), aliceRef()))
		for name, r := range map[string]lease.Record{"released": released(), "expired": expired, "given back": given} {
			got := r.Reanchor(rebooted, seen(time.Second))
			if _, out, _ := got.Renew(rebooted, aliceRef(), 0); out.Verdict != lease.NotCurrent {
				t.Errorf("%s: %s", name, out.Verdict)
			}
			if got.Term != r.Term {
				t.Errorf("%s: term %d was %d", name, got.Term, r.Term)
			}
		}
	})

	t.Run("StillKnowsTheRepeatedRelease", func(t *testing.T) {
		t.Parallel()
		got := released().Reanchor(rebooted, seen(time.Minute))
		if _, out, _ := got.Release(rebooted, aliceRef()); out.Verdict != lease.Repeated {
			t.Errorf("%s, want repeated", out.Verdict)
		}
	})

	t.Run("LeavesAnUnusedNameAlone", func(t *testing.T) {
		t.Parallel()
		got := unused().Reanchor(rebooted, seen(0))
		if _, out, _ := got.Acquire(ground(rebooted), bobAcquires()); out.Verdict != lease.Granted {
			t.Errorf("%s, want granted", out.Verdict)
		}
	})
}

func TestRevision(t *testing.T) {
	t.Parallel()
	renew := func(r lease.Record, wall lease.Wall) lease.Record {
		return first(r.Renew(lease.Now{At: dawn.At, Wall: wall}, r.Ref(), 0))
	}

	t.Run("OfANewRowIsTheWallClockInMicroseconds", func(t *testing.T) {
		t.Parallel()
		if got := held().Revision; got != int64(dawn.Wall) {
			t.Errorf("%d, want %d", got, dawn.Wall)
		}
	})

	t.Run("RisesByOneWhileTheRowLives", func(t *testing.T) {
		t.Parallel()
		r := held()
		for _, wall := range []lease.Wall{dawn.Wall, dawn.Wall + 1_000_000, dawn.Wall - 1_000_000, 0} {
			next := renew(r, wall)
			if next.Revision != r.Revision+1 {
				t.Errorf("%d after %d at wall %d", next.Revision, r.Revision, wall)
			}
			r = next
		}
	})

	t.Run("StartsAnewOnceAfterAReboot", func(t *testing.T) {
		t.Parallel()
		ahead := dawn.Wall.Add(time.Hour)
		r := held().Reanchor(lease.Now{At: dawn.At, Wall: ahead}, 0)
		if r.Revision != held().Revision {
			t.Errorf("the reboot itself made it %d", r.Revision)
		}
		next, _, events := r.Renew(lease.Now{At: dawn.At, Wall: ahead}, r.Ref(), 0)
		if next.Revision != int64(ahead) || events[0].Previous != r.Revision || next.Rebase {
			t.Errorf("%d (after %d), rebase %t; want %d", next.Revision, events[0].Previous, next.Rebase, ahead)
		}
		if again := renew(next, ahead.Add(time.Hour)); again.Revision != next.Revision+1 {
			t.Errorf("then %d", again.Revision)
		}
	})

	t.Run("RisesAfterARebootWithAWallClockThatWentBack", func(t *testing.T) {
		t.Parallel()
		r := held().Reanchor(rebooted, 0)
		if next := renew(r, rebooted.Wall); next.Revision != r.Revision+1 {
			t.Errorf("%d after %d", next.Revision, r.Revision)
		}
	})

	t.Run("RisesWithEachOfTwoTransitionsInOneDecision", func(t *testing.T) {
		t.Parallel()
		_, _, events := held().Acquire(ground(after(time.Hour)), bobAcquires())
		if len(events) != 2 || events[0].Revision != held().Revision+1 || events[1].Revision != held().Revision+2 {
			t.Errorf("%+v", events)
		}
	})

	t.Run("IsPositiveBeforeTheEpoch", func(t *testing.T) {
		t.Parallel()
		r := first(unused().Acquire(ground(lease.Now{At: dawn.At, Wall: -7}), bobAcquires()))
		if r.Revision != 1 {
			t.Errorf("%d, want 1", r.Revision)
		}
	})
}
