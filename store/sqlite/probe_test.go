package sqlite

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"
)

func TestProbe(t *testing.T) {
	t.Parallel()
	t.Run("SucceedsAndWritesNothing", func(t *testing.T) {
		t.Parallel()
		s := open(t, dbPath(t), Options{})
		take(t, s, "r", time.Hour)
		wal := fileSize(t, s.Path()+"-wal")
		for range 3 {
			if err := s.Probe(t.Context()); err != nil {
				t.Error(err)
			}
		}
		if got := fileSize(t, s.Path()+"-wal"); got != wal {
			t.Errorf("the log went from %d to %d bytes", wal, got)
		}
	})
	t.Run("MissesAFileThatWasMovedAwayAndMakesNoNewOne", func(t *testing.T) {
		t.Parallel()
		s := open(t, dbPath(t), Options{})
		take(t, s, "r", time.Hour)
		if err := os.Rename(s.Path(), s.Path()+".moved"); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := s.Probe(t.Context()); !errors.Is(err, ErrFileGone) {
				t.Errorf("answered %v", err)
			}
		}
		if _, err := os.Stat(s.Path()); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the file is there again: %v", err)
		}
	})
	t.Run("IsNotFooledByAnotherFileOfTheSameName", func(t *testing.T) {
		t.Parallel()
		s := open(t, dbPath(t), Options{})
		other := closed(t, open(t, filepath.Join(t.TempDir(), "other.db"), Options{}))
		if err := os.Rename(other, s.Path()); err != nil {
			t.Fatal(err)
		}
		if err := s.Probe(t.Context()); !errors.Is(err, ErrFileGone) {
			t.Errorf("answered %v", err)
		}
	})
	t.Run("TellsOfADiskWithoutRoomAndOfItsRecovery", func(t *testing.T) {
		t.Parallel()
		var free atomic.Uint64
		free.Store(1 << 19)
		s := open(t, dbPath(t), Options{Manual: true, Statfs: func(string) (Space, error) {
			return Space{Total: 1 << 20, Free: free.Load()}, nil
		}})
		free.Store(1)
		s.Housekeep()
		if err := s.Probe(t.Context()); !errors.Is(err, ErrNoRoom) {
			t.Errorf("answered %v", err)
		}
		free.Store(1 << 19)
		s.Housekeep()
		if err := s.Probe(t.Context()); err != nil {
			t.Errorf("answered %v", err)
		}
	})
	t.Run("TellsOfAStoreThatFailed", func(t *testing.T) {
		t.Parallel()
		s := open(t, dbPath(t), Options{})
		s.poison(errInjectedIO)
		if err := s.Probe(t.Context()); !errors.Is(err, ErrNotServing) {
			t.Errorf("answered %v", err)
		}
	})
	t.Run("DoesNotOutliveItsCaller", func(t *testing.T) {
		t.Parallel()
		s := open(t, dbPath(t), Options{})
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		if err := s.Probe(gone); !errors.Is(err, ErrUnreadable) {
			t.Errorf("answered %v", err)
		}
	})
	t.Run("SaysNoPathAndNoErrorOfTheLibrary", func(t *testing.T) {
		t.Parallel()
		for _, e := range []ProbeError{ErrNotServing, ErrFileGone, ErrNoRoom, ErrUnreadable} {
			for _, r := range e.Reason() {
				if (r < 'a' || r > 'z') && r != '_' {
					t.Errorf("reason %q", e.Reason())
				}
			}
		}
	})
}

func fileSize(t *testing.T, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}
