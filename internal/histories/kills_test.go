package histories

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// The environment of the test of the real program.
const (
	varProve = "OCTOSTORE_PROVE" // not empty: the whole size
	varSeed  = "OCTOSTORE_SEED"  // of an earlier run; the plan is drawn from it
)

// mostReadiness is how long a start may take after a crash.
const mostReadiness = 2 * time.Second

// The real program is killed again and again under its clients. Nothing that it
// has acknowledged may be lost, and nothing that it says may contradict itself.
func TestElectionsUnderKills(t *testing.T) {
	t.Parallel()
	plan := sized(t)
	t.Logf("%s=%d", varSeed, plan.Seed)
	dir := t.TempDir()
	path, err := Build(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	target, err := NewProcess(path, dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := target.Close(); err != nil {
			t.Error(err)
		}
	})
	began := Now()
	h, err := Run(t.Context(), plan, target, Elections{})
	if err != nil {
		t.Fatalf("%v\n%s", err, target.Log(0))
	}
	ran := Now()
	problems, tally := Check(h, Elections{})
	t.Logf("ran %v, checked in %v\n%s", ran.Sub(began).Round(time.Millisecond), Now().Sub(ran).Round(time.Millisecond), tally)
	report(t, problems)
	if log := target.Log(0); strings.Contains(log, `"level":"ERROR"`) || strings.Contains(log, "panic") {
		t.Errorf("the log of the server:\n%s", log)
	}
	for _, what := range tally.Missing() {
		t.Errorf("the run has no %s", what)
	}
	if answers := tally.Calls - tally.LostAnswers; tally.Kills < plan.Kills || answers < plan.Answers {
		t.Errorf("%d kills and %d answers within %v, want %d and %d", tally.Kills, answers, plan.Limit, plan.Kills, plan.Answers)
	}
	if most := Quantile(tally.Net, 1); most > mostReadiness {
		t.Errorf("a start took %v, at most %v are allowed", most, mostReadiness)
	}
}

// sized returns the plan for the size that was asked for.
func sized(t *testing.T) Plan {
	t.Helper()
	seed := rand.Uint64() >> 1
	if text := os.Getenv(varSeed); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("%s: %v", varSeed, err)
		}
	}
	switch {
	case os.Getenv(varProve) != "":
		return NewPlan(seed, 500, 200_000, 20, 20*time.Minute)
	case testing.Short():
		return NewPlan(seed, 3, 500, 0, 20*time.Second)
	default:
		return NewPlan(seed, 25, 5_000, 1, 90*time.Second)
	}
}

// shownCalls bounds how many calls of a problem are printed; all of them are kept
// in a file.
const shownCalls = 12

// report fails the test for each problem, and keeps the calls on its name.
func report(t *testing.T, problems []Problem) {
	t.Helper()
	for i, p := range problems {
		if len(p.Calls) > shownCalls {
			path := filepath.Join(t.ArtifactDir(), fmt.Sprintf("problem-%d.txt", i))
			f, err := os.Create(path)
			if err != nil {
				t.Fatal(err)
			}
			w := bufio.NewWriter(f)
			fmt.Fprintln(w, p)
			if err := w.Flush(); err != nil {
				t.Error(err)
			}
			if err := f.Close(); err != nil {
				t.Error(err)
			}
			p.Text += fmt.Sprintf(" (all %d calls are in %s)", len(p.Calls), path)
			p.Calls = nil
		}
		if i < 20 {
			t.Error(p)
		}
	}
	if len(problems) > 20 {
		t.Errorf("and %d more problems", len(problems)-20)
	}
}
