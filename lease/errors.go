package lease

import (
	"errors"
	"time"
)

// What a store can say instead of an outcome. Domains and transports test for
// these with errors.Is.
var (
	// ErrUnavailable: nothing was changed and the request can be sent again.
	// The store can not take writes now, the queue is full, or the request
	// waited there too long.
	ErrUnavailable = errors.New("lease: store can not take this now")
	// ErrOutcomeUnknown: the commit failed in a way that does not tell whether
	// it happened. It must never be reported as a failure.
	ErrOutcomeUnknown = errors.New("lease: outcome of the commit is not known")
	// ErrTooManyWaiters: the name, or the store, has as many waiters as it may.
	ErrTooManyWaiters = errors.New("lease: too many waiters")
	// ErrUnknownKey: the row was written under a server key that this process
	// does not have, so no capability of it can be judged.
	ErrUnknownKey = errors.New("lease: server key of the row is not known here")
)

// Retry wraps an error with when it makes sense to try again.
type Retry struct {
	Err   error
	After time.Duration
}

// Error returns the text of the wrapped error.
func (r *Retry) Error() string { return r.Err.Error() }

// Unwrap returns the wrapped error.
func (r *Retry) Unwrap() error { return r.Err }

// RetryAfter returns the hint carried by err, or fallback if there is none.
func RetryAfter(err error, fallback time.Duration) time.Duration {
	var r *Retry
	if errors.As(err, &r) && r.After > 0 {
		return r.After
	}
	return fallback
}
