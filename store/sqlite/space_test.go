package sqlite

import (
	"errors"
	"os"
	"syscall"
	"testing"
)

func TestRoom(t *testing.T) {
	t.Parallel()
	const mib = 1 << 20
	room := func(t *testing.T, s *Space) *diskRoom {
		t.Helper()
		return &diskRoom{at: location{path: dbPath(t)}, statfs: func(string) (Space, error) { return *s, nil }}
	}
	check := func(t *testing.T, d *diskRoom) (low, changed bool) {
		t.Helper()
		_, changed, err := d.check()
		if err != nil {
			t.Fatal(err)
		}
		return d.low.Load(), changed
	}
	t.Run("IsLowBelowTheSmallerOf64MiBAndATwentieth", func(t *testing.T) {
		t.Parallel()
		for _, c := range []struct {
			total, free uint64
			low         bool
		}{
			{100 << 30, 64 * mib, false},
			{100 << 30, 64*mib - 1, true},
			{200 * mib, 10 * mib, false},
			{200 * mib, 10*mib - 1, true},
			{100 << 30, 0, true},
		} {
			if low, _ := check(t, room(t, &Space{Total: c.total, Free: c.free})); low != c.low {
				t.Errorf("%d of %d bytes free: low %v, want %v", c.free, c.total, low, c.low)
			}
		}
	})
	t.Run("TellsWhenItChanges", func(t *testing.T) {
		t.Parallel()
		s := &Space{Total: 20 * mib, Free: 10 * mib}
		d := room(t, s)
		for i, step := range []struct {
			free         uint64
			low, changed bool
		}{
			{10 * mib, false, false},
			{1, true, true},
			{2, true, false},
			{10 * mib, false, true},
			{10 * mib, false, false},
		} {
			s.Free = step.free
			if low, changed := check(t, d); low != step.low || changed != step.changed {
				t.Errorf("step %d: low %v, changed %v", i, low, changed)
			}
		}
	})
	t.Run("KeepsABallastOfRealBlocksAndGivesItUpOnce", func(t *testing.T) {
		t.Parallel()
		s := &Space{Total: 20 * mib, Free: 10 * mib}
		d := room(t, s)
		check(t, d)
		path := d.at.beside(".ballast")
		if got := fileSize(t, path); got != mib {
			t.Fatalf("the ballast has %d bytes, want a twentieth of 20 MiB", got)
		}
		if got := blocks(t, path); got < mib {
			t.Errorf("only %d bytes of the ballast are on the disk", got)
		}
		if !d.full() || !d.low.Load() {
			t.Error("the ballast was not given up")
		}
		if d.full() {
			t.Error("given up twice")
		}
		s.Free = mib // what the ballast left is not for new leases
		if low, _ := check(t, d); !low {
			t.Error("new leases may begin on what the ballast left")
		}
		if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the ballast is there again: %v", err)
		}
		s.Free = 10 * mib
		if low, _ := check(t, d); low {
			t.Error("low although there is room again")
		}
		if got := fileSize(t, path); got != mib {
			t.Errorf("the ballast made anew has %d bytes", got)
		}
	})
	t.Run("MakesNoBallastWhereThereIsNoRoomForIt", func(t *testing.T) {
		t.Parallel()
		s := &Space{Total: 20 * mib, Free: 2 * mib}
		d := room(t, s)
		check(t, d)
		if _, err := os.Stat(d.at.beside(".ballast")); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("there is one: %v", err)
		}
	})
	t.Run("MakesNoBallastForAThrowaway", func(t *testing.T) {
		t.Parallel()
		d := room(t, &Space{Total: 20 * mib, Free: 10 * mib})
		d.at.throwaway = true
		check(t, d)
		if _, err := os.Stat(d.at.beside(".ballast")); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("there is one: %v", err)
		}
	})
}

func TestThisFileSystemCanBeMeasured(t *testing.T) {
	t.Parallel()
	s, err := statfs(t.TempDir())
	if err != nil || s.Total == 0 || s.Free > s.Total || s.Type == 0 {
		t.Errorf("measured %+v, %v", s, err)
	}
	if _, err := statfs(dbPath(t) + "/nowhere"); err == nil {
		t.Error("a directory that is not there was measured")
	}
}

// blocks is how many bytes of a file are on the disk.
func blocks(t *testing.T, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		t.Fatal("no such information")
	}
	return st.Blocks * 512
}
