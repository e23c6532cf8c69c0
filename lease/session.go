package lease

import "time"

// Session is a worker's liveness, kept by keepalives. Its locks end with it.
// Like a Record it is a value that transitions return anew.
type Session struct {
	ID        Digest // digest of the session id, which is a capability inside its tenant
	Tenant    string
	Principal string
	TTL       time.Duration
	Deadline  Instant // last keepalive + TTL + guard
	Created   Wall
	Expires   Wall
	Idem      *Idempotency
	Over      bool
	Reason    Reason // BySession or BySessionEnd once Over
	OverAt    Instant
	OverWall  Wall
}

// Open returns a new session that lives from now.
func Open(now Now, id Digest, tenant, principal string, ttl time.Duration, idem *Idempotency) Session {
	s := Session{ID: id, Tenant: tenant, Principal: principal, Created: now.Wall, Idem: idem}
	s.extend(now, ttl)
	return s
}

// Live tells whether the session has not ended at the instant at.
func (s *Session) Live(at Instant) bool { return !s.Over && at < s.Deadline }

// Settle records an expiry that has already happened, as of the deadline.
func (s Session) Settle(now Now) (Session, bool) {
	if s.Over || now.At < s.Deadline {
		return s, false
	}
	return s.end(Now{At: s.Deadline, Wall: s.ExpiresAt(now).Add(Guard(s.TTL))}, BySession), true
}

// ExpiresAt is Record.ExpiresAt for a session.
func (s *Session) ExpiresAt(now Now) Wall {
	derived := now.Wall.Add(s.Deadline.Sub(now.At) - Guard(s.TTL))
	return steady(s.Expires, derived)
}

// Keepalive extends a live session by its own TTL: Confirmed, or
// SessionEnded.
func (s Session) Keepalive(now Now) (Session, Verdict) {
	s, _ = s.Settle(now)
	if s.Over {
		return s, s.ended()
	}
	s.extend(now, s.TTL)
	return s, Confirmed
}

// Delete ends a live session at once: Released. One that expired is
// SessionEnded, one that was deleted before is NoSession.
func (s Session) Delete(now Now) (Session, Verdict) {
	s, _ = s.Settle(now)
	if s.Over {
		return s, s.ended()
	}
	return s.end(now, BySessionEnd), Released
}

// Reanchor is Record.Reanchor for a session.
func (s Session) Reanchor(now Now, lastSeen Instant) Session {
	switch {
	case s.Over:
		s.OverAt = now.At
	case s.Deadline <= lastSeen:
		s.Deadline = now.At
	default:
		s.extend(now, s.TTL)
	}
	return s
}

func (s *Session) extend(now Now, ttl time.Duration) {
	s.TTL = ttl
	s.Deadline = now.At.Add(ttl + Guard(ttl))
	s.Expires = now.Wall.Add(ttl)
}

func (s Session) end(at Now, reason Reason) Session {
	s.Over, s.Reason, s.OverAt, s.OverWall = true, reason, at.At, at.Wall
	return s
}

// ended is the verdict on a session that is over: one that ran out is told so,
// a deleted one is as if it had never been.
func (s *Session) ended() Verdict {
	if s.Reason == BySessionEnd {
		return NoSession
	}
	return SessionEnded
}
