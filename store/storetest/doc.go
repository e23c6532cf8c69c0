// Package storetest is one suite that every backend of store has to pass.
//
// It owns what is asked of a backend, as behaviours seen through the methods
// that the domains call: Conformance is what must hold when nothing goes wrong,
// restarts included; Concurrency is what must hold when many call at once;
// Failure is what must hold when a commit fails, or its outcome is lost. After
// every test the events that were published are replayed through a small model
// that shares nothing with the kernel: one holder at a time, terms that only
// rise, revisions without a gap, no lease that lives twice.
//
// It does not own a backend, a clock or a way to break a disk: those come in
// through a Harness that the backend's own tests build. The suite knows of no
// SQL, no file and no kind of time. It moves the deciding clock with Advance
// and waits with Settle; whether that is a fake clock or a real one is the
// harness's business. A backend of one process can use Bubble, which runs
// everything in a testing/synctest bubble, where time stands still while
// anything is going on and an instant is exact.
//
// Invariants of the suite itself:
//
//   - Every test opens its own database and leaves nothing running.
//   - No test waits for time to pass by itself, and none reads a clock other
//     than the store's.
//   - A test asks for what the contract promises, not for how one backend does
//     it: with several replicas calls are spread over all of them.
package storetest
