package simulation

import (
	"fmt"
	"time"

	"github.com/octostore/octostore/lease"
)

// What the witness takes from the wire contract, in its own words.
const (
	leastGuard   = 50 * time.Millisecond
	keepsRoom    = time.Hour        // an ended room is remembered for this long
	keepsLock    = 24 * time.Hour   // a lock
	keepsCrowded = 10 * time.Minute // either, while there are too many of them
	noticed      = 250 * time.Millisecond
)

func guard(ttl time.Duration) time.Duration {
	if g := ttl / 1000; g > leastGuard {
		return g
	}
	return leastGuard
}

// reign is all that the witness knows of one name. Its instants are the world's.
type reign struct {
	key       lease.Key
	term      lease.Term // highest ever granted
	revision  int64      // of the row, 0 if there is none
	held      bool
	nonce     lease.Nonce
	ttl       time.Duration
	deadline  time.Duration
	promised  time.Duration // until when its holder may believe that it leads
	asked     bool          // its holder wants it to end
	handed    lease.Term    // the last term that began in the group that freed the name
	delay     time.Duration
	ended     time.Duration
	released  bool          // by its holder, not by time
	notBefore time.Duration // end of the lock-delay
	believers []believer
}

// believer is a holder that has been told that it leads and has not let go.
type believer struct {
	term  lease.Term
	until time.Duration
}

// witness watches a history from outside.
type witness struct {
	clock *clock
	names map[lease.Key]*reign
	order []*reign
	// denied are requests that were told, by the present group, that nothing
	// happened.
	denied map[lease.Nonce]bool
	left   map[lease.Nonce]bool // requests whose caller hung up, so that their grant is given back
	// free is since when nothing has kept the committer from noticing deadlines.
	free   time.Duration
	maxLag time.Duration
	// keepsIdle is how long an ended name is remembered at least, 0 for as usual.
	keepsIdle time.Duration
	// cleaned counts the rows that went.
	cleaned int
}

func newWitness(c *clock) *witness {
	return &witness{clock: c, names: make(map[lease.Key]*reign), left: make(map[lease.Nonce]bool), denied: make(map[lease.Nonce]bool)}
}

func (w *witness) of(key lease.Key) *reign {
	n := w.names[key]
	if n == nil {
		n = &reign{key: key}
		w.names[key] = n
		w.order = append(w.order, n)
	}
	return n
}

// nextDeadline is when the committer next has something to notice, besides
// requests: a deadline, or the end of a lock-delay. since is when it last
// looked. Negative for never.
func (w *witness) nextDeadline(since time.Duration) time.Duration {
	next := time.Duration(-1)
	for _, n := range w.order {
		switch {
		case n.held && (next < 0 || n.deadline < next):
			next = n.deadline
		case !n.held && n.notBefore > since && (next < 0 || n.notBefore < next):
			next = n.notBefore
		}
	}
	return next
}

// forgotten tells whether the row of the name may have been cleaned up.
func (w *witness) forgotten(n *reign, now time.Duration) bool {
	keep := keepsRoom
	if n.key.Kind() == lease.Lock {
		keep = keepsLock
	}
	if w.keepsIdle > 0 {
		keep = w.keepsIdle
	}
	return !n.held && now-n.ended >= keep
}

// forgets is told that the row of the name has gone. Its terms are not forgotten.
func (w *witness) forgets(n *reign) {
	if n.revision > 0 {
		w.cleaned++
	}
	n.revision = 0
}

// sees is told of an event and of when its group was decided.
func (w *witness) sees(e lease.Event, decided time.Duration) error {
	n, at := w.of(e.Record.Key), w.clock.world(e.At.At)
	if e.Previous != n.revision {
		if e.Previous != 0 || !w.forgotten(n, decided) {
			return fmt.Errorf("%s follows revision %d, the last was %d", e.Type, e.Previous, n.revision)
		}
		w.forgets(n)
	}
	if e.Revision <= n.revision {
		return fmt.Errorf("revision %d after %d", e.Revision, n.revision)
	}
	n.revision = e.Revision
	if at > decided || e.Type != lease.Expired && at != decided {
		return fmt.Errorf("%s as of %v, decided at %v", e.Type, at, decided)
	}
	switch e.Type {
	case lease.Acquired:
		return w.seesGrant(n, e, at)
	case lease.Renewed:
		return w.seesRenewal(n, e, at)
	case lease.WasReleased, lease.Expired:
		return w.seesEnd(n, e, at, decided)
	}
	return fmt.Errorf("an event of type %d", e.Type)
}

