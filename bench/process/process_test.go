package process

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// shell starts a shell script as a server.
func shell(t *testing.T, script string) *Process {
	t.Helper()
	p, err := Start(Spec{Name: "script", Path: "/bin/sh", Args: []string{"-c", script}, Env: []string{"WORD=given"}, Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	return p
}

var errNotYet = errors.New("not yet")

func TestProcess(t *testing.T) {
	t.Parallel()

	t.Run("AwaitsReadiness", func(t *testing.T) {
		t.Parallel()
		p := shell(t, `pwd; echo "$WORD"; echo error >&2; : >ready; exec sleep 60`)
		err := p.Await(t.Context(), func(context.Context) error {
			_, err := os.Stat(filepath.Join(p.cmd.Dir, "ready"))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		dir, err := filepath.EvalSymlinks(p.cmd.Dir)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := string(p.Tail(4096)), dir+"\ngiven\nerror"; got != want {
			t.Errorf("it printed %q, want %q", got, want)
		}
	})

	t.Run("TellsWhyItDidNotStart", func(t *testing.T) {
		t.Parallel()
		p := shell(t, `echo no room >&2; exit 7`)
		err := p.Await(t.Context(), func(context.Context) error { return errNotYet })
		if err == nil || !strings.Contains(err.Error(), "exit status 7") || !strings.Contains(err.Error(), "no room") {
			t.Errorf("error %v; want the exit status and what it printed", err)
		}
	})

	t.Run("GivesUpWithContext", func(t *testing.T) {
		t.Parallel()
		p := shell(t, `exec sleep 60`)
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		err := p.Await(ctx, func(context.Context) error { return errNotYet })
		if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, errNotYet) {
			t.Errorf("error %v; want the context's and the last answer", err)
		}
	})

	t.Run("IsGoneAfterKill", func(t *testing.T) {
		t.Parallel()
		p := shell(t, `trap "" TERM; while :; do sleep 1; done`)
		p.Kill()
		p.Kill() // a second one does nothing
		if err := syscall.Kill(p.PID(), 0); !errors.Is(err, syscall.ESRCH) {
			t.Errorf("asking for the process: %v, want that there is none", err)
		}
	})

	t.Run("QuotesWholeLinesOnly", func(t *testing.T) {
		t.Parallel()
		p := shell(t, `echo first line; echo second line`)
		<-p.exited
		if got := string(p.Tail(15)); got != "second line" {
			t.Errorf("the tail is %q", got)
		}
	})

	t.Run("RefusesMissingProgram", func(t *testing.T) {
		t.Parallel()
		if _, err := Start(Spec{Name: "x", Path: "/nowhere/program", Dir: t.TempDir()}); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("error %v, want that there is none", err)
		}
	})
}

func TestFreeAddress(t *testing.T) {
	t.Parallel()
	addr, err := FreeAddress(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		t.Fatalf("%s is not free: %v", addr, err)
	}
	l.Close()
	if host, _, err := net.SplitHostPort(addr); err != nil || host != "127.0.0.1" {
		t.Errorf("the address %q is not of the loopback", addr)
	}
}
