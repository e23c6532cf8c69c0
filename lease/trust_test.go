package lease_test

import (
	"math"
	"testing"
	"time"

	"github.com/octostore/octostore/lease"
)

func TestTrustWindow(t *testing.T) {
	t.Parallel()
	for seconds := time.Duration(1); seconds <= 3600; seconds++ {
		ttl := seconds * time.Second
		if got := lease.TrustWindow(ttl); got != seconds*800*time.Millisecond {
			t.Fatalf("of %v: %v", ttl, got)
		}
		if lease.TrustWindow(ttl) != time.Duration(float64(ttl)*lease.TrustedFraction) {
			t.Fatalf("of %v is not the trusted fraction", ttl)
		}
	}
}

func TestTrustedUntil(t *testing.T) {
	t.Parallel()
	sent := lease.Instant(10 * time.Second)
	for name, c := range map[string]struct{ waited, ttl, want time.Duration }{
		"CountsFromTheSending":      {0, 30 * time.Second, 34 * time.Second},
		"AddsTheWait":               {45 * time.Second, 30 * time.Second, 79 * time.Second},
		"AddsTheWaitInMilliseconds": {1234 * time.Millisecond, 5 * time.Second, 15234 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := lease.TrustedUntil(sent, c.waited, c.ttl); got != lease.Instant(c.want) {
				t.Errorf("%v, want %v", time.Duration(got), c.want)
			}
		})
	}

	// However long the answer was on its way, and however the request waited: who
	// stops then has stopped before the name can be anyone else's.
	t.Run("EndsBeforeTheDeadline", func(t *testing.T) {
		t.Parallel()
		for ttl := time.Second; ttl <= time.Hour; ttl += 7 * time.Second {
			for _, waited := range []time.Duration{0, 1, 999_999, time.Millisecond, 59_999_999_999} {
				received := sent.Add(3 * time.Millisecond)
				granted := received.Add(waited)
				deadline := granted.Add(ttl + lease.Guard(ttl))
				if until := lease.TrustedUntil(sent, waited.Truncate(time.Millisecond), ttl); until >= deadline {
					t.Fatalf("a TTL of %v that waited %v is trusted until %d, over at %d", ttl, waited, until, deadline)
				}
			}
		}
	})

	t.Run("DoesNotWrap", func(t *testing.T) {
		t.Parallel()
		if got := lease.TrustedUntil(math.MaxInt64-1, time.Hour, time.Hour); got != math.MaxInt64 {
			t.Errorf("%d", got)
		}
	})
}
