// Package store is what persistence owes the domains, and the pipeline that
// pays it: transitions are decided one after another, made durable in groups,
// and only then answered.
//
// It owns the Pipeline (two lanes, bounds, deadlines, the queues of waiters,
// the rules of failure), the contract of a Backend, and Image, the in-memory
// committed image that a single-process backend keeps. It does not own SQL:
// that is store/sqlite, and whatever other backend passes storetest.
//
// # What a store owes
//
//   - No success before it is durable, no event of what did not commit.
//   - One decision point: grant, renewal, release and expiry are decided in a
//     group, with one reading of the clock taken after every lock is held. Never
//     on arrival, never by a sweeper.
//   - A deadline that passed is applied first by whatever decision meets it, as
//     a transition of its own with its own revision and event; the name then
//     goes to the first waiter in the same transaction.
//   - First come, first served: a request never overtakes a waiter.
//   - A failure before the commit is lease.ErrUnavailable and changed nothing.
//     A failure of the commit itself is lease.ErrOutcomeUnknown, never "failed".
//   - A request whose caller is gone, or that stood in the commit queue for
//     MaxQueueTime, is dropped before it is decided, never after.
//   - A grant whose caller left during the commit is given back, unless it has
//     an idempotency key by which it will be found again.
//   - A read that begins after an answer sees what was answered.
//   - No cost grows with what is stored: counts are counters, expiry is a heap
//     ordered by deadline, clean-up takes a bounded bite per group.
//
// # Lanes
//
// Renewals, releases, give-backs and due deadlines go first; new grants after
// them, but with at least an eighth of every group. Only a proven holder gets
// into the first lane, so a flood of campaigns cannot unseat a leader.
package store
