package storetest

import "testing"

// Conformance runs what must hold when nothing goes wrong.
func Conformance(t *testing.T, factory Factory) {
	t.Helper()
	perform(t, factory, []chapter{
		{"Grant", grantScenarios()},
		{"Renew", renewScenarios()},
		{"Expiry", expiryScenarios()},
		{"Release", releaseScenarios()},
		{"LockDelay", delayScenarios()},
		{"Terms", termScenarios()},
		{"Revisions", revisionScenarios()},
		{"CleanUp", cleanUpScenarios()},
		{"Idempotency", idempotencyScenarios()},
		{"Quota", quotaScenarios()},
		{"Wait", waitScenarios()},
		{"HandOver", handOverScenarios()},
		{"Restart", restartScenarios()},
		{"Reboot", rebootScenarios()},
		{"WallClock", wallScenarios()},
	})
}
