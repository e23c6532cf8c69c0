package simulation

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/octostore/octostore/lease"
)

// quiet ends all faults and asks for what is owed then: everybody is answered,
// the store takes new leases within 5 s, and a name that somebody waits for is
// granted within what is left of its lease, its lock-delay, and a second.
func (w *world) quiet() {
	if w.err != nil || w.store == nil {
		return
	}
	now := w.clock.now()
	w.count("quiet")
	w.log("quiet")
	w.faults = faults{retry: -1, paused: w.faults.paused, calm: true}
	if w.faults.paused > now {
		w.faults.paused = now
		w.witness.free = now
	}
	if w.chance(2) {
		w.faults.low, w.nextHouse = true, now
		w.house(now)
		w.faults.low = false
	}
	for _, c := range w.calls {
		w.hangUp(c)
	}
	w.commit()
	if n := len(w.calls); n > 0 {
		w.wrong("%d calls were not answered after everybody hung up", n)
	}
	w.heals(now)
	w.hands(w.clock.now())
	w.looks(w.witness.order...)
	w.weigh()
	w.faults.calm = false
	for _, c := range w.clients {
		c.leads, c.silent, c.again, c.at = false, false, false, w.clock.now()+w.upTo(20*time.Second)
	}
}

// heals waits for the store to take new leases.
func (w *world) heals(since time.Duration) {
	key := lease.ElectionKey(fmt.Sprintf("probe-%d", w.rng.IntN(5)))
	for i := 0; w.err == nil; i++ {
		w.house(w.clock.now())
		o := w.ask(key, 0)
		w.commit()
		out, answered, err := o.Poll()
		switch {
		case answered && err == nil && (out.Verdict == lease.Granted || out.Verdict == lease.Taken):
			if i > 0 {
				w.count("the gate healed")
			}
			return
		case !answered || !errors.Is(err, lease.ErrUnavailable):
			w.wrong("the probe got %v, %v", out.Verdict, err)
		case w.clock.now()-since > 5*time.Second:
			w.wrong("no new lease begins %v after the faults: %w", w.clock.now()-since, err)
		}
		w.runTo(w.clock.now() + 100*time.Millisecond)
	}
}

// hands waits for every name that is often wanted.
func (w *world) hands(now time.Duration) {
	type owed struct {
		*call
		by time.Duration
	}
	var all []owed
	for _, n := range w.witness.order {
		if name := n.key.Name(); name[:5] == "guest" || name[:5] == "probe" {
			continue
		}
		by := max(now, n.notBefore)
		if n.held {
			by = n.deadline + n.delay
		}
		all = append(all, owed{w.ask(n.key, time.Hour), by + time.Second})
	}
	for len(all) > 0 && w.err == nil {
		w.commitDue()
		open := all[:0]
		for _, o := range all {
			switch out, answered, err := o.Poll(); {
			case !answered && w.clock.now() > o.by:
				w.wrong("%s is free or over and was not granted until %v", o.key.Name(), o.by)
			case !answered:
				open = append(open, o)
			case err != nil || out.Verdict != lease.Granted:
				w.wrong("who waited for %s got %v, %v", o.key.Name(), out.Verdict, err)
			default:
				w.count("handed over in time")
			}
		}
		all = open
		w.runTo(w.clock.now() + 100*time.Millisecond)
	}
}

// ask sends a request of somebody who is no client, and will not renew.
func (w *world) ask(key lease.Key, wait time.Duration) *call {
	req := lease.Acquire{TTL: 5 * time.Second, Nonce: w.nonce(), KeyID: 1}
	c := &call{client: &client{at: never, key: key}, verb: "acquire", key: key, req: req, ttl: req.TTL, waitEnd: never, timer: never, hangUp: never}
	if wait > 0 {
		c.waitEnd = w.clock.now() + wait
	}
	w.start(c, w.store.StartAcquire(context.Background(), key, req, wait))
	return c
}

// runTo lets the committer run freely until then.
func (w *world) runTo(until time.Duration) {
	for w.err == nil {
		now := w.clock.now()
		if now >= until {
			return
		}
		time.Sleep(min(until, max(now, w.commitAt())) - now)
		w.commitDue()
	}
}
