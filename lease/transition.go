package lease

import "time"

// Acquire is a request for a name: a campaign, or a lock's acquire.
type Acquire struct {
	TTL       time.Duration
	Nonce     Nonce // becomes the lease's if it is granted
	KeyID     KeyID
	Idem      Repeatable // empty without an idempotency key
	Proof     *Ref       // the caller showed the capability of this lease: goes on, or is NotCurrent, but never begins
	Label     string
	Labelled  bool // Label was given; on a repeat by Proof an absent one keeps the old
	Metadata  string
	Described bool
	Bound     *Binding
	Limit     int64 // most live leases in the scope, 0 for no limit
}

// Ground is what a decision stands on besides the record.
type Ground struct {
	Now   Now
	Floor Term  // highest term of any cleaned-up row
	Live  int64 // live leases in the scope of the name
}

// Settle applies what time has already done: a lease whose deadline passed is
// recorded as expired, as of its deadline. Every other transition does this
// first, so an expired lease is over even if no sweeper ever ran.
func (r Record) Settle(now Now) (Record, []Event) {
	if !r.Held || now.At < r.Lease.Deadline {
		return r, nil
	}
	at, delay := r.lapse(now), r.delay()
	if mutant("delay-from-noticing") {
		at = now
	}
	if mutant("expiry-forgets-the-delay") {
		delay = 0
	}
	next, ev := r.end(at, now, ByExpiry, delay)
	return next, []Event{ev}
}

// elapse is Settle as every other transition does it, before anything else.
func (r Record) elapse(now Now) (Record, []Event) {
	if mutant("sweep-only-expiry") {
		return r, nil
	}
	return r.Settle(now)
}

// Acquire decides a request for the name.
//
// It is Granted if the name is free, no lock-delay runs and the scope has room.
// It is Confirmed, which counts as a renewal that never shortens, if the caller
// proves to be the holder: by the capability, by the session that the lock is
// bound to, or by the idempotency key. Otherwise it is Taken, Delayed, Full,
// Conflict or NotCurrent, and the record changes only by what time had done.
func (r Record) Acquire(g Ground, req Acquire) (Record, Outcome, []Event) {
	wasHeld := r.Held
	r, events := r.elapse(g.Now)
	if wasHeld && !r.Held {
		g.Live--
	}
	if v := r.repeat(req); v != 0 {
		if v != Confirmed {
			return r.answer(g.Now, v, events)
		}
		return r.confirm(g.Now, req, events)
	}
	switch {
	case r.Held:
		return r.answer(g.Now, Taken, events)
	case g.Now.At < r.Free:
		return r.answer(g.Now, Delayed, events)
	case req.Limit > 0 && g.Live >= req.Limit:
		return r.answer(g.Now, Full, events)
	}
	r.Term = NextTerm(r.Term, g.Floor, g.Now.Wall)
	r.Held = true
	r.Free, r.FreeWall = 0, 0
	r.Lease = Lease{
		Nonce: req.Nonce, KeyID: req.KeyID, TTL: req.TTL,
		Deadline: g.Now.At.Add(req.TTL + Guard(req.TTL)),
		Granted:  g.Now.Wall, Expires: g.Now.Wall.Add(req.TTL),
		Label: req.Label, Metadata: req.Metadata, Described: req.Described,
		Bound: req.Bound,
	}
	if len(req.Idem) > 0 {
		idem := req.Idem[0]
		r.Lease.Idem = &idem
	}
	prev := r.bump(g.Now)
	events = append(events, Event{Type: Acquired, Revision: r.Revision, Previous: prev, Record: r, At: g.Now})
	return r.answer(g.Now, Granted, events)
}

// repeat finds out whether the request is one that was answered before, or
// comes from the holder: 0 if it is a new caller.
func (r Record) repeat(req Acquire) Verdict {
	if req.Proof != nil {
		if r.Held && r.Ref() == *req.Proof {
			return Confirmed
		}
		return NotCurrent
	}
	if len(req.Idem) > 0 {
		if r.Held {
			if same, equal := req.Idem.Repeats(r.Lease.Idem); equal {
				return Confirmed
			} else if same {
				return Conflict
			}
		}
		if r.Last != nil && !mutant("key-revives-ended-lease") {
			if same, _ := req.Idem.Repeats(r.Last.Idem); same {
				return Conflict
			}
		}
	}
	if r.Held && req.Bound != nil && !req.Bound.Session.IsZero() && r.session() == req.Bound.Session {
		return Confirmed
	}
	return 0
}

// confirm extends the present lease for a caller that proved to hold it. The
// deadline never moves back: the caller may be a retry of an older request.
func (r Record) confirm(now Now, req Acquire, events []Event) (Record, Outcome, []Event) {
	if mutant("repeat-spends-a-new-term") {
		r.Term = NextTerm(r.Term, 0, now.Wall)
	}
	if d := now.At.Add(req.TTL + Guard(req.TTL)); d > r.Lease.Deadline {
		r.extend(now, req.TTL)
	}
	if req.Proof != nil {
		if req.Labelled {
			r.Lease.Label = req.Label
		}
		if req.Described {
			r.Lease.Metadata, r.Lease.Described = req.Metadata, true
		}
	}
	events = append(events, r.renewed(now))
	return r.answer(now, Confirmed, events)
}

