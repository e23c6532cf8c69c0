package store

import (
	"time"

	"github.com/octostore/octostore/lease"
)

// decide runs the kernel over a group, in order: what time has done, then the
// requests, then a bite of clean-up.
func (p *Pipeline) decide(g *group, tx Tx) {
	for _, key := range g.due {
		p.settle(g, tx, key)
	}
	for _, key := range g.wakes {
		p.handOver(g, tx, key)
	}
	for _, r := range g.requests {
		if !mutant("sweep-only-expiry") {
			p.settle(g, tx, r.key)
		}
		switch r.verb {
		case verbAcquire:
			p.decideAcquire(g, tx, r)
		case verbRenew:
			next, out, events := tx.Record(r.key).Renew(tx.Now(), r.ref, r.ttl)
			p.apply(g, tx, r, next, out, events)
		case verbRelease:
			next, out, events := tx.Record(r.key).Release(tx.Now(), r.ref)
			p.apply(g, tx, r, next, out, events)
		case verbGiveBack:
			next, out, events := tx.Record(r.key).GiveBack(tx.Now(), r.ref)
			p.apply(g, tx, r, next, out, events)
		case verbForce:
			next, out, events := tx.Record(r.key).ForceRelease(tx.Now())
			p.apply(g, tx, r, next, out, events)
		}
	}
	for _, key := range g.stale {
		if p.waiting(key) == 0 {
			tx.Drop(key)
		}
	}
}

// settle records an expiry that has already happened and hands the name over.
func (p *Pipeline) settle(g *group, tx Tx, key lease.Key) {
	rec := tx.Record(key)
	next, events := rec.Settle(tx.Now())
	if len(events) > 0 {
		tx.Put(next, events)
		p.observe.ExpiryLag(tx.Now().At.Sub(rec.Lease.Deadline))
	}
	if !next.Held {
		p.handOver(g, tx, key)
	}
}

// apply takes over what the kernel decided about one request, and hands the
// name over if that freed it.
func (p *Pipeline) apply(g *group, tx Tx, r *request, next lease.Record, out lease.Outcome, events []lease.Event) {
	if len(events) > 0 {
		tx.Put(next, events)
	}
	g.reply(r, out, nil)
	if !next.Held {
		p.handOver(g, tx, r.key)
	}
}

// decideAcquire decides a request for a name. settle has run, so a free name
// has nobody waiting for it, unless a lock-delay runs.
func (p *Pipeline) decideAcquire(g *group, tx Tx, r *request) {
	next, out, events := tx.Record(r.key).Acquire(p.ground(tx, r.key), *r.acquire)
	out.Waiters = p.waiting(r.key)
	switch out.Verdict {
	case lease.Granted:
		if !p.backend.AcceptsGrants() {
			g.reply(r, lease.Outcome{}, &lease.Retry{Err: lease.ErrUnavailable, After: 5 * time.Second})
			return
		}
		tx.Put(next, events)
	case lease.Confirmed:
		tx.Put(next, events)
	case lease.Taken, lease.Delayed:
		if joined := p.join(g, tx, r, &out); joined {
			return
		}
	case lease.Conflict, lease.Full, lease.NotCurrent, lease.Released, lease.Repeated, lease.NotHeld,
		lease.SessionEnded, lease.NoSession:
	}
	g.reply(r, out, nil)
}

// join lets a refused request wait for the name if it wants to. It reports
// false if the request is to be answered now, with out.
func (p *Pipeline) join(g *group, tx Tx, r *request, out *lease.Outcome) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	repeats, equal := p.waiters.find(r)
	if repeats != nil && !equal {
		out.Verdict = lease.Conflict
		return false
	}
	if r.wait <= 0 || r.until <= tx.Now().At {
		return false
	}
	if p.draining {
		g.reply(r, lease.Outcome{}, &lease.Retry{Err: lease.ErrUnavailable, After: time.Second})
		return true
	}
	if !p.waiters.room(r.key) {
		g.reply(r, lease.Outcome{}, &lease.Retry{Err: lease.ErrTooManyWaiters, After: time.Second})
		return true
	}
	p.waiters.join(r, repeats)
	g.joined = append(g.joined, r)
	if out.Verdict == lease.Delayed {
		p.waiters.wakeAt(out.Record.Free, r.key)
	}
	return true
}

// handOver gives a free name to the first waiter who is still there, in the
// group that freed it. Checked again at this moment: the caller is connected,
// its wait is not over, the scope has room, the store takes new leases.
func (p *Pipeline) handOver(g *group, tx Tx, key lease.Key) {
	now := tx.Now()
	for {
		p.mu.Lock()
		q := p.waiters.queues[key]
		if q == nil || mutant("newcomer-overtakes") && g.asksFor(key) {
			p.mu.Unlock()
			return
		}
		rec := tx.Record(key)
		if rec.Held {
			// An earlier step of the group gave it away: a wake that outlived its
			// queue, or that was set anew after a failed group, comes too late.
			p.mu.Unlock()
			return
		}
		if now.At < rec.Free {
			p.waiters.wakeAt(rec.Free, key)
			p.mu.Unlock()
			return
		}
		turn := q.places.Front()
		if mutant("waiters-last-first") {
			turn = q.places.Back()
		}
		pl := turn.Value.(*place)
		if !present(pl, now.At) && !mutant("waiter-unchecked-at-grant") {
			// Its callers have hung up or are about to time out by themselves; the
			// place is lost, and what they get is the ordinary refusal.
			p.waiters.take(pl)
			for _, r := range pl.callers {
				g.reply(r, lease.Outcome{}, errWaitOver)
			}
			p.mu.Unlock()
			continue
		}
		p.waiters.take(pl)
		p.mu.Unlock()
		if !p.backend.AcceptsGrants() {
			for _, r := range pl.callers {
				g.reply(r, lease.Outcome{}, &lease.Retry{Err: lease.ErrUnavailable, After: 5 * time.Second})
			}
			continue
		}
		g.taken = append(g.taken, pl)
		next, out, events := rec.Acquire(p.ground(tx, key), *pl.acquire)
		out.Waited, out.Waiters = true, p.waiting(key)
		if out.Verdict == lease.Granted {
			tx.Put(next, events)
		}
		for _, r := range pl.callers {
			g.reply(r, out, nil)
		}
		if out.Verdict == lease.Granted {
			return
		}
	}
}

// present tells whether anyone at the place still wants the name. Of several
// who repeat one request, one is enough.
func present(pl *place, at lease.Instant) bool {
	for _, r := range pl.callers {
		if r.ctx.Err() == nil && at < r.until {
			return true
		}
	}
	return false
}

func (p *Pipeline) ground(tx Tx, key lease.Key) lease.Ground {
	return lease.Ground{Now: tx.Now(), Floor: tx.Floor(), Live: tx.Live(key.Scope())}
}

func (p *Pipeline) waiting(key lease.Key) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.waiters.count(key)
}
