// Package target is what the load is driven at: the server of this repository, a
// bare gin handler, etcd and Redis, each behind the same few verbs.
//
// It owns how each of them is found, started and spoken to, and what one cycle of
// a workload is on it. It measures nothing.
//
// Invariants: every server is a fresh process with fresh files for each block, with
// a sync before each answer wherever it has one; every client has one connection
// of its own; an answer that is not the expected one is an error, so that no
// server is fast by being wrong; clients of one protocol run the same code
// whichever server answers.
package target
