package storetest

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/octostore/octostore/lease"
)

const (
	// ttl is what tests ask for where it does not matter.
	ttl = 10 * time.Second
	// prompt is how soon after its instant something must have happened.
	prompt = 250 * time.Millisecond
	// tick is the precision with which deadlines are kept.
	tick = time.Millisecond
	day  = 24 * time.Hour
)

// scene is a running test: the harness, and what the scenarios need to say
// things shortly.
type scene struct {
	*testing.T
	*Harness
	ctx   context.Context
	ring  *lease.Keyring
	calls []*call
	holds int
	letGo []func() // of the commits that were held
}

func newScene(t *testing.T, h *Harness) *scene {
	t.Helper()
	ring, err := lease.NewKeyring(serverKey(1))
	if err != nil {
		t.Fatal(err)
	}
	return &scene{T: t, Harness: h, ctx: t.Context(), ring: ring}
}

// serverKey is one of several fixed server keys.
func serverKey(n byte) []byte {
	k := make([]byte, lease.KeySize)
	k[0] = n
	return k
}

// close ends what a scenario left open and replays what was published.
func (s *scene) close() {
	s.Helper()
	for _, letGo := range s.letGo { // a scenario that failed has not come to it
		letGo()
	}
	for _, c := range s.calls {
		c.hangUp()
	}
	for _, c := range s.calls {
		<-c.done
	}
	s.Settle()
	for _, p := range checkHistory(s.Events.all()) {
		s.Errorf("history: %s", p)
	}
}

func (s *scene) now() lease.Now { return s.Store.Now() }

// until lets time pass up to an instant.
func (s *scene) until(at lease.Instant) {
	s.Helper()
	d := at.Sub(s.now().At)
	if d < 0 {
		s.Fatalf("the instant passed %v ago", -d)
	}
	s.Advance(d)
}

// replica returns the i-th of all stores on the database, going round.
func (s *scene) replica(i int) Store {
	if i %= 1 + len(s.Others); i > 0 {
		return s.Others[i-1]
	}
	return s.Store
}

// How a request differs from a plain one.
type option func(*lease.Acquire)

func labelled(label, metadata string) option {
	return func(a *lease.Acquire) {
		a.Label, a.Labelled = label, true
		a.Metadata, a.Described = metadata, true
	}
}

// delayed binds the lease to a principal and gives it a lock-delay.
func delayed(d time.Duration) option {
	return func(a *lease.Acquire) { a.Bound = &lease.Binding{Principal: "worker", LockDelay: d} }
}

func limited(n int64) option { return func(a *lease.Acquire) { a.Limit = n } }

func proving(ref lease.Ref) option { return func(a *lease.Acquire) { a.Proof = &ref } }

// keyed gives the request an idempotency key. params are what the repeat is
// compared by.
func (s *scene) keyed(key string, params ...string) option {
	return keyedUnder(s.ring, key, params...)
}

func keyedUnder(ring *lease.Keyring, key string, params ...string) option {
	return func(a *lease.Acquire) { a.Idem = ring.Repeatable([]string{"scope", key}, params) }
}

// ask makes a request with a nonce of its own.
func (s *scene) ask(ttl time.Duration, options ...option) lease.Acquire {
	a := lease.Acquire{TTL: ttl, KeyID: s.ring.Current()}
	_, _ = rand.Read(a.Nonce[:]) // never fails
	for _, o := range options {
		o(&a)
	}
	return a
}

// acquire sends a request that does not wait.
func (s *scene) acquire(key lease.Key, ttl time.Duration, options ...option) *lease.Outcome {
	s.Helper()
	out, err := s.Store.Acquire(s.ctx, key, s.ask(ttl, options...), 0)
	if err != nil {
		s.Fatalf("acquire %q: %v", key.Name(), err)
	}
	return &out
}

// take acquires a name that must be free.
func (s *scene) take(key lease.Key, ttl time.Duration, options ...option) *lease.Outcome {
	s.Helper()
	return s.want(lease.Granted, s.acquire(key, ttl, options...))
}

func (s *scene) renew(key lease.Key, ref lease.Ref, ttl time.Duration) *lease.Outcome {
	s.Helper()
	out, err := s.Store.Renew(s.ctx, key, ref, ttl)
	if err != nil {
		s.Fatalf("renew %q: %v", key.Name(), err)
	}
	return &out
}

func (s *scene) release(key lease.Key, ref lease.Ref) *lease.Outcome {
	s.Helper()
	out, err := s.Store.Release(s.ctx, key, ref)
	if err != nil {
		s.Fatalf("release %q: %v", key.Name(), err)
	}
	return &out
}

func (s *scene) giveBack(key lease.Key, ref lease.Ref) {
	s.Helper()
	if err := s.Store.GiveBack(s.ctx, key, ref); err != nil {
		s.Fatalf("give back %q: %v", key.Name(), err)
	}
}

func (s *scene) force(key lease.Key) *lease.Outcome {
	s.Helper()
	out, err := s.Store.ForceRelease(s.ctx, key)
	if err != nil {
		s.Fatalf("force-release %q: %v", key.Name(), err)
	}
	return &out
}

