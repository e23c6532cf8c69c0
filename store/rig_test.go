package store

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/octostore/octostore/lease"
)

// suspendable is a deciding clock in a bubble that can be moved on while the
// timers of the runtime stand still, as a suspended machine does.
type suspendable struct {
	zero  time.Time
	slept atomic.Int64
}

// Now implements lease.Clock.
func (c *suspendable) Now() lease.Now {
	now := time.Now()
	at := now.Sub(c.zero) + time.Duration(c.slept.Load())
	return lease.Now{At: lease.Instant(at + time.Hour), Wall: lease.WallOf(now)}
}

// gated is a Writer whose commits can be held.
type gated struct {
	mu   sync.Mutex
	gate chan error // what the commit that is held returns
}

// Write implements Writer.
func (g *gated) Write(context.Context, Changes) error {
	g.mu.Lock()
	gate := g.gate
	g.mu.Unlock()
	if gate == nil {
		return nil
	}
	return <-gate
}

func (g *gated) hold() (release func(error)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	gate := make(chan error)
	g.gate = gate
	return func(err error) {
		g.mu.Lock()
		g.gate = nil
		g.mu.Unlock()
		gate <- err
	}
}

// witness is told what happens.
type witness struct {
	unobserved
	mu       sync.Mutex
	events   []lease.Event
	waiters  int64
	failed   []string
	refused  int
	lag      []time.Duration
	groups   int
	outcomes map[string]int
	stalled  time.Duration
}

// note changes or reads what was seen: the pipeline may be telling more.
func (w *witness) note(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f()
}

// Publish implements Publisher.
func (w *witness) Publish(events []lease.Event) {
	w.note(func() { w.events = append(w.events, events...) })
}

// What follows implements Observer.
func (w *witness) Waiters(n int64) { w.note(func() { w.waiters = n }) }

func (w *witness) CommitFailed(reason string) { w.note(func() { w.failed = append(w.failed, reason) }) }
func (w *witness) QueueRefused(string)        { w.note(func() { w.refused++ }) }
func (w *witness) ExpiryLag(d time.Duration)  { w.note(func() { w.lag = append(w.lag, d) }) }
func (w *witness) Stalled(d time.Duration)    { w.note(func() { w.stalled += d }) }
func (w *witness) GroupCommitted(int, int, time.Duration) {
	w.note(func() { w.groups++ })
}

func (w *witness) Outcome(kind, verb, outcome string) {
	w.note(func() { w.outcomes[kind+" "+verb+" "+outcome]++ })
}

// rig is a pipeline over an image in a bubble.
type rig struct {
	*testing.T
	*Pipeline
	clock   *suspendable
	writer  *gated
	witness *witness
}

func inBubble(t *testing.T, o Options, test func(*rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := &rig{T: t, clock: &suspendable{zero: time.Now()}, writer: &gated{}, witness: &witness{outcomes: make(map[string]int)}}
		o.Backend = NewImage(ImageOptions{Clock: r.clock, Writer: r.writer})
		o.Publisher, o.Observer = r.witness, r.witness
		r.Pipeline = New(o)
		defer r.Close()
		test(r)
	})
}

// result is the answer to a call that was sent.
type result struct {
	done chan struct{}
	out  lease.Outcome
	err  error
}

func (r *rig) send(f func() (lease.Outcome, error)) *result {
	c := &result{done: make(chan struct{})}
	go func() {
		defer close(c.done)
		c.out, c.err = f()
	}()
	synctest.Wait()
	return c
}

func (r *rig) acquire(name string, wait time.Duration) *result {
	return r.send(func() (lease.Outcome, error) {
		return r.Acquire(context.Background(), lease.ElectionKey(name), lease.Acquire{TTL: time.Minute}, wait)
	})
}

func (r *rig) release(rec lease.Record) *result {
	return r.send(func() (lease.Outcome, error) { return r.Release(context.Background(), rec.Key, rec.Ref()) })
}

func (r *rig) take(name string) lease.Record {
	r.Helper()
	return r.got(r.acquire(name, 0), lease.Granted).Record
}

func (c *result) answered() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

func (r *rig) got(c *result, want lease.Verdict) lease.Outcome {
	r.Helper()
	synctest.Wait()
	if !c.answered() || c.err != nil || c.out.Verdict != want {
		r.Fatalf("answered %v: %v, %v; want %v", c.answered(), c.out.Verdict, c.err, want)
	}
	return c.out
}

func (r *rig) gotError(c *result, want error) {
	r.Helper()
	synctest.Wait()
	if !c.answered() || !errors.Is(c.err, want) {
		r.Fatalf("answered %v: %v, %v; want %v", c.answered(), c.out.Verdict, c.err, want)
	}
}

func (r *rig) waits(c *result) {
	r.Helper()
	synctest.Wait()
	if c.answered() {
		r.Fatalf("answered %v, %v", c.out.Verdict, c.err)
	}
}

// pass lets time go by in the bubble.
func (r *rig) pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}
