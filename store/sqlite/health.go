package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"modernc.org/sqlite"
)

// How often the file is looked after, and when its log is emptied.
const (
	houseEvery = time.Second
	idleBefore = 2 * time.Second // no group for this long: the log may be emptied
	walAlarm   = walLimit        // a log beyond this is pinned by an outside reader
	walSmall   = 4 << 20         // a log up to this is left as it is
)

// ProbeError is why a probe fails: one word that may be shown to anyone who
// asks for readiness, so it says no path and no error of the library.
type ProbeError string

// Why a probe fails.
const (
	ErrNotServing ProbeError = "store_failed"
	ErrFileGone   ProbeError = "file_gone"
	ErrNoRoom     ProbeError = "disk_full"
	ErrUnreadable ProbeError = "unreadable"
)

// Error implements error.
func (e ProbeError) Error() string { return "sqlite: not ready: " + string(e) }

// Reason is the word.
func (e ProbeError) Reason() string { return string(e) }

// Probe tells whether the store can serve. It reads one row through a
// connection of its own and makes and writes nothing, not even a missing file.
func (s *Store) Probe(ctx context.Context) error {
	if s.fault.cause() != nil {
		return ErrNotServing
	}
	if now, err := identify(s.at.path); err != nil || now != s.identity {
		return ErrFileGone
	}
	var one int
	if err := s.reads.QueryRowContext(ctx, "SELECT id FROM meta WHERE id = 1").Scan(&one); err != nil {
		return ErrUnreadable
	}
	if s.room.low.Load() {
		return ErrNoRoom
	}
	return nil
}

// Journal names the journal of the database.
func (s *Store) Journal() string { return "wal" }

// SizeBytes is the size of the main file, 0 if it can not be read.
func (s *Store) SizeBytes() int64 {
	info, err := os.Stat(s.at.path)
	if err != nil {
		return 0
	}
	return info.Size()
}

// fileIdentity tells a file from another one of the same name. It is read with
// stat alone: opening the file would drop SQLite's locks on it.
type fileIdentity struct{ dev, ino uint64 }

func identify(path string) (fileIdentity, error) {
	info, err := os.Stat(path)
	if err != nil {
		return fileIdentity{}, err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return fileIdentity{}, fmt.Errorf("no identity of %s", path)
	}
	return fileIdentity{dev: uint64(st.Dev), ino: st.Ino}, nil //nolint:gosec,unconvert // the type differs between systems
}

// keepHouse looks after the file once a second.
func (s *Store) keepHouse() {
	defer close(s.stopped)
	tick := time.NewTicker(houseEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			s.Housekeep()
		case <-s.stop:
			return
		}
	}
}

// Housekeep measures the disk, empties the log when nobody is writing, and
// raises the alarm when something outside keeps it from being emptied.
func (s *Store) Housekeep() {
	space, changed, err := s.room.check()
	if err != nil {
		s.log.Error("the file system can not be measured", "error", err)
	} else if changed && s.room.low.Load() {
		s.log.Error("the disk is nearly full: no new lease begins until there is room again", "free_bytes", space.Free)
	} else if changed {
		s.log.Info("there is room on the disk again", "free_bytes", space.Free)
	}
	var wal int64
	if info, err := os.Stat(s.at.beside("-wal")); err == nil {
		wal = info.Size()
	}
	if low := s.room.low.Load() && wal > 0; low || wal > walSmall && (s.writer.idleFor(idleBefore) || wal > walAlarm) {
		if err := s.writer.checkpoint(context.Background()); err != nil && wal > walAlarm {
			s.log.Warn("the log of the database can not be emptied", "bytes", wal, "error", err)
		}
	}
	if o := s.opt.Observer; o != nil {
		o.WalBytes(wal)
		o.DiskFreeBytes(int64(space.Free)) //nolint:gosec // no file system is that large
		o.StoreHealthy(s.fault.cause() == nil)
	}
}

func isLibrary(err error) bool {
	var e *sqlite.Error
	return errors.As(err, &e)
}
