package histories

import (
	"context"
	"fmt"
	"strconv"
	"time"
)

// Times of the clients. The TTL is the shortest that the contract has, so that
// leases end by themselves while somebody watches.
const (
	shortTTL  = 5 * time.Second
	longTTL   = 6 * time.Second
	mostLeads = 2 // leases that one client leads at a time
	mostKept  = 6 // ended leases whose tokens a client tries again
	thinkTime = 6 * time.Millisecond
)

// Elections is the kind of the anonymous product.
type Elections struct{}

// Play implements Kind.
func (Elections) Play(ctx context.Context, c *Client) {
	p := &candidate{Client: c, eye: newClient(c.world, c.Plan().Clients+c.ID)}
	defer p.eye.close()
	for c.Phase() != Settle {
		if !p.step(ctx) || !c.Pause(ctx, thinkTime) {
			break
		}
	}
	for len(p.open) > 0 && p.repeat(ctx) {
	}
	c.log = append(c.log, p.eye.log...)
}

// Survey implements Kind.
func (Elections) Survey(ctx context.Context, c *Client) {
	for i := range c.Plan().Names {
		status(ctx, c, roomName(i))
	}
}

func roomName(i int) string { return fmt.Sprintf("room-%04d", i) }

// candidate is a client of elections.
type candidate struct {
	*Client
	eye  *Client      // calls while the candidate itself waits for an answer
	led  []*reign     // leases that it leads, as far as it knows
	past []*reign     // leases that are over
	open []*candidacy // campaigns with a key of which it does not know what became
}

// step is one thing that a candidate does. It reports false when ctx has ended.
func (p *candidate) step(ctx context.Context) bool {
	roll := p.Rand.Float64()
	switch {
	case len(p.open) > 0 && roll < 0.8:
		return p.repeat(ctx)
	case len(p.led) > 0 && roll < 0.6 || len(p.led) >= mostLeads:
		return p.lead(ctx, p.Rand.IntN(len(p.led)))
	case len(p.past) > 0 && roll > 0.95:
		return p.haunt(ctx, p.past[p.Rand.IntN(len(p.past))])
	case roll > 0.87:
		_, ok := status(ctx, p.Client, roomName(p.PickName()))
		return ok
	default:
		return p.stand(ctx)
	}
}

// stand begins a new attempt.
func (p *candidate) stand(ctx context.Context) bool {
	a := &candidacy{attempt: p.NextAttempt(), room: roomName(p.PickName()), ttl: shortTTL}
	if p.Rand.IntN(8) == 0 {
		a.ttl = longTTL
	}
	if p.Rand.Float64() < 0.6 {
		// A client that wants to find its lease again draws a key.
		a.key = "key." + a.attempt.String() + "." + strconv.FormatUint(p.Rand.Uint64(), 36) + strconv.FormatUint(p.Rand.Uint64(), 36)
	}
	if p.Rand.Float64() < 0.35 {
		a.wait = p.waitTime()
	}
	var hasty time.Duration
	if a.wait > 0 && a.key == "" && p.Rand.IntN(5) == 0 {
		hasty = time.Duration(1+p.Rand.IntN(60)) * time.Millisecond
	}
	beside := p.beside(ctx, a)
	call, ok := campaign(ctx, p.Client, a, hasty)
	twin := <-beside
	if !ok {
		return false
	}
	if twin == nil {
		return p.take(ctx, a, &call)
	}
	// Either of two equal calls may have got the lease. While one of them does not
	// know, nobody does.
	unsure := call.Outcome.Uncertain() || twin.Outcome.Uncertain()
	if twin.Outcome == Won || twin.Outcome.Uncertain() && call.Outcome != Won {
		call = *twin
	}
	if !p.take(ctx, a, &call) {
		return false
	}
	if unsure && call.Outcome == Won {
		return p.again(ctx, p.led[len(p.led)-1])
	}
	return true
}

// waitTime draws how long to wait: short while servers are killed, because no wait
// outlives its server, and long enough to see a lease end once it is calm.
func (p *candidate) waitTime() time.Duration {
	if p.Phase() == Storm {
		return time.Duration(10+p.Rand.IntN(200)) * time.Millisecond
	}
	return time.Duration(50+p.Rand.IntN(3000)) * time.Millisecond
}

