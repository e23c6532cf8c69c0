package store

import (
	"context"
	"time"

	"github.com/octostore/octostore/lease"
)

// Observer is told what the pipeline does. Its methods are called on the hot
// path and must neither block nor allocate much.
type Observer interface {
	// QueueDepth is the number of requests in a lane when a group was taken.
	QueueDepth(lane string, depth int)
	// QueueWait is how long a request stood in a lane.
	QueueWait(lane string, d time.Duration)
	// QueueRefused counts a request that found its lane full.
	QueueRefused(lane string)
	// GroupCommitted describes a group that was made durable.
	GroupCommitted(operations, rows int, d time.Duration)
	// CommitFailed counts a group that was not: "not_applied" or "unknown".
	CommitFailed(reason string)
	// ExpiryLag is the time from a deadline to its expiry being recorded.
	ExpiryLag(d time.Duration)
	// Outcome counts one answered request.
	Outcome(kind, verb, outcome string)
	// Waiters is the number of requests that wait for a name.
	Waiters(n int64)
	// Stalled tells of a second or more in which the committer did not run.
	Stalled(d time.Duration)
	// GroupTraced describes the way of one request through the pipeline.
	GroupTraced(ctx context.Context, lane string, enqueued, began, committing, committed time.Time, operations, rows int)
}

// Publisher is told of the events of a group after it was answered. It must
// not block.
type Publisher interface {
	Publish(events []lease.Event)
}

type unobserved struct{}

func (unobserved) QueueDepth(string, int)                 {}
func (unobserved) QueueWait(string, time.Duration)        {}
func (unobserved) QueueRefused(string)                    {}
func (unobserved) GroupCommitted(int, int, time.Duration) {}
func (unobserved) CommitFailed(string)                    {}
func (unobserved) ExpiryLag(time.Duration)                {}
func (unobserved) Outcome(string, string, string)         {}
func (unobserved) Waiters(int64)                          {}
func (unobserved) Stalled(time.Duration)                  {}
func (unobserved) GroupTraced(context.Context, string, time.Time, time.Time, time.Time, time.Time, int, int) {
}
