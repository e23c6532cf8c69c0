package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/octostore/octostore/bench/disk"
	"github.com/octostore/octostore/bench/machine"
	"github.com/octostore/octostore/bench/report"
	"github.com/octostore/octostore/bench/scale"
	"github.com/octostore/octostore/bench/target"
)

// startTimeout is how long a server may take to be ready on an empty folder.
const startTimeout = 30 * time.Second

// bench is a run under way.
type bench struct {
	settings
	dir      string // for everything that is written, removed in the end
	server   target.OctoStore
	self     string // this program
	targets  []target.Target
	progress io.Writer
	results  *report.Results
}

// measure makes a whole run.
func measure(ctx context.Context, set settings, progress io.Writer) (_ *report.Results, err error) {
	b := &bench{settings: set, progress: progress, results: &report.Results{
		Started:  time.Now(),
		Settings: report.Settings{Rounds: set.rounds, WarmSeconds: set.warm.Seconds(), MeasureSeconds: set.measure.Seconds(), Profiled: set.profiles != ""},
		Versions: make(map[string]string), Missing: make(map[string]string),
	}}
	if b.dir, err = workFolder(set.dir); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(b.dir)) }()
	if b.results.Host, err = machine.Describe(b.dir); err != nil {
		return nil, err
	}
	if b.self, err = os.Executable(); err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	if err := b.build(ctx); err != nil {
		return nil, err
	}
	if err := b.locate(ctx); err != nil {
		return nil, err
	}
	for round := 1; round <= set.rounds; round++ {
		if err := b.round(ctx, round); err != nil {
			return nil, err
		}
	}
	if set.scale {
		if b.results.Scale, err = scale.Measure(ctx, scale.Plan{
			Program: b.self, Role: roleWorker, Server: b.server, Dir: b.dir, Many: set.rooms, Rounds: set.rounds,
			Warm: set.warm, Measure: set.measure, Progress: b.tell,
		}); err != nil {
			return nil, err
		}
	}
	b.results.Seconds = time.Since(b.results.Started).Seconds()
	b.results.Judge()
	return b.results, nil
}

// tell prints one line of progress.
func (b *bench) tell(format string, args ...any) {
	fmt.Fprintf(b.progress, "%4.0f s  "+format+"\n", append([]any{time.Since(b.results.Started).Seconds()}, args...)...)
}

// workFolder makes a folder for the run, in the given one or in the first of some
// usual ones that is on a disk.
func workFolder(parent string) (string, error) {
	parents := []string{parent}
	if parent == "" {
		parents = []string{os.TempDir(), "/var/tmp", "."}
	}
	var refused []error
	for _, p := range parents {
		if _, err := machine.Filesystem(p); err != nil {
			refused = append(refused, fmt.Errorf("%s: %w", p, err))
			continue
		}
		dir, err := os.MkdirTemp(p, "octostore-bench-")
		if err == nil {
			dir, err = filepath.Abs(dir)
		}
		if err == nil {
			return dir, nil
		}
		refused = append(refused, err)
	}
	return "", fmt.Errorf("no folder on a disk; name one with -dir: %w", errors.Join(refused...))
}

// build makes the binary of the server as it is released, but with its symbols.
func (b *bench) build(ctx context.Context) error {
	b.server.Program = b.settings.server
	if b.server.Program != "" {
		return nil
	}
	const module = "github.com/octostore/octostore"
	b.server.Program = filepath.Join(b.dir, "octostore")
	b.tell("building the server")
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", b.server.Program, module+"/cmd/octostore") //nolint:gosec // G204: a path that this program made
	where, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	if err != nil {
		return fmt.Errorf("find the server's module (run this in the folder bench, or name a binary with -server): %w", err)
	}
	cmd.Dir = strings.TrimSpace(string(where))
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build the server: %w\n%s", err, out)
	}
	return nil
}

// locate finds the targets that are on this machine. Only a missing peer is no
// error.
func (b *bench) locate(ctx context.Context) error {
	wanted := make(map[string]bool)
	for _, name := range b.settings.targets {
		wanted[name] = true
	}
	for _, t := range b.kinds(b.server.Program, b.self) {
		if !wanted[t.Name()] {
			continue
		}
		version, err := t.Locate(ctx)
		switch {
		case errors.Is(err, target.ErrMissing):
			b.results.Missing[t.Name()] = err.Error()
			b.tell("%s is left out: %v", t.Name(), err)
		case err != nil:
			return err
		default:
			b.results.Versions[t.Name()] = version
			b.targets = append(b.targets, t)
		}
	}
	return nil
}

// round measures the disk, and every block once.
func (b *bench) round(ctx context.Context, round int) error {
	for _, call := range []disk.Call{disk.Fsync, disk.Fdatasync} {
		res, err := disk.Measure(ctx, b.dir, call, b.warm, b.measure)
		if err != nil {
			return err
		}
		b.results.Disk = append(b.results.Disk, report.DiskSample{
			Call: string(call), Round: round, Rate: res.Rate(),
			P50: micros(res.Latency.Quantile(0.5)), P99: micros(res.Latency.Quantile(0.99)),
		})
		b.tell("round %d, disk: %.0f %s/s", round, res.Rate(), call)
	}
	for _, w := range b.workloads {
		for _, n := range connectionsOf(w, b.connections) {
			for _, t := range inTurn(b.targets, round) {
				if !t.Serves(w) {
					continue
				}
				s, err := b.block(ctx, t, w, n, round)
				if err != nil {
					return fmt.Errorf("%s, %s, %d connections: %w", t.Name(), w, n, err)
				}
				b.results.Samples = append(b.results.Samples, s)
				b.tell("round %d, %s, %d connections, %s: %.0f/s", round, w, n, t.Name(), s.Rate)
			}
		}
	}
	return nil
}

// connectionsOf returns the numbers of connections that a workload is run with.
func connectionsOf(w target.Workload, all []int) []int {
	if w == target.Contended {
		return []int{contenders}
	}
	return all
}

// inTurn returns the targets in the order of a round, another one in each, so
// that none always runs after the same other.
func inTurn(targets []target.Target, round int) []target.Target {
	if len(targets) == 0 {
		return nil
	}
	first := (round - 1) % len(targets)
	return append(targets[first:len(targets):len(targets)], targets[:first]...)
}
