package simulation

import (
	"context"
	"errors"
	"time"

	"github.com/octostore/octostore/lease"
)

// grant is one that happened in the present group.
type grant struct {
	key     lease.Key
	rank    int // of the call that it answers
	idem    lease.Digest
	decided time.Duration
}

// granted notes whose a grant is: the answers have not been given yet. Requests
// with one key are one; any of them may be the one whose place it was.
func (w *world) granted(e lease.Event) {
	l := e.Record.Lease
	for _, c := range w.calls {
		if c.verb == "acquire" && (c.req.Nonce == l.Nonce || l.Idem != nil && c.key == e.Record.Key && c.idem() == l.Idem.Key) {
			w.grants = append(w.grants, grant{e.Record.Key, c.rank, c.idem(), w.stepAt})
			return
		}
	}
	w.wrong("%s was granted to nobody who asked", e.Record.Key.Name())
}

// poll takes the answers that are there and looks at what they say.
func (w *world) poll() {
	open := w.calls[:0]
	for _, c := range w.calls {
		out, answered, err := c.Poll()
		if !answered {
			open = append(open, c)
			continue
		}
		w.answered(c, out, err)
	}
	clear(w.calls[len(open):])
	w.calls = open
	for _, g := range w.grants {
		for _, c := range w.calls {
			if c.key == g.key && c.number < g.rank && !c.left && c.waitEnd != never && c.waitEnd > g.decided && c.idem() != g.idem {
				w.wrong("%s was granted to call %d before call %d, which waits", g.key.Name(), g.rank, c.number)
			}
		}
	}
	w.grants = w.grants[:0]
	for _, c := range w.later {
		w.start(c, w.store.StartRelease(context.Background(), c.key, c.ref))
	}
	w.later = w.later[:0]
	if n := len(w.witness.order); n > 0 && w.faults.broken == nil {
		w.looks(w.witness.order[w.rng.IntN(n)])
	}
}

// answered is told of the answer to a call.
func (w *world) answered(c *call, out lease.Outcome, err error) {
	word := outcomeOf(out, err)
	w.log("call %d client %d %s %s: %s term %d", c.number, c.client.id, c.verb, c.key.Name(), word, out.Record.Term)
	w.count(c.verb + " " + word)
	if out.Verdict == lease.Granted && out.Waited {
		w.count("granted after a wait")
	}
	decided := w.clock.world(out.At.At)
	n := w.witness.of(c.key)
	if !n.held || n.nonce != c.req.Nonce {
		delete(w.witness.left, c.req.Nonce)
	}
	if word == "unavailable" && c.verb == "acquire" {
		w.witness.denied[c.req.Nonce] = true
	}
	c.client.pending--
	if err == nil {
		w.check(w.honest(c, n, out, decided))
	}
	switch {
	case c.left:
		w.plan(c, false)
	case err != nil:
		w.plan(c, w.chance(2))
	case out.Verdict == lease.Granted && c.client.key == c.key && len(c.req.Idem) > 0 && w.chance(10):
		w.count("answer lost on the way")
		c.client.missed, c.client.missedBy = out.Record.Term, c.idem()
		w.plan(c, true)
	case out.Verdict == lease.Granted || out.Verdict == lease.Confirmed:
		w.leads(c, n, out, decided)
	default:
		if c.verb != "acquire" || c.req.Proof != nil {
			c.client.leads = false
		}
		w.plan(c, false)
		if out.Verdict == lease.Released && w.chance(6) {
			again := &call{client: c.client, verb: "release", key: c.key, ref: c.ref, waitEnd: never, timer: never, hangUp: never}
			w.later = append(w.later, again)
		}
	}
}

