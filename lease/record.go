package lease

import "time"

// Term is the number of one unbroken reign, and the fencing token of its
// holder. Terms of a name rise for ever; terms of different names are
// unrelated. A term fits in 53 bits until the year 2255.
type Term int64

// Nonce is the random part of a capability's derivation: 128 bits, drawn by
// the caller for each request, used only if the request is granted.
type Nonce [16]byte

// Ref names one exact lease of a name. A caller earns a Ref by showing the
// capability that is derived from it.
type Ref struct {
	Term  Term
	Nonce Nonce
}

// Idempotency remembers which request a grant answered. The zero value means
// that the request carried no key.
type Idempotency struct {
	Key    Digest // HMAC of scope and key; the key itself is a secret and is not kept
	Params Digest // HMAC of the decoded parameters, without the wait
}

// Repeats tells whether stored is the same request as one of the forms of
// this one, a form being its digests under one server key. same is true if the
// key was used before, equal if the parameters were the same too.
func (forms Repeatable) Repeats(stored *Idempotency) (same, equal bool) {
	if stored == nil {
		return false, false
	}
	for _, f := range forms {
		if f.Key == stored.Key {
			return true, f.Params == stored.Params || mutant("idempotency-ignores-params")
		}
	}
	return false, false
}

// Repeatable is a request's idempotency key under every server key, the
// current one first. Empty: the request carried none.
type Repeatable []Idempotency

// Lease is a grant: who has the name, until when, and what proves it. Its
// term is the record's.
type Lease struct {
	Nonce     Nonce
	KeyID     KeyID // server key that the capability is derived from
	TTL       time.Duration
	Deadline  Instant // decision + TTL + guard; over from this instant on
	Granted   Wall    // when the term began
	Expires   Wall    // decision + TTL, as announced
	Renewed   Wall    // last renewal, 0 if none
	Label     string  // candidate id or holder label: told to others, proves nothing
	Metadata  string
	Described bool // Metadata was given (it may be empty)
	Idem      *Idempotency
	Bound     *Binding // nil for elections and plain anonymous grants
}

// Binding is what a lock's lease has beyond an election's.
type Binding struct {
	Principal string        // who acquired it, inside the tenant
	Session   Digest        // session that it ends with; zero for none
	Ephemeral bool          // holder is the session, not the principal
	LockDelay time.Duration // how long the name cools after the lease ends
}

// Past is what a record remembers of the last lease that ended: enough to
// answer a repeated release and to refuse a repeated key.
type Past struct {
	Ref
	KeyID  KeyID
	Reason Reason
	Idem   *Idempotency
	At     Instant       // when it ended
	Wall   Wall          // the same on the wall clock
	Delay  time.Duration // lock-delay that ran from then
}

// Record is everything that is known of one name. The zero Record with a Key
// is a name that nobody has used. Records are values: a transition returns a
// new one and leaves the old one alone.
type Record struct {
	Key      Key
	Term     Term  // of the present or the last lease, 0 if there was none
	Revision int64 // number of the last transition
	Held     bool
	Rebase   bool // the next revision starts anew from the clock
	Lease    Lease
	Free     Instant // end of the lock-delay, meaningful while not held
	FreeWall Wall
	Last     *Past
}

// Live tells whether the name has a lease at the instant at.
func (r *Record) Live(at Instant) bool {
	return r.Held && (at < r.Lease.Deadline || mutant("sweep-only-expiry"))
}

// Cooling tells whether a lock-delay runs at the instant at.
func (r *Record) Cooling(at Instant) bool {
	return !r.Live(at) && at < r.freeAt()
}

// freeAt is when the name can be granted again if nothing else happens.
func (r *Record) freeAt() Instant {
	if !r.Held {
		return r.Free
	}
	return r.Lease.Deadline.Add(r.delay())
}

// GrantableAt returns the instant from which the name can be granted if its
// lease is not renewed: the deadline, or the end of the lock-delay. It is 0
// for a name that was never held.
func (r *Record) GrantableAt() Instant { return r.freeAt() }

