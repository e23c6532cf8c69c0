// Package simulation lives through long times in short ones: the pipeline on a
// real SQLite file, with clients, clocks and faults that all come from one seed,
// driven step by step on one goroutine. The same seed gives the same history. It
// is used by tests only.
//
// It owns three things that know little of each other:
//
//   - The driver: it moves time from one thing to do to the next, lets clients
//     campaign, renew, resign, fall silent, hang up and repeat themselves, and
//     lets the machine fail: groups that are not written, commits whose outcome
//     is not known, a full disk, crashes between and inside commits, restarts,
//     reboots, pauses, steps of the wall clock.
//   - The witness: what is safe, on a clock that never stops. It is told events
//     and answers and has no rule from the product: it was written a second time
//     from the wire contract.
//   - Liveness: from time to time all faults end, everybody hangs up, and what
//     is owed then has to come in time.
//
// It does not own a clock to run on. Run has to be called in a testing/synctest
// bubble, so that the pipeline's own readings of the time are simulated too.
//
// The tests live through some twenty hours, or four under the race detector.
// OCTOSTORE_PROVE=1 makes that a thousand and more; OCTOSTORE_SEED=n plays one
// seed again. A failure names its seed and shows the end of its history.
//
// Invariants: nothing is read from the machine but the database's files; every
// choice comes from the seed; a map is never walked where order would show; a
// run that saw no fault of some kind says so in its counts, so that no check can
// pass for having had nothing to check.
package simulation
