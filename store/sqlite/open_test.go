package sqlite

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/octostore/octostore/internal/bootclock"
	"github.com/octostore/octostore/lease"
)

func TestOpen(t *testing.T) {
	t.Parallel()
	t.Run("MakesPrivateFilesInAPrivateDirectory", func(t *testing.T) {
		t.Parallel()
		dir := filepath.Join(t.TempDir(), "new", "deeper")
		s := open(t, filepath.Join(dir, "octostore.db"), Options{})
		if _, err := s.ServerKey(); err != nil {
			t.Fatal(err)
		}
		take(t, s, "r", time.Hour)
		for _, d := range []string{dir, filepath.Dir(dir)} {
			if got := mode(t, d); got != 0o700 {
				t.Errorf("directory %s has mode %04o, want 0700", d, got)
			}
		}
		for _, suffix := range []string{"", "-wal", "-shm", ".lock", ".key", ".ballast"} {
			if got := mode(t, s.Path()+suffix); got != 0o600 {
				t.Errorf("%s has mode %04o, want 0600", suffix, got)
			}
		}
		if w := s.Warnings(); len(w) > 0 {
			t.Errorf("warns %q", w)
		}
	})
	t.Run("UsesAnExistingDirectoryAsItIs", func(t *testing.T) {
		t.Parallel()
		for _, c := range []struct {
			mode fs.FileMode
			warn bool
		}{{0o755, false}, {0o700, false}, {0o775, true}, {0o757, true}, {0o777 | fs.ModeSticky, false}} {
			dir := filepath.Join(t.TempDir(), "there")
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(dir, c.mode); err != nil {
				t.Fatal(err)
			}
			s := open(t, filepath.Join(dir, "octostore.db"), Options{})
			if got := mode(t, dir); got != c.mode.Perm() {
				t.Errorf("mode %04o became %04o", c.mode.Perm(), got)
			}
			if got := len(s.Warnings()) > 0; got != c.warn {
				t.Errorf("mode %v: warns %q", c.mode, s.Warnings())
			}
		}
	})
	t.Run("RefusesASecondServerAndSaysWhoHasTheFile", func(t *testing.T) {
		t.Parallel()
		path := dbPath(t)
		pid, leave := otherProcess(t, roleServer, path)
		err := refuse(t, path, Options{})
		var inUse *InUseError
		if !errors.As(err, &inUse) || !strings.Contains(err.Error(), fmt.Sprintf("pid %d ", pid)) || !strings.Contains(err.Error(), path) {
			t.Errorf("refused with %v", err)
		}
		leave()
		s := open(t, path, Options{}) // free again
		if err := refuse(t, path, Options{}); !errors.As(err, &inUse) {
			t.Errorf("from this very process refused with %v", err)
		}
		take(t, s, "r", time.Hour)
	})
	t.Run("RefusesASchemaOfANewerVersionAndLeavesItAlone", func(t *testing.T) {
		t.Parallel()
		s := open(t, dbPath(t), Options{})
		take(t, s, "r", time.Hour)
		path := closed(t, s)
		edit(t, path, "INSERT INTO goose_db_version (version_id, is_applied) VALUES (99, 1)")
		seq := query(t, path, "SELECT open_seq FROM meta")
		if err := refuse(t, path, Options{}); !errors.Is(err, ErrNewerSchema) {
			t.Errorf("refused with %v", err)
		}
		if got := query(t, path, "SELECT open_seq FROM meta"); got != seq {
			t.Errorf("the file was opened for the %vth time after all", got)
		}
	})
	t.Run("RefusesASchemaThatWasTamperedWith", func(t *testing.T) {
		t.Parallel()
		for _, q := range []string{
			"CREATE INDEX i ON lease (name)",
			"CREATE TRIGGER tr AFTER UPDATE ON lease BEGIN DELETE FROM meta; END",
			"ALTER TABLE lease ADD COLUMN extra TEXT",
			"DROP TABLE lease",
		} {
			path := closed(t, open(t, dbPath(t), Options{}))
			conn, err := openRaw(t.Context(), location{path: path})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := conn.exec(t.Context(), q); err != nil {
				t.Fatal(err)
			}
			if err := conn.close(); err != nil {
				t.Fatal(err)
			}
			if err := refuse(t, path, Options{}); !strings.Contains(err.Error(), "schema") {
				t.Errorf("after %q refused with %v", q, err)
			}
		}
	})
	t.Run("RefusesADamagedRow", func(t *testing.T) {
		t.Parallel()
		for _, q := range []string{
			"UPDATE lease SET deadline = deadline + 1",
			"UPDATE lease SET term = term - 1",
			"UPDATE lease SET name = 'another'",
			"UPDATE lease SET body = zeroblob(length(body))",
			"UPDATE lease SET held = 0",
			"UPDATE lease SET crc = crc + 1",
		} {
			s := open(t, dbPath(t), Options{})
			take(t, s, "r", time.Hour)
			path := closed(t, s)
			edit(t, path, q)
			if err := refuse(t, path, Options{}); !errors.Is(err, errRowDamaged) || !strings.Contains(err.Error(), path) {
				t.Errorf("after %q refused with %v", q, err)
			}
			if n := query(t, path, "SELECT count(*) FROM lease"); n != int64(1) {
				t.Errorf("after the refusal %v rows are left", n)
			}
		}
	})
	t.Run("RefusesTwoRowsForOneName", func(t *testing.T) {
		t.Parallel()
		s := open(t, dbPath(t), Options{})
		rec := take(t, s, "r", time.Hour)
		path := closed(t, s)
		writeRow(t, path, 7, rec)
		if err := refuse(t, path, Options{}); !strings.Contains(err.Error(), "two rows") {
			t.Errorf("refused with %v", err)
		}
	})
	t.Run("RefusesAFileThatIsNoDatabaseAndLeavesItAsItIs", func(t *testing.T) {
		t.Parallel()
		sound := soundFile(t)
		half := append([]byte(nil), sound[:len(sound)/2]...)
		flipped := append([]byte(nil), sound...)
		for i := 4096; i < len(flipped); i += 3 {
			flipped[i] ^= 0xff
		}
		for name, content := range map[string][]byte{
			"text":      []byte("this is my shopping list\n"),
			"zeros":     make([]byte, 8192),
			"header":    append([]byte("SQLite format 3\x00"), bytes.Repeat([]byte{0xa5}, 8192)...),
			"truncated": half,
			"flipped":   flipped,
		} {
			path := filepath.Join(t.TempDir(), "octostore.db")
			if err := os.WriteFile(path, content, 0o600); err != nil {
				t.Fatal(err)
			}
			err := refuse(t, path, Options{})
			if !strings.Contains(err.Error(), path) {
				t.Errorf("%s: refused with %v", name, err)
			}
			if after, err := os.ReadFile(path); err != nil || !bytes.Equal(after, content) {
				t.Errorf("%s: the file was changed (%v)", name, err)
			}
		}
	})
	t.Run("RefusesAStructureThatIsNotSound", func(t *testing.T) {
		t.Parallel()
		content := soundFile(t)
		content[39] = 5 // so many pages are said to be free; nothing that is read depends on it
		path := dbPath(t)
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := refuse(t, path, Options{}); !errors.Is(err, errFileDamaged) || !strings.Contains(err.Error(), "backup") {
			t.Errorf("refused with %v", err)
		}
	})
	t.Run("TakesAnEmptyFileForANewDatabase", func(t *testing.T) {
		t.Parallel()
		path := dbPath(t)
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		take(t, open(t, path, Options{}), "r", time.Hour)
	})
	t.Run("RefusesADirectory", func(t *testing.T) {
		t.Parallel()
		if err := refuse(t, t.TempDir(), Options{}); !strings.Contains(err.Error(), "directory") {
			t.Errorf("refused with %v", err)
		}
	})
	t.Run("JudgesTheFileSystem", func(t *testing.T) {
		t.Parallel()
		for _, c := range []struct {
			magic        int64
			refuse, warn bool
		}{
			{nfsMagic, true, false},
			{smbMagic, true, false},
			{smb2Magic, true, false},
			{tmpfsMagic, false, true},
			{overlayMagic, false, true},
			{0xef53, false, false}, // ext4
		} {
			o := Options{Statfs: func(string) (Space, error) {
				return Space{Total: 1 << 20, Free: 1 << 19, Type: c.magic}, nil
			}}
			if c.refuse {
				if err := refuse(t, dbPath(t), o); !errors.Is(err, ErrNetworkFileSystem) {
					t.Errorf("%x: refused with %v", c.magic, err)
				}
				continue
			}
			s := open(t, dbPath(t), o)
			if got := len(s.Warnings()) > 0; got != c.warn {
				t.Errorf("%x: warns %q", c.magic, s.Warnings())
			}
		}
	})
	t.Run("RefusesADiskThatCanNotBeMeasured", func(t *testing.T) {
		t.Parallel()
		broken := errors.New("no such file system")
		o := Options{Statfs: func(string) (Space, error) { return Space{}, broken }}
		if err := refuse(t, dbPath(t), o); !errors.Is(err, broken) {
			t.Errorf("refused with %v", err)
		}
	})
	t.Run("GivesTheFileUpWhenItFails", func(t *testing.T) {
		t.Parallel()
		path := dbPath(t)
		nfs := func(string) (Space, error) { return Space{Type: nfsMagic, Total: 1 << 20, Free: 1 << 19}, nil }
		if err := refuse(t, path, Options{Statfs: nfs}); err == nil {
			t.Fatal("it did not fail")
		}
		open(t, path, Options{})
	})
}

