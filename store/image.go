package store

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/octostore/octostore/lease"
)

// Row is one record as a writer stores it. The id is a number of the row's
// own: two names may have the same term.
type Row struct {
	ID     int64
	Record lease.Record
}

// Changes is what one group writes.
type Changes struct {
	Now    lease.Now
	Floor  lease.Term // as it is after the group
	Rows   []Row      // to insert or replace, each id once
	Drop   []int64    // rows to remove
	Events []lease.Event
}

// Writer makes one group durable in one transaction. An error that wraps
// lease.ErrUnavailable says that nothing was applied; any other leaves the
// outcome unknown.
type Writer interface {
	Write(ctx context.Context, c Changes) error
}

// How long an ended row is kept, and how much of it at most.
const (
	KeepRooms = time.Hour
	KeepLocks = 24 * time.Hour
	// MinIdle is how old an ended row must be to go early, when there are more
	// than ImageOptions.MaxIdle of them.
	MinIdle = 10 * time.Minute
	// DefaultMaxIdle is the number of ended names kept by default.
	DefaultMaxIdle = 1_000_000
)

// ImageOptions configures an Image.
type ImageOptions struct {
	Clock   lease.Clock
	Writer  Writer
	MaxIdle int64            // ended names kept; 0 for DefaultMaxIdle
	Grants  func() bool      // whether new leases may begin; nil for always
	Fault   func() error     // non-nil once the store serves nothing more; nil for never
	Gauges  func(ImageStats) // told after each group; may be nil
	// Breached is told when a change would break an invariant. Nothing of its
	// group was applied. It may be nil.
	Breached func(error)
}

// ImageStats are the sizes of an image.
type ImageStats struct {
	Rooms int64 // live leases of elections
	Locks int64 // live leases of locks
	Idle  int64 // ended names that are remembered
}

// Image is the committed state of a store that one process owns, in memory.
// It answers reads, decides nothing, and is swapped only after its Writer has
// made a group durable. It implements Backend.
type Image struct {
	opt ImageOptions

	mu     sync.RWMutex // guards everything below; written by the committer alone
	names  map[lease.Key]*entry
	due    dueHeap
	idle   [2]idleList // rooms, locks
	live   map[lease.Scope]int64
	held   [2]int64 // rooms, locks
	floor  lease.Term
	nextID int64

	tx imageTx // reused: there is one committer
}

const noSlot = -1

type entry struct {
	rec        lease.Record
	id         int64
	prev, next *entry // in the idle list, while not held
	slot       int32  // in the due heap, while held
	idle       bool
}

// NewImage returns an empty image. Load fills it.
func NewImage(opt ImageOptions) *Image {
	if opt.MaxIdle == 0 {
		opt.MaxIdle = DefaultMaxIdle
	}
	if opt.Grants == nil {
		opt.Grants = func() bool { return true }
	}
	if opt.Fault == nil {
		opt.Fault = func() error { return nil }
	}
	return &Image{opt: opt, names: make(map[lease.Key]*entry), live: make(map[lease.Scope]int64), nextID: 1}
}

// Expect makes room for n rows before they are loaded.
func (m *Image) Expect(n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.names = make(map[lease.Key]*entry, n)
	m.due = make(dueHeap, 0, n)
}

// Load adds a stored row while the store is being opened.
func (m *Image) Load(row Row) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, dup := m.names[row.Record.Key]; dup {
		return fmt.Errorf("store: two rows for one %s", row.Record.Key.Kind())
	}
	m.place(&entry{rec: row.Record, id: row.ID, slot: noSlot})
	m.nextID = max(m.nextID, row.ID+1)
	return nil
}

// Loaded ends the loading: it puts the ended names in the order in which they
// ended, which is not the order of their rows, so that the oldest go first.
func (m *Image) Loaded() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range m.idle {
		m.idle[i].sort()
	}
}

// SetFloor sets the term floor while the store is being opened.
func (m *Image) SetFloor(t lease.Term) { m.floor = t }

// Now implements Backend.
func (m *Image) Now() lease.Now { return m.opt.Clock.Now() }

// Read implements Backend.
func (m *Image) Read(_ context.Context, key lease.Key) (lease.Record, lease.Now, error) {
	if err := m.opt.Fault(); err != nil {
		return lease.Record{}, lease.Now{}, err
	}
	rec := lease.Record{Key: key}
	m.mu.RLock()
	if e := m.names[key]; e != nil {
		rec = e.rec
	}
	m.mu.RUnlock()
	return rec, m.opt.Clock.Now(), nil
}

// Live returns the number of leases in a scope that are not recorded as ended.
func (m *Image) Live(scope lease.Scope) int64 {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.live[scope]
}

// Len returns the number of names that have a row.
func (m *Image) Len() int {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return len(m.names)
}

// Due implements Backend.
func (m *Image) Due(now lease.Now, limit int) []lease.Key {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.due.passed(now.At, limit)
}

// NextDue implements Backend.
func (m *Image) NextDue() (lease.Instant, bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if len(m.due) == 0 {
		return 0, false
	}
	return m.due[0].rec.Lease.Deadline, true
}

// Stale implements Backend. Rows go when they are old enough; above MaxIdle
// the oldest go once they are MinIdle old, and above twice that whatever their
// age, so that memory stays bounded under any load.
func (m *Image) Stale(now lease.Now, limit int) []lease.Key {
	m.mu.RLock()
	defer m.mu.RUnlock()
	var keys []lease.Key
	total := m.idle[0].n + m.idle[1].n
	for i, keep := range [...]time.Duration{KeepRooms, KeepLocks} {
		for e := m.idle[i].front; e != nil && len(keys) < limit; e = e.next {
			age := now.At.Sub(e.rec.Last.At)
			if cooling := now.At < e.rec.Free; cooling || (age < keep &&
				(total <= m.opt.MaxIdle || age < MinIdle) && total <= 2*m.opt.MaxIdle) {
				break
			}
			keys = append(keys, e.rec.Key)
			total--
		}
	}
	return keys
}

// AcceptsGrants implements Backend.
func (m *Image) AcceptsGrants() bool { return m.opt.Grants() }

// place puts an entry where its record belongs. The caller holds the lock.
func (m *Image) place(e *entry) {
	m.names[e.rec.Key] = e
	if e.rec.Held {
		m.due.push(e)
		m.live[e.rec.Key.Scope()]++
		m.held[product(e)]++
	} else if e.rec.Last != nil {
		e.idle = true
		m.idle[product(e)].push(e)
	}
}

// displace undoes place, but for the map.
func (m *Image) displace(e *entry) {
	if e.rec.Held {
		m.due.remove(e)
		m.held[product(e)]--
		scope := e.rec.Key.Scope()
		if m.live[scope]--; m.live[scope] == 0 {
			delete(m.live, scope)
		}
	} else if e.idle {
		m.idle[product(e)].remove(e)
		e.idle = false
	}
}

// product tells rooms (0) from locks (1).
func product(e *entry) int {
	if e.rec.Key.Kind() == lease.Election {
		return 0
	}
	return 1
}

// swap makes a committed change visible.
func (m *Image) swap(e *entry, rec lease.Record) {
	if e.rec.Held && rec.Held {
		e.rec = rec
		m.due.fix(int(e.slot))
		return
	}
	m.displace(e)
	e.rec = rec
	m.place(e)
}

func (m *Image) stats() ImageStats {
	return ImageStats{Rooms: m.held[0], Locks: m.held[1], Idle: m.idle[0].n + m.idle[1].n}
}

// Stats returns the sizes of the image.
func (m *Image) Stats() ImageStats {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.stats()
}
