package ratelimit_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/octostore/octostore/ratelimit"
)

// TestBudgetsMatchAModel runs random histories against an independent, slower account of the rules.
func TestBudgetsMatchAModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		limit := rapid.Int64Range(1, 4).Draw(rt, "limit")
		places := rapid.IntRange(1, 4).Draw(rt, "places")
		calls := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) budgetCall {
			return budgetCall{
				// Never zero: which of two windows with the same end is cleared away first is not promised.
				pause: rapid.SampledFrom([]time.Duration{
					time.Nanosecond, time.Millisecond, 2 * time.Second, 19 * time.Second, 41 * time.Second, 62 * time.Second,
				}).Draw(rt, "pause"),
				key: rapid.SampledFrom([]string{"a", "b", "c", "d", "e", "f", "g"}).Draw(rt, "key"),
			}
		}), 1, 80).Draw(rt, "calls")
		// rapid gives up a history by a panic, which must not happen on the bubble's goroutine.
		var complaint string
		synctest.Test(t, func(t *testing.T) { complaint = compareBudgets(t, limit, places, calls) })
		if complaint != "" {
			rt.Fatal(complaint)
		}
	})
}

type budgetCall struct {
	pause time.Duration
	key   string
}

func compareBudgets(t *testing.T, limit int64, places int, calls []budgetCall) (complaint string) {
	t.Helper()
	type account struct {
		used int64
		ends time.Time
	}
	a := ratelimit.NewAdmission(limit, ratelimit.MaxClients(places))
	tracked := map[string]*account{}
	overflow := &account{}
	for i, call := range calls {
		time.Sleep(call.pause)
		now := time.Now()
		own := tracked[call.key]
		if own == nil {
			for range 2 {
				var oldest string
				for key, w := range tracked {
					if oldest == "" || w.ends.Before(tracked[oldest].ends) {
						oldest = key
					}
				}
				if oldest != "" && !now.Before(tracked[oldest].ends.Add(2*time.Second)) {
					delete(tracked, oldest)
				}
			}
			own = overflow
			if len(tracked) < places {
				own = &account{}
				tracked[call.key] = own
			}
		}
		if !now.Before(own.ends) {
			*own = account{ends: now.Add(time.Minute)}
		}
		own.used++

		got := a.Allow(t.Context(), call.key)
		want := ratelimit.Decision{
			Allowed: own.used <= limit, Limit: limit, Remaining: max(0, limit-own.used), Reset: own.ends.Sub(now),
		}
		if got != want {
			return fmt.Sprintf("call %d for %q: got %+v, want %+v", i, call.key, got, want)
		}
		if a.Tracked() != len(tracked) {
			return fmt.Sprintf("call %d: %d clients are tracked, want %d", i, a.Tracked(), len(tracked))
		}
	}
	return ""
}
