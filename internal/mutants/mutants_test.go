package mutants

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

// shortNumber of mutants are tried in a short run, from the head of the table.
const shortNumber = 3

// TestSuites runs, for each mutant, the tests that hold the rule which it breaks.
func TestSuites(t *testing.T) {
	t.Parallel()
	built := build(t)
	mutants := table
	if testing.Short() {
		mutants = table[:shortNumber]
	}
	for _, m := range mutants {
		t.Run("Catch/"+m.name, func(t *testing.T) {
			t.Parallel()
			for _, c := range m.caught {
				r := built.play(t.Context(), c.suite, c.tests, m.name)
				switch {
				case r.broken != "":
					t.Errorf("%s %s: %s\n%s", c.suite, c.tests, r.broken, r.output)
				case r.passed:
					t.Errorf("%s %s did not notice\n%s", c.suite, c.tests, r.output)
				default:
					t.Logf("%s: caught by %s %s", m.name, c.suite, r.failed[0])
				}
			}
		})
	}
	for _, s := range suites {
		t.Run("PassWithoutMutant/"+string(s), func(t *testing.T) {
			t.Parallel()
			var patterns []string
			for _, m := range mutants {
				for _, c := range m.caught {
					if c.suite == s && !slices.Contains(patterns, c.tests) {
						patterns = append(patterns, c.tests)
					}
				}
			}
			if len(patterns) == 0 {
				return // of the few of a short run, none is looked for here
			}
			if r := built.play(t.Context(), s, strings.Join(patterns, "|"), ""); !r.passed || r.broken != "" {
				t.Errorf("%s %s\n%s", strings.Join(patterns, "|"), r.broken, r.output)
			}
		})
	}
	t.Run("RefuseMisspeltName", func(t *testing.T) {
		t.Parallel()
		for _, s := range suites {
			r := built.play(t.Context(), s, "^$", table[0].name+"s")
			if r.passed || !strings.Contains(r.output, variable) {
				t.Errorf("%s took it\n%s", s, r.output)
			}
		}
	})
}

// TestJudge holds the reading of a run against output that is made up for it.
func TestJudge(t *testing.T) {
	t.Parallel()
	const ran = "=== RUN   TestA\n"
	failed := errors.New("exit status 1")
	for name, c := range map[string]struct {
		output      string
		err, cutOff error
		want        string // the test that failed
		passed      bool
		broken      bool
	}{
		"TakesFailureForCatch":        {output: ran + "=== RUN   TestA/B\n--- FAIL: TestA (0.00s)\n    --- FAIL: TestA/B (0.00s)\n        a_test.go:1: no\nFAIL\n", err: failed, want: "TestA/B"},
		"TakesSuccessForSuccess":      {output: ran + "--- PASS: TestA (0.00s)\nPASS\n", passed: true},
		"TakesNoPanicForCatch":        {output: ran + "--- FAIL: TestA (0.00s)\npanic: oops\n", err: failed, want: "TestA", broken: true},
		"TakesNoDeadlockForCatch":     {output: ran + "fatal error: all goroutines are asleep - deadlock!\n", err: failed, broken: true},
		"TakesNoTimeoutForCatch":      {output: ran + "--- FAIL: TestA (0.00s)\n", err: failed, cutOff: errors.New("late"), want: "TestA", broken: true},
		"TakesNothingRunForNoSuccess": {output: "testing: warning: no tests to run\nPASS\n", passed: true, broken: true},
		"TakesLeakForNoCatch":         {output: ran + "PASS\ngoleak: Errors on successful test run\n", err: failed, broken: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := judge(c.output, c.err, c.cutOff)
			if r.passed != c.passed || (r.broken != "") != c.broken {
				t.Errorf("passed %v, broken %q", r.passed, r.broken)
			}
			if got := strings.Join(r.failed[:min(1, len(r.failed))], ""); got != c.want {
				t.Errorf("the test that failed: %q, want %q", got, c.want)
			}
		})
	}
}
