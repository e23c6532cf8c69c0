package load

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// Client makes one cycle after another. What a cycle is, is its own matter: one
// request, or a request that depends on the answer to another.
type Client interface {
	// Cycle makes one cycle and returns when it is answered. A wrong answer is
	// an error. A client that repeats a refused request looks at the gate between
	// two tries and returns nil once it closes.
	Cycle(gate *Gate) error
}

// Gate tells clients when to end.
type Gate struct{ phase atomic.Uint32 }

// The phases of a run, in order.
const (
	warming uint32 = iota
	measuring
	closed
)

// Closed tells whether no further request may be made.
func (g *Gate) Closed() bool { return g.phase.Load() == closed }

// Plan says how long a run takes. The edges of the window are told to Begin and
// End, which may be nil and must be quick; an error of theirs ends the run.
type Plan struct {
	Warm    time.Duration
	Measure time.Duration
	Begin   func() error
	End     func() error
}

// Result is what was seen in the window.
type Result struct {
	Cycles  int64
	Elapsed time.Duration // the length of the window, as it was
	Latency *Histogram    // of the cycles
}

// Rate is cycles a second.
func (r Result) Rate() float64 {
	if r.Elapsed <= 0 {
		return 0
	}
	return float64(r.Cycles) / r.Elapsed.Seconds()
}

// Run drives every client in a goroutine of its own and returns when all have
// ended their last cycle. It ends early with the first error of a client, or
// with ctx.
func Run(ctx context.Context, clients []Client, plan Plan) (Result, error) {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	gate := new(Gate)
	parts := make([]Histogram, len(clients))
	var all sync.WaitGroup
	for i, c := range clients {
		all.Go(func() {
			if err := drive(c, gate, &parts[i]); err != nil {
				fail(fmt.Errorf("client %d: %w", i, err))
			}
		})
	}
	elapsed, err := window(ctx, gate, plan)
	gate.phase.Store(closed)
	all.Wait()
	if err == nil {
		err = context.Cause(ctx) // of a client that failed after the window
	}
	if err != nil {
		return Result{}, err
	}
	sum := new(Histogram)
	for i := range parts {
		sum.Merge(&parts[i])
	}
	return Result{Cycles: sum.Count(), Elapsed: elapsed, Latency: sum}, nil
}

// window leads the phases and returns how long the measured one was.
func window(ctx context.Context, gate *Gate, plan Plan) (time.Duration, error) {
	if err := rest(ctx, plan.Warm); err != nil {
		return 0, err
	}
	if plan.Begin != nil {
		if err := plan.Begin(); err != nil {
			return 0, err
		}
	}
	began := time.Now()
	gate.phase.Store(measuring)
	if err := rest(ctx, plan.Measure); err != nil {
		return 0, err
	}
	gate.phase.Store(closed)
	elapsed := time.Since(began)
	if plan.End != nil {
		if err := plan.End(); err != nil {
			return 0, err
		}
	}
	return elapsed, nil
}

// rest waits for d, or for the end of ctx, whose cause it returns.
func rest(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}

// drive is the loop of one client. One reading of the clock ends a cycle and
// begins the next.
func drive(c Client, gate *Gate, seen *Histogram) error {
	began := time.Now()
	for {
		if err := c.Cycle(gate); err != nil {
			return err
		}
		ended := time.Now()
		switch gate.phase.Load() {
		case measuring:
			seen.Record(ended.Sub(began))
		case closed:
			return nil
		}
		began = ended
	}
}
