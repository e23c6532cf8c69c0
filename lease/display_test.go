package lease_test

import (
	"testing"
	"time"

	"github.com/octostore/octostore/lease"
)

// drifted is d after dawn on the deciding clock, with a wall clock that is off.
func drifted(d, off time.Duration) lease.Now {
	return lease.Now{At: after(d).At, Wall: after(d + off).Wall}
}

func TestStateOfARecord(t *testing.T) {
	t.Parallel()
	for name, s := range states() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, at := s.record, s.now.At
			settled, _ := r.Settle(s.now)
			live := r.Held && settled.Held
			if r.Live(at) != live {
				t.Errorf("live %t, want %t", r.Live(at), live)
			}
			if cooling := !live && settled.Free > at; r.Cooling(at) != cooling {
				t.Errorf("cooling %t, want %t", r.Cooling(at), cooling)
			}
			switch remaining := r.Remaining(at); {
			case live && (remaining <= 0 || remaining > aliceDeadline):
				t.Errorf("%v remain of a live lease", remaining)
			case !live && remaining != 0:
				t.Errorf("%v remain of none", remaining)
			}
			// Whether the end was recorded makes no difference to who asks.
			if (r.GrantableAt() <= at) != (settled.GrantableAt() <= at) {
				t.Errorf("grantable at %d, recorded as ended at %d, asked at %d", r.GrantableAt(), settled.GrantableAt(), at)
			}
		})
	}

	t.Run("RemainsForTheGuardToo", func(t *testing.T) {
		t.Parallel()
		r := held()
		if got := r.Remaining(after(aliceTTL).At); got != aliceGuard {
			t.Errorf("%v, want %v", got, aliceGuard)
		}
	})

	t.Run("IsGrantableBehindTheDelay", func(t *testing.T) {
		t.Parallel()
		r, never := held(), unused()
		if got := r.GrantableAt(); got != after(aliceDeadline+aliceDelay).At {
			t.Errorf("%d", got)
		}
		if got := never.GrantableAt(); got != 0 {
			t.Errorf("a name that was never held: %d", got)
		}
	})
}

func TestExpiresAt(t *testing.T) {
	t.Parallel()
	told := after(aliceTTL).Wall
	session := lease.Open(dawn, aliceSession, "acme", "team", aliceTTL, nil)
	for name, c := range map[string]struct {
		off  time.Duration
		want lease.Wall
	}{
		"IsWhatWasTold":                    {0, told},
		"StaysWhileTheWallClockDrifts":     {time.Second, told},
		"StaysWhileTheWallClockDriftsBack": {-time.Second, told},
		"FollowsAStepOfTheWallClock":       {time.Second + time.Microsecond, told.Add(time.Second + time.Microsecond)},
		"FollowsAStepBackOfTheWallClock":   {-time.Second - time.Microsecond, told.Add(-time.Second - time.Microsecond)},
		"FollowsTheWallClockADayAhead":     {24 * time.Hour, told.Add(24 * time.Hour)},
		"FollowsTheWallClockADayBack":      {-24 * time.Hour, told.Add(-24 * time.Hour)},
		"StaysWhileTheTwoReadingsJitter":   {123 * time.Microsecond, told},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := held()
			for _, at := range []time.Duration{0, time.Second, aliceTTL, aliceDeadline - 1} {
				// The deadline is in nanoseconds, what is told of it in microseconds.
				if got := r.ExpiresAt(drifted(at, c.off)); got != c.want && got != c.want+1 {
					t.Errorf("after %v: %v, want %v", at, got.Time(), c.want.Time())
				}
				if got := session.ExpiresAt(drifted(at, c.off)); got != c.want && got != c.want+1 {
					t.Errorf("session after %v: %v, want %v", at, got.Time(), c.want.Time())
				}
			}
		})
	}
}

func TestAvailableAt(t *testing.T) {
	t.Parallel()
	overdue := held()
	recorded, _ := overdue.Settle(after(aliceDeadline + time.Second))
	told := after(aliceDeadline + aliceDelay).Wall

	t.Run("IsTheSameBeforeAndAfterTheEndWasRecorded", func(t *testing.T) {
		t.Parallel()
		for _, jitter := range []time.Duration{0, 321 * time.Microsecond, -time.Millisecond} {
			now := drifted(aliceDeadline+2*time.Second, jitter)
			late, _ := overdue.Settle(now)
			for name, r := range map[string]lease.Record{"overdue": overdue, "recorded": recorded, "recorded just now": late} {
				if got := r.AvailableAt(now); got != told {
					t.Errorf("%s with jitter %v: %v, want %v", name, jitter, got.Time(), told.Time())
				}
			}
		}
	})

	t.Run("FollowsAStepOfTheWallClock", func(t *testing.T) {
		t.Parallel()
		for _, step := range []time.Duration{24 * time.Hour, -24 * time.Hour, 2 * time.Second} {
			now := drifted(aliceDeadline+2*time.Second, step)
			for name, r := range map[string]lease.Record{"overdue": overdue, "recorded": recorded} {
				if got := r.AvailableAt(now); got != told.Add(step) {
					t.Errorf("%s after a step of %v: %v, want %v", name, step, got.Time(), told.Add(step).Time())
				}
			}
		}
	})

	t.Run("CountsFromARelease", func(t *testing.T) {
		t.Parallel()
		r := released()
		if got := r.AvailableAt(drifted(35*time.Second, 5*time.Millisecond)); got != after(40*time.Second).Wall {
			t.Errorf("%v", got.Time())
		}
	})
}

// What an expiry tells of itself is a matter of the deadline alone.
func TestExpiryIsToldAsOfTheDeadline(t *testing.T) {
	t.Parallel()
	for _, jitter := range []time.Duration{0, 7 * time.Microsecond, -900 * time.Millisecond} {
		for _, late := range []time.Duration{0, time.Millisecond, time.Hour} {
			now := drifted(aliceDeadline+late, jitter)
			r, events := held().Settle(now)
			if events[0].At != after(aliceDeadline) || r.Last.Wall != after(aliceDeadline).Wall {
				t.Errorf("late by %v with jitter %v: %+v", late, jitter, events[0].At)
			}
			s, _ := lease.Open(dawn, aliceSession, "acme", "team", aliceTTL, nil).Settle(now)
			if s.OverAt != after(aliceDeadline).At || s.OverWall != after(aliceDeadline).Wall {
				t.Errorf("session late by %v with jitter %v: %d, %d", late, jitter, s.OverAt, s.OverWall)
			}
		}
	}
}
