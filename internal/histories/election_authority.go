package histories

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// hold is a stretch of time in which a lease was certainly in force, as its leader
// can prove without the server's clock: from when it was told, until its TTL after
// it asked, unless it did something meanwhile that may have ended it earlier.
type hold struct {
	from, until Instant // until is not included
	reign       *reignFacts
	proof       *Call
}

// holds returns the stretches of one term.
func (r *reignFacts) holds() []hold {
	var all []hold
	for _, proof := range r.own {
		if proof.Outcome != Won {
			continue
		}
		ttl := proof.TTL
		if ttl == 0 {
			ttl = shortTTL // the lease's own is not shorter
		}
		h := hold{from: proof.Received, until: decidedAfter(proof).Add(ttl), reign: r, proof: proof}
		for _, other := range r.own {
			if other != proof && other.Received >= proof.Sent {
				h.until = min(h.until, certainUntil(other))
			}
		}
		if h.from < h.until {
			all = append(all, h)
		}
	}
	return all
}

// certainUntil returns until when a lease is certain in spite of a call of its
// leader: a resignation may end it from its sending on, a renewal may shorten it to
// the shortest TTL.
func certainUntil(c *Call) Instant {
	if c.Outcome != NotCurrent && c.Outcome != Refused {
		switch c.Verb {
		case Resign:
			return c.Sent
		case Renew:
			return c.Sent.Add(shortTTL)
		case Campaign, Status:
		}
	}
	return 1<<63 - 1
}

// authority: while a lease is certainly in force nobody is told anything else, and
// no two are in force at one time.
func (f *roomFacts) authority() {
	var holds []hold
	for _, r := range f.reigns {
		holds = append(holds, r.holds()...)
	}
	slices.SortFunc(holds, func(a, b hold) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.reign.term, b.reign.term))
	})
	for i := 1; i < len(holds); i++ {
		a, b := &holds[i-1], &holds[i]
		if a.reign != b.reign && b.from < a.until {
			f.problem(fmt.Sprintf("terms %d and %d are both in force from %d to %d", a.reign.term, b.reign.term, b.from, min(a.until, b.until)), a.proof, b.proof)
		}
		if a.until > b.until {
			b.until, b.reign, b.proof = a.until, a.reign, a.proof // the longer one is compared with the next
		}
	}
	f.contradictions()
}

// contradictions looks for answers that were decided while a lease was certainly
// in force and say otherwise.
func (f *roomFacts) contradictions() {
	var longest time.Duration // that an answer took: a wait that was sent before may have been decided within
	for i := range f.calls {
		if c := &f.calls[i]; !c.Outcome.Uncertain() {
			longest = max(longest, c.Received.Sub(c.Sent))
		}
	}
	for _, r := range f.reigns {
		for _, h := range r.holds() {
			first, _ := slices.BinarySearchFunc(f.calls, h.from.Add(-longest), func(c Call, at Instant) int { return cmp.Compare(c.Sent, at) })
			for i := first; i < len(f.calls) && f.calls[i].Sent < h.until; i++ {
				c := &f.calls[i]
				if decidedAfter(c) > h.from && c.Received < h.until && denies(c, r) {
					f.problem(fmt.Sprintf("term %d was certainly in force: an acknowledged change is gone, or two lead", r.term), h.proof, c)
				}
			}
		}
	}
}

// denies tells whether an answer says that the reign is not in force.
func denies(c *Call, r *reignFacts) bool {
	switch c.Outcome {
	case Won, Following, Shown:
		return c.Answer.Term != r.term
	case NotCurrent:
		return c.Term == r.term
	case Resigned, Conflict, Refused, Unknown, Lost, Strange:
	}
	return false
}
