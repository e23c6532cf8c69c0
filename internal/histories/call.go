package histories

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/octostore/octostore/internal/bootclock"
)

// Instant is a reading of the boot clock of this machine in nanoseconds. Every
// call of a run is measured with it, whoever made it.
type Instant int64

// Now reads the clock.
func Now() Instant { return Instant(bootclock.Now()) }

// Add returns the instant d later.
func (i Instant) Add(d time.Duration) Instant { return i + Instant(d) }

// Sub returns the time from o to i.
func (i Instant) Sub(o Instant) time.Duration { return time.Duration(i - o) }

// Attempt names one endeavour of one client to get a name, with all its repeats.
// It travels as the label that everybody is shown, so that every answer that names
// a leader says which attempt won, also one whose own answer was lost. 0 is nobody.
type Attempt int64

// NewAttempt returns the name of a client's n-th attempt, counted from 1.
func NewAttempt(client, n int) Attempt { return Attempt(client)<<32 | Attempt(n) }

// String returns the label, such as "c7-12".
func (a Attempt) String() string {
	return "c" + strconv.FormatInt(int64(a>>32), 10) + "-" + strconv.FormatInt(int64(a&(1<<32-1)), 10)
}

// ParseAttempt reads a label back. It returns 0 for one that nobody here made.
func ParseAttempt(label string) Attempt {
	client, n, ok := strings.Cut(strings.TrimPrefix(label, "c"), "-")
	if !ok {
		return 0
	}
	c, err := strconv.Atoi(client)
	if err != nil {
		return 0
	}
	k, err := strconv.Atoi(n)
	if err != nil {
		return 0
	}
	if a := NewAttempt(c, k); a.String() == label {
		return a
	}
	return 0
}

// Verb is what a call asks for.
type Verb uint8

// The verbs. A kind uses those that it has.
const (
	Campaign Verb = iota + 1
	Renew
	Resign
	Status
)

// String returns the word in listings.
func (v Verb) String() string {
	switch v {
	case Campaign:
		return "campaign"
	case Renew:
		return "renew"
	case Resign:
		return "resign"
	case Status:
		return "status"
	default:
		return "verb " + strconv.Itoa(int(v))
	}
}

// Outcome is what a client knows of a call afterwards.
type Outcome uint8

// The outcomes.
const (
	Won        Outcome = iota + 1 // the caller leads: a grant, a repeat that found it, a renewal
	Following                     // somebody else leads
	Resigned                      // the caller's lease is over by its own act
	Shown                         // a status was read
	NotCurrent                    // the lease that was named is over
	Conflict                      // the idempotency key was used up
	Refused                       // nothing was changed, says the server
	Unknown                       // the server does not know whether it happened
	Lost                          // no whole answer came
	Strange                       // an answer that has no place here
)

// String returns the word in listings.
func (o Outcome) String() string {
	words := [...]string{"?", "won", "following", "resigned", "shown", "not current", "conflict", "refused", "unknown", "LOST", "STRANGE"}
	if int(o) < len(words) {
		return words[o]
	}
	return words[0]
}

// Uncertain tells whether the call may or may not have happened.
func (o Outcome) Uncertain() bool { return o == Unknown || o == Lost }

// Call is one request and what became of it.
type Call struct {
	Name    string // the room
	Client  int
	Replica int
	Life    int // of the replica, from 1

	Verb    Verb
	Attempt Attempt       // who acts; 0 for a status
	Keyed   bool          // an idempotency key was sent; all calls of one attempt have the same
	TTL     time.Duration // asked for; 0: the lease's own
	Wait    time.Duration // how long the request may be held
	Term    int64         // of the lease whose token was shown
	Token   string

	// Sent is before the first byte of the request, Received after the last of the
	// answer, but not after the end of the server's life, which stands for it where no
	// answer came. HungUp is when the client itself gave up, 0 if it did not.
	Sent, Received, HungUp Instant
	// SentWall and ReceivedWall are the same moments on the wall clock, in Unix
	// milliseconds rounded down: announced expiries are told on that one.
	SentWall, ReceivedWall int64

	Outcome Outcome
	Answer  Answer
}

// Answer is what a call was told.
type Answer struct {
	Leader   Attempt       // who leads, 0 for nobody
	Term     int64         // the leader's; of a resignation the one that ended
	Expires  int64         // the announced expiry, Unix milliseconds
	Token    string        // the capability, to the leader alone
	Waited   time.Duration // of a grant
	Retry    time.Duration // until the leader's deadline, rounded up to a millisecond
	Revision int64         // of a status
	Waiters  int           // of a status

	HTTP int
	Code string // of a refusal
}

// String returns one line of a listing.
func (c *Call) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "[%d %d] life %d client %d: %s", c.Sent, c.Received, c.Life, c.Client, c.Verb)
	if c.Attempt != 0 {
		fmt.Fprintf(&b, " by %s", c.Attempt)
	}
	if c.Keyed {
		b.WriteString(" keyed")
	}
	if c.Wait > 0 {
		fmt.Fprintf(&b, " wait %v", c.Wait)
	}
	if c.TTL > 0 {
		fmt.Fprintf(&b, " ttl %v", c.TTL)
	}
	if c.Term != 0 {
		fmt.Fprintf(&b, " of term %d", c.Term)
	}
	fmt.Fprintf(&b, ": %s", c.Outcome)
	if c.HungUp != 0 {
		fmt.Fprintf(&b, " hung up %d", c.HungUp)
	}
	a := &c.Answer
	if a.Leader != 0 || a.Term != 0 {
		fmt.Fprintf(&b, " %s term %d", a.Leader, a.Term)
	}
	if a.Expires != 0 {
		fmt.Fprintf(&b, " expires %d", a.Expires)
	}
	if a.Retry != 0 {
		fmt.Fprintf(&b, " retry %v", a.Retry)
	}
	if a.Waited != 0 {
		fmt.Fprintf(&b, " waited %v", a.Waited)
	}
	if c.Outcome == Shown {
		fmt.Fprintf(&b, " revision %d waiters %d", a.Revision, a.Waiters)
	}
	if a.Code != "" {
		fmt.Fprintf(&b, " %d %s", a.HTTP, a.Code)
	}
	return b.String()
}
