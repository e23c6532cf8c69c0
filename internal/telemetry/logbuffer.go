package telemetry

import (
	"io"
	"sync"
	"time"
)

// How long the lines of requests may wait to be written together, and how many
// bytes of them.
const (
	accessDelay = 100 * time.Millisecond
	accessBytes = 32 << 10
)

// logBuffer is the one way to the log's writer. Lines keep their order. What a
// person may need at once is written at once, with all that came before it; the
// lines of requests wait a moment for company, because a system call for each of
// them costs as much as answering the request does.
type logBuffer struct {
	mu    sync.Mutex
	w     io.Writer
	held  []byte
	timer *time.Timer // set while something is held
}

// Write implements [io.Writer]: at once.
func (b *logBuffer) Write(line []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held = append(b.held, line...)
	if err := b.flush(); err != nil {
		return 0, err
	}
	return len(line), nil
}

// later appends a line that may wait.
func (b *logBuffer) later(line []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held = append(b.held, line...)
	switch {
	case len(b.held) >= accessBytes:
		_ = b.flush() // nobody could be told but through this log
	case b.timer == nil:
		b.timer = time.AfterFunc(accessDelay, b.Flush)
	}
}

// Flush writes what is held.
func (b *logBuffer) Flush() {
	b.mu.Lock()
	defer b.mu.Unlock()
	_ = b.flush() // as above
}

func (b *logBuffer) flush() error {
	if b.timer != nil {
		b.timer.Stop()
		b.timer = nil
	}
	if len(b.held) == 0 {
		return nil
	}
	_, err := b.w.Write(b.held)
	b.held = b.held[:0]
	return err //nolint:wrapcheck // of the caller's own writer
}
