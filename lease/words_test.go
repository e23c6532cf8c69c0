package lease_test

import (
	"testing"

	"github.com/octostore/octostore/lease"
)

// The words stand in metrics, logs, rows and answers: a change of one is a
// change of the interface.
func TestWords(t *testing.T) {
	t.Parallel()
	for v, want := range map[lease.Verdict]string{
		0: "invalid", lease.Granted: "granted", lease.Confirmed: "confirmed", lease.Taken: "taken", lease.Delayed: "delayed",
		lease.NotCurrent: "not_current", lease.Released: "released", lease.Repeated: "repeated", lease.Conflict: "conflict",
		lease.Full: "full", lease.NotHeld: "not_held", lease.SessionEnded: "session_ended", lease.NoSession: "no_session",
		lease.NoSession + 1: "invalid",
	} {
		if got := v.String(); got != want {
			t.Errorf("verdict %d is %q, want %q", v, got, want)
		}
	}
	for typ, want := range map[lease.Type]string{
		0: "invalid", lease.Acquired: "acquired", lease.Renewed: "renewed", lease.WasReleased: "released", lease.Expired: "expired",
		lease.Expired + 1: "invalid",
	} {
		if got := typ.String(); got != want {
			t.Errorf("type %d is %q, want %q", typ, got, want)
		}
	}
	for r, want := range map[lease.Reason]string{
		0: "", lease.ByRelease: "", lease.ByExpiry: "", lease.BySession: "session_expired", lease.BySessionEnd: "",
		lease.ByForce: "force_released", lease.ByForce + 1: "",
	} {
		if got := r.String(); got != want {
			t.Errorf("reason %d is %q, want %q", r, got, want)
		}
	}
	for k, want := range map[lease.Kind]string{0: "unknown", lease.Election: "election", lease.Lock: "lock", 'x': "unknown"} {
		if got := k.String(); got != want {
			t.Errorf("kind %d is %q, want %q", k, got, want)
		}
	}
}

// These values stand in rows.
func TestStoredValues(t *testing.T) {
	t.Parallel()
	if lease.Election != 'e' || lease.Lock != 'l' {
		t.Error("a kind has another value")
	}
	for want, r := range []lease.Reason{0, lease.ByRelease, lease.ByExpiry, lease.BySession, lease.BySessionEnd, lease.ByForce} {
		if int(r) != want {
			t.Errorf("reason %q is %d, want %d", r, r, want)
		}
	}
}
