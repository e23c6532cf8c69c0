package histories

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// program writes a program of a few lines of shell and returns a target of it.
func program(t *testing.T, text string) *Process {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "program")
	// A process that another test forks meanwhile must not have the file open: what
	// is open for writing can not be executed.
	syscall.ForkLock.RLock()
	err := os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o700)
	syscall.ForkLock.RUnlock()
	if err != nil {
		t.Fatal(err)
	}
	p, err := NewProcess(path, dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := p.Launch(0); err != nil {
		t.Fatal(err)
	}
	return p
}

func TestProcess(t *testing.T) {
	t.Parallel()

	t.Run("SaysWhyItDoesNotServe", func(t *testing.T) {
		t.Parallel()
		p := program(t, "echo no database >&2; exit 3")
		if _, _, err := p.Ready(t.Context(), 0); err == nil || !strings.Contains(err.Error(), "exit status 3") {
			t.Errorf("ready: %v", err)
		}
		if log := p.Log(0); log != "no database" {
			t.Errorf("the log is %q", log)
		}
	})

	t.Run("TellsAnOrderlyStopThatWasNone", func(t *testing.T) {
		t.Parallel()
		p := program(t, "trap 'exit 5' TERM; echo up; while :; do sleep 0.01; done")
		for p.Log(0) != "up" { // from then on the trap is set
			select {
			case <-p.Exited(0):
				t.Fatal("it ended")
			default:
			}
		}
		if err := p.Stop(t.Context(), 0); err == nil || !strings.Contains(err.Error(), "exit status 5") {
			t.Errorf("stop: %v", err)
		}
	})

	t.Run("IsGoneWhenKilled", func(t *testing.T) {
		t.Parallel()
		p := program(t, "trap '' TERM; while :; do sleep 0.01; done")
		if err := p.Kill(0); err != nil {
			t.Fatal(err)
		}
		select {
		case <-p.Exited(0):
		default:
			t.Error("it is still there")
		}
	})

	t.Run("IsNotExcusedByAMachineThatCanNotBeAsked", func(t *testing.T) {
		t.Parallel()
		if d := stalls(filepath.Join(t.TempDir(), "missing"), nil); d != 0 {
			t.Errorf("%v are excused", d)
		}
	})
}
