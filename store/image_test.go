package store

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/octostore/octostore/lease"
)

// memory is a Writer that keeps what it was given, or fails.
type memory struct {
	fail   error
	rows   map[int64]lease.Record
	floor  lease.Term
	writes int
}

// Write implements Writer.
func (m *memory) Write(_ context.Context, c Changes) error {
	if m.fail != nil {
		return m.fail
	}
	if m.rows == nil {
		m.rows = make(map[int64]lease.Record)
	}
	for _, r := range c.Rows {
		m.rows[r.ID] = r.Record
	}
	for _, id := range c.Drop {
		delete(m.rows, id)
	}
	m.floor = c.Floor
	m.writes++
	return nil
}

// hands is a clock that is moved by hand.
type hands struct{ now lease.Now }

// Now implements lease.Clock.
func (h *hands) Now() lease.Now { return h.now }

func (h *hands) pass(d time.Duration) {
	h.now.At = h.now.At.Add(d)
	h.now.Wall = h.now.Wall.Add(d)
}

func newHands() *hands { return &hands{lease.Now{At: 1_000_000_000_000, Wall: 1_700_000_000_000_000}} }

// transition runs one transition as a group of its own.
func transition(t *testing.T, m *Image, key lease.Key, f func(Tx, lease.Record) (lease.Record, lease.Outcome, []lease.Event)) {
	t.Helper()
	tx, err := m.Begin(t.Context(), []lease.Key{key})
	if err != nil {
		t.Fatal(err)
	}
	next, _, events := f(tx, tx.Record(key))
	tx.Put(next, events)
	if _, err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func begin(t *testing.T, m *Image, key lease.Key, bound *lease.Binding) {
	t.Helper()
	transition(t, m, key, func(tx Tx, r lease.Record) (lease.Record, lease.Outcome, []lease.Event) {
		return r.Acquire(lease.Ground{Now: tx.Now(), Floor: tx.Floor()}, lease.Acquire{TTL: time.Hour, Bound: bound})
	})
}

func end(t *testing.T, m *Image, key lease.Key) {
	t.Helper()
	transition(t, m, key, func(tx Tx, r lease.Record) (lease.Record, lease.Outcome, []lease.Event) {
		return r.Release(tx.Now(), r.Ref())
	})
}

func TestImage(t *testing.T) {
	t.Parallel()
	key := lease.ElectionKey("r")
	t.Run("CountsLiveLeasesByScope", func(t *testing.T) {
		t.Parallel()
		clock := newHands()
		m := NewImage(ImageOptions{Clock: clock, Writer: &memory{}})
		begin(t, m, key, nil)
		begin(t, m, lease.LockKey("a", "r"), nil)
		begin(t, m, lease.LockKey("b", "r"), nil)
		begin(t, m, lease.LockKey("b", "s"), nil)
		end(t, m, lease.LockKey("b", "r"))
		for scope, want := range map[lease.Scope]int64{
			{Kind: lease.Election}: 1, {Kind: lease.Lock, Tenant: "a"}: 1, {Kind: lease.Lock, Tenant: "b"}: 1, {Kind: lease.Lock}: 0,
		} {
			if got := m.Live(scope); got != want {
				t.Errorf("%v has %d, want %d", scope, got, want)
			}
		}
		if got, want := m.Stats(), (ImageStats{Rooms: 1, Locks: 2, Idle: 1}); got != want {
			t.Errorf("stats %+v, want %+v", got, want)
		}
	})
	t.Run("IsSwappedOnlyAfterTheWriterHasReturned", func(t *testing.T) {
		t.Parallel()
		w := &memory{}
		m := NewImage(ImageOptions{Clock: newHands(), Writer: w})
		for _, fail := range []error{lease.ErrUnavailable, lease.ErrOutcomeUnknown, errors.New("anything else")} {
			w.fail = fail
			tx, err := m.Begin(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			next, _, events := tx.Record(key).Acquire(lease.Ground{Now: tx.Now()}, lease.Acquire{TTL: time.Hour})
			tx.Put(next, events)
			if tx.Live(key.Scope()) != 1 || !tx.Record(key).Held {
				t.Error("the group does not see its own change")
			}
			_, err = tx.Commit(t.Context())
			if !errors.Is(err, fail) || errors.Is(err, lease.ErrUnavailable) == errors.Is(err, lease.ErrOutcomeUnknown) {
				t.Errorf("failed with %v", err)
			}
			read, _, err := m.Read(t.Context(), key)
			if err != nil || read.Held || m.Len() != 0 || m.Live(key.Scope()) != 0 {
				t.Errorf("after %v: %+v, %v", fail, read, err)
			}
		}
		w.fail = nil
		begin(t, m, key, nil)
		if m.Len() != 1 || len(w.rows) != 1 {
			t.Error("what failed before was not forgotten")
		}
	})
	t.Run("RollbackForgetsTheGroup", func(t *testing.T) {
		t.Parallel()
		w := &memory{}
		m := NewImage(ImageOptions{Clock: newHands(), Writer: w})
		tx, err := m.Begin(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		next, _, events := tx.Record(key).Acquire(lease.Ground{Now: tx.Now()}, lease.Acquire{TTL: time.Hour})
		tx.Put(next, events)
		tx.Rollback()
		if tx, err = m.Begin(t.Context(), nil); err != nil || tx.Record(key).Held || tx.Live(key.Scope()) != 0 {
			t.Errorf("the next group sees it: %v", err)
		}
		if done, err := tx.Commit(t.Context()); err != nil || done.Rows != 0 || w.writes != 0 {
			t.Errorf("an empty group wrote %+v, %v", done, err)
		}
	})
	t.Run("DropRaisesTheFloor", func(t *testing.T) {
		t.Parallel()
		w := &memory{}
		m := NewImage(ImageOptions{Clock: newHands(), Writer: w})
		begin(t, m, key, nil)
		rec, _, _ := m.Read(t.Context(), key)
		tx, err := m.Begin(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		tx.Drop(key) // is held: stays
		if _, err := tx.Commit(t.Context()); err != nil || m.Len() != 1 {
			t.Fatalf("a name that is held was dropped: %v", err)
		}
		end(t, m, key)
		if tx, err = m.Begin(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		tx.Drop(key)
		tx.Drop(lease.ElectionKey("unknown"))
		if r := tx.Record(key); r.Term != 0 || tx.Floor() != rec.Term {
			t.Errorf("the group sees %+v, floor %d", r, tx.Floor())
		}
		done, err := tx.Commit(t.Context())
		if err != nil || done.Rows != 1 || m.Len() != 0 || len(w.rows) != 0 || w.floor != rec.Term || m.Stats().Idle != 0 {
			t.Errorf("%+v, %v, floor %d, %d rows", done, err, w.floor, len(w.rows))
		}
		begin(t, m, key, nil)
		if next, _, _ := m.Read(t.Context(), key); next.Term <= rec.Term {
			t.Errorf("term %d after %d", next.Term, rec.Term)
		}
	})
	t.Run("RefusesTwoRowsForOneName", func(t *testing.T) {
		t.Parallel()
		m := NewImage(ImageOptions{Clock: newHands(), Writer: &memory{}})
		for i, want := range []bool{true, false} {
			if err := m.Load(Row{ID: int64(i + 1), Record: lease.Record{Key: key}}); (err == nil) != want {
				t.Errorf("row %d: %v", i, err)
			}
		}
	})
	t.Run("NewRowsDoNotTakeTheIDsOfLoadedOnes", func(t *testing.T) {
		t.Parallel()
		w := &memory{}
		m := NewImage(ImageOptions{Clock: newHands(), Writer: w})
		if err := m.Load(Row{ID: 41, Record: lease.Record{Key: key, Term: 1, Revision: 1}}); err != nil {
			t.Fatal(err)
		}
		begin(t, m, lease.ElectionKey("new"), nil)
		begin(t, m, key, nil)
		if len(w.rows) != 2 || w.rows[42].Key.Name() != "new" || w.rows[41].Key != key {
			t.Errorf("rows %v", w.rows)
		}
	})
	t.Run("ServesNothingOnceItFailed", func(t *testing.T) {
		t.Parallel()
		broken := errors.New("broken")
		m := NewImage(ImageOptions{Clock: newHands(), Writer: &memory{}, Fault: func() error { return broken }})
		if _, _, err := m.Read(t.Context(), key); !errors.Is(err, broken) {
			t.Errorf("a read: %v", err)
		}
		if _, err := m.Begin(t.Context(), nil); !errors.Is(err, broken) {
			t.Errorf("a group: %v", err)
		}
	})
}

// The last look before the disk: what breaks an invariant is not written.
func TestBreachIsNotWritten(t *testing.T) {
	t.Parallel()
	key := lease.ElectionKey("r")
	held := lease.Record{Key: key, Term: 5, Revision: 5, Held: true, Lease: lease.Lease{Nonce: lease.Nonce{1}}}
	free := lease.Record{Key: key, Term: 5, Revision: 5, Last: &lease.Past{}}
	for name, c := range map[string]struct{ was, next lease.Record }{
		"RevisionThatStands":  {held, held},
		"RevisionThatFalls":   {held, with(held, func(r *lease.Record) { r.Revision = 4 })},
		"TermThatFalls":       {free, with(held, func(r *lease.Record) { r.Revision, r.Term = 6, 4 })},
		"TermThatIsUsedTwice": {free, with(held, func(r *lease.Record) { r.Revision = 6 })},
		"TwoHolders":          {held, with(held, func(r *lease.Record) { r.Revision, r.Term, r.Lease.Nonce = 6, 6, lease.Nonce{2} })},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var told error
			w := &memory{}
			m := NewImage(ImageOptions{Clock: newHands(), Writer: w, Breached: func(err error) { told = err }})
			if err := m.Load(Row{ID: 1, Record: c.was}); err != nil {
				t.Fatal(err)
			}
			tx, err := m.Begin(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			tx.Put(c.next, nil)
			var breach Breach
			if _, err := tx.Commit(t.Context()); !errors.Is(err, lease.ErrUnavailable) || !errors.As(err, &breach) || !errors.As(told, &breach) {
				t.Errorf("committed with %v, told %v", err, told)
			}
			if w.writes != 0 {
				t.Error("it was written")
			}
			if tx, err = m.Begin(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
			if _, err := tx.Commit(t.Context()); err != nil {
				t.Errorf("the next group suffers: %v", err)
			}
		})
	}
}

func with(r lease.Record, f func(*lease.Record)) lease.Record {
	f(&r)
	return r
}

// What a million rooms cost is a figure to watch, not one to fail on: it
// depends on the machine and the version of Go.
func TestMemoryPerRoom(t *testing.T) {
	if testing.Short() {
		return
	}
	const rooms = 50_000
	before := heapInUse()
	m := NewImage(ImageOptions{Clock: newHands(), Writer: &memory{}})
	for i := range rooms {
		rec := lease.Record{Key: lease.ElectionKey(fmt.Sprintf("a-room-id-of-32-characters-%05d", i)), Term: 1, Revision: 1, Held: true}
		rec.Lease = lease.Lease{TTL: time.Minute, Deadline: lease.Instant(i), Label: "candidate-1"}
		if err := m.Load(Row{ID: int64(i + 1), Record: rec}); err != nil {
			t.Fatal(err)
		}
	}
	held := heapInUse()
	t.Logf("%d bytes of heap a held room", (held-before)/rooms)
	runtime.KeepAlive(m)
}

func heapInUse() uint64 {
	runtime.GC()
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return s.HeapAlloc
}
