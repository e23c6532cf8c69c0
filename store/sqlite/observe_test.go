package sqlite

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/octostore/octostore/lease"
	"github.com/octostore/octostore/store"
)

// gauge keeps the last of what it was told about the file, and nothing else.
type gauge struct {
	leases     map[string]int64
	idle       int64
	wal, free  int64
	healthy    bool
	violations []string
}

// What follows implements Observer.
func (g *gauge) LiveLeases(kind string, n int64)      { g.leases[kind] = n }
func (g *gauge) IdleNames(n int64)                    { g.idle = n }
func (g *gauge) WalBytes(n int64)                     { g.wal = n }
func (g *gauge) DiskFreeBytes(n int64)                { g.free = n }
func (g *gauge) StoreHealthy(ok bool)                 { g.healthy = ok }
func (g *gauge) InvariantViolation(rule string)       { g.violations = append(g.violations, rule) }
func (*gauge) QueueDepth(string, int)                 {}
func (*gauge) QueueWait(string, time.Duration)        {}
func (*gauge) QueueRefused(string)                    {}
func (*gauge) GroupCommitted(int, int, time.Duration) {}
func (*gauge) CommitFailed(string)                    {}
func (*gauge) ExpiryLag(time.Duration)                {}
func (*gauge) Outcome(string, string, string)         {}
func (*gauge) Waiters(int64)                          {}
func (*gauge) Stalled(time.Duration)                  {}
func (*gauge) GroupTraced(context.Context, string, time.Time, time.Time, time.Time, time.Time, int, int) {
}

func TestObserver(t *testing.T) {
	t.Parallel()
	t.Run("IsToldOfLeasesAndOfTheFile", func(t *testing.T) {
		t.Parallel()
		g := &gauge{leases: make(map[string]int64)}
		s := open(t, dbPath(t), Options{Manual: true, Observer: g})
		a := grant(t, s, "a", time.Hour)
		grant(t, s, "b", time.Hour)
		err := step(t, s, func() error {
			_, err := s.Release(t.Context(), a.Key, a.Ref())
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		s.Housekeep()
		if g.leases["election"] != 1 || g.leases["lock"] != 0 || g.idle != 1 || g.wal == 0 || g.free != 1<<19 || !g.healthy {
			t.Errorf("told %+v", g)
		}
		if got, want := s.Stats(), (store.ImageStats{Rooms: 1, Idle: 1}); got != want {
			t.Errorf("stats %+v, want %+v", got, want)
		}
		if s.SizeBytes() == 0 || s.Journal() != "wal" {
			t.Errorf("%d bytes, journal %q", s.SizeBytes(), s.Journal())
		}
	})
	t.Run("IsToldOfAStoreThatFailed", func(t *testing.T) {
		t.Parallel()
		g := &gauge{leases: make(map[string]int64), healthy: true}
		var log bytes.Buffer
		s := open(t, dbPath(t), Options{Manual: true, Observer: g, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		s.poison(errInjectedIO)
		s.poison(errors.New("a second one, which changes nothing"))
		if g.healthy || !errors.Is(s.Cause(), errInjectedIO) {
			t.Errorf("healthy %v, because of %v", g.healthy, s.Cause())
		}
		if !strings.Contains(log.String(), errInjectedIO.Error()) || strings.Contains(log.String(), "second") {
			t.Errorf("log: %s", log.String())
		}
	})
	t.Run("IsToldOfABrokenInvariantThatEndsTheService", func(t *testing.T) {
		t.Parallel()
		g := &gauge{leases: make(map[string]int64), healthy: true}
		s := open(t, dbPath(t), Options{Manual: true, Observer: g})
		rec := grant(t, s, "r", time.Hour)
		tx, err := s.image.Begin(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		tx.Put(rec, nil) // the same revision once more
		if _, err := tx.Commit(t.Context()); !errors.Is(err, lease.ErrUnavailable) {
			t.Errorf("committed with %v", err)
		}
		failed(t, s)
		if len(g.violations) != 1 || g.healthy {
			t.Errorf("told of %q, healthy %v", g.violations, g.healthy)
		}
	})
	t.Run("DiskThatCanNotBeMeasuredAnyMoreChangesNothing", func(t *testing.T) {
		t.Parallel()
		var broken error
		var log bytes.Buffer
		s := open(t, dbPath(t), Options{
			Manual: true, Logger: slog.New(slog.NewTextHandler(&log, nil)),
			Statfs: func(dir string) (Space, error) {
				if broken != nil {
					return Space{}, broken
				}
				return roomy(dir)
			},
		})
		broken = errors.New("no such file system")
		s.Housekeep()
		grant(t, s, "r", time.Hour)
		if !strings.Contains(log.String(), "can not be measured") {
			t.Errorf("log: %s", log.String())
		}
	})
}
