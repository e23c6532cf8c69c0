package storetest

import "testing"

// Failure runs what must hold when a commit fails, or when nobody knows
// whether it did.
func Failure(t *testing.T, factory Factory) {
	t.Helper()
	perform(t, factory, []chapter{
		{"NotApplied", notAppliedScenarios()},
		{"Unknown", append(unknownScenarios(UnknownApplied), unknownScenarios(UnknownNotApplied)...)},
		{"Room", roomScenarios()},
	})
}
