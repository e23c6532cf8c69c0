package storetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/octostore/octostore/lease"
)

// randomHistory lets 64 callers do what they like with 8 names and compares
// what each was told with what was published.
func randomHistory(s *scene) {
	const callers, rounds, steps = 64, 8, 5
	seed := rand.Uint64() //nolint:gosec // printed, so that a history can be told again
	s.Logf("seed %d", seed)
	ledger := &ledger{verdicts: make(map[string]int)}
	actors := make([]*actor, callers)
	for i := range actors {
		actors[i] = &actor{
			scene: s, ledger: ledger, store: s.replica(i), name: fmt.Sprint("caller ", i),
			rng: rand.New(rand.NewPCG(seed, uint64(i))), //nolint:gosec // reproducible on purpose
		}
	}
	for range rounds {
		calls := make([]*call, callers)
		for i, a := range actors {
			calls[i] = s.send(func(ctx context.Context) (lease.Outcome, error) {
				for range steps {
					if err := a.step(ctx); err != nil {
						return lease.Outcome{}, err
					}
				}
				return lease.Outcome{}, nil
			})
		}
		s.Advance(2 * time.Second) // the longest that anybody waits, over all steps
		for _, c := range calls {
			<-c.done
			if c.err != nil {
				s.Fatal(c.err)
			}
		}
		s.Advance(time.Duration(actors[0].rng.IntN(3)) * time.Second)
	}
	ledger.audit(s)
}

// ledger is what all callers were told.
type ledger struct {
	mu       sync.Mutex
	told     []lease.Outcome // that speak of a change
	verdicts map[string]int
}

func (l *ledger) note(verb string, out lease.Outcome) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.verdicts[verb+" "+out.Verdict.String()]++
	switch out.Verdict {
	case lease.Granted, lease.Confirmed, lease.Released:
		l.told = append(l.told, out)
	default:
	}
}

// audit compares what callers were told with what was published: each change
// that somebody was told of was published with the same revision, and each
// grant was told to somebody, or was given back.
func (l *ledger) audit(s *scene) {
	s.Helper()
	type moment struct {
		key      lease.Key
		revision int64
	}
	s.Settle()
	published := make(map[moment]lease.Event)
	for _, e := range s.Events.All() {
		published[moment{e.Record.Key, e.Revision}] = e
	}
	heard := make(map[lease.Ref]bool)
	for _, out := range l.told {
		e, ok := published[moment{out.Record.Key, out.Record.Revision}]
		want := map[lease.Verdict]lease.Type{
			lease.Granted: lease.Acquired, lease.Confirmed: lease.Renewed, lease.Released: lease.WasReleased,
		}[out.Verdict]
		if !ok || e.Type != want || e.At != out.At || e.Record.Term != out.Record.Term {
			s.Errorf("told %q of %q, revision %d; published: %v %+v", out.Verdict, out.Record.Key.Name(), out.Record.Revision, ok, e)
		}
		heard[out.Record.Ref()] = true
	}
	for _, e := range s.Events.All() {
		if e.Type == lease.Acquired && !heard[e.Record.Ref()] && e.Record.Lease.Label != leaver {
			s.Errorf("nobody was told of term %d of %q", e.Record.Term, e.Record.Key.Name())
		}
	}
	s.Logf("verdicts: %v", l.verdicts)
	for _, must := range []string{
		"acquire granted", "acquire taken", "acquire delayed", "acquire confirmed", "renew confirmed", "renew not_current",
		"release released", "release repeated", "force released",
	} {
		if l.verdicts[must] == 0 {
			s.Errorf("%q never happened: the history proves too little", must)
		}
	}
}

// leaver labels the requests of callers who may leave before their answer.
const leaver = "leaver"

// actor is one caller with what it remembers.
type actor struct {
	*scene
	ledger *ledger
	store  Store
	name   string
	rng    *rand.Rand
	keys   int
	last   []held // leases that it was granted, the oldest first
}

type held struct {
	key  lease.Key
	ref  lease.Ref
	idem option
	ttl  time.Duration
}

// step does one thing.
func (a *actor) step(ctx context.Context) error {
	if len(a.last) > 0 && a.rng.IntN(3) > 0 {
		return a.use(ctx, a.last[max(0, len(a.last)-1-a.rng.IntN(3))])
	}
	if a.rng.IntN(25) == 0 {
		key := a.pick()
		out, err := a.store.ForceRelease(ctx, key)
		return a.heard("force", out, err)
	}
	return a.campaign(ctx)
}

// pick chooses one of four rooms and four locks.
func (a *actor) pick() lease.Key {
	name := fmt.Sprint("n", a.rng.IntN(4))
	if a.rng.IntN(2) == 0 {
		return room(name)
	}
	return lock(name)
}

func (a *actor) campaign(ctx context.Context) error {
	h := held{key: a.pick(), ttl: time.Duration(200+a.rng.IntN(1800)) * time.Millisecond}
	var options []option
	if h.key.Kind() == lease.Lock {
		options = append(options, delayed(time.Duration(a.rng.IntN(3))*100*time.Millisecond))
	}
	if a.rng.IntN(2) == 0 {
		a.keys++
		h.idem = a.keyed(fmt.Sprint(a.name, " key ", a.keys), "p")
		options = append(options, h.idem)
	}
	wait := time.Duration(a.rng.IntN(4)) * 100 * time.Millisecond
	if a.rng.IntN(8) == 0 { // leaves early, before or after it got the name
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, wait/2)
		defer cancel()
		options = append(options, labelled(leaver, ""))
	}
	out, err := a.store.Acquire(ctx, h.key, a.ask(h.ttl, options...), wait)
	if err == nil && out.Verdict == lease.Granted {
		h.ref = out.Record.Ref()
		a.last = append(a.last, h)
	}
	return a.heard("acquire", out, err)
}

// use renews, repeats or ends a lease that it has, or believes to have.
func (a *actor) use(ctx context.Context, h held) error {
	switch n := a.rng.IntN(10); {
	case n < 4:
		out, err := a.store.Renew(ctx, h.key, h.ref, time.Duration(a.rng.IntN(2))*h.ttl)
		return a.heard("renew", out, err)
	case n < 7:
		out, err := a.store.Release(ctx, h.key, h.ref)
		return a.heard("release", out, err)
	case n < 9 && h.idem != nil:
		out, err := a.store.Acquire(ctx, h.key, a.ask(h.ttl, h.idem), 0)
		return a.heard("acquire", out, err)
	default:
		return a.store.GiveBack(ctx, h.key, h.ref)
	}
}

// heard notes an answer. Having left is no error here.
func (a *actor) heard(verb string, out lease.Outcome, err error) error {
	switch {
	case err == nil:
		a.ledger.note(verb, out)
		return nil
	case errors.Is(err, context.DeadlineExceeded):
		return nil
	default:
		return fmt.Errorf("%s: %s: %w", a.name, verb, err)
	}
}
