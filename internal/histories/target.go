package histories

import (
	"context"
	"sync"
	"time"
)

// Target is what a run breaks: one or several replicas of the program over one
// store. Its methods are called by one goroutine.
type Target interface {
	// Addresses returns where each replica listens, host:port. They stay the same
	// over all lives.
	Addresses() []string
	// Launch starts a replica and returns as soon as its process runs.
	Launch(replica int) error
	// Ready waits for the first 200 on the replica's /readyz and returns when that
	// came, and for how much of the time until then the machine itself kept everybody
	// waiting, whatever was started.
	Ready(ctx context.Context, replica int) (at Instant, stolen time.Duration, err error)
	// Kill ends the replica as a crash does and returns when its process is gone.
	Kill(replica int) error
	// Stop asks the replica to end and returns when its process is gone. It is an
	// error if that takes too long or the program reports one.
	Stop(ctx context.Context, replica int) error
	// Exited returns a channel that is closed when the process of the replica's
	// present life is gone, whoever ended it.
	Exited(replica int) <-chan struct{}
	// Log returns the end of what the replica has written to its log.
	Log(replica int) string
}

// lives says which replicas serve, and under which number.
type lives struct {
	mu      sync.Mutex
	up      []bool
	number  []int
	changed chan struct{} // closed and made anew at each change
}

func newLives(replicas int) *lives {
	return &lives{up: make([]bool, replicas), number: make([]int, replicas), changed: make(chan struct{})}
}

// begin counts a new life of a replica, which does not serve yet.
func (l *lives) begin(replica int) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.number[replica]++
	return l.number[replica]
}

// set tells whether the present life of a replica serves.
func (l *lives) set(replica int, up bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.up[replica] = up
	close(l.changed)
	l.changed = make(chan struct{})
}

// serves tells whether this very life serves, as far as is known.
func (l *lives) serves(replica, number int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.up[replica] && l.number[replica] == number
}

// await waits until the replica serves and returns the number of its life.
func (l *lives) await(ctx context.Context, replica int) (int, error) {
	for {
		l.mu.Lock()
		up, number, changed := l.up[replica], l.number[replica], l.changed
		l.mu.Unlock()
		if up {
			return number, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
}
