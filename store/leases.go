package store

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/octostore/octostore/lease"
)

// errWaitOver ends a wait whose time was up when its turn came.
var errWaitOver = errors.New("store: the wait is over")

// Now reads the deciding clock.
func (p *Pipeline) Now() lease.Now { return p.backend.Now() }

// Read returns the committed record of a name.
func (p *Pipeline) Read(ctx context.Context, key lease.Key) (lease.Reading, error) {
	rec, now, err := p.backend.Read(ctx, key)
	if err != nil {
		return lease.Reading{}, err
	}
	return lease.Reading{Record: rec, At: now, Waiters: p.waiting(key)}, nil
}

// Acquire decides a request for a name; see elections.Store. A refusal that
// needs no write and no place in a queue is given from the committed record,
// without queueing.
func (p *Pipeline) Acquire(ctx context.Context, key lease.Key, req lease.Acquire, wait time.Duration) (lease.Outcome, error) {
	out, err := p.acquire(ctx, key, &req, wait)
	p.count(key, verbAcquire, out, err)
	return out, err
}

func (p *Pipeline) acquire(ctx context.Context, key lease.Key, req *lease.Acquire, wait time.Duration) (lease.Outcome, error) {
	t := attempt{ctx: ctx, key: key, req: req, wait: wait}
	for {
		if out, refused, err := p.send(&t); refused || err != nil {
			return out, err
		}
		out, next, err := t.conclude(p.await(t.request))
		switch next {
		case stepAnswer:
			return out, err
		case stepGiveBack:
			return lease.Outcome{}, p.returnGrant(ctx, key, out)
		case stepSend:
		}
	}
}

// returnGrant gives back what a caller got that had left meanwhile.
func (p *Pipeline) returnGrant(ctx context.Context, key lease.Key, out lease.Outcome) error {
	if err := p.GiveBack(ctx, key, out.Record.Ref()); err != nil {
		return errors.Join(ctx.Err(), err)
	}
	return ctx.Err()
}

// refusal answers from the committed record if the name cannot be granted now.
func (p *Pipeline) refusal(ctx context.Context, key lease.Key) (lease.Outcome, bool, error) {
	read, err := p.Read(ctx, key)
	if err != nil {
		return lease.Outcome{}, false, err
	}
	out := lease.Outcome{Record: read.Record, At: read.At, Waiters: read.Waiters}
	switch {
	case read.Record.Live(read.At.At):
		out.Verdict = lease.Taken
	case read.Record.Cooling(read.At.At):
		out.Verdict = lease.Delayed
	default:
		return out, false, nil
	}
	return out, true, nil
}

// Renew extends the lease that ref names; ttl 0 keeps its own.
func (p *Pipeline) Renew(ctx context.Context, key lease.Key, ref lease.Ref, ttl time.Duration) (lease.Outcome, error) {
	return p.hold(ctx, &request{key: key, verb: verbRenew, ref: ref, ttl: ttl})
}

// Release ends the lease that ref names.
func (p *Pipeline) Release(ctx context.Context, key lease.Key, ref lease.Ref) (lease.Outcome, error) {
	return p.hold(ctx, &request{key: key, verb: verbRelease, ref: ref})
}

// ForceRelease ends whatever lease the name has.
func (p *Pipeline) ForceRelease(ctx context.Context, key lease.Key) (lease.Outcome, error) {
	return p.hold(ctx, &request{key: key, verb: verbForce})
}

// GiveBack ends a lease that its caller never heard of, without lock-delay. It
// does its work even if ctx has ended.
func (p *Pipeline) GiveBack(ctx context.Context, key lease.Key, ref lease.Ref) error {
	_, err := p.hold(context.WithoutCancel(ctx), &request{key: key, verb: verbGiveBack, ref: ref})
	return err
}

// hold submits a request of somebody who holds, to the first lane.
func (p *Pipeline) hold(ctx context.Context, r *request) (lease.Outcome, error) {
	r.ctx, r.lane, r.done = ctx, first, make(chan answer, 1)
	if err := p.submit(r); err != nil {
		return lease.Outcome{}, err
	}
	a, _ := p.await(r)
	p.count(r.key, r.verb, a.out, a.err)
	return a.out, a.err
}

func (p *Pipeline) count(key lease.Key, v verb, out lease.Outcome, err error) {
	outcome := "error"
	switch {
	case err == nil:
		outcome = out.Verdict.String()
		p.totals.add(v, out.Verdict)
	case errors.Is(err, lease.ErrOutcomeUnknown):
		outcome = "outcome_unknown"
	case errors.Is(err, lease.ErrUnavailable), errors.Is(err, lease.ErrTooManyWaiters):
		outcome = "unavailable"
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		outcome = "abandoned"
	}
	p.observe.Outcome(key.Kind().String(), v.String(), outcome)
}

// Totals counts what was answered since the start of the process.
type Totals struct {
	Acquires int64 // grants and repeats that were confirmed
	Releases int64 // leases that their holders gave up; expiry is not among them
}

type totals struct{ acquires, releases atomic.Int64 }

func (t *totals) add(v verb, verdict lease.Verdict) {
	switch {
	case v == verbAcquire && (verdict == lease.Granted || verdict == lease.Confirmed):
		t.acquires.Add(1)
	case (v == verbRelease || v == verbForce) && verdict == lease.Released:
		t.releases.Add(1)
	}
}

// Totals returns the present counts.
func (p *Pipeline) Totals() Totals {
	return Totals{Acquires: p.totals.acquires.Load(), Releases: p.totals.releases.Load()}
}
