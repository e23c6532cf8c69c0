package mutants

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// variable names the mutant that a binary built with the tag follows.
const variable = "OCTOSTORE_MUTANT"

// runLimit is how long one focused run may take on a crowded machine. Each takes
// well under a second on an idle one.
const runLimit = time.Minute

// suite is a package with tests, seen from the root of the module.
type suite string

const (
	kernel    suite = "lease"
	pipeline  suite = "store"
	database  suite = "store/sqlite"
	elections suite = "elections"
)

var suites = []suite{kernel, pipeline, database, elections}

const root = "../.."

// binaries are the suites as they were built for this run.
type binaries map[suite]string

// build compiles every suite once, with the tag.
func build(t *testing.T) binaries {
	t.Helper()
	dir := t.TempDir()
	built := make(binaries, len(suites))
	errs := make([]error, len(suites))
	var all sync.WaitGroup
	for i, s := range suites {
		into := filepath.Join(dir, strings.ReplaceAll(string(s), "/", "-")+".test")
		built[s] = into
		all.Go(func() {
			cmd := exec.CommandContext(t.Context(), "go", "test", "-c", "-tags=mutants", "-o", into, "./"+string(s)) //nolint:gosec // our own packages
			cmd.Dir = root
			cmd.Env = append(os.Environ(), "CGO_ENABLED=0", variable+"=")
			if out, err := cmd.CombinedOutput(); err != nil {
				errs[i] = fmt.Errorf("build %s: %w\n%s", s, err, out)
			}
		})
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	return built
}

// run is what became of some tests of a suite.
type run struct {
	output string
	passed bool
	failed []string // the tests that failed by their own judgement, innermost first
	broken string   // why the run says nothing about the rule that was tested, empty if it does
}

// play runs the tests of a suite that the pattern selects, under a mutant or,
// without a name, under none.
func (b binaries) play(ctx context.Context, s suite, pattern, mutant string) run {
	ctx, cancel := context.WithTimeout(ctx, runLimit)
	defer cancel()
	args := []string{"-test.v", "-test.short", "-test.count=1", "-test.run=" + pattern}
	if mutant != "" {
		args = append(args, "-test.failfast")
	}
	cmd := exec.CommandContext(ctx, b[s], args...) //nolint:gosec // built above
	cmd.Dir = filepath.Join(root, string(s))
	cmd.Env = append(os.Environ(), variable+"="+mutant)
	out, err := cmd.CombinedOutput()
	return judge(string(out), err, ctx.Err())
}

// judge reads the output of a test binary that ended with err.
func judge(output string, err, cutOff error) run {
	r := run{output: output, passed: err == nil}
	ran := false
	for line := range strings.Lines(output) {
		text := strings.TrimSpace(line)
		ran = ran || strings.HasPrefix(text, "=== RUN")
		if name, ok := strings.CutPrefix(text, "--- FAIL: "); ok {
			name, _, _ = strings.Cut(name, " ")
			r.failed = append([]string{name}, r.failed...)
		}
		if strings.HasPrefix(text, "panic: ") || strings.HasPrefix(text, "fatal error: ") {
			r.broken = text
		}
	}
	switch {
	case cutOff != nil:
		r.broken = "it took longer than " + runLimit.String()
	case !ran:
		r.broken = "no test was run"
	case r.broken != "":
	case !r.passed && len(r.failed) == 0:
		r.broken = fmt.Sprintf("it ended with %v, and no test failed", err)
	}
	return r
}