// beside does something while a campaign is under way, and returns the call if that
// was the same campaign once more.
//
// Mostly it reads the room a little after a campaign was sent that waits. If all who
// may wait then do, it is proven who came before whom.
func (p *candidate) beside(ctx context.Context, a *candidacy) <-chan *Call {
	done := make(chan *Call, 1)
	roll := p.Rand.IntN(8)
	switch {
	case a.key != "" && roll == 0:
		twin := *a
		if a.wait > 0 {
			twin.wait = p.waitTime()
		}
		go func() {
			var call Call
			ok := p.eye.Pause(ctx, 2*time.Millisecond)
			if ok {
				call, ok = campaign(ctx, p.eye, &twin, 0)
			}
			if !ok {
				done <- nil
				return
			}
			done <- &call
		}()
	case a.wait > 0 && roll < 6:
		go func() {
			if p.eye.Pause(ctx, 4*time.Millisecond) {
				status(ctx, p.eye, a.room)
			}
			done <- nil
		}()
	default:
		done <- nil
	}
	return done
}

// take goes on from the answer to a campaign.
func (p *candidate) take(ctx context.Context, a *candidacy, call *Call) bool {
	switch {
	case call.Outcome == Won:
		p.led = append(p.led, &reign{candidacy: *a, term: call.Answer.Term, token: call.Answer.Token})
	case call.Outcome.Uncertain() && a.key != "":
		p.open = append(p.open, a)
		if p.Rand.IntN(4) > 0 {
			return p.repeat(ctx)
		}
	}
	return true
}

// repeat sends the oldest campaign again of which the outcome is not known, until
// it is.
func (p *candidate) repeat(ctx context.Context) bool {
	a := p.open[0]
	for {
		call, ok := campaign(ctx, p.Client, a, 0)
		if !ok {
			return false
		}
		if !call.Outcome.Uncertain() && call.Outcome != Refused {
			p.open = p.open[1:]
			if foundAgain(&call) {
				p.Found()
			}
			return p.take(ctx, a, &call)
		}
		if !p.Pause(ctx, thinkTime) {
			return false
		}
	}
}

// lead does something with a lease: mostly a renewal, or a resignation.
func (p *candidate) lead(ctx context.Context, i int) bool {
	r := p.led[i]
	switch roll := p.Rand.Float64(); {
	case roll < 0.45:
		return p.extend(ctx, r)
	case roll < 0.87:
		return p.leave(ctx, r)
	case roll < 0.93 && r.key != "":
		return p.again(ctx, r)
	default:
		// It just stops renewing.
		p.retire(r)
		return true
	}
}

// again sends the campaign that won once more, until it knows what came of that. It
// finds the same lease.
func (p *candidate) again(ctx context.Context, r *reign) bool {
	for {
		call, ok := campaign(ctx, p.Client, &r.candidacy, 0)
		switch {
		case !ok:
			return false
		case call.Outcome.Uncertain() || call.Outcome == Refused:
			if !p.Pause(ctx, thinkTime) {
				return false
			}
			continue
		case call.Outcome != Won:
			p.retire(r)
		default:
			r.term, r.token = call.Answer.Term, call.Answer.Token
		}
		return true
	}
}

// extend renews a lease until it knows whether that happened.
func (p *candidate) extend(ctx context.Context, r *reign) bool {
	var ttl time.Duration
	if p.Rand.IntN(3) == 0 {
		ttl = shortTTL
	}
	for {
		call, ok := renew(ctx, p.Client, r, ttl)
		switch {
		case !ok:
			return false
		case call.Outcome.Uncertain():
			if !p.Pause(ctx, thinkTime) {
				return false
			}
			continue
		case call.Outcome == NotCurrent:
			p.retire(r)
		}
		return true
	}
}

// leave resigns, until it knows that the lease is over.
func (p *candidate) leave(ctx context.Context, r *reign) bool {
	for {
		call, ok := resign(ctx, p.Client, r)
		if !ok {
			return false
		}
		if call.Outcome == Resigned || call.Outcome == NotCurrent {
			p.retire(r)
			return true
		}
		if !p.Pause(ctx, thinkTime) {
			return false
		}
	}
}

// haunt uses the token, or the key, of a lease that is over. It may touch nobody.
func (p *candidate) haunt(ctx context.Context, r *reign) bool {
	switch p.Rand.IntN(4) {
	case 0:
		_, ok := renew(ctx, p.Client, r, 0)
		return ok
	case 1:
		if r.key != "" {
			call, ok := campaign(ctx, p.Client, &r.candidacy, 0)
			return ok && p.take(ctx, &r.candidacy, &call)
		}
		fallthrough
	default:
		_, ok := resign(ctx, p.Client, r)
		return ok
	}
}

// retire moves a lease from those that are led to those that are over.
func (p *candidate) retire(r *reign) {
	for i := range p.led {
		if p.led[i] == r {
			p.led = append(p.led[:i], p.led[i+1:]...)
			break
		}
	}
	if len(p.past) == mostKept {
		p.past = p.past[1:]
	}
	p.past = append(p.past, r)
}
