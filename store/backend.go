package store

import (
	"context"

	"github.com/octostore/octostore/lease"
)

// Backend is one database, seen by the pipeline. All methods but Read and Now
// are called from the committer alone.
type Backend interface {
	// Now reads the deciding clock, as cheaply as it can be had.
	Now() lease.Now
	// Read returns the committed record of a name, and an instant not earlier
	// than the one at which it was read. It must be safe for concurrent use.
	// A store that can serve nothing any more returns lease.ErrUnavailable.
	Read(ctx context.Context, key lease.Key) (lease.Record, lease.Now, error)
	// Begin opens a group over the names. It returns once nothing more has to
	// be waited for, so that the clock may be read. An error means that nothing
	// was changed.
	Begin(ctx context.Context, keys []lease.Key) (Tx, error)
	// Due returns up to limit names whose lease is over but not recorded as
	// ended, and NextDue when there will be one.
	Due(now lease.Now, limit int) []lease.Key
	NextDue() (lease.Instant, bool)
	// Stale returns up to limit names whose ended row may be cleaned up.
	Stale(now lease.Now, limit int) []lease.Key
	// AcceptsGrants tells whether new leases may begin. It is false when the
	// disk is nearly full: what is left is for those who already hold.
	AcceptsGrants() bool
}

// Tx is one group. Nothing of it is visible to Read before Commit returns.
type Tx interface {
	// Now is the one reading of the clock that every decision of the group uses.
	Now() lease.Now
	// Floor is the highest term of any name whose row was cleaned up.
	Floor() lease.Term
	// Record returns a name as the group sees it.
	Record(key lease.Key) lease.Record
	// Live is the number of live leases in a scope as the group sees it.
	Live(scope lease.Scope) int64
	// Put replaces the record of a name and adds the events that led to it.
	Put(rec lease.Record, events []lease.Event)
	// Drop removes the row of a name and raises the floor to its term.
	Drop(key lease.Key)
	// Commit makes the group durable and then visible. It returns nil; or an
	// error that wraps lease.ErrUnavailable if certainly nothing was applied; or
	// one that wraps lease.ErrOutcomeUnknown. A group without changes commits
	// without touching the disk.
	Commit(ctx context.Context) (Commit, error)
	// Rollback drops the group.
	Rollback()
}

// Commit describes a group that was made durable.
type Commit struct {
	Rows   int           // rows written
	Events []lease.Event // in the order in which they happened
}
