package ratelimit

import (
	"errors"
	"sync"
	"sync/atomic"
)

// The ways in which [Slots.Acquire] refuses. Both mean: try again later. On the wire they are 429 rate_limited for
// anonymous clients; the wire contract tells an election's watcher to wait 30 s after ErrClientFull and 1 s after
// ErrFull.
var (
	// ErrClientFull says that this client holds as many slots as one client may. Other clients are not affected.
	ErrClientFull = errors.New("the client holds all the slots it may have")

	// ErrFull says that all slots together, or the ceiling above them, are taken.
	ErrFull = errors.New("all slots are taken")
)

// Slots bounds how many long-lived things one client, and all clients together, have at the same time: watch streams,
// waiting requests, or the waiters of one room, with the room as the key. It is safe for concurrent use. Memory grows
// with the clients that hold slots and goes away with them.
type Slots struct {
	perClient, global int
	ceiling           *Ceiling

	mu    sync.Mutex
	held  tally[string]
	inUse int
}

// NewSlots makes a bound of perClient slots for each key and global slots for all keys together. A number of zero or
// less admits nobody.
func NewSlots(perClient, global int) *Slots {
	return &Slots{perClient: perClient, global: global}
}

// Under puts s below c, next to other Slots below the same c: each slot takes one place of c too, and a c without room
// refuses with ErrFull. It returns s and must be called before the first Acquire.
func (s *Slots) Under(c *Ceiling) *Slots {
	s.ceiling = c
	return s
}

// Acquire takes one slot for key. The caller gives it back by calling release, exactly then when the stream or wait is
// over; further calls of release do nothing. The error is ErrClientFull or ErrFull, in this order: a client at its own
// bound is told so even when the server is full. On an error release is nil.
func (s *Slots) Acquire(key string) (release func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held.of(key) >= s.perClient {
		return nil, ErrClientFull
	}
	if s.inUse >= s.global || !s.ceiling.take() {
		return nil, ErrFull
	}
	s.inUse++
	s.held.add(key)
	released := false // guarded by s.mu
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if released {
			return
		}
		released = true
		s.inUse--
		s.held.drop(key)
		s.ceiling.give()
	}, nil
}

// InUse returns how many slots are taken now, by all clients together.
func (s *Slots) InUse() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.inUse
}

// Ceiling is a bound that several [Slots] share, for a resource that all of them use up: watch streams and waiters have
// numbers of their own, but each of them occupies a descriptor. It is safe for concurrent use.
type Ceiling struct {
	limit int64
	used  atomic.Int64
}

// NewCeiling makes a ceiling of limit places. A number of zero or less admits nobody.
func NewCeiling(limit int) *Ceiling {
	return &Ceiling{limit: int64(limit)}
}

// InUse returns how many places are taken now.
func (c *Ceiling) InUse() int { return int(c.used.Load()) }

// take is never above the limit, not even for a moment: a refusal that another caller's failed attempt has caused would
// be a wrong answer. A nil ceiling has room for everyone.
func (c *Ceiling) take() bool {
	if c == nil {
		return true
	}
	for {
		used := c.used.Load()
		if used >= c.limit {
			return false
		}
		if c.used.CompareAndSwap(used, used+1) {
			return true
		}
	}
}

func (c *Ceiling) give() {
	if c != nil {
		c.used.Add(-1)
	}
}
