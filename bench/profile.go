package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"github.com/octostore/octostore/bench/report"
	"github.com/octostore/octostore/bench/target"
)

// profile records with perf where a server spends its time in one block. A nil
// profile records nothing.
type profile struct {
	pid     int
	seconds float64
	path    string // without its extension
	cmd     *exec.Cmd
}

// profile prepares one for the server of this repository, if they are wanted.
func (b *bench) profile(s target.Server, key report.Key, round int) *profile {
	if b.profiles == "" || key.Target != b.server.Name() {
		return nil
	}
	name := fmt.Sprintf("%s-%d-round%d", key.Workload, key.Connections, round)
	return &profile{pid: s.PID(), seconds: b.measure.Seconds(), path: filepath.Join(b.profiles, name)}
}

// begin starts perf for the length of the window. The clock of the processor is
// sampled, because a virtual machine often has no counters.
func (p *profile) begin(ctx context.Context) error {
	if p == nil {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(p.path), 0o700); err != nil {
		return fmt.Errorf("profile: %w", err)
	}
	p.cmd = exec.CommandContext(ctx, "perf", "record", "--quiet", "--event", "cpu-clock", "--freq", "499", "--call-graph", "fp", //nolint:gosec // G204: a pid and a path of this program
		"--pid", strconv.Itoa(p.pid), "--output", p.path+".data", "--", "sleep", strconv.FormatFloat(p.seconds, 'f', 3, 64))
	if err := p.cmd.Start(); err != nil {
		return fmt.Errorf("profile: %w", err)
	}
	return nil
}

// end waits for perf and writes the functions in the order of their own time, and
// once more with that of what they called.
func (p *profile) end(ctx context.Context) error {
	if p == nil || p.cmd == nil {
		return nil
	}
	if err := p.cmd.Wait(); err != nil {
		return fmt.Errorf("profile: perf record: %w", err)
	}
	for ext, children := range map[string]string{".self.txt": "--no-children", ".cumulative.txt": "--children"} {
		if err := p.write(ctx, ext, children); err != nil {
			return err
		}
	}
	return nil
}

func (p *profile) write(ctx context.Context, ext, children string) (err error) {
	f, err := os.Create(p.path + ext)
	if err != nil {
		return fmt.Errorf("profile: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	cmd := exec.CommandContext(ctx, "perf", "report", "--stdio", "--call-graph", "none", "--sort", "symbol", "--percent-limit", "0.3", children, "--input", p.path+".data") //nolint:gosec // G204: a path of this program
	cmd.Stdout = f
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("profile: perf report: %w", err)
	}
	return nil
}
