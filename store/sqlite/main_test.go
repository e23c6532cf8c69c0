package sqlite

import (
	"bufio"
	"context"
	"database/sql/driver"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/octostore/octostore/lease"
	"go.uber.org/goleak"
)

// The test binary plays the other process where one is needed: it starts
// itself again with this in its environment.
const roleVariable = "OCTOSTORE_TEST_ROLE"

func TestMain(m *testing.M) {
	if role := os.Getenv(roleVariable); role != "" {
		if err := playRole(role, os.Args[1]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

// The roles. Each says "ready" when it is in its place and leaves it when its
// standard input ends.
const (
	roleServer     = "server"      // has the database open as a server
	roleWriteLock  = "write lock"  // holds the write lock, as a backup or a shell might
	roleShortWrite = "short write" // the same, for a second
)

func playRole(role, path string) error {
	ctx := context.Background()
	if role == roleServer {
		s, err := Open(ctx, path, Options{Statfs: roomy})
		if err != nil {
			return err
		}
		defer s.Close()
		return stay()
	}
	conn, err := openRaw(ctx, location{path: path})
	if err != nil {
		return err
	}
	defer conn.close()
	if _, err := conn.exec(ctx, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	if role == roleShortWrite {
		fmt.Println("ready")
		<-time.After(time.Second)
		return nil
	}
	return stay()
}

func stay() error {
	fmt.Println("ready")
	_, err := io.Copy(io.Discard, os.Stdin)
	return err
}

// otherProcess starts one that plays a role on the database. leave ends it and
// must be called; it may be called again.
func otherProcess(t *testing.T, role, path string) (pid int, leave func()) {
	t.Helper()
	cmd := exec.Command(os.Args[0], path) //nolint:gosec // this very binary, on a file of the test
	cmd.Env = append(os.Environ(), roleVariable+"="+role)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	left := false
	leave = func() {
		if left {
			return
		}
		left = true
		stdin.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("the other process: %v", err)
		}
	}
	t.Cleanup(leave)
	if line, err := bufio.NewReader(stdout).ReadString('\n'); err != nil || line != "ready\n" {
		t.Fatalf("the other process says %q, %v", line, err)
	}
	return cmd.Process.Pid, leave
}

// roomy is a disk with room, and so small that its ballast costs nothing.
func roomy(string) (Space, error) { return Space{Total: 1 << 20, Free: 1 << 19}, nil }

// dbPath is where a test's database is to be.
func dbPath(t *testing.T) string {
	t.Helper()
	return filepath.Join(t.TempDir(), "octostore.db")
}

// open opens a store that is closed with the test.
func open(t *testing.T, path string, o Options) *Store {
	t.Helper()
	if o.Statfs == nil {
		o.Statfs = roomy
	}
	s, err := Open(t.Context(), path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

// closed closes a store and returns where it was.
func closed(t *testing.T, s *Store) string {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return s.Path()
}

// refuse checks that a database can not be opened, and returns why.
func refuse(t *testing.T, path string, o Options) error {
	t.Helper()
	if o.Statfs == nil {
		o.Statfs = roomy
	}
	s, err := Open(t.Context(), path, o)
	if err == nil {
		s.Close()
		t.Fatal("the database was opened")
	}
	return err
}

// edit runs statements on a database that no store has open.
func edit(t *testing.T, path string, statements ...string) {
	t.Helper()
	conn, err := openRaw(t.Context(), location{path: path})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.close()
	for _, q := range statements {
		if n, err := conn.exec(t.Context(), q); err != nil {
			t.Fatalf("%s: %v", q, err)
		} else if n == 0 {
			t.Fatalf("%s: changed nothing", q)
		}
	}
}

// query returns one value of a database.
func query(t *testing.T, path, q string) driver.Value {
	t.Helper()
	conn, err := openRaw(t.Context(), location{path: path})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.close()
	v, err := conn.value(t.Context(), q)
	if err != nil {
		t.Fatalf("%s: %v", q, err)
	}
	return v
}

// take acquires a room.
func take(t *testing.T, s *Store, name string, ttl time.Duration) lease.Record {
	t.Helper()
	out, err := s.Acquire(t.Context(), lease.ElectionKey(name), lease.Acquire{TTL: ttl, Nonce: lease.Nonce{1}, KeyID: 1}, 0)
	if err != nil || out.Verdict != lease.Granted {
		t.Fatalf("acquire %s: %v, %v", name, out.Verdict, err)
	}
	return out.Record
}

func held(t *testing.T, s *Store, name string) lease.Record {
	t.Helper()
	read, err := s.Read(t.Context(), lease.ElectionKey(name))
	if err != nil {
		t.Fatal(err)
	}
	return read.Record
}
