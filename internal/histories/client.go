package histories

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

// Phase is what a run is in.
type Phase int32

// The phases, in their order.
const (
	Storm  Phase = iota // servers are killed
	Calm                // nothing is killed any more
	Settle              // clients bring to an end what is uncertain, and stop
)

// world is what the clients of a run share.
type world struct {
	plan      Plan
	addresses []string
	lives     *lives
	phase     atomic.Int32
	answers   atomic.Int64
	found     atomic.Int64 // grants of lost calls that their repeats have found
	// aim hears of campaigns that are about to be sent, while somebody listens: a
	// server that is killed a moment later dies with them in its hands.
	aim chan struct{}

	mu        sync.Mutex
	accidents []string
}

// accident notes what must not happen and is no call's outcome.
func (w *world) accident(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.accidents = append(w.accidents, fmt.Sprintf(format, args...))
}

// Client makes calls and writes them down. It is used by one goroutine.
type Client struct {
	ID   int
	Rand *rand.Rand

	world *world
	wires map[int]*wire // by replica
	lives map[int]int   // that the wires lead to
	log   []Call
	tries int
}

func newClient(w *world, id int) *Client {
	return &Client{
		ID: id, Rand: rand.New(rand.NewPCG(w.plan.Seed, uint64(id)+1)), //nolint:gosec // G404, G115: a run has to be repeatable
		world: w, wires: make(map[int]*wire), lives: make(map[int]int),
	}
}

// Phase returns what the run is in.
func (c *Client) Phase() Phase { return Phase(c.world.phase.Load()) }

// Plan returns the plan of the run.
func (c *Client) Plan() Plan { return c.world.plan }

// NextAttempt draws the name of a new attempt.
func (c *Client) NextAttempt() Attempt {
	c.tries++
	return NewAttempt(c.ID, c.tries)
}

// PickName draws the number of a name, one of the hot ones more often.
func (c *Client) PickName() int {
	p := &c.world.plan
	if c.Rand.Float64() < p.Crowd {
		return c.Rand.IntN(p.Hot)
	}
	return c.Rand.IntN(p.Names)
}

// Pause lets up to most pass. It reports false if ctx has ended.
func (c *Client) Pause(ctx context.Context, most time.Duration) bool {
	if most <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(time.Duration(c.Rand.Int64N(int64(most)) + 1))
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// exchange sends one request to the replica as soon as that serves, fills in what
// the wire knows of the call and returns the answer. It reports false if nothing
// was sent because ctx ended.
func (c *Client) exchange(ctx context.Context, call *Call, q request) (reply, bool) {
	w, err := c.connect(ctx, call.Replica)
	if err != nil {
		return reply{}, false
	}
	hasty := q.patience > 0
	if !hasty {
		q.patience = call.Wait + callPatience
	}
	if call.Verb == Campaign && call.Keyed {
		select {
		case c.world.aim <- struct{}{}:
		default:
		}
	}
	r := w.exchange(q)
	call.Client, call.Life = c.ID, c.lives[call.Replica]
	call.Sent, call.Received, call.SentWall, call.ReceivedWall = r.sent, r.received, r.sentWall, r.receivedWall
	if r.fate == answered {
		c.world.answers.Add(1)
	} else {
		c.drop(call.Replica)
		call.Outcome = Lost
		if r.fate == hungUp {
			call.HungUp = r.received
			if !hasty {
				c.world.accident("no answer within %v: %s", q.patience, call)
			}
		}
	}
	return r, true
}

// connect returns a connection to the present life of the replica.
func (c *Client) connect(ctx context.Context, replica int) (*wire, error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if w := c.wires[replica]; w != nil {
			if c.world.lives.serves(replica, c.lives[replica]) {
				return w, nil
			}
			c.drop(replica)
		}
		life, err := c.world.lives.await(ctx, replica)
		if err != nil {
			return nil, err
		}
		w, err := dial(ctx, c.world.addresses[replica])
		if err != nil {
			// It has just been killed; whoever kills will say so in a moment.
			if !c.Pause(ctx, readyPoll) {
				return nil, ctx.Err()
			}
			continue
		}
		c.wires[replica], c.lives[replica] = w, life
		// Looked at once more at the top: only a life that serves before and after
		// the dial is the one that was dialled.
	}
}

func (c *Client) drop(replica int) {
	if w := c.wires[replica]; w != nil {
		w.close()
		delete(c.wires, replica)
	}
}

// close ends the connections.
func (c *Client) close() {
	for replica := range c.world.addresses {
		c.drop(replica)
	}
}

// Found counts a grant of a lost call that its repeat has found.
func (c *Client) Found() { c.world.found.Add(1) }

// record keeps a call.
func (c *Client) record(call *Call) { c.log = append(c.log, *call) }
