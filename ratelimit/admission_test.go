package ratelimit_test

import (
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/octostore/octostore/ratelimit"
)

// spend makes n calls for key and fails unless all of them are allowed.
func spend(t *testing.T, a *ratelimit.Admission, key string, n int) {
	t.Helper()
	for i := range n {
		if d := a.Allow(t.Context(), key); !d.Allowed {
			t.Fatalf("call %d of %d for %q was refused: %+v", i+1, n, key, d)
		}
	}
}

func refused(t *testing.T, a *ratelimit.Admission, key string) ratelimit.Decision {
	t.Helper()
	d := a.Allow(t.Context(), key)
	if d.Allowed {
		t.Fatalf("a call for %q was allowed: %+v", key, d)
	}
	return d
}

func TestBudget(t *testing.T) {
	t.Parallel()

	bubble := func(name string, f func(t *testing.T)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, f)
		})
	}

	bubble("AllowsTheLimitAndRefusesTheNext", func(t *testing.T) {
		a := ratelimit.NewAdmission(3)
		for i, want := range []ratelimit.Decision{
			{Allowed: true, Limit: 3, Remaining: 2, Reset: time.Minute},
			{Allowed: true, Limit: 3, Remaining: 1, Reset: time.Minute},
			{Allowed: true, Limit: 3, Remaining: 0, Reset: time.Minute},
			{Allowed: false, Limit: 3, Remaining: 0, Reset: time.Minute},
			{Allowed: false, Limit: 3, Remaining: 0, Reset: time.Minute},
		} {
			if diff := cmp.Diff(want, a.Allow(t.Context(), "a")); diff != "" {
				t.Errorf("call %d (-want +got):\n%s", i+1, diff)
			}
		}
	})

	bubble("CountsEachClientAlone", func(t *testing.T) {
		a := ratelimit.NewAdmission(2)
		spend(t, a, "a", 2)
		refused(t, a, "a")
		spend(t, a, "b", 2)
		refused(t, a, "b")
	})

	bubble("EndDoesNotSlideWithCalls", func(t *testing.T) {
		a := ratelimit.NewAdmission(2)
		start := time.Now()
		for time.Since(start) < time.Minute {
			d := a.Allow(t.Context(), "a")
			if end := time.Now().Add(d.Reset); !end.Equal(start.Add(time.Minute)) {
				t.Fatalf("after %v the window ends %v after its start", time.Since(start), end.Sub(start))
			}
			time.Sleep(700 * time.Millisecond)
		}
		spend(t, a, "a", 2) // the refused calls did not lengthen it
	})

	bubble("EndsExactlyAtTheAnnouncedInstant", func(t *testing.T) {
		a := ratelimit.NewAdmission(1)
		spend(t, a, "a", 1)
		time.Sleep(time.Minute - 1)
		if d := refused(t, a, "a"); d.Reset != 1 || d.RetryAfter() != 1 {
			t.Errorf("one nanosecond before the end: reset %v, retry after %d s", d.Reset, d.RetryAfter())
		}
		time.Sleep(time.Nanosecond)
		spend(t, a, "a", 1)
	})

	bubble("AnnouncedRetrySucceeds", func(t *testing.T) {
		a := ratelimit.NewAdmission(5)
		for _, pause := range []time.Duration{
			0, 1, time.Millisecond, 999 * time.Millisecond, time.Second, 29*time.Second + 1, 59 * time.Second, time.Minute - 1,
		} {
			key := pause.String()
			spend(t, a, key, 5)
			time.Sleep(pause)
			d := refused(t, a, key)
			wait := time.Duration(d.RetryAfter()) * time.Second
			if wait < time.Second || wait < d.Reset || wait-d.Reset >= time.Second {
				t.Errorf("after %v: wait %v for a reset of %v", pause, wait, d.Reset)
			}
			time.Sleep(wait)
			spend(t, a, key, 5)
			refused(t, a, key)
		}
	})

	bubble("FirstCallAfterAPauseStartsTheWindow", func(t *testing.T) {
		a := ratelimit.NewAdmission(2)
		spend(t, a, "a", 1)
		time.Sleep(10 * time.Minute)
		if d := a.Allow(t.Context(), "a"); d.Reset != time.Minute || d.Remaining != 1 {
			t.Errorf("got %+v, want a whole new window", d)
		}
	})

	bubble("TakesNameLimitAndWindowAsParameters", func(t *testing.T) {
		a := ratelimit.NewAdmission(6000, ratelimit.BudgetName("locks"), ratelimit.Window(10*time.Second))
		spend(t, a, "principal-1", 6000)
		d := refused(t, a, "principal-1")
		if d.RetryAfter() != 10 {
			t.Errorf("retry after %d s, want 10", d.RetryAfter())
		}
		if got, want := a.Policy(), `"locks";q=6000;w=10`; got != want {
			t.Errorf("policy %s, want %s", got, want)
		}
		spend(t, a, "principal-2", 1) // another token behind the same address
		time.Sleep(10 * time.Second)
		spend(t, a, "principal-1", 1)
	})

	bubble("IsExactUnderConcurrency", func(t *testing.T) {
		a := ratelimit.NewAdmission(100)
		var allowed atomic.Int64
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for range 50 {
					if a.Allow(t.Context(), "a").Allowed {
						allowed.Add(1)
					}
				}
			})
		}
		wg.Wait()
		if allowed.Load() != 100 {
			t.Errorf("%d of 400 calls were allowed, want 100", allowed.Load())
		}
	})
}

