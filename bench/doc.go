// Command bench compares the server of this repository with what bounds it and with
// its peers, on one machine and in one run: the sync rate of the disk, a bare gin
// handler, etcd and Redis. docs/PERFORMANCE.md says how to read what it prints.
//
// It is a module of its own, so that the clients of other servers do not burden the
// server's module.
//
// It owns the plan of a run: which blocks there are, in which order, with which
// files. One block is one target under one workload with one number of connections
// in one round, on a fresh process with fresh files; only one server runs at a
// time, and the targets of a round follow one another directly, each time in
// another order. A wrong answer ends the run.
package main
