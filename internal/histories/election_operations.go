package histories

import (
	"cmp"
	"slices"

	"github.com/anishathalye/porcupine"
)

// step is one step of the model: a call, or something that happened to the queue.
type step struct {
	call *Call // nil for the latter
	what happening

	attempt Attempt
	others  []Attempt // that arrived at the same instant
	life    int
	// The step happened between from and to, both included.
	from, to Instant
}

// happening is what a step without a call is.
type happening uint8

const (
	called  happening = iota
	arrived           // the attempt certainly stands in the queue from here on
	left              // from here on the attempt may have left the queue
	crashed           // the life ended, and with it the queue
)

// Operations implements Kind.
func (Elections) Operations(h *History, calls []Call) []porcupine.Operation {
	var steps []*step
	given := resignations(calls)
	for i := range calls {
		if s := callStep(&calls[i]); s != nil && !cameToNothing(calls, given, s.call) {
			steps = append(steps, s)
		}
	}
	steps = append(steps, arrivals(calls)...)
	steps = append(steps, crashes(h, calls)...)
	ops := make([]porcupine.Operation, len(steps))
	for i, s := range steps {
		client := 0
		if s.call != nil {
			client = s.call.Client
		}
		ops[i] = porcupine.Operation{ClientId: client, Input: s, Call: int64(s.from), Return: int64(s.to)}
	}
	return ops
}

// callStep returns the step of a call, nil if it changed and told nothing.
func callStep(c *Call) *step {
	if c.Outcome == Refused || c.Outcome == Strange || c.Verb == Status && c.Outcome != Shown {
		return nil
	}
	return &step{call: c, attempt: c.Attempt, life: c.Life, from: decidedAfter(c), to: c.Received}
}

// resignations returns when each attempt first tried to give its lease up.
func resignations(calls []Call) map[Attempt]Instant {
	given := make(map[Attempt]Instant)
	for i := range calls {
		c := &calls[i]
		if _, known := given[c.Attempt]; c.Verb == Resign && !known {
			given[c.Attempt] = c.Sent
		}
	}
	return given
}

// cameToNothing tells whether a campaign without an answer certainly got nothing:
// somebody was told of the room after it, before a lease that it got could have
// ended, and was not told of that. The model would find it out too, but in time that
// doubles with each such call, and a kill leaves many.
func cameToNothing(calls []Call, given map[Attempt]Instant, c *Call) bool {
	if c.Verb != Campaign || !c.Outcome.Uncertain() || c.HungUp != 0 {
		return false
	}
	ends := c.Sent.Add(span(shortTTL)) // a renewal may have shortened it
	if at, ok := given[c.Attempt]; ok {
		ends = min(ends, at)
	}
	after, _ := slices.BinarySearchFunc(calls, c.Received+1, func(o Call, at Instant) int { return cmp.Compare(o.Sent, at) })
	for i := after; i < len(calls) && calls[i].Sent < ends; i++ {
		o := &calls[i]
		if o.Outcome != Shown && o.Outcome != Won && o.Outcome != Following || o.Received >= ends {
			continue
		}
		return o.Answer.Leader != c.Attempt
	}
	return false
}

// decidedAfter returns the earliest instant at which the call can have been
// decided. A grant tells how long it had been waited for, and a refusal after a
// wait comes when that is over; both count from a receipt that was not before the
// sending.
func decidedAfter(c *Call) Instant {
	from := c.Sent
	switch {
	case c.Outcome == Won && c.Verb == Campaign:
		from = from.Add(c.Answer.Waited)
	case c.Outcome == Following && c.Wait > 0:
		from = from.Add(c.Wait)
	}
	// Facts complains of an answer that came too early for what it says.
	return min(from, c.Received)
}

// arrivals finds out which waiters certainly stood in the queue, and from when. A
// waiter's arrival is not answered, but a status counts those who wait: if it
// counts as many as can wait at all, all of them do.
func arrivals(calls []Call) []*step {
	waits := waiting(calls)
	since := make(map[*Call]Instant)
	for i := range calls {
		s := &calls[i]
		if s.Outcome != Shown || s.Answer.Waiters == 0 {
			continue
		}
		var open []*Call
		for _, w := range waits {
			if w.Sent > s.Received {
				break
			}
			if w.Replica == s.Replica && w.Life == s.Life && openUntil(w) >= s.Sent {
				open = append(open, w)
			}
		}
		if len(open) != s.Answer.Waiters {
			continue
		}
		for _, w := range open {
			if at, known := since[w]; !known || s.Received < at {
				since[w] = s.Received
			}
		}
	}
	var steps []*step
	together := make(map[Instant]*step)
	for w, at := range since {
		gone := leaves(w)
		if at >= gone {
			continue // it may have been served, or have left, when that was read
		}
		if s := together[at]; s != nil {
			s.others = append(s.others, w.Attempt)
		} else {
			s = &step{what: arrived, attempt: w.Attempt, life: w.Life, from: at, to: at}
			together[at] = s
			steps = append(steps, s)
		}
		if w.Outcome != Won || gone < decidedAfter(w) {
			steps = append(steps, &step{what: left, attempt: w.Attempt, life: w.Life, from: gone, to: gone})
		}
	}
	slices.SortFunc(steps, func(a, b *step) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.attempt, b.attempt), cmp.Compare(a.what, b.what))
	})
	return steps
}

// waiting returns the calls that may have stood in a queue.
func waiting(calls []Call) []*Call {
	var waits []*Call
	for i := range calls {
		if c := &calls[i]; c.Verb == Campaign && c.Wait > 0 {
			waits = append(waits, c)
		}
	}
	return waits
}

// openUntil is the last instant at which the server may have counted the call
// among those who wait. It does not notice at once that somebody hung up.
func openUntil(c *Call) Instant { return c.Received }

// leaves is the first instant at which the call may have left the queue: granted,
// timed out, or hung up. Whoever timed out is told who leads then, and that may be
// some time later.
func leaves(c *Call) Instant {
	over := min(c.Sent.Add(c.Wait), c.Received)
	switch {
	case c.Outcome == Refused || c.Outcome == Strange:
		return c.Sent
	case c.HungUp != 0:
		return min(c.HungUp, over)
	case c.Outcome == Won:
		return min(decidedAfter(c), over)
	default:
		return over
	}
}

// crashes returns the ends of those lives in which the name was called.
func crashes(h *History, calls []Call) []*step {
	type life struct{ replica, number int }
	seen := make(map[life]bool)
	for i := range calls {
		seen[life{calls[i].Replica, calls[i].Life}] = true
	}
	var steps []*step
	for _, l := range h.Lives {
		if seen[life{l.Replica, l.Number}] {
			steps = append(steps, &step{what: crashed, life: l.Number, from: l.Ending, to: l.Ended})
		}
	}
	return steps
}
