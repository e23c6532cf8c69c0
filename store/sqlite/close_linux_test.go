package sqlite

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/octostore/octostore/lease"
)

func TestClose(t *testing.T) {
	t.Parallel()
	t.Run("LeavesNoFileOpenAndNoLogBehind", func(t *testing.T) {
		t.Parallel()
		s := open(t, dbPath(t), Options{})
		take(t, s, "r", time.Hour)
		if err := s.Probe(t.Context()); err != nil { // opens a reader
			t.Fatal(err)
		}
		path := closed(t, s)
		if open := descriptors(t, filepath.Dir(path)); len(open) > 0 {
			t.Errorf("still open: %q", open)
		}
		if info, err := os.Stat(path + "-wal"); err == nil && info.Size() > 0 {
			t.Errorf("%d bytes of log are left", info.Size())
		}
		if err := s.Close(); err != nil {
			t.Errorf("the second close: %v", err)
		}
	})
	t.Run("LeavesNoFileOpenAfterAFault", func(t *testing.T) {
		t.Parallel()
		fail := false
		s := open(t, dbPath(t), Options{Failpoint: func(at Stage) error {
			if fail && at == AtCommit {
				return errInjectedIO
			}
			return nil
		}, Manual: true})
		fail = true
		err := step(t, s, func() error {
			_, err := s.Acquire(t.Context(), lease.ElectionKey("r"), lease.Acquire{TTL: time.Hour}, 0)
			return err
		})
		if !errors.Is(err, lease.ErrOutcomeUnknown) {
			t.Errorf("answered %v", err)
		}
		path := closed(t, s)
		if open := descriptors(t, filepath.Dir(path)); len(open) > 0 {
			t.Errorf("still open: %q", open)
		}
	})
	t.Run("LeavesNoFileOpenAfterARefusedStart", func(t *testing.T) {
		t.Parallel()
		path := dbPath(t)
		if err := os.WriteFile(path, []byte("no database, and long enough to be read as one\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := refuse(t, path, Options{}); !errors.Is(err, errFileDamaged) {
			t.Errorf("refused with %v", err)
		}
		if open := descriptors(t, filepath.Dir(path)); len(open) > 0 {
			t.Errorf("still open: %q", open)
		}
	})
}

// descriptors are the open files of this process below a directory.
func descriptors(t *testing.T, dir string) (open []string) {
	t.Helper()
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, fd := range fds {
		if to, err := os.Readlink("/proc/self/fd/" + fd.Name()); err == nil && strings.HasPrefix(to, dir) {
			open = append(open, to)
		}
	}
	return open
}