func TestForgedHeadersSpendOneBudget(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"X-Forwarded-For", "X-Real-IP", "CF-Connecting-IP", "Forwarded"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const limit = 60
			a := ratelimit.NewAdmission(limit)
			var proxies ratelimit.Proxies
			for i := range 100 {
				h := http.Header{}
				h.Set(name, fmt.Sprintf("198.51.100.%d", i))
				client := proxies.Client(request("203.0.113.9:"+strconv.Itoa(1024+i), h))
				if got, want := a.Allow(t.Context(), client.Key).Allowed, i < limit; got != want {
					t.Fatalf("call %d: allowed %v, want %v", i+1, got, want)
				}
			}
			if a.Tracked() != 1 {
				t.Errorf("%d clients are tracked, want 1", a.Tracked())
			}
		})
	}
}

func TestTrackedClients(t *testing.T) {
	t.Parallel()

	bubble := func(name string, f func(t *testing.T)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, f)
		})
	}

	bubble("AreAtMost10000", func(t *testing.T) {
		a := ratelimit.NewAdmission(600)
		for i := range 10_500 {
			a.Allow(t.Context(), "client-"+strconv.Itoa(i))
		}
		if a.Tracked() != 10_000 {
			t.Errorf("%d clients are tracked, want 10000", a.Tracked())
		}
		if d := a.Allow(t.Context(), "client-10499"); d.Remaining != 600-501 {
			t.Errorf("%d left in the overflow budget after 501 calls, want %d", d.Remaining, 600-501)
		}
		if d := a.Allow(t.Context(), "client-9999"); d.Remaining != 598 {
			t.Errorf("a tracked client has %d left after two calls, want 598", d.Remaining)
		}
	})

	bubble("NewcomersShareOneOverflowBudget", func(t *testing.T) {
		a := ratelimit.NewAdmission(5, ratelimit.MaxClients(2))
		spend(t, a, "a", 1)
		spend(t, a, "b", 1)
		for i := range 5 {
			spend(t, a, "new-"+strconv.Itoa(i), 1)
		}
		for i := range 10 {
			refused(t, a, "new-"+strconv.Itoa(i))
		}
		spend(t, a, "a", 4) // those who were there first keep their own
		spend(t, a, "b", 4)
		refused(t, a, "a")
		refused(t, a, "b")
		refused(t, a, "") // no text of a key reaches another bucket
		if a.Tracked() != 2 {
			t.Errorf("%d clients are tracked, want 2", a.Tracked())
		}
	})

	bubble("OverflowBudgetHasAFixedWindowToo", func(t *testing.T) {
		a := ratelimit.NewAdmission(2, ratelimit.MaxClients(1))
		spend(t, a, "a", 1)
		time.Sleep(30 * time.Second)
		spend(t, a, "b", 1)
		time.Sleep(10 * time.Second)
		spend(t, a, "c", 1)
		d := refused(t, a, "d")
		if d.Reset != 50*time.Second {
			t.Errorf("the overflow window ends in %v, want 50s", d.Reset)
		}
		time.Sleep(20 * time.Second)
		spend(t, a, "a", 1) // keeps the only place taken
		time.Sleep(30 * time.Second)
		spend(t, a, "d", 1)
		spend(t, a, "e", 1)
		refused(t, a, "f")
	})

	bubble("RunningWindowsAreNeverDisplaced", func(t *testing.T) {
		a := ratelimit.NewAdmission(1, ratelimit.MaxClients(3))
		spend(t, a, "spent", 1)
		for i := range 100 {
			a.Allow(t.Context(), "flood-"+strconv.Itoa(i))
		}
		refused(t, a, "spent")
	})

	bubble("EndedWindowsMakeRoom", func(t *testing.T) {
		a := ratelimit.NewAdmission(4, ratelimit.MaxClients(3))
		for _, key := range []string{"a", "b", "c"} {
			spend(t, a, key, 4)
		}
		time.Sleep(65 * time.Second)
		for _, key := range []string{"d", "e", "f"} {
			spend(t, a, key, 4)
			refused(t, a, key)
		}
		spend(t, a, "a", 4) // displaced by now: this is the overflow budget
		refused(t, a, "b")
	})

	bubble("ARenewedWindowDoesNotKeepEndedOnesInPlace", func(t *testing.T) {
		a := ratelimit.NewAdmission(2, ratelimit.MaxClients(2))
		spend(t, a, "a", 1)
		time.Sleep(20 * time.Second)
		spend(t, a, "b", 1)
		time.Sleep(40 * time.Second)
		spend(t, a, "a", 1) // a window that began after b's
		time.Sleep(30 * time.Second)
		spend(t, a, "c", 2) // takes b's place
		spend(t, a, "d", 2) // finds none
		refused(t, a, "b")
		spend(t, a, "a", 1)
		refused(t, a, "a")
	})

	bubble("AnnouncedRetryFindsItsOwnBudgetInAFlood", func(t *testing.T) {
		a := ratelimit.NewAdmission(2, ratelimit.MaxClients(2))
		spend(t, a, "a", 2)
		spend(t, a, "b", 2)
		time.Sleep(500 * time.Millisecond)
		wait := time.Duration(refused(t, a, "a").RetryAfter()) * time.Second
		time.Sleep(wait)
		for i := range 10 {
			a.Allow(t.Context(), "flood-"+strconv.Itoa(i))
		}
		spend(t, a, "a", 2)
	})

	bubble("LeaveGraduallyAfterAFlood", func(t *testing.T) {
		a := ratelimit.NewAdmission(1, ratelimit.MaxClients(100))
		for i := range 100 {
			spend(t, a, "flood-"+strconv.Itoa(i), 1)
		}
		time.Sleep(2 * time.Minute)
		for i := range 99 {
			spend(t, a, "calm-"+strconv.Itoa(i), 1)
		}
		if got := a.Tracked(); got != 99 {
			t.Errorf("%d clients are tracked after the flood was cleared away, want 99", got)
		}
	})
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	for reset, want := range map[time.Duration]int{
		0: 1, 1: 1, time.Second - 1: 1, time.Second: 1, time.Second + 1: 2, 59*time.Second + 1: 60, time.Minute: 60,
	} {
		if got := (ratelimit.Decision{Reset: reset}).RetryAfter(); got != want {
			t.Errorf("reset in %v: retry after %d s, want %d", reset, got, want)
		}
	}
}

