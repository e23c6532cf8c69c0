package lease_test

import (
	"math"
	"testing"
	"testing/quick"
	"time"

	"github.com/octostore/octostore/lease"
)

func TestInstant(t *testing.T) {
	t.Parallel()
	const (
		first lease.Instant = math.MinInt64
		last  lease.Instant = math.MaxInt64
		long  time.Duration = math.MaxInt64
		back  time.Duration = math.MinInt64
	)
	for _, c := range []struct {
		i    lease.Instant
		d    time.Duration
		want lease.Instant
	}{
		{0, 0, 0},
		{5, 3, 8},
		{5, -3, 2},
		{5, -8, -3},
		{last, 0, last},
		{last, 1, last},
		{last - 1, 1, last},
		{last - 1, 2, last},
		{last, long, last},
		{1, long, last},
		{0, long, last},
		{first, 0, first},
		{first, -1, first},
		{first + 1, -1, first},
		{first + 1, -2, first},
		{first, back, first},
		{-1, back, first},
		{0, back, first},
		{first, long, -1},
		{last, back, -1},
		{last, -1, last - 1},
		{first, 1, first + 1},
	} {
		if got := c.i.Add(c.d); got != c.want {
			t.Errorf("%d + %d = %d, want %d", c.i, c.d, got, c.want)
		}
	}

	t.Run("NeverWraps", func(t *testing.T) {
		t.Parallel()
		err := quick.Check(func(i lease.Instant, d time.Duration) bool {
			got := i.Add(d)
			switch {
			case d > 0:
				return got > i || got == last
			case d < 0:
				return got < i || got == first
			}
			return got == i
		}, nil)
		if err != nil {
			t.Error(err)
		}
	})

	t.Run("SubIsTheWayBack", func(t *testing.T) {
		t.Parallel()
		if got := dawn.At.Add(time.Hour).Sub(dawn.At); got != time.Hour {
			t.Errorf("%v", got)
		}
	})
}

func TestWall(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 2, 3, 4, 5, 6, 123_456_789, time.FixedZone("", 3600))
	w := lease.WallOf(at)
	if got := w.Time(); !got.Equal(at.Truncate(time.Microsecond)) || got.Location() != time.UTC {
		t.Errorf("%v of %v", got, at)
	}
	for d, want := range map[time.Duration]lease.Wall{
		time.Second: 1_000_000, -time.Second: -1_000_000, 1999: 1, -1999: -1, 0: 0,
	} {
		if got := w.Add(d) - w; got != want {
			t.Errorf("%v moves it by %d, want %d", d, got, want)
		}
	}
}

func TestGuard(t *testing.T) {
	t.Parallel()
	for ttl, want := range map[time.Duration]time.Duration{
		0:                50 * time.Millisecond,
		50 * time.Second: 50 * time.Millisecond,
		51 * time.Second: 51 * time.Millisecond,
		time.Hour:        3600 * time.Millisecond,
	} {
		if got := lease.Guard(ttl); got != want {
			t.Errorf("of %v: %v, want %v", ttl, got, want)
		}
	}

	// A holder whose clock runs 500 ppm slow, against a server whose clock runs
	// 500 ppm fast, counts its TTL out before the deadline, but for what is left
	// over when two such errors are multiplied: half a millionth.
	t.Run("CoversTheErrorOfBothClocks", func(t *testing.T) {
		t.Parallel()
		for ttl := time.Second; ttl <= time.Hour; ttl += time.Second {
			real := float64(ttl) / (1 - 0.0005)
			server := real * (1 + 0.0005)
			if deadline := float64(ttl + lease.Guard(ttl)); server > deadline*(1+1e-6) {
				t.Fatalf("a TTL of %v is counted out %v after the deadline", ttl, time.Duration(server-deadline))
			}
		}
	})
}
