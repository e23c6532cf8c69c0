package histories

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// Life is one run of one replica, from its start to the end of its process.
type Life struct {
	Replica, Number int
	Launched        Instant
	Ready           Instant       // first 200 on /readyz; 0 if it was killed before
	Stolen          time.Duration // of the time until then, by the machine
	Ending          Instant       // just before the signal that ended it
	Ended           Instant       // when the process was certainly gone
}

// Readiness is how long the replica took from its start until it was ready, 0 if
// it was killed before.
func (l Life) Readiness() time.Duration {
	if l.Ready == 0 {
		return 0
	}
	return l.Ready.Sub(l.Launched)
}

// History is all that is known of a run.
type History struct {
	Plan  Plan
	Calls []Call // in the order of sending
	Lives []Life // in the order of their ends
	Kills int    // of them, that were killed in the course of the run
	// Accidents are what the run itself came across: a server that ended by itself,
	// a call that hung.
	Accidents []string
}

// Problem is one thing that must not be.
type Problem struct {
	Name string // the name that it is about; empty for the run
	Text string
	// Calls are those that show it, or all of the name if one can not tell.
	Calls []Call
}

// String returns the problem with its calls, one a line.
func (p Problem) String() string {
	var b strings.Builder
	if p.Name != "" {
		b.WriteString(p.Name + ": ")
	}
	b.WriteString(p.Text)
	for i := range p.Calls {
		b.WriteString("\n\t" + p.Calls[i].String())
	}
	return b.String()
}

// ByName returns the calls on each name, in the order of sending.
func (h *History) ByName() map[string][]Call {
	all := make(map[string][]Call)
	for _, c := range h.Calls {
		all[c.Name] = append(all[c.Name], c)
	}
	return all
}

// settle puts the calls in order and bounds each by the life of its server. A call
// without an answer may have been decided at any instant until that life ended; so
// may one whose answer was read from the network only later. A call that was sent
// after that end reached nobody, and is dropped.
func (h *History) settle() {
	slices.SortFunc(h.Lives, func(a, b Life) int { return cmp.Compare(a.Ended, b.Ended) })
	type life struct{ replica, number int }
	ends := make(map[life]Instant)
	for _, l := range h.Lives {
		ends[life{l.Replica, l.Number}] = l.Ended
	}
	h.Calls = slices.DeleteFunc(h.Calls, func(c Call) bool {
		return c.Outcome == Lost && c.Sent > ends[life{c.Replica, c.Life}]
	})
	for i := range h.Calls {
		c := &h.Calls[i]
		end := ends[life{c.Replica, c.Life}]
		if c.Outcome.Uncertain() || c.Received > end {
			c.Received = end
		}
	}
	slices.SortStableFunc(h.Calls, func(a, b Call) int { return cmp.Compare(a.Sent, b.Sent) })
}
