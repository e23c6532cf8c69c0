package lease_test

import (
	"fmt"

	"github.com/octostore/octostore/lease"
)

// witness watches a history from outside and knows only what safety means, on a
// clock that never stops: who was told what, and when it is true. It would
// notice if the kernel and the book were wrong in the same way.
type witness struct {
	reign     *watched
	ended     int64 // when the last reign was over
	notBefore int64 // when the last lock-delay was over
	term      int64 // highest ever granted
	revision  int64 // of the row
	over      map[int]bool
}

// watched is a reign as its holder sees it.
type watched struct {
	secret   int
	since    int64
	promised int64 // what its holder can have computed: from when it sent, plus the TTL
	delay    int64
}

func newWitness() *witness { return &witness{over: make(map[int]bool)} }

// sees is told of one event and of the instant of it.
func (w *witness) sees(e lease.Event, at, now int64) error {
	if e.Revision <= w.revision {
		return fmt.Errorf("revision %d after %d", e.Revision, w.revision)
	}
	w.revision = e.Revision
	if at > now {
		return fmt.Errorf("%s as of %d, which is yet to come", e.Type, at)
	}
	switch e.Type {
	case lease.Acquired:
		secret := secretOf(e.Record.Lease.Nonce)
		switch {
		case w.reign != nil:
			return fmt.Errorf("%d was granted while %d holds", secret, w.reign.secret)
		case at < w.ended:
			return fmt.Errorf("%d was granted at %d, before the end of the last at %d", secret, at, w.ended)
		case at < w.notBefore:
			return fmt.Errorf("%d was granted at %d, into the lock-delay until %d", secret, at, w.notBefore)
		case int64(e.Record.Term) <= w.term:
			return fmt.Errorf("term %d after %d", e.Record.Term, w.term)
		case w.over[secret]:
			return fmt.Errorf("%d was granted again", secret)
		}
		w.term = int64(e.Record.Term)
		w.reign = &watched{secret: secret, since: at}
		if b := e.Record.Lease.Bound; b != nil {
			w.reign.delay = int64(b.LockDelay)
		}
	case lease.Renewed:
		if secret := secretOf(e.Record.Lease.Nonce); w.reign == nil || w.reign.secret != secret {
			return fmt.Errorf("%d was renewed, which does not hold", secret)
		}
	case lease.WasReleased, lease.Expired:
		return w.seesEnd(e, at)
	default:
		return fmt.Errorf("an event of type %d", e.Type)
	}
	return nil
}

func (w *witness) seesEnd(e lease.Event, at int64) error {
	r, secret := w.reign, secretOf(e.Was.Nonce)
	switch {
	case r == nil || r.secret != secret:
		return fmt.Errorf("%d ended, which does not hold", secret)
	case at < r.since:
		return fmt.Errorf("%d ended at %d, before it began at %d", secret, at, r.since)
	case e.Type == lease.Expired && at < r.promised:
		return fmt.Errorf("%d expired at %d; its holder may count on it until %d", secret, at, r.promised)
	}
	w.over[secret], w.reign, w.ended = true, nil, at
	if r.delay > 0 && e.Record.Last.Delay > 0 {
		w.notBefore = at + r.delay
	}
	return nil
}

// hears is told of an answer that lets a holder go on: sent is when the request
// left, ttl what it was told.
func (w *witness) hears(secret int, sent, ttl int64, shortens bool) error {
	if w.over[secret] || w.reign == nil || w.reign.secret != secret {
		return fmt.Errorf("%d was told that it holds", secret)
	}
	if promise := sent + ttl; shortens || promise > w.reign.promised {
		w.reign.promised = promise
	}
	return nil
}

// forgets is told that the row was cleaned up.
func (w *witness) forgets() { w.revision = 0 }
