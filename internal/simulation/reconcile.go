package simulation

import (
	"fmt"
	"time"

	"github.com/octostore/octostore/lease"
)

// opening is how a database came to be opened again.
type opening struct {
	at       time.Duration // when it was opened
	down     time.Duration // when it was last served before
	rebooted bool
	poisoned bool // it failed, and may serve nothing since
	// maybe: a group had been decided at down whose commit nobody heard of, and
	// which is in the file. Otherwise the file says exactly what was told.
	maybe bool
}

// finds compares the record of a name with what the witness knows, at any time.
func (w *witness) finds(n *reign, rec lease.Record, now time.Duration) error {
	if rec.Revision == 0 && w.forgotten(n, now) {
		w.forgets(n)
		return nil
	}
	deadline := w.clock.world(rec.Lease.Deadline)
	if rec.Revision != n.revision || rec.Held != n.held || rec.Revision != 0 && rec.Term != n.term ||
		n.held && (rec.Lease.Nonce != n.nonce || deadline != n.deadline || rec.Lease.TTL != n.ttl) {
		return fmt.Errorf("the store has revision %d, term %d, held %v until %v; told were revision %d, term %d, held %v until %v",
			rec.Revision, rec.Term, rec.Held, deadline, n.revision, n.term, n.held, n.deadline)
	}
	if free := w.clock.world(rec.Free); !n.held && n.notBefore > now && free != n.notBefore {
		return fmt.Errorf("the store has a lock-delay until %v, told was %v", free, n.notBefore)
	}
	return nil
}

// reopens compares the record of a name after the database was opened again.
func (w *witness) reopens(n *reign, rec lease.Record, o opening) error {
	if o.maybe && rec.Term > n.term && w.forgotten(n, o.down) {
		w.forgets(n) // and the name began anew
	}
	if o.maybe && rec.Revision > n.revision {
		return w.adopts(n, rec, o)
	}
	if o.rebooted && n.held && rec.Held {
		// How long the machine was down can not be known: a full TTL once more,
		// unless it had run out while the old clock was watched.
		deadline := w.clock.world(rec.Lease.Deadline)
		full := o.at + n.ttl + guard(n.ttl)
		if deadline != full && (deadline != o.at || n.deadline > o.down) {
			return fmt.Errorf("after a reboot at %v term %d has the deadline %v, not %v", o.at, n.term, deadline, full)
		}
		n.deadline = deadline
	}
	if o.rebooted && !rec.Held && rec.Free != 0 {
		// The same for a lock-delay. It may have been over unknown to the file.
		free := w.clock.world(rec.Free)
		if free != o.at+rec.Last.Delay {
			return fmt.Errorf("after a reboot at %v the name cools until %v, for %v", o.at, free, rec.Last.Delay)
		}
		n.notBefore = free
	}
	return w.finds(n, rec, o.at)
}

// adopts takes over what one group has done of which nothing was told, if one
// group may have done it.
func (w *witness) adopts(n *reign, rec lease.Record, o opening) error {
	same := n.held && rec.Held && rec.Term == n.term
	over := n.asked || w.left[n.nonce] || n.deadline <= o.down
	deadline := w.clock.world(rec.Lease.Deadline)
	switch {
	case rec.Term < n.term || rec.Held && !same && rec.Term == n.term:
		return fmt.Errorf("term %d after %d", rec.Term, n.term)
	case n.held && !same && !over:
		return fmt.Errorf("term %d was ended by a commit that nobody heard of and nobody asked for", n.term)
	case n.held && !same && !n.asked && !w.left[n.nonce] && n.deadline < n.promised:
		return fmt.Errorf("term %d expired at %v, its holder may count on it until %v", n.term, n.deadline, n.promised)
	case same && n.deadline <= o.down:
		return fmt.Errorf("term %d was renewed at %v, it was over at %v", n.term, o.down, n.deadline)
	case rec.Held && deadline != o.down+rec.Lease.TTL+guard(rec.Lease.TTL) && (!same || deadline != n.deadline):
		return fmt.Errorf("term %d has the deadline %v, decided at %v for %v", rec.Term, deadline, o.down, rec.Lease.TTL)
	case rec.Held && !same && !n.held && o.down < n.notBefore:
		return fmt.Errorf("term %d was granted at %v, into the lock-delay until %v", rec.Term, o.down, n.notBefore)
	}
	if rec.Held && !same && w.denied[rec.Lease.Nonce] {
		return fmt.Errorf("term %d was granted, and told to have failed", rec.Term)
	}
	if !same {
		n.promised, n.asked = 0, false
		delete(w.left, n.nonce)
	}
	n.revision, n.term, n.held = rec.Revision, rec.Term, rec.Held
	if rec.Held {
		n.nonce, n.ttl, n.deadline, n.delay, n.notBefore = rec.Lease.Nonce, rec.Lease.TTL, deadline, delayOf(&rec.Lease), 0
		return nil
	}
	n.ended, n.notBefore, n.released = w.clock.world(rec.Last.At), 0, rec.Last.Reason == lease.ByRelease
	if rec.Free != 0 {
		n.notBefore = w.clock.world(rec.Free)
	}
	return nil
}
