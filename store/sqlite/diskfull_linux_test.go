package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/octostore/octostore/lease"
	"golang.org/x/sys/unix"
)

// mountsVariable tells the test that it runs in a process with mounts of its
// own.
const mountsVariable = "OCTOSTORE_TEST_MOUNTS"

// A real file system that is really full. It has to be mounted, so the test
// goes on in a process whose mounts nobody else sees and that takes them along
// however it ends. Without root that takes a user namespace.
func TestRealDiskFull(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		return
	}
	if os.Getenv(mountsVariable) == "" {
		inOwnMounts(t)
		return
	}
	disk := t.TempDir()
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		t.Fatalf("keep mounts to this process: %v", err)
	}
	if err := unix.Mount("tmpfs", disk, "tmpfs", 0, "size=8m"); err != nil {
		t.Fatalf("mount a small file system: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(disk, 0); err != nil {
			t.Errorf("unmount: %v", err)
		}
	})
	s, err := Open(t.Context(), filepath.Join(disk, "octostore.db"), Options{Manual: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	if w := strings.Join(s.Warnings(), " "); !strings.Contains(w, "tmpfs") {
		t.Errorf("warns %q", w)
	}
	c := &client{T: t, s: s, acked: make(map[lease.Key]lease.Record)}
	leader := grant(t, s, "leader", time.Hour)
	c.acked[leader.Key] = leader
	for range 10 {
		if err := c.acquire(); err != nil {
			t.Fatal(err)
		}
	}

	filler := filepath.Join(disk, "filler")
	fillUp(t, filler)
	// The disk is full to the last block. The first who finds out is refused, and
	// what was kept back lets those who hold go on.
	var refused int
	for range 200 {
		if c.renew(leader.Key) != nil {
			refused++
		}
	}
	if refused == 0 || refused == 200 {
		t.Errorf("%d of 200 renewals were refused on a full disk with a ballast", refused)
	}
	for range 20 {
		if err := c.acquire(); !errors.Is(err, lease.ErrUnavailable) {
			t.Fatalf("a new lease on a full disk: %v", err)
		}
	}
	// Fill what the ballast left as well: now nothing can be written at all.
	fillUp(t, filler)
	fillLog(c, leader.Key)
	if err := c.renew(leader.Key); !errors.Is(err, lease.ErrUnavailable) {
		t.Errorf("a renewal without any room: %v", err)
	}
	if err := c.release(); !errors.Is(err, lease.ErrUnavailable) {
		t.Errorf("a release without any room: %v", err)
	}
	c.audit(s)
	s.Housekeep()
	if err := s.Probe(t.Context()); !errors.Is(err, ErrNoRoom) {
		t.Errorf("ready with %v", err)
	}
	if s.Cause() != nil {
		t.Fatalf("a full disk was taken for a broken one: %v", s.Cause())
	}

	// Whoever is killed now finds everything that was confirmed.
	dir := t.TempDir()
	for _, suffix := range []string{"", "-wal"} {
		copyFile(t, s.Path()+suffix, filepath.Join(dir, "octostore.db"+suffix))
	}
	c.audit(open(t, filepath.Join(dir, "octostore.db"), Options{Manual: true}))

	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	s.Housekeep()
	if err := s.Probe(t.Context()); err != nil {
		t.Errorf("not ready although there is room again: %v", err)
	}
	for _, err := range []error{c.renew(leader.Key), c.acquire(), c.release()} {
		if err != nil {
			t.Errorf("although there is room again: %v", err)
		}
	}
	if got := blocks(t, s.Path()+".ballast"); got == 0 {
		t.Error("nothing is kept back any more")
	}
	c.audit(s)
}

// fillUp writes to a file until there is no room for another byte.
func fillUp(t *testing.T, path string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	for size := 64 << 10; size > 0; {
		if _, err := f.Write(make([]byte, size)); errors.Is(err, unix.ENOSPC) {
			size /= 2
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// fillLog renews until what the log already has on the disk is used up.
func fillLog(c *client, key lease.Key) {
	for range 2000 {
		if c.renew(key) != nil {
			return
		}
	}
	c.Error("a full disk takes every renewal")
}

// client remembers what it was told.
type client struct {
	*testing.T
	s     *Store
	acked map[lease.Key]lease.Record
	n     int
}

// answer notes what was confirmed. Only a refusal that can be sent again is a
// right answer beside.
func (c *client) answer(call func(context.Context) (lease.Outcome, error)) error {
	c.Helper()
	return step(c.T, c.s, func() error {
		out, err := call(c.Context())
		if err == nil {
			c.acked[out.Record.Key] = out.Record
		} else if !errors.Is(err, lease.ErrUnavailable) {
			c.Errorf("answered %v", err)
		}
		return err
	})
}

func (c *client) acquire() error {
	c.Helper()
	c.n++
	return c.answer(func(ctx context.Context) (lease.Outcome, error) {
		return c.s.Acquire(ctx, lease.ElectionKey(fmt.Sprint("r", c.n)), lease.Acquire{TTL: time.Hour, Metadata: strings.Repeat("x", 1000), Described: true}, 0)
	})
}

func (c *client) renew(key lease.Key) error {
	c.Helper()
	rec := c.acked[key]
	return c.answer(func(ctx context.Context) (lease.Outcome, error) { return c.s.Renew(ctx, key, rec.Ref(), 0) })
}

// release ends one of the leases that are not the leader's.
func (c *client) release() error {
	c.Helper()
	for key, rec := range c.acked {
		if rec.Held && key.Name() != "leader" {
			return c.answer(func(ctx context.Context) (lease.Outcome, error) { return c.s.Release(ctx, key, rec.Ref()) })
		}
	}
	c.Fatal("there is no lease to release")
	return nil
}

// audit compares what was confirmed with what is there.
func (c *client) audit(s *Store) {
	c.Helper()
	for key, rec := range c.acked {
		read, err := s.Read(c.Context(), key)
		if err != nil {
			c.Fatal(err)
		}
		if d := diffRows(rec, read.Record); d != "" {
			c.Errorf("%q is not what was confirmed (-confirmed +there):\n%s", key.Name(), d)
		}
	}
	if got, want := s.image.Len(), len(c.acked); got != want {
		c.Errorf("%d names are there, %d were confirmed", got, want)
	}
}

// inOwnMounts runs the calling test once more, in a process with mounts of its
// own.
func inOwnMounts(t *testing.T) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v") //nolint:gosec // this very binary
	cmd.Env = append(os.Environ(), mountsVariable+"=own")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
	if uid := os.Geteuid(); uid != 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: uid, Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getegid(), Size: 1}}
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v (a file system has to be mounted, with root or in a user namespace)\n%s", err, out)
	}
	if !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Fatalf("the test was not run:\n%s", out)
	}
}