func TestOpenOnAnotherBoot(t *testing.T) {
	t.Parallel()
	boot := bootclock.Boot{ID: "b", Offsets: "0"}
	for name, c := range map[string]struct {
		boot  bootclock.Boot
		clock lease.Instant
		moved bool
	}{
		"SameBootKeepsDeadlines":                 {boot, 1500, false},
		"ClockAtTheStampKeepsDeadlines":          {boot, 1000, false},
		"ClockBelowTheStampGivesFullTTL":         {boot, 999, true},
		"AnotherBootGivesFullTTL":                {bootclock.Boot{ID: "c", Offsets: "0"}, 1500, true},
		"AnotherTimeNamespaceGivesFullTTL":       {bootclock.Boot{ID: "b", Offsets: "1"}, 1500, true},
		"AnUnreadableBootCountsAsAnother":        {bootclock.Boot{}, 1500, true},
		"AnotherBootWithAHigherClockGivesFullIt": {bootclock.Boot{ID: "c", Offsets: "0"}, 1 << 40, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at := func(i lease.Instant) Options {
				return Options{
					Manual: true,
					Clock:  fixed{lease.Now{At: i, Wall: 1_700_000_000_000_000}},
					Boot:   func() bootclock.Boot { return boot },
				}
			}
			s := open(t, dbPath(t), at(1000))
			rec := grant(t, s, "r", time.Hour)
			var log bytes.Buffer
			o := at(c.clock)
			o.Boot = func() bootclock.Boot { return c.boot }
			o.Logger = slog.New(slog.NewTextHandler(&log, nil))
			s = open(t, closed(t, s), o)
			want := rec.Lease.Deadline
			if c.moved {
				want = c.clock.Add(time.Hour + lease.Guard(time.Hour))
			}
			if got := held(t, s, "r").Lease.Deadline; got != want {
				t.Errorf("deadline %v, want %v", got, want)
			}
			if got := strings.Contains(log.String(), "boot changed"); got != c.moved {
				t.Errorf("log: %s", log.String())
			}
			// What was moved is on this boot now.
			s = open(t, closed(t, s), o)
			if got := held(t, s, "r").Lease.Deadline; !c.boot.Same(bootclock.Boot{}) && c.boot.ID != "" && got != want {
				t.Errorf("deadline %v after another start, want %v", got, want)
			}
		})
	}
}

