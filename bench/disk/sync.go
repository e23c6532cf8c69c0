package disk

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/octostore/octostore/bench/load"
)

const (
	blockSize = 4096
	blocks    = 1024 // 4 MiB, the size of a log that is checkpointed every 1,000 pages
)

// Call is the system call that makes a write durable.
type Call string

// The two calls. Fdatasync leaves out what reading the bytes back does not need.
const (
	Fsync     Call = "fsync"
	Fdatasync Call = "fdatasync"
)

// Measure overwrites a file in dir block by block, one writer, with one sync after
// each write, and removes the file in the end. A cycle of the result is one write
// and its sync.
func Measure(ctx context.Context, dir string, call Call, warm, measure time.Duration) (res load.Result, err error) {
	sync := unix.Fsync
	switch call {
	case Fsync:
	case Fdatasync:
		sync = unix.Fdatasync
	default:
		return load.Result{}, fmt.Errorf("disk: no such call: %q", call)
	}
	f, err := os.OpenFile(filepath.Join(dir, "sync.bin"), os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return load.Result{}, fmt.Errorf("disk: %w", err)
	}
	defer func() {
		if cerr := errors.Join(f.Close(), os.Remove(f.Name())); cerr != nil {
			err = errors.Join(err, fmt.Errorf("disk: %w", cerr))
		}
	}()
	if _, err := f.Write(make([]byte, blockSize*blocks)); err != nil {
		return load.Result{}, fmt.Errorf("disk: %w", err)
	}
	if err := f.Sync(); err != nil {
		return load.Result{}, fmt.Errorf("disk: %w", err)
	}
	w := &writer{file: f, sync: sync, block: make([]byte, blockSize)}
	return load.Run(ctx, []load.Client{w}, load.Plan{Warm: warm, Measure: measure})
}

// writer makes one durable write a cycle.
type writer struct {
	file  *os.File
	sync  func(fd int) error
	block []byte
	n     int
}

// Cycle implements [load.Client].
func (w *writer) Cycle(*load.Gate) error {
	w.block[0]++
	if _, err := w.file.WriteAt(w.block, int64(w.n%blocks)*blockSize); err != nil {
		return fmt.Errorf("disk: %w", err)
	}
	w.n++
	if err := w.sync(int(w.file.Fd())); err != nil { //nolint:gosec // G115: descriptors are small
		return fmt.Errorf("disk: sync: %w", err)
	}
	return nil
}
