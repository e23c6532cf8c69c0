package sqlite

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/octostore/octostore/lease"
)

// A process outside that holds the write lock makes clients wait, or come
// again; none of them hears of the lock.
func TestOutsideWriterForASecondOnlyDelays(t *testing.T) {
	t.Parallel()
	s := open(t, dbPath(t), Options{})
	rec := take(t, s, "leader", time.Hour)
	_, leave := otherProcess(t, roleShortWrite, s.Path())
	for i, err := range crowd(t, s, rec) {
		if err != nil && !errors.Is(err, lease.ErrUnavailable) {
			t.Errorf("call %d: %v", i, err)
		}
	}
	leave()
	take(t, s, "after", time.Hour)
	if got := held(t, s, "leader"); !got.Held {
		t.Error("the leader was unseated")
	}
}

func TestOutsideWriterForLongMakesCallersComeAgain(t *testing.T) {
	t.Parallel()
	s := open(t, dbPath(t), Options{})
	rec := take(t, s, "leader", time.Hour)
	s.writer.mu.Lock() // do not wait for as long as in earnest
	_, err := s.writer.conn.exec(t.Context(), "PRAGMA busy_timeout = 20")
	s.writer.mu.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	_, leave := otherProcess(t, roleWriteLock, s.Path())
	for i, err := range crowd(t, s, rec) {
		if !errors.Is(err, lease.ErrUnavailable) || lease.RetryAfter(err, 0) <= 0 {
			t.Errorf("call %d: %v", i, err)
		}
	}
	if got := held(t, s, "leader"); got.Revision != rec.Revision {
		t.Error("something was changed")
	}
	if err := s.Probe(t.Context()); err != nil {
		t.Errorf("not ready, because of %v", err)
	}
	leave()
	for i, err := range crowd(t, s, rec) {
		if err != nil {
			t.Errorf("call %d afterwards: %v", i, err)
		}
	}
	if s.Cause() != nil {
		t.Errorf("the store failed: %v", s.Cause())
	}
}

// crowd lets 16 callers renew a lease and 16 campaign for rooms of their own,
// all at once.
func crowd(t *testing.T, s *Store, rec lease.Record) []error {
	t.Helper()
	errs := make([]error, 32)
	var all sync.WaitGroup
	for i := range errs {
		all.Go(func() {
			if i%2 == 0 {
				_, errs[i] = s.Renew(t.Context(), rec.Key, rec.Ref(), 0)
				return
			}
			_, errs[i] = s.Acquire(t.Context(), lease.ElectionKey(fmt.Sprint("r", i)), lease.Acquire{TTL: time.Hour}, 0)
		})
	}
	all.Wait()
	return errs
}

// Readers of the file, such as a backup, see whole groups and stop nobody.
func TestOutsideReaderSeesWhatIsDurable(t *testing.T) {
	t.Parallel()
	s := open(t, dbPath(t), Options{})
	take(t, s, "before", time.Hour)
	conn, err := openRaw(context.Background(), s.at)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.close()
	if _, err := conn.exec(t.Context(), "BEGIN"); err != nil {
		t.Fatal(err)
	}
	count := func() any {
		t.Helper()
		n, err := conn.value(t.Context(), "SELECT count(*) FROM lease")
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if n := count(); n != int64(1) {
		t.Errorf("sees %v leases", n)
	}
	take(t, s, "after", time.Hour)
	if n := count(); n != int64(1) {
		t.Errorf("sees %v leases within its transaction", n)
	}
	if _, err := conn.exec(t.Context(), "COMMIT"); err != nil {
		t.Fatal(err)
	}
	if n := count(); n != int64(2) {
		t.Errorf("sees %v leases", n)
	}
}
