package histories

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Tally is what a history covers. A history that covers nothing proves nothing.
type Tally struct {
	Seed           uint64
	Clients, Names int
	Calls, Lives   int
	Kills          int
	Early          int // of them, before the server was ready

	LostAnswers int // calls without an answer
	HungUp      int // of them, because the client hung up
	OpenKeys    int // campaigns with a key whose answer was lost
	Recovered   int // of them, whose lease was found by repeating the key
	Wanted      int // how many of those the plan asks for
	Anew        int // of them, that provably never got a lease before the repeat did
	Elsewhere   int // of them, that do not lead: another does, or their lease is over

	Grants, Renewals, Resignations int // acknowledged
	Repeats                        int // of campaigns that found the present lease
	Expiries                       int // terms that ended without their leader's doing
	Stale                          int // calls with a token of a lease that was over, and were refused
	WaitsGranted, WaitsOver        int
	Places                         int // places in a queue of which the order is proven

	Readiness []time.Duration // ascending
	Net       []time.Duration // the same without what the machine stole, ascending
}

func newTally(h *History) *Tally {
	t := &Tally{Seed: h.Plan.Seed, Clients: h.Plan.Clients, Names: h.Plan.Names, Wanted: h.Plan.Found, Calls: len(h.Calls), Lives: len(h.Lives), Kills: h.Kills}
	for _, l := range h.Lives {
		if l.Ready == 0 {
			t.Early++
			continue
		}
		t.Readiness = append(t.Readiness, l.Readiness())
		t.Net = append(t.Net, max(0, l.Readiness()-l.Stolen))
	}
	slices.Sort(t.Readiness)
	slices.Sort(t.Net)
	return t
}

// Quantile returns what a part of the ascending times did not exceed.
func Quantile(times []time.Duration, part float64) time.Duration {
	if len(times) == 0 {
		return 0
	}
	return times[min(len(times)-1, int(part*float64(len(times))))].Round(time.Millisecond)
}

// Missing returns what the history does not cover at all, of what it has to. A plan
// that asks for no lost grant to be found again is too small to be sure of one.
func (t *Tally) Missing() []string {
	type cover struct {
		what string
		n    int
	}
	all := []cover{
		{"kills", t.Kills},
		{"lost answers", t.LostAnswers},
		{"campaigns with a key whose answer was lost", t.OpenKeys},
		{"clients that hung up", t.HungUp},
		{"grants", t.Grants},
		{"renewals", t.Renewals},
		{"resignations", t.Resignations},
		{"leases that ended by themselves", t.Expiries},
		{"stale tokens refused", t.Stale},
		{"waits that were granted", t.WaitsGranted},
		{"waits that were over", t.WaitsOver},
		{"proven places in a queue", t.Places},
	}
	if t.Wanted > 0 {
		all = append(all,
			cover{"lost grants found again by their key, as many as the plan asks for", t.Recovered - t.Wanted + 1},
			cover{"lost campaigns that the repeat began anew", t.Anew})
	}
	var missing []string
	for _, c := range all {
		if c.n <= 0 {
			missing = append(missing, c.what)
		}
	}
	return missing
}

// String returns a report of a few lines.
func (t *Tally) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d: %d clients, %d names, %d calls in %d lives, %d kills (%d before ready)\n",
		t.Seed, t.Clients, t.Names, t.Calls, t.Lives, t.Kills, t.Early)
	fmt.Fprintf(&b, "ready after a start: median %v, p99 %v, most %v; without stalls of the machine p99 %v, most %v\n",
		Quantile(t.Readiness, 0.5), Quantile(t.Readiness, 0.99), Quantile(t.Readiness, 1), Quantile(t.Net, 0.99), Quantile(t.Net, 1))
	fmt.Fprintf(&b, "%d answers lost, %d of them hung up; %d campaigns with a key lost, %d leases found again, %d begun anew, %d not leading\n",
		t.LostAnswers, t.HungUp, t.OpenKeys, t.Recovered, t.Anew, t.Elsewhere)
	fmt.Fprintf(&b, "acknowledged: %d grants, %d renewals, %d repeats, %d resignations; %d leases ended by themselves, %d stale tokens refused\n",
		t.Grants, t.Renewals, t.Repeats, t.Resignations, t.Expiries, t.Stale)
	fmt.Fprintf(&b, "%d waits granted, %d over; %d places in queues proven", t.WaitsGranted, t.WaitsOver, t.Places)
	return b.String()
}

// Count implements Kind.
func (Elections) Count(_ *History, calls []Call, t *Tally) {
	open := make(map[Attempt]bool)
	granted, ended := make(map[int64]bool), make(map[int64]bool)
	var highest int64
	for i := range calls {
		c := &calls[i]
		highest = max(highest, names(c))
		if c.Outcome == Lost {
			t.LostAnswers++
		}
		if c.HungUp != 0 {
			t.HungUp++
		}
		if c.Outcome == NotCurrent {
			t.Stale++
		}
		switch c.Verb {
		case Campaign:
			countCampaign(c, t, open, granted)
		case Renew:
			if c.Outcome == Won {
				t.Renewals++
			}
		case Resign:
			ended[c.Term] = true
			if c.Outcome == Resigned {
				t.Resignations++
			}
		case Status:
		}
	}
	for term := range granted {
		// A later term proves the end; the leader never asked for it.
		if term < highest && !ended[term] {
			t.Expiries++
		}
	}
	for _, s := range arrivals(calls) {
		if s.what == arrived {
			t.Places += 1 + len(s.others)
		}
	}
}

func countCampaign(c *Call, t *Tally, open map[Attempt]bool, granted map[int64]bool) {
	if c.Wait > 0 && c.Outcome == Won && c.Answer.Waited > 0 {
		t.WaitsGranted++
	}
	if c.Wait > 0 && c.Outcome == Following {
		t.WaitsOver++
	}
	if c.Outcome == Won {
		if granted[c.Answer.Term] {
			t.Repeats++
		} else {
			t.Grants++
		}
		granted[c.Answer.Term] = true
	}
	switch {
	case !c.Keyed:
	case c.Outcome.Uncertain():
		if !open[c.Attempt] {
			t.OpenKeys++
		}
		open[c.Attempt] = true
	case !open[c.Attempt] || c.Outcome == Refused || c.Outcome == Strange:
	case c.Outcome != Won:
		t.Elsewhere++
		delete(open, c.Attempt)
	case foundAgain(c):
		t.Recovered++
		delete(open, c.Attempt)
	default:
		t.Anew++
		delete(open, c.Attempt)
	}
}

// foundAgain tells whether a campaign that was won found a lease that had been
// granted before it was sent: a term is not below the time of its grant in
// microseconds.
func foundAgain(c *Call) bool { return c.Outcome == Won && c.Answer.Term < c.SentWall*1000 }