func (s *scene) read(key lease.Key) *lease.Reading {
	s.Helper()
	read, err := s.Store.Read(s.ctx, key)
	if err != nil {
		s.Fatalf("read %q: %v", key.Name(), err)
	}
	return &read
}

func (s *scene) want(v lease.Verdict, out *lease.Outcome) *lease.Outcome {
	s.Helper()
	if out.Verdict != v {
		s.Fatalf("%q was answered %q, want %q", out.Record.Key.Name(), out.Verdict, v)
	}
	return out
}

// unchanged checks that the committed record of a name is what it was.
func (s *scene) unchanged(was lease.Record) {
	s.Helper()
	if d := diff(was, s.read(was.Key).Record); d != "" {
		s.Errorf("%q changed (-was +is):\n%s", was.Key.Name(), d)
	}
}

func diff(want, got any) string {
	return cmp.Diff(want, got, cmp.Comparer(func(a, b lease.Key) bool { return a == b }))
}

// told checks the types of all events of a name.
func (s *scene) told(key lease.Key, types ...lease.Type) []lease.Event {
	s.Helper()
	s.Settle()
	events := s.Events.Of(key)
	var got []lease.Type
	for _, e := range events {
		got = append(got, e.Type)
	}
	if !slices.Equal(got, types) {
		s.Fatalf("events of %q are %v, want %v", key.Name(), got, types)
	}
	return events
}

func room(name string) lease.Key { return lease.ElectionKey(name) }

func lock(name string) lease.Key { return lease.LockKey("acme", name) }

// call is a request on its way.
type call struct {
	hangUp context.CancelFunc
	done   chan struct{}
	out    lease.Outcome
	err    error
}

// send makes a call on a goroutine of its own.
func (s *scene) send(f func(context.Context) (lease.Outcome, error)) *call {
	ctx, cancel := context.WithCancel(s.ctx)
	c := &call{hangUp: cancel, done: make(chan struct{})}
	s.calls = append(s.calls, c)
	go func() {
		defer close(c.done)
		c.out, c.err = f(ctx)
	}()
	return c
}

// sendAcquire sends a request without waiting for its answer.
func (s *scene) sendAcquire(key lease.Key, wait, ttl time.Duration, options ...option) *call {
	store, req := s.Store, s.ask(ttl, options...)
	return s.send(func(ctx context.Context) (lease.Outcome, error) { return store.Acquire(ctx, key, req, wait) })
}

func (s *scene) sendRenew(key lease.Key, ref lease.Ref, ttl time.Duration) *call {
	store := s.Store
	return s.send(func(ctx context.Context) (lease.Outcome, error) { return store.Renew(ctx, key, ref, ttl) })
}

func (s *scene) sendRelease(key lease.Key, ref lease.Ref) *call {
	store := s.Store
	return s.send(func(ctx context.Context) (lease.Outcome, error) { return store.Release(ctx, key, ref) })
}

// queueUp sends a request that has to wait, and sees it into the queue.
func (s *scene) queueUp(key lease.Key, wait, ttl time.Duration, options ...option) *call {
	s.Helper()
	before := s.read(key).Waiters
	c := s.sendAcquire(key, wait, ttl, options...)
	s.pending(c)
	if got := s.read(key).Waiters; got != before+1 {
		s.Fatalf("%q has %d waiters after one joined %d", key.Name(), got, before)
	}
	return c
}

// pending checks that a call has no answer yet, though nothing goes on.
func (s *scene) pending(calls ...*call) {
	s.Helper()
	s.Settle()
	for i, c := range calls {
		if c.answered() {
			s.Fatalf("call %d was answered %q, %v; want it to wait", i, c.out.Verdict, c.err)
		}
	}
}

func (c *call) answered() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// answer returns the outcome of a call that must have been answered by now.
func (s *scene) answer(c *call) (*lease.Outcome, error) {
	s.Helper()
	s.Settle()
	if !c.answered() {
		s.Fatal("the call has not been answered")
	}
	return &c.out, c.err
}

// answered returns the outcome of a call that must have got one with the
// verdict.
func (s *scene) answered(v lease.Verdict, c *call) *lease.Outcome {
	s.Helper()
	out, err := s.answer(c)
	if err != nil {
		s.Fatalf("the call was answered %v, want %q", err, v)
	}
	return s.want(v, out)
}

// waiters checks how many wait for a name.
func (s *scene) waiters(key lease.Key, n int) {
	s.Helper()
	s.Settle()
	if got := s.read(key).Waiters; got != n {
		s.Errorf("%q has %d waiters, want %d", key.Name(), got, n)
	}
}

// Hold is Harness.Hold, and lets the commit go at the end of the scenario if
// nothing did before.
func (s *scene) Hold() (release func()) {
	letGo := s.Harness.Hold()
	s.letGo = append(s.letGo, letGo)
	return letGo
}

// hold stops commits, with one of a name of its own under way, so that the
// calls that follow gather in the lanes.
func (s *scene) hold() (release func()) {
	s.Helper()
	letGo := s.Hold()
	s.holds++
	s.pending(s.sendAcquire(room(fmt.Sprintf("held-commit-%d", s.holds)), 0, ttl))
	return func() {
		letGo()
		s.Settle()
	}
}
