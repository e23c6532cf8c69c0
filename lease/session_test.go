package lease_test

import (
	"testing"
	"time"

	"github.com/octostore/octostore/lease"
)

func aliceOpens() lease.Session {
	return lease.Open(dawn, aliceSession, "acme", "team", aliceTTL, &aliceKey)
}

func TestSession(t *testing.T) {
	t.Parallel()

	t.Run("OpensWithItsGuard", func(t *testing.T) {
		t.Parallel()
		want := lease.Session{
			ID: aliceSession, Tenant: "acme", Principal: "team", TTL: aliceTTL, Deadline: after(aliceDeadline).At,
			Created: dawn.Wall, Expires: after(aliceTTL).Wall, Idem: &aliceKey,
		}
		if d := diff(want, aliceOpens()); d != "" {
			t.Error(d)
		}
	})

	t.Run("LivesUntilItsDeadline", func(t *testing.T) {
		t.Parallel()
		s := aliceOpens()
		if !s.Live(after(aliceDeadline-1).At) || s.Live(after(aliceDeadline).At) {
			t.Error("its deadline is elsewhere")
		}
		if next, ended := s.Settle(after(aliceDeadline - 1)); ended || next.Over {
			t.Error("settled before the deadline")
		}
	})

	t.Run("IsKeptAliveByItsOwnTTL", func(t *testing.T) {
		t.Parallel()
		got, v := aliceOpens().Keepalive(after(aliceDeadline - 1))
		want := aliceOpens()
		want.Deadline, want.Expires = after(2*aliceDeadline-1).At, after(aliceDeadline-1+aliceTTL).Wall
		if v != lease.Confirmed {
			t.Errorf("%s, want confirmed", v)
		}
		if d := diff(want, got); d != "" {
			t.Error(d)
		}
	})

	t.Run("ExpiresAsOfItsDeadline", func(t *testing.T) {
		t.Parallel()
		got, ended := aliceOpens().Settle(after(time.Hour))
		want := aliceOpens()
		want.Over, want.Reason, want.OverAt, want.OverWall = true, lease.BySession, after(aliceDeadline).At, after(aliceDeadline).Wall
		if d := diff(want, got); d != "" || !ended {
			t.Error(ended, d)
		}
		if again, ended := got.Settle(after(2 * time.Hour)); ended || diff(got, again) != "" {
			t.Error("expired twice")
		}
	})

	t.Run("IsDeletedAtOnce", func(t *testing.T) {
		t.Parallel()
		now := after(time.Second)
		got, v := aliceOpens().Delete(now)
		want := aliceOpens()
		want.Over, want.Reason, want.OverAt, want.OverWall = true, lease.BySessionEnd, now.At, now.Wall
		if d := diff(want, got); d != "" || v != lease.Released {
			t.Error(v, d)
		}
		if got.Live(now.At) {
			t.Error("lives on")
		}
	})

	t.Run("LivesNoMoreOnceOver", func(t *testing.T) {
		t.Parallel()
		expired, _ := aliceOpens().Settle(after(aliceDeadline))
		deleted, _ := aliceOpens().Delete(after(time.Second))
		for name, c := range map[string]struct {
			session lease.Session
			now     lease.Now
			want    lease.Verdict
		}{
			"deleted":               {deleted, after(2 * time.Second), lease.NoSession},
			"deleted, long ago":     {deleted, after(time.Hour), lease.NoSession},
			"expired":               {expired, after(time.Hour), lease.SessionEnded},
			"expired, not recorded": {aliceOpens(), after(aliceDeadline), lease.SessionEnded},
		} {
			kept, v := c.session.Keepalive(c.now)
			if v != c.want || !kept.Over {
				t.Errorf("keepalive of one %s: %s, over %t", name, v, kept.Over)
			}
			gone, v := c.session.Delete(c.now)
			if v != c.want || diff(kept, gone) != "" {
				t.Errorf("delete of one %s: %s, %s", name, v, diff(kept, gone))
			}
		}
	})

	t.Run("AfterAReboot", func(t *testing.T) {
		t.Parallel()
		// A live one gets its full TTL, as its locks do.
		live := aliceOpens().Reanchor(rebooted, after(aliceDeadline-1).At)
		if live.Deadline != rebooted.At.Add(aliceDeadline) || live.Expires != rebooted.Wall.Add(aliceTTL) || live.Over {
			t.Errorf("live: %+v", live)
		}
		// One whose deadline had been seen ends now.
		overdue := aliceOpens().Reanchor(rebooted, after(aliceDeadline).At)
		if _, v := overdue.Keepalive(rebooted); v != lease.SessionEnded || overdue.Live(rebooted.At) {
			t.Errorf("overdue: %s", v)
		}
		// One that had ended stays ended, and is remembered for as long from now on.
		deleted, _ := aliceOpens().Delete(after(time.Second))
		expired, _ := aliceOpens().Settle(after(aliceDeadline))
		for want, s := range map[lease.Verdict]lease.Session{lease.NoSession: deleted, lease.SessionEnded: expired} {
			got := s.Reanchor(rebooted, 0)
			if _, v := got.Keepalive(rebooted); v != want || got.OverAt != rebooted.At {
				t.Errorf("%s, over at %d; want %s", v, got.OverAt, want)
			}
		}
	})

	t.Run("IsAValue", func(t *testing.T) {
		t.Parallel()
		s := aliceOpens()
		_, _ = s.Keepalive(after(time.Second))
		_, _ = s.Delete(after(time.Second))
		_, _ = s.Settle(after(time.Hour))
		_ = s.Reanchor(rebooted, 0)
		if d := diff(aliceOpens(), s); d != "" {
			t.Error(d)
		}
	})
}
