package api_test

import (
	"testing"

	"github.com/octostore/octostore/api"
)

func TestCodes(t *testing.T) {
	t.Parallel()

	t.Run("AreDistinctAndLabelled", func(t *testing.T) {
		t.Parallel()
		codes, labels := map[api.Code]bool{}, map[string]bool{}
		for _, code := range api.Codes() {
			label := code.Label()
			if label == "" || labels[label] {
				t.Errorf("code %s has label %q, which is empty or used twice", code, label)
			}
			if codes[code] {
				t.Errorf("code %s is listed twice", code)
			}
			if !code.Known() {
				t.Errorf("code %s is not known", code)
			}
			codes[code], labels[label] = true, true
		}
	})

	t.Run("RefuseStrangers", func(t *testing.T) {
		t.Parallel()
		for _, code := range []api.Code{"", "Conflict", "lease_expired"} {
			if code.Known() || code.Label() != "" || code.CarriesRetryAfter() {
				t.Errorf("code %q passes for one of ours", code)
			}
		}
	})

	t.Run("HandOutTheirOwnSlice", func(t *testing.T) {
		t.Parallel()
		api.Codes()[0] = "spoiled"
		if got := api.Codes()[0]; got != api.CodeAuthenticationRequired {
			t.Errorf("first code is now %q", got)
		}
	})

	t.Run("CarryARetryHintOnlyWhereAWaitHelps", func(t *testing.T) {
		t.Parallel()
		want := map[api.Code]bool{
			"capacity_exceeded": true, "rate_limited": true, "quota_exceeded": true,
			"unavailable": true, "outcome_unknown": true,
		}
		for _, code := range api.Codes() {
			if got := code.CarriesRetryAfter(); got != want[code] {
				t.Errorf("%s: %v, want %v", code, got, want[code])
			}
		}
	})
}
