package sqlite

import (
	"bytes"
	"database/sql/driver"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/octostore/octostore/lease"
	"github.com/octostore/octostore/store"
)

// fill writes a number of bytes of rows to the log, in commits of a megabyte.
func fill(t *testing.T, s *Store, total int) {
	t.Helper()
	const commit, row = 1 << 20, 16 << 10
	text := strings.Repeat("x", row)
	for written := 0; written < total; written += commit {
		var c store.Changes
		for i := range commit / row {
			c.Rows = append(c.Rows, store.Row{ID: int64(i + 1), Record: lease.Record{
				Key: lease.ElectionKey("r" + string(rune('a'+i))), Held: true,
				Lease: lease.Lease{Metadata: text, Described: true},
			}})
		}
		if err := s.writer.Write(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
}

// rest lets the store believe that nobody has written for long.
func rest(s *Store) {
	s.writer.mu.Lock()
	defer s.writer.mu.Unlock()
	s.writer.last = time.Time{}
}

// reader opens a connection that pins the log until it is closed.
func reader(t *testing.T, s *Store) (leave func()) {
	t.Helper()
	conn, err := openRaw(t.Context(), s.at)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.exec(t.Context(), "BEGIN"); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.value(t.Context(), "SELECT count(*) FROM lease"); err != nil {
		t.Fatal(err)
	}
	left := false
	leave = func() {
		if !left {
			left = true
			if err := conn.close(); err != nil {
				t.Error(err)
			}
		}
	}
	t.Cleanup(leave)
	return leave
}

func TestLog(t *testing.T) {
	t.Parallel()
	const slack = 2 << 20
	t.Run("StaysSmallUnderSteadyWrites", func(t *testing.T) {
		t.Parallel()
		s := open(t, dbPath(t), Options{Manual: true})
		for range 4 {
			fill(t, s, 4<<20)
			if size := fileSize(t, s.Path()+"-wal"); size > walSmall+slack {
				t.Fatalf("the log has %d bytes", size)
			}
		}
	})
	t.Run("StaysSmallUnderReadersThatComeAndGo", func(t *testing.T) {
		t.Parallel()
		s := open(t, dbPath(t), Options{Manual: true})
		for range 4 {
			leave := reader(t, s)
			fill(t, s, 4<<20)
			leave()
			fill(t, s, 1<<20) // what is written between two of them
			s.Housekeep()
			if size := fileSize(t, s.Path()+"-wal"); size > 2*walSmall+slack {
				t.Fatalf("the log has %d bytes", size)
			}
		}
	})
	t.Run("GrowsUnderAPinnedReaderAndShrinksAfterwards", func(t *testing.T) {
		t.Parallel()
		s := open(t, dbPath(t), Options{Manual: true})
		leave := reader(t, s)
		fill(t, s, 16<<20)
		rest(s)
		s.Housekeep() // neither waits for the reader nor fails
		if size := fileSize(t, s.Path()+"-wal"); size < 16<<20 {
			t.Fatalf("the log has %d bytes: nothing pinned it", size)
		}
		grant(t, s, "r", time.Hour)
		leave()
		s.Housekeep()
		if size := fileSize(t, s.Path()+"-wal"); size < 16<<20 {
			t.Error("the log was emptied while there was work to do")
		}
		rest(s)
		s.Housekeep()
		if size := fileSize(t, s.Path()+"-wal"); size != 0 {
			t.Errorf("%d bytes of log are left", size)
		}
		grant(t, s, "another", time.Hour)
	})
	t.Run("OfModestSizeIsLeftAlone", func(t *testing.T) {
		t.Parallel()
		s := open(t, dbPath(t), Options{Manual: true})
		grant(t, s, "r", time.Hour)
		rest(s)
		before := fileSize(t, s.Path()+"-wal")
		s.Housekeep()
		if got := fileSize(t, s.Path()+"-wal"); got != before || got == 0 {
			t.Errorf("the log went from %d to %d bytes", before, got)
		}
	})
	t.Run("IsRewrittenAtTheStart", func(t *testing.T) {
		t.Parallel()
		s := open(t, dbPath(t), Options{Manual: true})
		grant(t, s, "r", time.Hour)
		dir := t.TempDir()
		for _, suffix := range []string{"", "-wal"} {
			copyFile(t, s.Path()+suffix, dir+"/octostore.db"+suffix)
		}
		if fileSize(t, dir+"/octostore.db-wal") == 0 {
			t.Fatal("there is no log to rewrite")
		}
		// Whatever the log held must be in the file itself once the start is over.
		again := open(t, dir+"/octostore.db", Options{Manual: true})
		main := t.TempDir() + "/octostore.db"
		copyFile(t, again.Path(), main)
		if n := query(t, main, "SELECT count(*) FROM lease WHERE held"); n != int64(1) {
			t.Errorf("the main file has %v leases", n)
		}
	})
	t.Run("RefusesTheStartWhileItCanNotBeRewritten", func(t *testing.T) {
		t.Parallel()
		s := open(t, dbPath(t), Options{Manual: true})
		grant(t, s, "r", time.Hour)
		path := closed(t, s)
		// A reader of a moment ago pins what it saw.
		conn, err := openRaw(t.Context(), location{path: path})
		if err != nil {
			t.Fatal(err)
		}
		defer conn.close()
		for _, q := range []string{"UPDATE meta SET stamp = stamp + 1", "BEGIN"} {
			if _, err := conn.exec(t.Context(), q); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := conn.value(t.Context(), "SELECT count(*) FROM lease"); err != nil {
			t.Fatal(err)
		}
		err = refuse(t, path, Options{})
		if !strings.Contains(err.Error(), "another process") {
			t.Errorf("refused with %v", err)
		}
	})
}

func TestLogThatIsPinnedForLongRaisesTheAlarm(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		return // writes 65 MB
	}
	var log bytes.Buffer
	s := open(t, dbPath(t), Options{Manual: true, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	leave := reader(t, s)
	fill(t, s, walAlarm+1<<20)
	s.Housekeep()
	if !strings.Contains(log.String(), "can not be emptied") {
		t.Errorf("a log of %d bytes is not worth a word: %s", fileSize(t, s.Path()+"-wal"), log.String())
	}
	leave()
	s.Housekeep() // at once: a log of this size does not wait for a pause
	if size := fileSize(t, s.Path()+"-wal"); size != 0 {
		t.Errorf("%d bytes of log are left", size)
	}
}

func TestPragmas(t *testing.T) {
	t.Parallel()
	t.Run("AreThoseOfTheListOnEveryConnection", func(t *testing.T) {
		t.Parallel()
		s := open(t, dbPath(t), Options{Manual: true})
		readers := make(map[*rawConn]bool)
		for range 2 { // all that the pool has, held at once
			c, err := s.reads.Conn(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			err = c.Raw(func(conn any) error {
				dc, _ := conn.(driver.Conn)
				readers[&rawConn{conn: dc}] = true
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		always := map[string]string{
			"journal_mode": "wal", "synchronous": "2", "busy_timeout": "5000", "foreign_keys": "1", "mmap_size": "0",
		}
		for conn, readOnly := range map[*rawConn]bool{s.writer.conn: false} {
			checkPragmas(t, conn, readOnly, always)
		}
		if len(readers) != 2 {
			t.Fatalf("%d readers", len(readers))
		}
		for conn := range readers {
			checkPragmas(t, conn, true, always)
			if _, err := conn.exec(t.Context(), "DELETE FROM lease"); err == nil {
				t.Error("a reader can write")
			}
		}
	})
	t.Run("ThatDoNotReadBackRefuseTheConnection", func(t *testing.T) {
		t.Parallel()
		for _, q := range []string{
			"PRAGMA synchronous = NORMAL", "PRAGMA synchronous = OFF", "PRAGMA foreign_keys = 0", "PRAGMA busy_timeout = 1",
			"PRAGMA mmap_size = 1048576", "PRAGMA journal_mode = DELETE", "PRAGMA wal_autocheckpoint = 1000", "PRAGMA journal_size_limit = -1",
		} {
			conn, err := openRaw(t.Context(), location{path: dbPath(t)})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := conn.value(t.Context(), q); err != nil {
				t.Fatal(err)
			}
			if err := conn.verify(t.Context(), false); err == nil {
				t.Errorf("after %s the connection is accepted", q)
			}
			if err := conn.close(); err != nil {
				t.Error(err)
			}
		}
	})
}

func checkPragmas(t *testing.T, conn *rawConn, readOnly bool, want map[string]string) {
	t.Helper()
	if err := conn.verify(t.Context(), readOnly); err != nil {
		t.Error(err)
	}
	for name, value := range want {
		got, err := conn.value(t.Context(), "PRAGMA "+name)
		if err != nil {
			t.Fatal(err)
		}
		if text := strings.TrimSpace(strings.Trim(slogValue(got), "\"")); text != value {
			t.Errorf("%s reads %s, want %s", name, text, value)
		}
	}
}

func slogValue(v driver.Value) string { return slog.AnyValue(v).String() }
