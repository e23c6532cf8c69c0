package histories

import (
	"os"
	"testing"
	"time"
)

// mutants are the known-wrong rules that show within a few kills. Others need a
// fault that a kill is not, or are stopped by the server's own last look before the
// disk.
func mutants() []string {
	switch {
	case os.Getenv(varProve) != "":
		return []string{
			"answer-before-fsync", "deadline-without-guard", "full-ttl-after-restart", "key-revives-ended-lease",
			"newcomer-overtakes", "release-ignores-term", "repeated-release-refused", "waiters-last-first",
		}
	case testing.Short():
		return nil
	default:
		return []string{"release-ignores-term"}
	}
}

// A check that finds nothing wrong with a server that is wrong proves nothing.
func TestWrongServersAreFoundOut(t *testing.T) {
	t.Parallel()
	names := mutants()
	if len(names) == 0 {
		return
	}
	path, err := Build(t.Context(), t.TempDir(), "mutants")
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range names {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			target, err := NewProcess(path, dir, "OCTOSTORE_MUTANT="+name)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := target.Close(); err != nil {
					t.Error(err)
				}
			})
			h, err := Run(t.Context(), NewPlan(uint64(i), 20, 3_000, 0, time.Minute), target, Elections{})
			if err != nil {
				t.Fatalf("%v\n%s", err, target.Log(0))
			}
			problems, tally := Check(h, Elections{})
			t.Log(tally)
			if len(problems) == 0 {
				t.Error("nothing was found")
			}
			for i := range problems[:min(3, len(problems))] {
				problems[i].Calls = nil
				t.Logf("found: %v", problems[i])
			}
		})
	}
}
