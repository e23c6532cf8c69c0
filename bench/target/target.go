package target

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/octostore/octostore/bench/load"
)

// Workload is what the clients of a block do.
type Workload string

// The workloads.
const (
	// Cycle: each client leads a name of its own and gives it up again.
	Cycle Workload = "cycle"
	// Contended: all clients want one name. A cycle is one grant and its end; its
	// time contains the whole wait for the grant.
	Contended Workload = "contended"
	// Renew: each client holds a name of its own and renews it.
	Renew Workload = "renew"
	// Mixed: of 20 requests 16 renew, 2 ask for the state, one leads another name
	// and one gives that up. A cycle is one request.
	Mixed Workload = "mixed"
)

// Workloads returns all of them, in the order in which they are run and told.
func Workloads() []Workload { return []Workload{Cycle, Contended, Renew, Mixed} }

const (
	// NamesPerClient is how many names a client of Cycle uses in turn, so that it
	// returns to a name long after it has left it, as candidates do.
	NamesPerClient = 16
	// TTL of every lease: long enough to outlive a block.
	TTL = 300 * time.Second
	// MaxBlock is the longest that a block may take, warm-up included.
	MaxBlock = TTL / 2
	// maxWait is how long a client of Contended waits for its turn at most.
	// A server that lets one wait for longer has failed.
	maxWait = 60 * time.Second
)

// Target is one kind of server.
type Target interface {
	// Name is one word, the same in every run.
	Name() string
	// Locate finds what is needed to start it and returns its version. An error
	// that wraps ErrMissing says that it is not on this machine.
	Locate(ctx context.Context) (version string, err error)
	// Serves tells whether the workload means something on it.
	Serves(w Workload) bool
	// Start starts it with its files in dir and returns when it answers.
	Start(ctx context.Context, dir string) (Server, error)
}

// ErrMissing: the server is not installed on this machine.
var ErrMissing = errors.New("not installed")

// Server is a running server.
type Server interface {
	// PID is the process whose processor time is the server's.
	PID() int
	// Join connects one client and brings it to where its cycles can begin.
	Join(ctx context.Context, s Seat) (Client, error)
	// Failure adds to an error what the server has to say about it.
	Failure(err error) error
	// Close ends the process.
	Close()
}

// Seat is the place of one client in a block.
type Seat struct {
	Workload Workload
	Index    int // from 0
}

// Client is one caller with its connection.
type Client interface {
	load.Client
	io.Closer
}

// Groups is what a server tells of the groups that it has committed since it
// started.
type Groups struct {
	Count      float64 // groups
	Operations float64 // in all groups together
	Seconds    float64 // spent on committing them
}

// Sub is the difference of two readings.
func (g Groups) Sub(o Groups) Groups {
	return Groups{g.Count - o.Count, g.Operations - o.Operations, g.Seconds - o.Seconds}
}

// Grouper is a Server that tells of its groups.
type Grouper interface {
	Groups(ctx context.Context) (Groups, error)
}
