package elections

import (
	"context"
	"time"

	"github.com/octostore/octostore/lease"
)

// Store is what elections need of persistence. Every method that changes a
// record returns only after the change is durable, and decides it with one
// reading of the clock taken inside the decision.
//
// Instead of an outcome a method returns lease.ErrUnavailable if nothing was
// changed, lease.ErrOutcomeUnknown if that is not known,
// lease.ErrTooManyWaiters, or the error of a context that ended before the
// request was decided.
type Store interface {
	// Now reads the deciding clock without asking the database.
	Now() lease.Now
	// Read returns the committed record of the name. A read that begins after
	// an answer was given sees what was answered.
	Read(ctx context.Context, key lease.Key) (lease.Reading, error)
	// Acquire decides a campaign. While the name is taken it waits for its turn
	// for up to wait, first come, first served. A grant whose caller is gone by
	// the time it is durable is given back, unless it has an idempotency key.
	Acquire(ctx context.Context, key lease.Key, req lease.Acquire, wait time.Duration) (lease.Outcome, error)
	// Renew extends the lease that ref names; ttl 0 keeps its own.
	Renew(ctx context.Context, key lease.Key, ref lease.Ref, ttl time.Duration) (lease.Outcome, error)
	// Release ends the lease that ref names.
	Release(ctx context.Context, key lease.Key, ref lease.Ref) (lease.Outcome, error)
	// GiveBack ends a lease that its caller never heard of, without lock-delay.
	// It does its work even if ctx has ended.
	GiveBack(ctx context.Context, key lease.Key, ref lease.Ref) error
}