func (w *witness) seesGrant(n *reign, e lease.Event, at time.Duration) error {
	l := e.Record.Lease
	deadline := w.clock.world(l.Deadline)
	switch {
	case n.held:
		return fmt.Errorf("granted while term %d lives", n.term)
	case at < n.ended:
		return fmt.Errorf("granted at %v, the last reign ended at %v", at, n.ended)
	case at < n.notBefore:
		return fmt.Errorf("granted at %v, into the lock-delay until %v", at, n.notBefore)
	case e.Record.Term <= n.term:
		return fmt.Errorf("term %d after %d", e.Record.Term, n.term)
	case deadline != at+l.TTL+guard(l.TTL):
		return fmt.Errorf("granted at %v for %v with deadline %v", at, l.TTL, deadline)
	}
	n.term, n.held, n.nonce, n.ttl, n.deadline = e.Record.Term, true, l.Nonce, l.TTL, deadline
	n.promised, n.asked, n.delay, n.notBefore = 0, false, delayOf(&l), 0
	return nil
}

func (w *witness) seesRenewal(n *reign, e lease.Event, at time.Duration) error {
	l := e.Record.Lease
	deadline := w.clock.world(l.Deadline)
	switch {
	case !n.held || n.nonce != l.Nonce || n.term != e.Record.Term:
		return fmt.Errorf("term %d was renewed, which does not hold", e.Record.Term)
	case at >= n.deadline:
		return fmt.Errorf("renewed at %v, it was over at %v", at, n.deadline)
	case deadline != at+l.TTL+guard(l.TTL) && deadline != n.deadline:
		return fmt.Errorf("renewed at %v for %v with deadline %v after %v", at, l.TTL, deadline, n.deadline)
	}
	n.ttl, n.deadline = l.TTL, deadline
	return nil
}

func (w *witness) seesEnd(n *reign, e lease.Event, at, decided time.Duration) error {
	switch {
	case !n.held || n.nonce != e.Was.Nonce || n.term != e.Record.Term:
		return fmt.Errorf("term %d ended, which does not hold", e.Record.Term)
	case e.Type == lease.WasReleased && at >= n.deadline:
		return fmt.Errorf("released at %v, it was over at %v", at, n.deadline)
	case e.Type == lease.WasReleased && !n.asked && !w.left[n.nonce]:
		return fmt.Errorf("term %d was released, which nobody asked for", n.term)
	case e.Type == lease.Expired && at != n.deadline:
		return fmt.Errorf("expired at %v, its deadline is %v", at, n.deadline)
	case e.Type == lease.Expired && at < n.promised:
		return fmt.Errorf("expired at %v, its holder may count on it until %v", at, n.promised)
	}
	if e.Type == lease.Expired {
		lag := decided - max(at, w.free)
		if lag > noticed {
			return fmt.Errorf("expired at %v, noticed %v later, free since %v", at, decided-at, w.free)
		}
		w.maxLag = max(w.maxLag, lag)
	}
	delay := n.delay
	if e.Type == lease.WasReleased && !n.asked {
		delay = 0 // its holder never heard of it
	}
	if e.Record.Last.Delay != delay {
		return fmt.Errorf("cools for %v, agreed were %v", e.Record.Last.Delay, delay)
	}
	delete(w.left, n.nonce)
	n.held, n.ended, n.notBefore, n.released = false, at, at+delay, e.Type == lease.WasReleased
	return nil
}

func delayOf(l *lease.Lease) time.Duration {
	if l.Bound == nil {
		return 0
	}
	return l.Bound.LockDelay
}

// believes is told that a holder was told that it leads. sent is from when it
// counts the TTL, decided when the answer says that it was decided.
func (w *witness) believes(key lease.Key, term lease.Term, sent, decided, ttl time.Duration) error {
	n, until := w.of(key), sent+ttl
	kept := n.believers[:0]
	known := false
	for _, b := range n.believers {
		switch {
		case b.term == term:
			b.until, known = max(b.until, until), true
			kept = append(kept, b)
		case b.until > decided:
			return fmt.Errorf("term %d is told at %v that it leads, term %d believes so until %v", term, decided, b.term, b.until)
		}
	}
	if n.believers = kept; !known {
		n.believers = append(n.believers, believer{term, until})
	}
	if n.held && n.term == term {
		n.promised = max(n.promised, until)
	}
	return nil
}

// shortens is told that a holder asks for less: from then on it counts on no
// more, whether or not it is answered.
func (w *witness) shortens(key lease.Key, term lease.Term, until time.Duration) {
	n := w.of(key)
	for i := range n.believers {
		if b := &n.believers[i]; b.term == term {
			b.until = min(b.until, until)
		}
	}
	if n.held && n.term == term {
		n.promised = min(n.promised, until)
	}
}

// lets is told that a holder lets go.
func (w *witness) lets(key lease.Key, term lease.Term) {
	n := w.of(key)
	w.shortens(key, term, 0)
	if n.held && n.term == term {
		n.asked = true
	}
}
