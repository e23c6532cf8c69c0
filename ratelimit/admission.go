package ratelimit

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/ulule/limiter/v3"
	"github.com/ulule/limiter/v3/drivers/store/memory"
)

// The values of an [Admission] without options: those of the public elections.
const (
	DefaultBudgetName = "elections"
	DefaultWindow     = 60 * time.Second
	DefaultMaxClients = 10_000
)

// MaxWindow is the longest window. A refusal tells the time to the end of the window, and the wire contract bounds
// retry_after_ms to 300,000.
const MaxWindow = 300 * time.Second

// counterLife is how long a counter lives in the limiter's store if nobody resets it: long enough never to happen. The
// store ends a counter by the wall clock, one instant after the announced end, and reports that end in whole seconds.
// Here windows end by the monotonic clock, exactly when announced, so the store only counts and Admission resets.
const counterLife = 10 * 365 * 24 * time.Hour

// retryGrace is how long an ended window keeps its place, so that a refused client which obeys Retry-After finds its own
// budget even when newcomers wait for places: one second because the announced wait is rounded up, one for the way.
const retryGrace = 2 * time.Second

// purgePerNewcomer is how many ended windows one newcomer clears away. More than one lets memory fall after a flood, and
// a fixed number keeps the work of every single call small.
const purgePerNewcomer = 2

// AdmissionOption changes a default of [NewAdmission].
type AdmissionOption func(*Admission)

// BudgetName sets the name under which the budget is announced to clients: lower-case letters, digits and dashes.
func BudgetName(name string) AdmissionOption {
	return func(a *Admission) { a.name = name }
}

// Window sets the length of the window, from one second to [MaxWindow], in whole seconds.
func Window(d time.Duration) AdmissionOption {
	return func(a *Admission) { a.window = d }
}

// MaxClients sets how many clients have a budget of their own at the same time, at least 1.
func MaxClients(n int) AdmissionOption {
	return func(a *Admission) { a.maxClients = n }
}

// Admission is a request budget per client: limit requests in a fixed window that begins with the client's first request.
// The key says what a client is: [Client.Key] for anonymous callers, a principal for authenticated ones. It is safe for
// concurrent use, lives in memory, starts no goroutine and need not be closed.
//
// At most MaxClients clients are tracked. Ended windows make room for newcomers, running ones never do: otherwise a
// client with many addresses could push out others and, in the end, its own spent budget. Newcomers that find no room
// share one overflow budget of the same limit and window.
type Admission struct {
	name       string
	window     time.Duration
	maxClients int
	policy     string

	rate             limiter.Rate
	counts, overflow limiter.Store // apart, so that no key can collide with the overflow bucket

	mu      sync.Mutex
	clients map[string]*clientWindow
	byEnd   order[clientWindow] // all windows are equally long, so the order of starts is the order of ends
	shared  clientWindow        // the overflow bucket's
}

// clientWindow is the running or ended window of one key.
type clientWindow struct {
	key   string
	ends  time.Time
	place place[clientWindow]
}

// Decision is the answer to one request.
type Decision struct {
	// Allowed tells whether the request is within the budget.
	Allowed bool

	// Limit is the number of requests in a window, Remaining how many of them are left after this one.
	Limit, Remaining int64

	// Reset is the time until the window ends and the whole budget is back. It is more than zero and at most the window.
	Reset time.Duration
}

// RetryAfter is Reset in whole seconds, rounded up, hence at least 1: the value of Retry-After and of the t parameter of
// RateLimit, and a thousandth of retry_after_ms. A request that a tracked client sends exactly this long after a
// refusal meets a new window.
func (d Decision) RetryAfter() (seconds int) {
	return max(1, wholeSeconds(d.Reset))
}

func wholeSeconds(d time.Duration) int {
	return int((d + time.Second - 1) / time.Second)
}

// NewAdmission makes a budget of limit requests per client and window. It panics if limit or an option is out of its
// range: the caller has checked its configuration before it comes here.
func NewAdmission(limit int64, options ...AdmissionOption) *Admission {
	a := &Admission{name: DefaultBudgetName, window: DefaultWindow, maxClients: DefaultMaxClients}
	for _, option := range options {
		option(a)
	}
	switch {
	case limit < 1:
		panic(fmt.Sprintf("ratelimit: budget %q: a limit of %d admits nobody", a.name, limit))
	case a.window < time.Second || a.window > MaxWindow || a.window%time.Second != 0:
		panic(fmt.Sprintf("ratelimit: budget %q: window %v is not in whole seconds from 1 s to %v", a.name, a.window, MaxWindow))
	case a.maxClients < 1:
		panic(fmt.Sprintf("ratelimit: budget %q: %d tracked clients are too few", a.name, a.maxClients))
	case a.name == "" || strings.Trim(a.name, "abcdefghijklmnopqrstuvwxyz0123456789-") != "":
		panic(fmt.Sprintf("ratelimit: budget name %q has more than lower-case letters, digits and dashes", a.name))
	}
	a.policy = policyValue(a.name, limit, a.window)
	a.rate = limiter.Rate{Period: counterLife, Limit: limit}
	// Without a clean-up interval the store starts no goroutine. Its cleaner could not be stopped except by the garbage
	// collector and would not bound the number of keys; the purge here does.
	a.counts = memory.NewStoreWithOptions(limiter.StoreOptions{})
	a.overflow = memory.NewStoreWithOptions(limiter.StoreOptions{})
	a.clients = make(map[string]*clientWindow)
	return a
}

// Allow counts one request of the client and tells whether it is within its budget. Refused requests do not lengthen the
// wait. A counter that fails refuses: only new grants pass here, so that unseats nobody.
func (a *Admission) Allow(ctx context.Context, key string) Decision {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := time.Now()
	w, store := a.windowOf(ctx, key, now)
	if !now.Before(w.ends) {
		_, _ = store.Reset(ctx, w.key, a.rate) // if this fails the Get below does too, or counts on, which is stricter
		w.ends = now.Add(a.window)
		if w.place.listed() {
			a.byEnd.remove(&w.place)
			a.byEnd.push(&w.place, w)
		}
	}
	decision := Decision{Limit: a.rate.Limit, Reset: w.ends.Sub(now)}
	state, err := store.Get(ctx, w.key, a.rate)
	if err != nil {
		return decision
	}
	decision.Allowed, decision.Remaining = !state.Reached, state.Remaining
	return decision
}

// windowOf finds the client's window, or makes one that has ended already, or falls back to the overflow bucket.
func (a *Admission) windowOf(ctx context.Context, key string, now time.Time) (*clientWindow, limiter.Store) {
	if w := a.clients[key]; w != nil {
		return w, a.counts
	}
	for range purgePerNewcomer {
		oldest := a.byEnd.first()
		if oldest == nil || now.Before(oldest.ends.Add(retryGrace)) {
			break
		}
		a.byEnd.remove(&oldest.place)
		delete(a.clients, oldest.key)
		_, _ = a.counts.Reset(ctx, oldest.key, a.rate) // for the memory store this deletes the counter
	}
	if len(a.clients) >= a.maxClients {
		return &a.shared, a.overflow
	}
	w := &clientWindow{key: strings.Clone(key), ends: now} // a clone: the key may be a part of a larger text
	a.clients[w.key] = w
	a.byEnd.push(&w.place, w)
	return w, a.counts
}

// Tracked returns how many clients have a budget of their own now, those with an ended window included.
func (a *Admission) Tracked() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.clients)
}
