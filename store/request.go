package store

import (
	"context"
	"time"

	"github.com/octostore/octostore/lease"
)

// verb is what a request asks for.
type verb uint8

const (
	verbAcquire verb = iota
	verbRenew
	verbRelease
	verbGiveBack
	verbForce
)

func (v verb) String() string {
	return [...]string{"acquire", "renew", "release", "give_back", "force_release"}[v]
}

// state is where a request stands. It is guarded by Pipeline.mu.
type state uint8

const (
	queued  state = iota // in a lane
	decided              // in a group: its answer will come
	waiting              // in the queue of a name
	gone                 // withdrawn, or answered
)

// request is one operation of one caller.
type request struct {
	ctx      context.Context
	key      lease.Key
	verb     verb
	acquire  *lease.Acquire
	ref      lease.Ref
	ttl      time.Duration
	wait     time.Duration
	until    lease.Instant // end of the wait on the deciding clock
	enqueued time.Time
	lane     lane
	state    state
	leaving  bool   // its caller left, or its wait ended, while it was being decided
	place    *place // while waiting
	done     chan answer
}

// answer is what a caller gets.
type answer struct {
	out lease.Outcome
	err error
}

// expired tells whether the request may no longer be decided.
func (r *request) expired(now time.Time) bool {
	return r.ctx.Err() != nil || now.Sub(r.enqueued) >= MaxQueueTime
}

// lane is one of the two ways into a group.
type lane uint8

const (
	first  lane = iota // those who hold
	second             // those who want to
	lanes
)

func (l lane) String() string {
	if l == first {
		return "first"
	}
	return "second"
}

// fifo is a queue of requests that reuses its memory.
type fifo struct {
	items []*request
	head  int
}

func (q *fifo) len() int { return len(q.items) - q.head }

func (q *fifo) push(r *request) { q.items = append(q.items, r) }

func (q *fifo) pop() *request {
	r := q.items[q.head]
	q.items[q.head] = nil
	q.head++
	if q.head == len(q.items) {
		q.items, q.head = q.items[:0], 0
	} else if q.head > 1024 && q.head*2 > len(q.items) {
		n := copy(q.items, q.items[q.head:])
		clear(q.items[n:])
		q.items, q.head = q.items[:n], 0
	}
	return r
}
