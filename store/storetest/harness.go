package storetest

import (
	"context"
	"testing"
	"time"

	"github.com/octostore/octostore/elections"
	"github.com/octostore/octostore/lease"
)

// Store is what the domains see of a backend. store.Pipeline implements it.
type Store interface {
	elections.Store
	// ForceRelease ends whatever lease the name has.
	ForceRelease(ctx context.Context, key lease.Key) (lease.Outcome, error)
}

// Stop is a way in which a server ends.
type Stop uint8

// The ways.
const (
	CleanStop Stop = iota + 1 // everyone is answered, everything is closed
	Crash                     // kill -9: nothing is closed; the machine runs on
	Reboot                    // the machine goes down; its deciding clock starts anew, below where it was
)

// String returns the word used in the names of tests.
func (s Stop) String() string {
	switch s {
	case CleanStop:
		return "CleanStop"
	case Crash:
		return "Crash"
	case Reboot:
		return "Reboot"
	default:
		return "invalid"
	}
}

// Fault is how a commit fails.
type Fault uint8

// The faults.
const (
	// NotApplied: the commit fails, and it is certain that nothing was written.
	NotApplied Fault = iota + 1
	// UnknownApplied: an I/O error is reported although everything was written.
	UnknownApplied
	// UnknownNotApplied: an I/O error is reported and nothing was written.
	UnknownNotApplied
)

// String returns the word used in the names of tests.
func (f Fault) String() string {
	switch f {
	case NotApplied:
		return "NotApplied"
	case UnknownApplied:
		return "UnknownApplied"
	case UnknownNotApplied:
		return "UnknownNotApplied"
	default:
		return "invalid"
	}
}

// Room is how much room the disk has.
type Room uint8

// The amounts.
const (
	Plenty Room = iota + 1 // for everyone
	Scarce                 // only for those who already hold
	None                   // no commit finds room
)

// Harness is one freshly made database under test, with the levers that move
// it. The function fields are called from the test's own goroutine only.
type Harness struct {
	// Store serves the database. Reopen replaces it.
	Store Store
	// Others are further replicas on the same database; may be empty. Reopen
	// replaces them too.
	Others []Store
	// Events records what every life of the database published.
	Events *Recorder
	// MaxIdle is the number of ended names that the backend was told to keep for
	// their full time. It should be small, and must be at least 8.
	MaxIdle int

	// Advance moves the deciding clock and the wall clock by d and lets
	// everything happen that becomes due.
	Advance func(d time.Duration)
	// StepWall moves the wall clock alone.
	StepWall func(d time.Duration)
	// Settle returns when nothing more happens by itself.
	Settle func()
	// Reopen ends the server, lets the time down pass, and starts one again on
	// what the first left behind. A clean stop answers the calls that are open; in
	// the other cases nobody is there to hear what they are answered. A commit that
	// is held is cut off there.
	Reopen func(how Stop, down time.Duration)
	// Fail makes the next commit fail that begins, once. One that is held already
	// has begun.
	Fail func(f Fault)
	// Hold stops commits from the next one on, before anything of it is durable,
	// until release is called, which may be done more than once. What was decided
	// for it stays decided.
	Hold func() (release func())
	// Failed tells whether the store has stopped serving for good.
	Failed func() bool
	// Room changes how much room the disk has. Nil for a backend that does not
	// keep some back for those who hold.
	Room func(r Room)
}

// Factory runs a test on a fresh database. It returns when the test is over
// and everything that it started has ended.
type Factory func(t *testing.T, test func(t *testing.T, h *Harness))

// scenario is one test of the suite, named after the behaviour.
type scenario struct {
	name string
	play func(*scene)
}

// chapter is a subject with its scenarios.
type chapter struct {
	name      string
	scenarios []scenario
}

func perform(t *testing.T, factory Factory, chapters []chapter) {
	t.Helper()
	for _, c := range chapters {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for _, sc := range c.scenarios {
				t.Run(sc.name, func(t *testing.T) {
					t.Parallel()
					factory(t, func(t *testing.T, h *Harness) {
						t.Helper()
						s := newScene(t, h)
						defer s.close()
						sc.play(s)
					})
				})
			}
		})
	}
}