// fixed is a clock that stands still.
type fixed struct{ now lease.Now }

// Now implements lease.Clock.
func (f fixed) Now() lease.Now { return f.now }

func TestThrowaway(t *testing.T) {
	t.Parallel()
	for _, database := range []string{"", ":memory:", "file::memory:", "file:x?mode=memory&cache=shared"} {
		s := open(t, database, Options{})
		other := open(t, database, Options{}) // is another one
		take(t, s, "r", time.Hour)
		take(t, other, "r", time.Hour)
		if !s.Throwaway() {
			t.Errorf("%q is kept", database)
		}
		a, err := s.ServerKey()
		if err != nil {
			t.Fatal(err)
		}
		if b, err := s.ServerKey(); err != nil || bytes.Equal(a, b) || len(a) != lease.KeySize {
			t.Errorf("%q: a throw-away key is random: %x, %x, %v", database, a, b, err)
		}
		if got := mode(t, filepath.Dir(s.Path())); got != 0o700 {
			t.Errorf("%q: directory mode %04o", database, got)
		}
		dir := filepath.Dir(closed(t, s))
		if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%q: %s is left behind (%v)", database, dir, err)
		}
	}
}

func mode(t *testing.T, path string) fs.FileMode {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Mode().Perm()
}

// soundFile is the content of a database with a few leases.
func soundFile(t *testing.T) []byte {
	t.Helper()
	s := open(t, dbPath(t), Options{})
	for i := range 20 {
		take(t, s, fmt.Sprint("r", i), time.Hour)
	}
	content, err := os.ReadFile(closed(t, s))
	if err != nil {
		t.Fatal(err)
	}
	return content
}