func TestBudgetHeaders(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := ratelimit.NewAdmission(600)
		spend(t, a, "a", 2)
		time.Sleep(48*time.Second + time.Millisecond)
		d := a.Allow(t.Context(), "a")
		h := http.Header{}
		a.SetHeaders(h, d)
		if got, want := h.Get(ratelimit.HeaderPolicy), `"elections";q=600;w=60`; got != want {
			t.Errorf("policy %s, want %s", got, want)
		}
		if got, want := h.Get(ratelimit.HeaderState), `"elections";r=597;t=12`; got != want {
			t.Errorf("state %s, want %s", got, want)
		}
		if h.Get("Retry-After") != "" {
			t.Error("a success carries Retry-After")
		}
		spend(t, a, "a", 597)
		d = refused(t, a, "a")
		if got, want := a.State(d), `"elections";r=0;t=`+strconv.Itoa(d.RetryAfter()); got != want {
			t.Errorf("state %s, want %s", got, want)
		}
	})
}

func TestNewAdmissionPanicsOn(t *testing.T) {
	t.Parallel()
	for name, make := range map[string]func(){
		"LimitZero":         func() { ratelimit.NewAdmission(0) },
		"NegativeLimit":     func() { ratelimit.NewAdmission(-1) },
		"NoPlaces":          func() { ratelimit.NewAdmission(1, ratelimit.MaxClients(0)) },
		"ShortWindow":       func() { ratelimit.NewAdmission(1, ratelimit.Window(time.Second-1)) },
		"BrokenSecond":      func() { ratelimit.NewAdmission(1, ratelimit.Window(1500*time.Millisecond)) },
		"WindowBeyondRetry": func() { ratelimit.NewAdmission(1, ratelimit.Window(ratelimit.MaxWindow+time.Second)) },
		"EmptyName":         func() { ratelimit.NewAdmission(1, ratelimit.BudgetName("")) },
		"NameWithQuote":     func() { ratelimit.NewAdmission(1, ratelimit.BudgetName(`a"b`)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			make()
		})
	}
}

func BenchmarkAllow(b *testing.B) {
	b.Run("Tracked", func(b *testing.B) {
		a := ratelimit.NewAdmission(600)
		b.ReportAllocs()
		for b.Loop() {
			a.Allow(b.Context(), "203.0.113.9")
		}
	})
	b.Run("Full", func(b *testing.B) {
		a := ratelimit.NewAdmission(600)
		for i := range ratelimit.DefaultMaxClients {
			a.Allow(b.Context(), strconv.Itoa(i))
		}
		b.ReportAllocs()
		for b.Loop() {
			a.Allow(b.Context(), "203.0.113.9")
		}
	})
}
