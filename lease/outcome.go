package lease

// Verdict is what was decided about a request. A refusal is a verdict, not an
// error: "held by another" is an answer.
type Verdict uint8

// The verdicts.
const (
	Granted      Verdict = iota + 1 // a new term began
	Confirmed                       // the present lease goes on: a renewal, or a repeat that proved itself
	Taken                           // another lease lives
	Delayed                         // a lock-delay runs
	NotCurrent                      // the lease that was named is over or never was
	Released                        // the lease that was named ended by this request
	Repeated                        // it had already ended by its own release
	Conflict                        // the idempotency key was used for another request, or its lease ended
	Full                            // the scope has as many live leases as it may have
	NotHeld                         // a force-release found nothing to end
	SessionEnded                    // the session that was named ran out
	NoSession                       // the session that was named never was, or was deleted
)

// String returns the word used in metrics and logs.
func (v Verdict) String() string {
	switch v {
	case Granted:
		return "granted"
	case Confirmed:
		return "confirmed"
	case Taken:
		return "taken"
	case Delayed:
		return "delayed"
	case NotCurrent:
		return "not_current"
	case Released:
		return "released"
	case Repeated:
		return "repeated"
	case Conflict:
		return "conflict"
	case Full:
		return "full"
	case NotHeld:
		return "not_held"
	case SessionEnded:
		return "session_ended"
	case NoSession:
		return "no_session"
	default:
		return "invalid"
	}
}

// Outcome is the answer to one request.
type Outcome struct {
	Verdict Verdict
	Record  Record // the record after the decision
	At      Now    // when it was decided; a granted TTL counts from here
	Waited  bool   // the request stood in the name's queue before it was granted
	Waiters int    // how many requests wait for the name, at the decision
}

// Type is what happened to a name.
type Type uint8

// The types of event.
const (
	Acquired Type = iota + 1
	Renewed
	WasReleased
	Expired
)

// String returns the word of the wire.
func (t Type) String() string {
	switch t {
	case Acquired:
		return "acquired"
	case Renewed:
		return "renewed"
	case WasReleased:
		return "released"
	case Expired:
		return "expired"
	default:
		return "invalid"
	}
}

// Reason is why a lease ended. Its values are stored; never reuse one.
type Reason uint8

// The reasons.
const (
	ByRelease    Reason = iota + 1 // its holder gave it up
	ByExpiry                       // its deadline passed
	BySession                      // the session that it was bound to expired
	BySessionEnd                   // the session that it was bound to was deleted
	ByForce                        // an administrator ended it
)

// String returns the word told to watchers, empty where the type of the event
// says it all.
func (r Reason) String() string {
	switch r {
	case BySession:
		return "session_expired"
	case ByForce:
		return "force_released"
	case ByRelease, ByExpiry, BySessionEnd:
		return ""
	default:
		return ""
	}
}

// Event tells of one transition of a name. It carries no capability; the
// record in it is for composing what watchers see, which never includes the
// nonce.
type Event struct {
	Type     Type
	Reason   Reason // 0 unless a lease ended
	Revision int64
	Previous int64  // revision before it, so that a gap can be told from a jump
	Record   Record // after the transition
	Was      *Lease // the lease that ended, nil unless one did
	At       Now    // when it took effect: for an expiry the deadline, not when it was noticed
}

// Reading is the committed state of a name as a store shows it, without a
// change to it.
type Reading struct {
	Record  Record
	At      Now // when it was read
	Waiters int // how many requests wait for the name
}
