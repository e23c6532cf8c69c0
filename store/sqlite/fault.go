package sqlite

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/octostore/octostore/lease"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// class is what an error of the library means for a group.
type class uint8

const (
	notApplied class = iota // certainly nothing was written; try again later
	diskFull                // the same, because there is no room
	poisonous               // what is on the disk can not be known any more
)

func classify(err error) class {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return poisonous // not an error that the library documents
	}
	switch e.Code() & 0xff {
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_INTERRUPT, sqlite3.SQLITE_NOMEM:
		return notApplied
	case sqlite3.SQLITE_FULL:
		return diskFull
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN:
		// The file was taken away or its modes changed; nothing can be written.
		return notApplied
	default: // SQLITE_IOERR*, SQLITE_CORRUPT, SQLITE_NOTADB and what should never happen
		return poisonous
	}
}

// ErrFenced: another server has taken the file over, by a restored machine or
// a network file system on which locks do not work.
var ErrFenced = errors.New("another server has taken this database over")

// fault is the store's one way out: the first poisonous error wins, after it
// nothing is served or written.
type fault struct {
	err  atomic.Pointer[error]
	done chan struct{}
}

func newFault() *fault { return &fault{done: make(chan struct{})} }

// raise poisons the store and reports whether this was the first time.
func (f *fault) raise(err error) bool {
	if !f.err.CompareAndSwap(nil, &err) {
		return false
	}
	close(f.done)
	return true
}

// serving returns nil, or why nothing is served any more.
func (f *fault) serving() error {
	if f.err.Load() == nil {
		return nil
	}
	return &lease.Retry{Err: lease.ErrUnavailable, After: 5 * time.Second}
}

func (f *fault) cause() error {
	if p := f.err.Load(); p != nil {
		return *p
	}
	return nil
}

// A store that was poisoned twice within this time is not started again
// without being told to: the disk is failing.
const faultWindow = 10 * time.Minute

// ErrRepeatedFaults: the database was poisoned twice in a short time.
var ErrRepeatedFaults = errors.New("the disk failed twice within 10 minutes; check it, then start once with OCTOSTORE_ACCEPT_IO_ERRORS=true")

// noteFault writes the time of a fault beside the database. It is best effort:
// the disk has just failed.
func (l location) noteFault(at time.Time) error {
	f, err := os.OpenFile(l.beside(".faults"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(f, at.Unix())
	return errors.Join(err, f.Sync(), f.Close())
}

// checkFaults refuses a start after two faults within faultWindow.
func (l location) checkFaults(now time.Time, accept bool) error {
	text, err := os.ReadFile(l.beside(".faults"))
	if err != nil {
		return nil //nolint:nilerr // no such file: no fault was noted
	}
	recent := 0
	for line := range strings.Lines(string(text)) {
		sec, err := strconv.ParseInt(strings.TrimSpace(line), 10, 64)
		if err == nil && now.Sub(time.Unix(sec, 0)) < faultWindow {
			recent++
		}
	}
	switch {
	case recent == 0 || accept:
		_ = os.Remove(l.beside(".faults"))
	case recent > 1:
		return ErrRepeatedFaults
	}
	return nil
}