// Renew extends the lease that ref names by ttl from now; 0 keeps the lease's
// own TTL, a shorter one shortens. It is NotCurrent if that lease is over,
// also when nobody took the name since: the end may already have been told.
func (r Record) Renew(now Now, ref Ref, ttl time.Duration) (Record, Outcome, []Event) {
	r, events := r.elapse(now)
	if mutant("renew-after-expiry") {
		r = r.revived(ref, ttl)
	}
	if !r.Held || r.Ref() != ref {
		return r.answer(now, NotCurrent, events)
	}
	if ttl == 0 {
		ttl = r.Lease.TTL
	}
	r.extend(now, ttl)
	events = append(events, r.renewed(now))
	return r.answer(now, Confirmed, events)
}

func (r *Record) extend(now Now, ttl time.Duration) {
	r.Lease.TTL = ttl
	r.Lease.Deadline = now.At.Add(ttl + Guard(ttl))
	r.Lease.Expires = now.Wall.Add(ttl)
}

func (r *Record) renewed(now Now) Event {
	r.Lease.Renewed = now.Wall
	prev := r.bump(now)
	return Event{Type: Renewed, Revision: r.Revision, Previous: prev, Record: *r, At: now}
}

// Release ends the lease that ref names; the name then cools for the lease's
// lock-delay. A lease that already ended by its own release is Repeated as
// long as it is the last that ended, also while another holds the name now.
// Any other lease is NotCurrent.
func (r Record) Release(now Now, ref Ref) (Record, Outcome, []Event) {
	return r.release(now, ref, true)
}

// GiveBack is a Release without lock-delay, for a grant that its caller never
// heard of.
func (r Record) GiveBack(now Now, ref Ref) (Record, Outcome, []Event) {
	return r.release(now, ref, false)
}

func (r Record) release(now Now, ref Ref, cool bool) (Record, Outcome, []Event) {
	r, events := r.elapse(now)
	if r.Held && (r.Ref() == ref || mutant("release-ignores-term")) {
		var delay time.Duration
		if cool {
			delay = r.delay()
		}
		next, ev := r.end(now, now, ByRelease, delay)
		return next.answer(now, Released, append(events, ev))
	}
	if r.Last != nil && r.Last.Ref == ref && r.Last.Reason == ByRelease && !mutant("repeated-release-refused") {
		return r.answer(now, Repeated, events)
	}
	return r.answer(now, NotCurrent, events)
}

// ForceRelease ends whatever lease lives, for an administrator. The delay runs
// as after a release and the term stays until the next grant raises it.
func (r Record) ForceRelease(now Now) (Record, Outcome, []Event) {
	r, events := r.elapse(now)
	if !r.Held {
		return r.answer(now, NotHeld, events)
	}
	next, ev := r.end(now, now, ByForce, r.delay())
	return next.answer(now, Released, append(events, ev))
}

// EndWithSession ends the lease if it is bound to the session, as of the
// instant at which the session ended: Released. The lock-delay counts from
// there. If the lease's own deadline came first it expired then. A lease that
// is not bound to the session is NotHeld, and goes on if it lives.
func (r Record) EndWithSession(now, ended Now, session Digest, reason Reason) (Record, Outcome, []Event) {
	if !r.Held || session.IsZero() || r.session() != session || mutant("session-half-released") {
		r, events := r.elapse(now)
		return r.answer(now, NotHeld, events)
	}
	if r.Lease.Deadline <= ended.At {
		ended, reason = r.lapse(now), ByExpiry
	}
	next, ev := r.end(ended, now, reason, r.delay())
	return next.answer(now, Released, []Event{ev})
}

// end closes the present lease as of the instant at; now is when that is
// recorded.
func (r Record) end(at, now Now, reason Reason, delay time.Duration) (Record, Event) {
	was := r.Lease
	r.Last = &Past{
		Ref: r.Ref(), KeyID: r.Lease.KeyID, Reason: reason, Idem: r.Lease.Idem,
		At: at.At, Wall: at.Wall, Delay: delay,
	}
	r.Held = false
	r.Lease = Lease{}
	r.Free, r.FreeWall = 0, 0
	if delay > 0 {
		r.Free, r.FreeWall = at.At.Add(delay), at.Wall.Add(delay)
	}
	prev := r.bump(now)
	t := WasReleased
	if reason == ByExpiry {
		t = Expired
	}
	return r, Event{Type: t, Reason: reason, Revision: r.Revision, Previous: prev, Record: r, Was: &was, At: at}
}

func (r Record) answer(now Now, v Verdict, events []Event) (Record, Outcome, []Event) {
	return r, Outcome{Verdict: v, Record: r, At: now}, events
}
