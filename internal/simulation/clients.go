package simulation

import (
	"context"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/octostore/octostore/lease"
	"github.com/octostore/octostore/store"
)

// client is somebody who wants to lead, over and over.
type client struct {
	id       int
	at       time.Duration // when it does something next; never while it waits for an answer
	key      lease.Key
	req      lease.Acquire
	again    bool         // it will send the same request again
	missed   lease.Term   // of a grant whose answer it did not get
	missedBy lease.Digest // its key
	leads    bool
	silent   bool // it holds, and will not say so again before it is over
	ref      lease.Ref
	ttl      time.Duration
	pending  int // calls that it waits for
}

// call is a request that is open.
type call struct {
	*store.Call
	client  *client
	verb    string
	number  int
	rank    int // number of the earliest call whose place in the queue it has
	key     lease.Key
	req     lease.Acquire
	ttl     time.Duration
	ref     lease.Ref
	sent    time.Duration
	waitEnd time.Duration // never without a wait, and once it is over
	timer   time.Duration // when it notices that the wait is over, which may be late
	hangUp  time.Duration
	left    bool
	repeats bool // it was sent once more because the answer to the first was lost
}

// act lets everybody do what it is time for.
func (w *world) act(now time.Duration) {
	for _, c := range w.calls {
		if c.timer <= now {
			c.waitEnd, c.timer = never, never
			c.EndWait()
			w.soon()
		}
		if c.hangUp <= now {
			w.hangUp(c)
			w.soon()
		}
	}
	for _, c := range w.clients {
		if c.at > now {
			continue
		}
		if c.at = never; c.leads {
			w.goOn(c)
		} else {
			w.campaign(c, w.name())
		}
	}
}

// soon lets the committer run, a little later, so that groups form.
func (w *world) soon() {
	w.stepDue = min(w.stepDue, w.clock.now()+w.upTo(40*time.Millisecond)*time.Duration(w.rng.IntN(2)))
}

func (w *world) hangUp(c *call) {
	if c.left {
		return
	}
	c.left, c.hangUp = true, never
	if c.verb == "acquire" && len(c.req.Idem) == 0 {
		w.witness.left[c.req.Nonce] = true
	}
	c.Leave()
}

// start notes a call that was sent.
func (w *world) start(c *call, sent *store.Call) {
	w.sent++
	c.Call, c.number, c.rank, c.sent = sent, w.sent, w.sent, w.clock.now()
	for _, o := range w.calls {
		if len(c.req.Idem) > 0 && o.key == c.key && o.idem() == c.idem() {
			c.rank = min(c.rank, o.rank)
		}
	}
	c.client.pending++
	w.calls = append(w.calls, c)
	w.soon()
}

func (c *call) idem() lease.Digest {
	if len(c.req.Idem) == 0 {
		return lease.Digest{}
	}
	return c.req.Idem[0].Key
}

// rival is somebody who asks for a name at the very instant at which its holder
// lets go.
func (w *world) rival(key lease.Key) {
	c := w.clients[w.rng.IntN(len(w.clients))]
	if c.leads || c.again || c.pending > 0 {
		return
	}
	c.at = never
	w.count("rival")
	w.campaign(c, key)
}

// campaign asks for a name, or once more for the one before.
func (w *world) campaign(c *client, key lease.Key) {
	if !c.again {
		c.key, c.req = key, lease.Acquire{TTL: w.ttl(), KeyID: 1, Label: fmt.Sprint("client ", c.id), Labelled: true}
		if c.key.Kind() == lease.Lock {
			c.req.Bound = &lease.Binding{Principal: c.req.Label, LockDelay: time.Duration(w.rng.IntN(3)) * 4 * time.Second}
		}
		if w.chance(2) {
			c.req.Idem = lease.Repeatable{{Key: lease.Digest(w.nonce()), Params: params(c.req.TTL)}}
		}
	}
	o := w.acquire(c, c.req)
	o.repeats, c.again = c.again, false
	if len(c.req.Idem) > 0 && w.chance(6) {
		w.count("sent twice")
		w.acquire(c, c.req)
	}
	if len(c.req.Idem) > 0 && w.chance(30) {
		other := c.req
		other.TTL += time.Second
		other.Idem = lease.Repeatable{{Key: c.req.Idem[0].Key, Params: params(other.TTL)}}
		w.acquire(c, other)
	}
}

