package histories

import (
	"cmp"
	"fmt"
	"hash/maphash"
	"slices"
	"time"
)

// guard is what the contract adds to every TTL: a lease is over at the decision
// plus TTL plus guard, not earlier and not later.
func guard(ttl time.Duration) time.Duration { return max(50*time.Millisecond, ttl/1000) }

// span is how long a lease of this TTL is kept.
func span(ttl time.Duration) time.Duration { return ttl + guard(ttl) }

// roomState is the model's idea of a room after some steps. It is comparable, so
// that porcupine recognises a state that it has been in.
//
// A change is decided at one instant, from which its TTL counts, and can be seen
// somewhat later, when it is durable. So decisions have an order in time of their
// own, and an answer that was read meanwhile may be told of an instant after the
// decision that it does not see yet.
type roomState struct {
	life int
	// clock: the last change was decided at this instant or later.
	clock Instant

	// led: there is a lease whose end is not recorded, whether or not its deadline
	// has passed.
	led    bool
	holder tenure // if led
	// loose is when its caller hung up, 0 if it did not: from then on, and until its
	// life ends, the server may give the lease back.
	loose Instant
	last  ending

	top      int64 // the highest term that is known to have been granted
	revision int64 // 0: the room was never used; revisionUnknown
	queue    [maxQueue]place
}

// revisionUnknown stands for a revision that nobody has read yet: a new row starts
// from the wall clock.
const revisionUnknown = -1

// maxQueue is how many proven places the model keeps. More are forgotten, which
// makes the model accept more, never less.
const maxQueue = 6

// tenure is a lease as far as it is known.
type tenure struct {
	attempt Attempt
	keyed   bool
	term    int64 // 0: granted by a call without an answer, and not told since
	expires int64 // as announced, Unix milliseconds; 0 as above
	ttl     time.Duration
	renewed bool // since the grant
	// The deadline lies between them, both included.
	soonest, latest Instant
}

// ending is what a room remembers of the last lease that ended.
type ending struct {
	attempt  Attempt
	keyed    bool
	term     int64
	released bool // by its own leader
}

// place is a waiter of which it is proven since when it stands in the queue.
type place struct {
	attempt Attempt
	since   Instant
}

var stateSeed = maphash.MakeSeed()

func hashState(s any) uint64 { return maphash.Comparable(stateSeed, s.(roomState)) }

// String describes the state for a picture of a history.
func (s roomState) String() string {
	return fmt.Sprintf("life %d clock %d led %t (loose %d) by %s: %+v; last %s %+v; top %d revision %d queue %v",
		s.life, s.clock, s.led, s.loose, s.holder.attempt, s.holder, s.last.attempt, s.last, s.top, s.revision, s.queue)
}

// bump counts a transition.
func (s *roomState) bump() {
	if s.revision > 0 {
		s.revision++
	}
}

// live returns the state if the lease is in force at some instant from at on.
func (s roomState) live(at Instant) (roomState, bool) {
	if !s.led || at >= s.holder.latest {
		return s, false
	}
	s.holder.soonest = max(s.holder.soonest, at+1)
	return s, true
}

// over returns the state if the deadline has passed at some instant until to.
func (s roomState) over(to Instant) (roomState, bool) {
	if !s.led || to < s.holder.soonest {
		return s, false
	}
	s.holder.latest = min(s.holder.latest, to)
	return s, true
}

// expired returns the state after somebody has recorded that the lease is over.
func (s roomState) expired() roomState {
	s.clock = max(s.clock, s.holder.soonest)
	return s.ended(false)
}

// ended returns the state after the end of the present lease.
func (s roomState) ended(released bool) roomState {
	s.last = ending{attempt: s.holder.attempt, keyed: s.holder.keyed, term: s.holder.term, released: released}
	s.led, s.loose, s.holder = false, 0, tenure{}
	s.bump()
	return s
}

// givenBack returns the state after the server has ended a lease whose caller was
// gone.
func (s roomState) givenBack() roomState {
	s.clock = max(s.clock, s.loose)
	return s.ended(true)
}

// free returns the states in which nobody leads at some instant until to, with the
// end of the last lease recorded.
func (s roomState) free(to Instant) []roomState {
	if !s.led {
		return []roomState{s}
	}
	var states []roomState
	if o, ok := s.over(to); ok {
		states = append(states, o.expired())
	}
	if s.loose != 0 && s.loose <= to {
		states = append(states, s.givenBack())
	}
	return states
}

// tells returns the state if the answer, given at some instant from at to to, may
// be told of the present lease.
func (s roomState) tells(at, to Instant, a *Answer) (roomState, bool) {
	s, ok := s.live(at)
	if !ok || s.holder.attempt != a.Leader {
		return s, false
	}
	if s, ok = s.learn(a.Term); !ok {
		return s, false
	}
	switch s.holder.expires {
	case 0:
		s.holder.expires = a.Expires
	case a.Expires:
	default:
		return s, false
	}
	// What is left until the deadline was rounded up to a millisecond.
	s.holder.soonest = max(s.holder.soonest, at.Add(a.Retry-time.Millisecond)+1)
	s.holder.latest = min(s.holder.latest, to.Add(a.Retry))
	return s, s.holder.soonest <= s.holder.latest
}

// learn returns the state if the lease can have this term.
func (s roomState) learn(term int64) (roomState, bool) {
	if s.holder.term == 0 && term > s.top {
		s.holder.term, s.top = term, term
	}
	return s, s.holder.term == term
}

// is tells whether the present lease is the one of this attempt and term.
func (s *roomState) is(attempt Attempt, term int64) bool {
	if !s.led || s.holder.attempt != attempt {
		return false
	}
	// A lease whose term nobody was told is later than all that are known.
	return s.holder.term == term || s.holder.term == 0 && term > s.top
}

// await puts a waiter whose place is proven into the queue, unless it leads already.
// Places are kept in one order, so that two ways to the same queue are one state.
func (s *roomState) await(a Attempt, since Instant) {
	if s.holder.attempt == a {
		return
	}
	n := 0
	for n < maxQueue && s.queue[n].attempt != 0 {
		n++
	}
	if n == maxQueue {
		return
	}
	s.queue[n] = place{a, since}
	slices.SortFunc(s.queue[:n+1], func(a, b place) int {
		return cmp.Or(cmp.Compare(a.since, b.since), cmp.Compare(a.attempt, b.attempt))
	})
}

// leave takes a waiter out of the queue.
func (s *roomState) leave(a Attempt) {
	n := 0
	for _, p := range s.queue {
		if p.attempt != a {
			s.queue[n] = p
			n++
		}
	}
	clear(s.queue[n:])
}

// overtakes tells whether a grant to a would pass over somebody who certainly
// waited before a was sent.
func (s *roomState) overtakes(a Attempt, sent Instant) bool {
	for _, p := range s.queue {
		if p.attempt != 0 && p.attempt != a && p.since < sent {
			return true
		}
	}
	return false
}