// Ref names the present lease. It is meaningful only while Held.
func (r *Record) Ref() Ref { return Ref{r.Term, r.Lease.Nonce} }

// Remaining is the time to the deadline, 0 if there is no live lease.
func (r *Record) Remaining(at Instant) time.Duration {
	if !r.Live(at) {
		return 0
	}
	return r.Lease.Deadline.Sub(at)
}

// ExpiresAt is the announced expiry of the present lease for display at now.
// It is what was told at the decision, unless the wall clock has stepped
// since; then it is where the wall clock will stand at that moment.
func (r *Record) ExpiresAt(now Now) Wall {
	derived := now.Wall.Add(r.Lease.Deadline.Sub(now.At) - Guard(r.Lease.TTL))
	return steady(r.Lease.Expires, derived)
}

// AvailableAt is the end of the lock-delay for display at now. It is
// meaningful while Cooling, and the same before and after the end of the lease
// was recorded.
func (r *Record) AvailableAt(now Now) Wall {
	if r.Held {
		return r.lapse(now).Wall.Add(r.delay())
	}
	return steady(r.FreeWall, now.Wall.Add(r.Free.Sub(now.At)))
}

// lapse is the deadline of the present lease on both clocks. Its wall time
// follows from the expiry that was announced, so that whoever records the end,
// and when, makes no difference to what is told of it.
func (r *Record) lapse(now Now) Now {
	return Now{At: r.Lease.Deadline, Wall: r.ExpiresAt(now).Add(Guard(r.Lease.TTL))}
}

func steady(told, derived Wall) Wall {
	if d := told - derived; d > Wall(wallTolerance/time.Microsecond) || d < -Wall(wallTolerance/time.Microsecond) {
		return derived
	}
	return told
}

func (r *Record) delay() time.Duration {
	if r.Lease.Bound == nil {
		return 0
	}
	return r.Lease.Bound.LockDelay
}

func (r *Record) session() Digest {
	if r.Lease.Bound == nil {
		return Digest{}
	}
	return r.Lease.Bound.Session
}

// bump moves the revision on: by one while the row lives, from the clock when
// the row is new or the past is uncertain.
func (r *Record) bump(now Now) (prev int64) {
	prev = r.Revision
	r.Revision++
	if prev == 0 || r.Rebase {
		r.Revision = max(r.Revision, int64(now.Wall))
		r.Rebase = false
	}
	return prev
}

// NextTerm is the term of a grant decided at wall time w: the largest of the
// name's last term + 1, the store's floor + 1 and the Unix microseconds. So
// neither clean-up of old rows nor a wall clock that went back nor a store
// that was rolled back can make a term repeat. The floor is the highest term
// of any name whose row was cleaned up.
func NextTerm(last, floor Term, w Wall) Term {
	if mutant("term-from-wall-alone") {
		return Term(w)
	}
	return max(last+1, floor+1, Term(w))
}

// Reanchor returns r as it stands on a clock that has nothing in common with
// the one it was written on: after a reboot, on another host, after a restore.
// The time that passed in between can not be known, so a live lease gets its
// full TTL once more and a lock-delay runs in full, never less. What had
// certainly ended by the last instant that the old clock is known to have
// shown stays ended.
func (r Record) Reanchor(now Now, lastSeen Instant) Record {
	switch {
	case r.Held && r.Lease.Deadline <= lastSeen:
		// It ran out while the old clock was still watched, only nobody wrote it
		// down: it ends now, and its delay runs in full.
		r.Lease.Deadline = now.At
	case r.Held:
		r.Lease.Deadline = now.At.Add(r.Lease.TTL + Guard(r.Lease.TTL))
		r.Lease.Expires = now.Wall.Add(r.Lease.TTL)
	case r.Free > lastSeen && r.Last != nil && r.Last.Delay > 0:
		r.Free = now.At.Add(r.Last.Delay)
		r.FreeWall = now.Wall.Add(r.Last.Delay)
	default:
		r.Free, r.FreeWall = 0, 0
	}
	if r.Last != nil {
		last := *r.Last
		last.At = now.At
		r.Last = &last
	}
	r.Rebase = true
	return r
}