func params(ttl time.Duration) (d lease.Digest) {
	binary.BigEndian.PutUint64(d[:], uint64(ttl)) //nolint:gosec // the bits, not the number
	return d
}

func (w *world) acquire(c *client, req lease.Acquire) *call {
	req.Nonce = w.nonce() // the server draws one for each request
	o := &call{client: c, verb: "acquire", key: c.key, req: req, ttl: req.TTL, waitEnd: never, timer: never, hangUp: never}
	var wait time.Duration
	if w.chance(2) {
		wait = time.Millisecond + w.upTo(time.Minute)
		if w.chance(2) {
			now := w.clock.now()
			wait = (now + wait).Truncate(time.Second) + time.Second - now // it ends when others act
		}
		o.waitEnd = w.clock.now() + wait
		o.timer = o.waitEnd + w.upTo(200*time.Millisecond)*time.Duration(w.rng.IntN(2))
	}
	if w.chance(8) {
		o.hangUp = w.clock.now() + w.upTo(wait/2+10*time.Millisecond)
	}
	w.start(o, w.store.StartAcquire(context.Background(), o.key, req, wait))
	return o
}

// goOn is what somebody does who leads.
func (w *world) goOn(c *client) {
	o := &call{client: c, key: c.key, ref: c.ref, waitEnd: never, timer: never, hangUp: never}
	n := w.rng.IntN(20)
	switch {
	case c.silent: // and finds out too late
		c.silent = false
		w.count("late")
		n %= 14
	case n == 18: // falls silent
		c.silent = true
		c.at = w.clock.now() + c.ttl + w.upTo(c.ttl)
		return
	}
	switch {
	case n < 3:
		o.verb = "release"
		w.witness.lets(c.key, c.ref.Term)
		w.start(o, w.store.StartRelease(context.Background(), o.key, o.ref))
		w.rival(o.key)
	case n < 14:
		o.verb = "renew"
		var ttl time.Duration
		if w.chance(5) {
			ttl = w.ttl()
			if o.ttl = ttl; ttl < c.ttl {
				w.witness.shortens(c.key, c.ref.Term, w.clock.now()+ttl)
			}
		}
		w.start(o, w.store.StartRenew(context.Background(), o.key, o.ref, ttl))
	case n < 16:
		proof := c.req
		proof.Idem, proof.Proof = nil, &c.ref
		w.acquire(c, proof)
	default:
		w.acquire(c, c.req) // with its key that is a repeat, without one a newcomer
	}
}

// name draws a name: a few that everybody wants, and many that come and go.
func (w *world) name() lease.Key {
	switch n := w.rng.IntN(10); {
	case n < 5:
		return lease.ElectionKey(fmt.Sprintf("room-%d", w.rng.IntN(3)))
	case n < 7:
		return lease.LockKey("default", fmt.Sprintf("lock-%d", w.rng.IntN(2)))
	}
	return lease.ElectionKey(fmt.Sprintf("guest-%02d", w.rng.IntN(60)))
}

func (w *world) ttl() time.Duration {
	return [...]time.Duration{5, 5, 15, 30, 60, 300}[w.rng.IntN(6)] * time.Second
}

func (w *world) nonce() (n lease.Nonce) {
	binary.BigEndian.PutUint64(n[:], w.rng.Uint64())
	binary.BigEndian.PutUint64(n[8:], w.rng.Uint64())
	return n
}