// honest holds an answer against what the witness knows.
func (w *world) honest(c *call, n *reign, out lease.Outcome, decided time.Duration) error {
	rec := out.Record
	lives := n.held && n.deadline > decided
	switch out.Verdict {
	case lease.Granted:
		// One whose wait is over before its turn may still find the name free, by a
		// request of its own. It is not handed the name by who frees it.
		if len(c.req.Idem) == 0 && out.Waited && c.waitEnd != never && c.waitEnd <= decided && n.handed == rec.Term {
			return errors.New("handed over after the end of the wait")
		}
		return c.deserves(out)
	case lease.Confirmed:
		if c.verb == "renew" && rec.Term != c.ref.Term {
			return errors.New("another's lease was renewed")
		}
		if len(c.req.Idem) > 0 && (rec.Lease.Idem == nil || *rec.Lease.Idem != c.req.Idem[0]) {
			return errors.New("a request was taken for another one with its key")
		}
	case lease.NotCurrent:
		if c.verb == "release" && !n.held && n.released && n.term == c.ref.Term && n.revision > 0 {
			return errors.New("a repeated release was refused")
		}
		if lives && n.term == c.term() && !n.asked {
			return errors.New("a lease that lives was refused")
		}
	case lease.Taken:
		if !rec.Held || w.clock.world(rec.Lease.Deadline) <= decided {
			return errors.New("taken by nobody")
		}
		if c.repeats && c.idem() == c.client.missedBy && rec.Term == c.client.missed {
			return errors.New("a repeat with its key did not find its own lease")
		}
	case lease.Delayed:
		if w.clock.world(rec.Free) <= decided && !rec.Held {
			return errors.New("delayed by nothing")
		}
	case lease.Released, lease.Repeated, lease.Conflict, lease.Full, lease.NotHeld, lease.SessionEnded, lease.NoSession:
	}
	return nil
}

// deserves holds a grant against what was asked for.
func (c *call) deserves(out lease.Outcome) error {
	rec := out.Record
	key := len(c.req.Idem) > 0
	switch {
	case c.left && !key:
		return errors.New("a grant stays that nobody heard of")
	case c.req.Proof != nil:
		return errors.New("a proof began a lease")
	case key && (rec.Lease.Idem == nil || *rec.Lease.Idem != c.req.Idem[0]):
		return errors.New("a grant does not remember its key")
	case key && rec.Last != nil && rec.Last.Idem != nil && rec.Last.Idem.Key == c.idem():
		return errors.New("a key revived a lease that was over")
	}
	return nil
}

// term is the term of the lease that the call names.
func (c *call) term() lease.Term {
	if c.req.Proof != nil {
		return c.req.Proof.Term
	}
	return c.ref.Term
}

// leads is told that its client leads.
func (w *world) leads(c *call, n *reign, out lease.Outcome, decided time.Duration) {
	k := c.client
	from, ttl := c.sent, c.ttl
	if ttl == 0 {
		ttl = out.Record.Lease.TTL // it asked for as long as before
	}
	if c.verb == "acquire" {
		from += (decided - c.sent).Truncate(time.Millisecond)
	}
	if k.key != c.key || n.asked && n.term == out.Record.Term {
		w.plan(c, false) // it has gone on to something else, or let go already
		return
	}
	if err := w.witness.believes(c.key, out.Record.Term, from, decided, ttl); err != nil {
		w.wrong("%s: %w", c.key.Name(), err)
	}
	if c.repeats && out.Verdict == lease.Confirmed {
		w.count("found again")
	}
	k.leads, k.ref, k.ttl = true, out.Record.Ref(), out.Record.Lease.TTL
	w.plan(c, false)
}

// plan decides when a client goes on, once it has all its answers.
func (w *world) plan(c *call, again bool) {
	k, now := c.client, w.clock.now()
	k.again = k.again || again && c.verb == "acquire" && c.req.Proof == nil && !k.leads
	switch {
	case k.pending > 0:
	case k.leads:
		k.again = false
		k.at = now + time.Millisecond + w.upTo(k.ttl/2)
	case k.again:
		k.at = now + time.Millisecond + w.upTo(3*time.Second)
	default:
		k.at = now + time.Millisecond + w.upTo(20*time.Second)
	}
	if k.at != never && w.chance(2) { // many act at one instant
		grid := time.Second
		if !k.leads {
			grid = 5 * time.Second
		}
		k.at = k.at.Truncate(grid) + grid
	}
}

// lost is told that the process is gone that the call was sent to.
func (w *world) lost(c *call) {
	c.client.pending--
	w.count(c.verb + " lost")
	if n := w.witness.of(c.key); !n.held || n.nonce != c.req.Nonce {
		delete(w.witness.left, c.req.Nonce)
	}
	w.plan(c, !c.left)
}

func outcomeOf(out lease.Outcome, err error) string {
	switch {
	case err == nil:
		return out.Verdict.String()
	case errors.Is(err, lease.ErrOutcomeUnknown):
		return "unknown"
	case errors.Is(err, lease.ErrUnavailable):
		return "unavailable"
	case errors.Is(err, context.Canceled):
		return "left"
	}
	return err.Error()
}
