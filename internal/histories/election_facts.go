package histories

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Facts implements Kind. It knows nothing of the model.
func (Elections) Facts(h *History, calls []Call) []Problem {
	f := &roomFacts{calls: calls, drift: h.drift(), reigns: make(map[int64]*reignFacts)}
	f.gather()
	f.answers()
	f.termsRise()
	f.authority()
	f.resignations()
	f.repeats()
	return f.problems
}

// roomFacts is what the calls on a room say directly.
type roomFacts struct {
	calls    []Call
	drift    int64                 // of the wall clock, milliseconds
	reigns   map[int64]*reignFacts // by term
	problems []Problem
}

// reignFacts is what is known of one term.
type reignFacts struct {
	term    int64
	attempt Attempt
	token   string
	grant   *Call   // the first call that was told that it leads, nil if none was
	own     []*Call // of its leader: what may extend or end it, in the order of sending
	ends    *Call   // the first resignation that was confirmed
}

func (f *roomFacts) problem(text string, calls ...*Call) {
	p := Problem{Text: text}
	for _, c := range calls {
		p.Calls = append(p.Calls, *c)
	}
	f.problems = append(f.problems, p)
}

// names returns the term that the call was told to be in force, 0 if none.
func names(c *Call) int64 {
	switch c.Outcome {
	case Won, Following, Shown:
		return c.Answer.Term
	case Resigned, NotCurrent, Conflict, Refused, Unknown, Lost, Strange:
	}
	return 0
}

// gather sorts the calls by the term that they are about. Each term belongs to one
// attempt and has one token.
func (f *roomFacts) gather() {
	for i := range f.calls {
		c := &f.calls[i]
		if term := names(c); term != 0 {
			r := f.reign(term, c.Answer.Leader)
			if r.attempt != c.Answer.Leader {
				f.problem(fmt.Sprintf("term %d belongs to %s and to %s: it was given twice", term, r.attempt, c.Answer.Leader), c)
			}
			if c.Outcome == Won {
				if r.token == "" {
					r.token = c.Answer.Token
				}
				if r.token != c.Answer.Token {
					f.problem(fmt.Sprintf("term %d has two tokens", term), c)
				}
				if c.Attempt != c.Answer.Leader {
					f.problem("it is told that it leads under another's name", c)
				}
			}
		}
		f.own(c)
	}
}

func (f *roomFacts) reign(term int64, attempt Attempt) *reignFacts {
	r := f.reigns[term]
	if r == nil {
		r = &reignFacts{term: term, attempt: attempt}
		f.reigns[term] = r
	}
	return r
}

// own keeps a leader's calls with its reign.
func (f *roomFacts) own(c *Call) {
	switch c.Verb {
	case Campaign:
		if c.Outcome == Won {
			r := f.reign(c.Answer.Term, c.Attempt)
			r.own = append(r.own, c)
			if r.grant == nil || c.Received < r.grant.Received {
				r.grant = c
			}
		}
	case Renew, Resign:
		r := f.reign(c.Term, c.Attempt)
		r.own = append(r.own, c)
		if c.Outcome == Resigned && (r.ends == nil || c.Received < r.ends.Received) {
			r.ends = c
		}
	case Status:
	}
}

// answers checks each answer by itself.
func (f *roomFacts) answers() {
	for i := range f.calls {
		c := &f.calls[i]
		a := &c.Answer
		took := c.Received.Sub(c.Sent)
		switch {
		case c.Outcome == Strange:
			f.problem("an answer that has no place here", c)
		case c.Outcome == Resigned && a.Term != c.Term:
			f.problem("the resignation ended another term", c)
		case c.Outcome == Following && took < c.Wait:
			f.problem("the answer came before the wait was over", c)
		case a.Waited > took:
			// Also without a wait it need not be 0: what was decided may have run out
			// before it could be told, and was decided anew.
			f.problem("waited_ms is more than the call took", c)
		case c.Outcome == Won:
			f.announced(c)
		}
	}
}

// announced compares the expiry that a leader was told with the instants between
// which that can have been decided.
func (f *roomFacts) announced(c *Call) {
	ttl := c.TTL
	if ttl == 0 {
		return // the lease's own; the model knows it
	}
	soonest := c.SentWall + ttl.Milliseconds() + c.Answer.Waited.Milliseconds()
	latest := c.ReceivedWall + ttl.Milliseconds()
	if c.Verb == Campaign && c.Keyed {
		latest = c.ReceivedWall + longTTL.Milliseconds() // a repeat never shortens
	}
	if e := c.Answer.Expires; e < soonest-f.drift || e > latest+f.drift {
		f.problem(fmt.Sprintf("the announced expiry is not in %d to %d", soonest, latest), c)
	}
}

// termsRise: whoever asks after an answer was given is told no smaller term.
func (f *roomFacts) termsRise() {
	var told []*Call
	for i := range f.calls {
		if names(&f.calls[i]) != 0 {
			told = append(told, &f.calls[i])
		}
	}
	received := slices.SortedFunc(slices.Values(told), func(a, b *Call) int { return cmp.Compare(a.Received, b.Received) })
	var highest *Call
	for _, c := range told { // in the order of sending
		for len(received) > 0 && received[0].Received < c.Sent {
			if highest == nil || names(received[0]) > names(highest) {
				highest = received[0]
			}
			received = received[1:]
		}
		if highest != nil && names(c) < names(highest) {
			f.problem("the term went back", highest, c)
		}
	}
}

// resignations: what was given up stays so.
func (f *roomFacts) resignations() {
	for i := range f.calls {
		c := &f.calls[i]
		if r := f.reigns[names(c)]; r != nil && r.ends != nil && c.Sent > r.ends.Received {
			f.problem("an acknowledged resignation is gone", r.ends, c)
		}
	}
}

// repeats: every campaign with a key whose answer was lost is told, when it is
// repeated, what became of it.
func (f *roomFacts) repeats() {
	uncertain := make(map[Attempt]*Call)
	for i := range f.calls {
		c := &f.calls[i]
		if c.Verb != Campaign || !c.Keyed {
			continue
		}
		switch c.Outcome {
		case Lost, Unknown:
			uncertain[c.Attempt] = c
		case Won, Following, Conflict:
			delete(uncertain, c.Attempt)
		case Resigned, Shown, NotCurrent, Refused, Strange:
		}
	}
	for _, c := range uncertain {
		f.problem("what became of it could not be found out by its key", c)
	}
}

// drift bounds, in milliseconds, by how much the wall clock can have moved against
// the boot clock in the course of the run, the precision of both readings included.
func (h *History) drift() int64 {
	least, most := int64(1)<<62, -int64(1)<<62
	for i := range h.Calls {
		c := &h.Calls[i]
		offset := c.SentWall - int64(c.Sent)/int64(time.Millisecond)
		least, most = min(least, offset), max(most, offset)
	}
	return max(0, most-least) + 2
}
