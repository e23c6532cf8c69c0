package storetest

import (
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/octostore/octostore/internal/bootclock"
	"github.com/octostore/octostore/lease"
)

// Bubble is the time of a test on a backend that lives in one process: the
// test runs in a testing/synctest bubble. Time stands still there while any
// goroutine can go on, real I/O included, and jumps to the next timer when
// none can. So an instant is exact, an hour costs nothing, and "nothing more
// happens" is a fact and not a guess.
type Bubble struct {
	wall  *atomic.Int64 // by how many nanoseconds the wall clock was stepped
	clock Clock         // of the present boot
	boots int
}

// The clock of the first boot has run for an hour, that of every later one for
// a second: a deadline that is carried over unchanged would be far away.
const (
	firstUptime = time.Hour
	laterUptime = time.Second
)

// InBubble runs the test in a bubble. It returns when every goroutine that was
// started there has ended.
func InBubble(t *testing.T, test func(t *testing.T, b *Bubble)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		t.Helper()
		b := &Bubble{wall: new(atomic.Int64)}
		b.boot(firstUptime)
		test(t, b)
	})
}

func (b *Bubble) boot(uptime time.Duration) {
	b.boots++
	b.clock = Clock{zero: time.Now().Add(-uptime), wall: b.wall}
}

// Reboot begins a new boot, with another identity and a lower clock.
func (b *Bubble) Reboot() { b.boot(laterUptime) }

// Boot identifies the present boot.
func (b *Bubble) Boot() bootclock.Boot {
	return bootclock.Boot{ID: fmt.Sprintf("boot %d", b.boots)}
}

// Clock returns the clock of the present boot. It goes on as it is when the
// next boot begins.
func (b *Bubble) Clock() Clock { return b.clock }

// StepWall moves the wall clock alone.
func (b *Bubble) StepWall(d time.Duration) { b.wall.Add(int64(d)) }

// Advance lets d pass and returns when everything that became due has
// happened. Sleeping is how time is moved in a bubble: the sleep takes no time
// and ends only when everyone else waits as well.
func (b *Bubble) Advance(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// Settle returns when every other goroutine of the bubble waits for something.
func (b *Bubble) Settle() { synctest.Wait() }

// Clock is a deciding clock and a wall clock in a bubble. It implements
// lease.Clock.
type Clock struct {
	zero time.Time
	wall *atomic.Int64
}

// Now implements lease.Clock.
func (c Clock) Now() lease.Now {
	now := time.Now()
	return lease.Now{
		At:   lease.Instant(now.Sub(c.zero)),
		Wall: lease.WallOf(now.Add(time.Duration(c.wall.Load()))),
	}
}
