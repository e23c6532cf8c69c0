package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/octostore/octostore/lease"
	"github.com/octostore/octostore/store/storetest"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	storetest.Conformance(t, newFactory(t, 0))
}

func TestConcurrency(t *testing.T) {
	t.Parallel()
	storetest.Concurrency(t, newFactory(t, 0))
}

func TestConcurrencyWithLinger(t *testing.T) {
	t.Parallel()
	storetest.Concurrency(t, newFactory(t, time.Millisecond))
}

func TestFailure(t *testing.T) {
	t.Parallel()
	storetest.Failure(t, newFactory(t, 0))
}

// newFactory makes stores on real files in a bubble of their own.
func newFactory(t *testing.T, linger time.Duration) storetest.Factory {
	t.Helper()
	full := fullError(t)
	return func(t *testing.T, test func(*testing.T, *storetest.Harness)) {
		t.Helper()
		b := &bench{dirs: t.TempDir, linger: linger}
		b.faults.full = full
		storetest.InBubble(t, func(t *testing.T, bubble *storetest.Bubble) {
			t.Helper()
			b.T, b.Bubble = t, bubble
			b.h = &storetest.Harness{
				Events: storetest.NewRecorder(), MaxIdle: 16,
				Advance: bubble.Advance, StepWall: bubble.StepWall,
				// A committer that lingers goes on by itself when its timer fires.
				Settle: func() { bubble.Advance(linger) },
				Reopen: b.reopen, Fail: b.faults.fail, Hold: b.faults.hold, Failed: b.failed, Room: b.faults.setRoom,
			}
			b.path = filepath.Join(b.dirs(), "octostore.db")
			b.open(0, false)
			defer b.close()
			test(t, b.h)
		})
	}
}

// bench is one database with its levers.
type bench struct {
	*testing.T
	*storetest.Bubble
	h      *storetest.Harness
	dirs   func() string // makes a directory that is removed in the end
	linger time.Duration
	path   string
	store  *Store
	faults faults
}

func (b *bench) open(after storetest.Stop, lost bool) {
	b.Helper()
	clock := b.Clock()
	s, err := Open(b.Context(), b.path, Options{
		Clock: clock, Boot: b.Boot, Publisher: b.h.Events.Begin(clock, after, lost),
		MaxIdle: int64(b.h.MaxIdle), Linger: b.linger, Statfs: b.faults.statfs, Failpoint: b.faults.at,
	})
	if err != nil {
		b.Fatal(err)
	}
	b.store, b.h.Store = s, s
}

func (b *bench) close() {
	b.Helper()
	if err := b.store.Close(); err != nil {
		b.Errorf("close: %v", err)
	}
}

func (b *bench) failed() bool {
	select {
	case <-b.store.Failed():
		return true
	default:
		return false
	}
}

// reopen ends the store and opens it again on what it left. A process that is
// killed leaves the files as they are at that moment and the page cache in
// order: a copy of them is exactly what the next process finds.
func (b *bench) reopen(how storetest.Stop, down time.Duration) {
	b.Helper()
	b.Settle()
	lost := b.failed()
	if how == storetest.CleanStop {
		b.close()
	} else {
		dir := b.dirs()
		for _, suffix := range []string{"", "-wal", ".key"} {
			copyFile(b.T, b.path+suffix, filepath.Join(dir, "octostore.db"+suffix))
		}
		b.path = filepath.Join(dir, "octostore.db")
		b.h.Events.Begin(b.Clock(), how, lost) // nothing more is heard of the old one
		b.faults.letGo()
		b.close()
	}
	b.Advance(down)
	if how == storetest.Reboot {
		b.Reboot()
	}
	b.open(how, lost)
	b.Settle()
}

// copyFile copies a file that may be missing. The database is opened by this
// process here, against the rule: locks that belong to open files survive it,
// and nobody else is looking.
func copyFile(t *testing.T, from, to string) {
	t.Helper()
	in, err := os.Open(from)
	if errors.Is(err, os.ErrNotExist) {
		return
	} else if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(out, in); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
}

var errInjectedIO = errors.New("injected I/O error")

// faults decides what happens at each step of a commit.
type faults struct {
	full error // what the library says when there is no room

	mu     sync.Mutex
	next   storetest.Fault
	armed  storetest.Fault // of the commit that is under way
	holder chan struct{}   // closed to let the commit go on
	room   storetest.Room
}

func (f *faults) fail(k storetest.Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.next = k
}

func (f *faults) hold() (release func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.holder = make(chan struct{})
	return f.letGo
}

// letGo lets the commit go on that is held, if one is.
func (f *faults) letGo() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.holder != nil {
		close(f.holder)
		f.holder = nil
	}
}

func (f *faults) setRoom(r storetest.Room) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.room = r
}

// statfs tells of a disk so small that its ballast costs nothing to make.
func (f *faults) statfs(string) (Space, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := Space{Total: 1 << 20, Free: 1 << 19}
	if f.room == storetest.Scarce || f.room == storetest.None {
		s.Free = 1 << 10
	}
	return s, nil
}

// at is the failpoint.
func (f *faults) at(stage Stage) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch stage {
	case AtBegin:
		f.armed, f.next = f.next, 0
	case AtRows:
		if f.room == storetest.None {
			return f.full
		}
	case AtCommit:
		if gate := f.holder; gate != nil {
			f.mu.Unlock()
			<-gate
			f.mu.Lock()
		}
		switch f.armed {
		case storetest.NotApplied:
			return fmt.Errorf("injected: %w", lease.ErrUnavailable)
		case storetest.UnknownNotApplied:
			return errInjectedIO
		case storetest.UnknownApplied:
		}
	case AtCommitted:
		if f.armed == storetest.UnknownApplied {
			return errInjectedIO
		}
	}
	return nil
}

// fullError returns what the library says when there is no room for a page.
func fullError(t *testing.T) error {
	t.Helper()
	tuneOnce()
	l := location{path: filepath.Join(t.TempDir(), "full.db")}
	conn, err := openRaw(context.Background(), l)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.close()
	for _, q := range []string{"CREATE TABLE t (b BLOB)", "PRAGMA max_page_count = 3"} {
		if _, err := conn.value(context.Background(), q); err != nil {
			t.Fatal(err)
		}
	}
	_, err = conn.exec(context.Background(), "INSERT INTO t VALUES (zeroblob(100000))")
	if err == nil || classify(err) != diskFull {
		t.Fatalf("a database that may not grow says %v", err)
	}
	return err
}
