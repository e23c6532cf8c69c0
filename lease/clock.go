package lease

import (
	"math"
	"time"
)

// Instant is a point on the deciding clock, in nanoseconds from an origin
// that only the clock knows. The deciding clock never steps and, on a single
// machine, counts the time that the machine is suspended. Instants of
// different boots, or of different stores, must not be compared.
type Instant int64

// Add returns the instant d later, or earlier if d is negative. It saturates
// instead of wrapping: a deadline beyond the end of time must not be one that
// has passed.
func (i Instant) Add(d time.Duration) Instant {
	s := i + Instant(d)
	switch {
	case d > 0 && s < i:
		return math.MaxInt64
	case d < 0 && s > i:
		return math.MinInt64
	}
	return s
}

// Sub returns the time from u to i.
func (i Instant) Sub(u Instant) time.Duration { return time.Duration(i - u) }

// Wall is a wall-clock reading in microseconds since the Unix epoch. It is
// shown to people and feeds terms and revisions; it never decides whether a
// lease lives.
type Wall int64

// Time returns w as a UTC time.
func (w Wall) Time() time.Time { return time.UnixMicro(int64(w)).UTC() }

// Add returns w moved by d.
func (w Wall) Add(d time.Duration) Wall { return w + Wall(d/time.Microsecond) }

// WallOf returns t as a Wall.
func WallOf(t time.Time) Wall { return Wall(t.UnixMicro()) }

// Now is one reading of both clocks. A decision uses exactly one, taken
// inside the decision: not when the request arrived, and not by a sweeper.
type Now struct {
	At   Instant // the deciding clock
	Wall Wall    // the wall clock, for display, terms and revisions
}

// Clock reads both clocks. Implementations must be safe for concurrent use
// and At must never go back during the life of a process.
type Clock interface {
	Now() Now
}

// MinGuard is the least that a deadline lies behind the announced expiry.
const MinGuard = 50 * time.Millisecond

// Guard is how much longer than the announced TTL a lease is kept: the larger
// of MinGuard and a thousandth of the TTL. It covers a clock-rate error of
// 500 ppm on either side, so a client that counts the TTL on its own clock
// from the moment it sent the request stops first.
func Guard(ttl time.Duration) time.Duration {
	if mutant("deadline-without-guard") {
		return 0
	}
	return max(MinGuard, ttl/1000)
}

// wallTolerance is how far the wall clock may drift from the deciding clock
// before an announced expiry is recomputed for display. Smaller differences
// are left alone so that the same lease shows the same expiry in every answer.
const wallTolerance = time.Second
