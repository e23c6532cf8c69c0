package simulation

import (
	"strconv"
	"time"

	"github.com/octostore/octostore/internal/bootclock"
	"github.com/octostore/octostore/lease"
)

// clock is the machine's: the deciding clock begins anew with every boot, the
// wall clock steps. Under it runs the world's time, which does neither.
type clock struct {
	start   time.Time
	base    time.Duration // what the deciding clock shows beyond the world's time
	wallOff time.Duration
	boots   int
}

// now is the time of the world.
func (c *clock) now() time.Duration { return time.Since(c.start) }

// Now implements lease.Clock.
func (c *clock) Now() lease.Now {
	return lease.Now{
		At:   lease.Instant(c.now() + c.base),
		Wall: lease.WallOf(time.Now().Add(c.wallOff)),
	}
}

// world translates a reading of the deciding clock.
func (c *clock) world(at lease.Instant) time.Duration { return time.Duration(at) - c.base }

// reboot starts the deciding clock again, at the uptime.
func (c *clock) reboot(uptime time.Duration) {
	c.base = uptime - c.now()
	c.boots++
}

// boot identifies the running boot.
func (c *clock) boot() bootclock.Boot {
	return bootclock.Boot{ID: "boot " + strconv.Itoa(c.boots)}
}
