// Package histories runs the real program under kills, writes down everything
// that its clients did and were told, and checks afterwards whether one honest
// server could have told them that. It is used by tests only.
//
// A run has three parts that know little of each other:
//
//   - A Target is what is broken: today one process on one SQLite file that is
//     killed with SIGKILL and started again at the same address. It may have
//     several replicas.
//   - A Kind is what is asked of it: how its clients behave, and what one name's
//     history must be like. Elections are the first.
//   - A History is what is known afterwards: each call with the instants at which
//     it was sent and answered on one clock, its outcome, and the lives of the
//     target. A call without an answer is in it too: it may have happened at any
//     instant from its sending to the end of that life, or never.
//
// A history is judged twice, by code that has nothing in common. Check holds each
// name against a small sequential model with porcupine; a history that porcupine
// can not decide in time counts as a failure. Facts looks directly for what must
// never be seen: a term that repeats or goes back, an acknowledged change that is
// gone, two leaders at one time, a repeat with an idempotency key that finds
// something else.
//
// What is new joins in its own place: locks and sessions are further kinds, with
// verbs, clients and a model of their own; several replicas are a target that the
// storm, the clients and the facts know already. The model of elections is that of
// one replica: its queue ends with a life, and lives are counted one after another.
//
// The package owns no rule of the product: what it knows of leases is written
// here from the wire contract a second time, on purpose, and it imports nothing
// that decides.
//
// Invariants: an instant is read on the boot clock before the first byte of a
// request is written or after the last byte of an answer was read, so that a
// decision always lies between the two; a connection belongs to exactly one life
// of one replica; no request is sent twice by the package itself; a run with the
// same seed makes the same plan, though not the same history.
package histories
