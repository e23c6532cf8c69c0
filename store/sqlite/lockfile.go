package sqlite

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// InUseError says that another server has the database.
type InUseError struct {
	Path string
	Who  string // what the other server wrote about itself
}

// Error implements error.
func (e *InUseError) Error() string {
	return fmt.Sprintf("the database %s is in use by another server (%s); one file serves one server", e.Path, e.Who)
}

// lockFile is held for the life of the store. It is a file of its own, because
// closing any descriptor of the database would drop SQLite's locks.
type lockFile struct{ f *os.File }

// acquireLock takes the lock of the database or says who has it.
func acquireLock(l location) (*lockFile, error) {
	f, err := os.OpenFile(l.beside(".lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock file: %w", err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		defer f.Close()
		if !errors.Is(err, unix.EWOULDBLOCK) {
			return nil, fmt.Errorf("lock file: %w", err)
		}
		who, _ := io.ReadAll(io.LimitReader(f, 256))
		if len(who) == 0 {
			who = []byte("it has not said who it is yet")
		}
		return nil, &InUseError{Path: l.path, Who: strings.TrimSpace(string(who))}
	}
	host, _ := os.Hostname()
	text := fmt.Sprintf("pid %d on %s since %s\n", os.Getpid(), host, time.Now().UTC().Format(time.RFC3339))
	if err := f.Truncate(0); err == nil {
		// A full disk must not keep the server from starting: the lock is what
		// counts, the text is for people.
		_, _ = f.WriteAt([]byte(text), 0)
	}
	return &lockFile{f}, nil
}

// release gives the lock up. The file stays: removing it would let two servers
// hold locks on two files of the same name.
//
// It is unlocked before it is closed: a process that is being forked from this
// one shares the descriptor for a moment, and with it the lock.
func (l *lockFile) release() error {
	return errors.Join(unix.Flock(int(l.f.Fd()), unix.LOCK_UN), l.f.Close())
}
