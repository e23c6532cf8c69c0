package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/octostore/octostore/lease"
)

// imageTx is a group over an Image: an overlay of the records that it changed.
// The image itself is not touched before the writer has returned.
type imageTx struct {
	m      *Image
	now    lease.Now
	floor  lease.Term
	work   []change
	index  map[lease.Key]int
	live   map[lease.Scope]int64 // differences
	events []lease.Event
	rows   []Row
	drop   []int64
	breach error
}

type change struct {
	rec     lease.Record
	e       *entry // nil for a name without a row
	dropped bool
}

// Begin implements Backend. The image holds every name and there is one
// committer, so there is nothing to wait for.
func (m *Image) Begin(_ context.Context, _ []lease.Key) (Tx, error) {
	if err := m.opt.Fault(); err != nil {
		return nil, err
	}
	t := &m.tx
	t.m, t.now, t.floor = m, m.opt.Clock.Now(), m.floor
	if t.index == nil {
		t.index, t.live = make(map[lease.Key]int), make(map[lease.Scope]int64)
	}
	return t, nil
}

// Now implements Tx.
func (t *imageTx) Now() lease.Now { return t.now }

// Floor implements Tx.
func (t *imageTx) Floor() lease.Term { return t.floor }

// Record implements Tx. Only the committer changes the map, so it may read it
// without the lock.
func (t *imageTx) Record(key lease.Key) lease.Record {
	if i, ok := t.index[key]; ok && !t.work[i].dropped {
		return t.work[i].rec
	} else if ok {
		return lease.Record{Key: key}
	}
	if e := t.m.names[key]; e != nil {
		return e.rec
	}
	return lease.Record{Key: key}
}

// Live implements Tx.
func (t *imageTx) Live(scope lease.Scope) int64 { return t.m.live[scope] + t.live[scope] }

// Put implements Tx.
func (t *imageTx) Put(rec lease.Record, events []lease.Event) {
	was := t.Record(rec.Key)
	t.breach = errors.Join(t.breach, breachOf(&was, &rec))
	if was.Held != rec.Held {
		if rec.Held {
			t.live[rec.Key.Scope()]++
		} else {
			t.live[rec.Key.Scope()]--
		}
	}
	if i, ok := t.index[rec.Key]; ok {
		t.work[i].rec, t.work[i].dropped = rec, false
	} else {
		t.index[rec.Key] = len(t.work)
		t.work = append(t.work, change{rec: rec, e: t.m.names[rec.Key]})
	}
	t.events = append(t.events, events...)
}

// Breach is an invariant that a change would break. The kernel keeps them; this
// is the last look before the disk, and it stays on in production.
type Breach string

// Error implements error.
func (b Breach) Error() string { return "store: invariant broken: " + string(b) }

// breachOf compares a record with the one it replaces.
func breachOf(was, next *lease.Record) error {
	switch {
	case next.Revision <= was.Revision:
		return Breach("revision_rises")
	case next.Term < was.Term, next.Term == was.Term && next.Held && !was.Held:
		return Breach("term_rises")
	case was.Held && next.Held && was.Ref() != next.Ref() && (next.Last == nil || next.Last.Ref != was.Ref()):
		return Breach("one_holder")
	}
	return nil
}

// Drop implements Tx. A name that the group changed, or that is held, stays.
func (t *imageTx) Drop(key lease.Key) {
	e := t.m.names[key]
	if _, changed := t.index[key]; changed || e == nil || e.rec.Held {
		return
	}
	if !mutant("floor-not-raised") {
		t.floor = max(t.floor, e.rec.Term)
	}
	t.index[key] = len(t.work)
	t.work = append(t.work, change{rec: e.rec, e: e, dropped: true})
}

// Commit implements Tx.
func (t *imageTx) Commit(ctx context.Context) (Commit, error) {
	defer t.reset()
	if len(t.work) == 0 {
		return Commit{}, nil
	}
	if t.breach != nil {
		if t.m.opt.Breached != nil {
			t.m.opt.Breached(t.breach)
		}
		return Commit{}, fmt.Errorf("%w: %w", lease.ErrUnavailable, t.breach)
	}
	next := t.m.nextID
	for i := range t.work {
		switch w := &t.work[i]; {
		case w.dropped:
			t.drop = append(t.drop, w.e.id)
		case w.e == nil:
			t.rows = append(t.rows, Row{ID: next, Record: w.rec})
			next++
		default:
			t.rows = append(t.rows, Row{ID: w.e.id, Record: w.rec})
		}
	}
	if mutant("swap-before-fsync") {
		t.publish()
	}
	err := t.m.opt.Writer.Write(ctx, Changes{Now: t.now, Floor: t.floor, Rows: t.rows, Drop: t.drop, Events: t.events})
	if err != nil && !mutant("commit-error-ignored") {
		if !errors.Is(err, lease.ErrUnavailable) && !errors.Is(err, lease.ErrOutcomeUnknown) {
			err = fmt.Errorf("%w: %w", lease.ErrOutcomeUnknown, err)
		}
		return Commit{}, err
	}
	if !mutant("swap-before-fsync") {
		t.publish()
	}
	c := Commit{Rows: len(t.rows) + len(t.drop), Events: t.events}
	t.events = nil // handed on
	return c, nil
}

// publish swaps the new state in.
func (t *imageTx) publish() {
	m := t.m
	m.mu.Lock()
	defer m.mu.Unlock()
	row := 0
	for i := range t.work {
		w := &t.work[i]
		if w.dropped {
			m.displace(w.e)
			delete(m.names, w.rec.Key)
			continue
		}
		if w.e == nil {
			m.place(&entry{rec: w.rec, id: t.rows[row].ID, slot: noSlot})
			m.nextID++
		} else {
			m.swap(w.e, w.rec)
		}
		row++
	}
	m.floor = t.floor
	if m.opt.Gauges != nil {
		m.opt.Gauges(m.stats())
	}
}

// Rollback implements Tx.
func (t *imageTx) Rollback() { t.reset() }

func (t *imageTx) reset() {
	clear(t.work)
	clear(t.rows)
	t.work, t.rows, t.drop, t.events = t.work[:0], t.rows[:0], t.drop[:0], t.events[:0]
	clear(t.index)
	clear(t.live)
	t.breach = nil
}
