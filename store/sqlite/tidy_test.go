package sqlite

import (
	"fmt"
	"os"
	"testing"
	"time"
)

// The log is moved into the file by our own hand, so it stays near its limit
// however much is written.
func TestLogIsMovedIntoTheFileWhileItIsWritten(t *testing.T) {
	t.Parallel()
	path := dbPath(t)
	s := open(t, path, Options{})
	before := size(t, path)
	for i := range 2500 {
		take(t, s, fmt.Sprintf("room-%04d", i), time.Hour)
	}
	if n := size(t, path+"-wal"); n > 3*logPages*4096 {
		t.Errorf("the log has %d bytes", n)
	}
	if n := size(t, path); n <= before {
		t.Errorf("nothing was moved into the file: %d bytes, were %d", n, before)
	}
	pages, err := s.writer.conn.column(t.Context(), "PRAGMA wal_checkpoint(NOOP)", 1)
	if n, ok := pages.(int64); err != nil || !ok || n <= 0 || n > 2*logPages {
		t.Errorf("the log says it has %v pages: %v", pages, err)
	}
}

func size(t *testing.T, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}
