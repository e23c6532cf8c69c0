package sqlite

import (
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/octostore/octostore/lease"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

func TestRepeatedFaultsRefuseTheStart(t *testing.T) {
	t.Parallel()
	path := dbPath(t)
	broken := false
	o := Options{Failpoint: func(at Stage) error {
		if broken && at == AtCommit {
			return errInjectedIO
		}
		return nil
	}}
	fail := func() {
		t.Helper()
		broken = true
		s := open(t, path, o)
		if _, err := s.Acquire(t.Context(), lease.ElectionKey("x"), lease.Acquire{TTL: time.Hour}, 0); !errors.Is(err, lease.ErrOutcomeUnknown) {
			t.Fatalf("answered %v", err)
		}
		failed(t, s)
		if !errors.Is(s.Cause(), errInjectedIO) {
			t.Errorf("failed because of %v", s.Cause())
		}
		closed(t, s)
	}
	fail() // one fault is bad luck: the next start serves
	fail()
	broken = false
	if err := refuse(t, path, o); !errors.Is(err, ErrRepeatedFaults) {
		t.Errorf("refused with %v", err)
	}
	if err := refuse(t, path, o); !errors.Is(err, ErrRepeatedFaults) { // and stays so
		t.Errorf("refused with %v", err)
	}
	o.AcceptFaults = true
	closed(t, open(t, path, o))
	o.AcceptFaults = false
	open(t, path, o) // accepted once, the past is forgotten
}

func TestFaultsOfLongAgoAreForgotten(t *testing.T) {
	t.Parallel()
	l := location{path: dbPath(t)}
	now := time.Now()
	note := func(ago ...time.Duration) {
		t.Helper()
		_ = os.Remove(l.beside(".faults"))
		for _, d := range ago {
			if err := l.noteFault(now.Add(-d)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, c := range []struct {
		ago     []time.Duration
		refused bool
	}{
		{nil, false},
		{[]time.Duration{0}, false},
		{[]time.Duration{time.Minute, 0}, true},
		{[]time.Duration{9 * time.Minute, 8 * time.Minute}, true},
		{[]time.Duration{11 * time.Minute, 10 * time.Minute}, false},
		{[]time.Duration{time.Hour, 11 * time.Minute, time.Minute}, false},
		{[]time.Duration{time.Hour, 2 * time.Minute, time.Minute}, true},
	} {
		note(c.ago...)
		if err := l.checkFaults(now, false); (err != nil) != c.refused {
			t.Errorf("faults %v ago: %v", c.ago, err)
		}
	}
	if got := mode(t, l.beside(".faults")); got != 0o600 {
		t.Errorf("mode %04o", got)
	}
	if err := os.WriteFile(l.beside(".faults"), []byte("\nnonsense\n-1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := l.checkFaults(now, false); err != nil {
		t.Errorf("a file that can not be read: %v", err)
	}
}

func TestErrorsAreClassified(t *testing.T) {
	t.Parallel()
	if got := classify(errors.New("anything else")); got != poisonous {
		t.Errorf("an unknown error is %v", got)
	}
	if got := classify(fullError(t)); got != diskFull {
		t.Errorf("a full disk is %v", got)
	}
	path := dbPath(t)
	_, leave := otherProcess(t, roleWriteLock, path)
	conn, err := openRaw(t.Context(), location{path: path})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.close()
	if _, err := conn.exec(t.Context(), "PRAGMA busy_timeout = 1"); err != nil {
		t.Fatal(err)
	}
	_, err = conn.exec(t.Context(), "BEGIN IMMEDIATE")
	var e *sqlite.Error
	if !errors.As(err, &e) || e.Code()&0xff != sqlite3.SQLITE_BUSY || classify(err) != notApplied || !isLibrary(err) {
		t.Errorf("a lock held by another is %v, class %v", err, classify(err))
	}
	leave()
}

// Each step of a commit fails in each way, and the store is left as it has to
// be.
func TestEveryStepOfACommitMayFail(t *testing.T) {
	t.Parallel()
	full := fullError(t)
	for _, stage := range []Stage{AtBegin, AtRows, AtCommit, AtCommitted} {
		for name, c := range map[string]struct {
			err    error
			poison bool
		}{
			"NotApplied": {fmt.Errorf("injected: %w", lease.ErrUnavailable), false},
			"DiskFull":   {full, false},
			"IOError":    {errInjectedIO, true},
			"Fenced":     {ErrFenced, true},
		} {
			if stage == AtCommitted && !c.poison {
				continue // after the commit nothing can be known to be undone
			}
			t.Run(string(stage)+"/"+name, func(t *testing.T) {
				t.Parallel()
				var fail error
				s := open(t, dbPath(t), Options{Failpoint: func(at Stage) error {
					if at == stage {
						return fail
					}
					return nil
				}})
				rec := take(t, s, "r", time.Hour)
				fail = c.err
				_, err := s.Release(t.Context(), rec.Key, rec.Ref())
				fail = nil
				if c.poison {
					failed(t, s)
					if !errors.Is(err, lease.ErrOutcomeUnknown) {
						t.Errorf("answered %v", err)
					}
					if _, err := s.Read(t.Context(), rec.Key); !errors.Is(err, lease.ErrUnavailable) {
						t.Errorf("a read: %v", err)
					}
				} else if !errors.Is(err, lease.ErrUnavailable) {
					t.Errorf("answered %v", err)
				}
				path := closed(t, s)
				s = open(t, path, Options{})
				if got, want := held(t, s, "r").Held, stage != AtCommitted; got != want {
					t.Errorf("held %v, want %v", got, want)
				}
				if _, err := s.Release(t.Context(), rec.Key, rec.Ref()); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

func TestAServerThatWasReplacedIsFencedOff(t *testing.T) {
	t.Parallel()
	s := open(t, dbPath(t), Options{})
	rec := take(t, s, "r", time.Hour)
	edit(t, s.Path(), "UPDATE meta SET instance_id = 'another server'")
	if _, err := s.Renew(t.Context(), rec.Key, rec.Ref(), 0); !errors.Is(err, lease.ErrOutcomeUnknown) {
		t.Errorf("answered %v", err)
	}
	failed(t, s)
	if !errors.Is(s.Cause(), ErrFenced) {
		t.Errorf("failed because of %v", s.Cause())
	}
	path := closed(t, s)
	if got := held(t, open(t, path, Options{}), "r"); got.Revision != rec.Revision {
		t.Errorf("it wrote all the same: revision %d, want %d", got.Revision, rec.Revision)
	}
}

// failed checks that the store has said that it serves nothing more.
func failed(t *testing.T, s *Store) {
	t.Helper()
	select {
	case <-s.Failed():
	default:
		t.Fatal("the store does not say that it has failed")
	}
}
