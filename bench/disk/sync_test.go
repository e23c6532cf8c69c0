package disk

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestMeasure(t *testing.T) {
	t.Parallel()
	for _, call := range []Call{Fsync, Fdatasync} {
		t.Run("Counts"+string(call), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			res, err := Measure(t.Context(), dir, call, time.Millisecond, 50*time.Millisecond)
			if err != nil {
				t.Fatal(err)
			}
			if res.Cycles == 0 || res.Latency.Max() == 0 {
				t.Errorf("%d cycles, the longest of %v", res.Cycles, res.Latency.Max())
			}
			if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
				t.Errorf("it left %v behind, error %v", left, err)
			}
		})
	}
	t.Run("RefusesOtherCall", func(t *testing.T) {
		t.Parallel()
		if _, err := Measure(t.Context(), t.TempDir(), "flush", 0, time.Millisecond); err == nil {
			t.Error("no error")
		}
	})
	t.Run("LeavesForeignFileAlone", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		path := filepath.Join(dir, "sync.bin")
		if err := os.WriteFile(path, []byte("mine"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Measure(t.Context(), dir, Fsync, 0, time.Millisecond); !errors.Is(err, os.ErrExist) {
			t.Errorf("error %v, want that the file exists", err)
		}
		if b, err := os.ReadFile(path); err != nil || string(b) != "mine" {
			t.Errorf("the file holds %q, error %v", b, err)
		}
	})
}

// TestWriter: every cycle writes into the file's present length, or the figure
// would be that of a growing file.
func TestWriter(t *testing.T) {
	t.Parallel()
	f, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Truncate(blocks * blockSize); err != nil {
		t.Fatal(err)
	}
	lost := errors.New("lost")
	synced := 0
	w := &writer{file: f, block: make([]byte, blockSize), sync: func(int) error {
		if synced++; synced > 2*blocks {
			return lost
		}
		return nil
	}}
	for range 2 * blocks {
		if err := w.Cycle(nil); err != nil {
			t.Fatal(err)
		}
	}
	if info, err := f.Stat(); err != nil || info.Size() != blocks*blockSize {
		t.Errorf("the file has %d bytes, error %v", info.Size(), err)
	}
	if err := w.Cycle(nil); !errors.Is(err, lost) {
		t.Errorf("error %v, want the one of the sync", err)
	}
}
