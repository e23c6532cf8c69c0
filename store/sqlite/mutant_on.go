//go:build mutants

package sqlite

import (
	"time"

	"github.com/octostore/octostore/lease"
)

func mutant(name string) bool { return lease.Mutant(name) }

// wallClock takes the wall clock for the deciding one.
type wallClock struct{ lease.Clock }

func byTheWall(c lease.Clock) lease.Clock { return wallClock{c} }

// Now implements lease.Clock.
func (c wallClock) Now() lease.Now {
	now := c.Clock.Now()
	return lease.Now{At: lease.Instant(int64(now.Wall) * int64(time.Microsecond)), Wall: now.Wall}
}
