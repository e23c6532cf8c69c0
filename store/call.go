package store

import (
	"context"
	"errors"
	"time"

	"github.com/octostore/octostore/lease"
)

// Call is a request whose caller does not block: it looks for the answer with
// Poll. It is for drivers that own the committer, which are those of a Manual
// pipeline: they submit, Step and Poll on one goroutine, so that one seed gives
// one history. A caller that has its own goroutine uses Acquire, Renew and
// Release, which decide by the same steps.
//
// A Call belongs to its driver's goroutine. It may also be told to Leave or
// EndWait from inside a group, by what the backend calls while it commits.
type Call struct {
	p       *Pipeline
	cancel  context.CancelFunc
	verb    verb
	attempt attempt  // of an acquire
	request *request // the one that is on its way, nil once answered
	giving  bool     // the request gives back what a caller got that had left

	out lease.Outcome
	err error
}

// StartAcquire submits what Acquire would; see there. The wait is ended by
// EndWait, which the driver owes once wait has passed.
func (p *Pipeline) StartAcquire(ctx context.Context, key lease.Key, req lease.Acquire, wait time.Duration) *Call {
	c := p.newCall(ctx, verbAcquire)
	c.attempt.key, c.attempt.req, c.attempt.wait = key, &req, wait
	c.send()
	return c
}

// StartRenew submits what Renew would.
func (p *Pipeline) StartRenew(ctx context.Context, key lease.Key, ref lease.Ref, ttl time.Duration) *Call {
	c := p.newCall(ctx, verbRenew)
	c.submit(&request{key: key, verb: verbRenew, ref: ref, ttl: ttl})
	return c
}

// StartRelease submits what Release would.
func (p *Pipeline) StartRelease(ctx context.Context, key lease.Key, ref lease.Ref) *Call {
	c := p.newCall(ctx, verbRelease)
	c.submit(&request{key: key, verb: verbRelease, ref: ref})
	return c
}

func (p *Pipeline) newCall(ctx context.Context, v verb) *Call {
	ctx, cancel := context.WithCancel(ctx)
	return &Call{p: p, cancel: cancel, verb: v, attempt: attempt{ctx: ctx}}
}

// Poll reports whether the call was answered, and with what. It never blocks,
// and gives the same answer again when it is asked again. An acquire whose wait
// was over when its turn came, and the giving back of a grant that nobody heard
// of, take further groups; until then it is not answered.
func (c *Call) Poll() (out lease.Outcome, answered bool, err error) {
	if c.request != nil {
		select {
		case a := <-c.request.done:
			c.take(a, false)
		default:
		}
	}
	return c.out, c.request == nil, c.err
}

// Leave is the caller hanging up, as the end of the context of Acquire is.
func (c *Call) Leave() {
	c.cancel()
	if c.request != nil && !c.giving && c.p.withdraw(c.request, true) {
		c.answer(lease.Outcome{}, context.Canceled)
	}
}

// EndWait is the end of the wait for the name. A call that stands in a lane, or
// is being decided, is answered when its turn comes.
func (c *Call) EndWait() {
	if c.request != nil && c.request.wait > 0 && c.p.withdraw(c.request, false) {
		c.take(answer{}, true)
	}
}

// take goes on from what became of the present request.
func (c *Call) take(a answer, over bool) {
	switch {
	case c.giving:
		c.answer(lease.Outcome{}, errors.Join(context.Canceled, a.err))
		return
	case c.verb != verbAcquire:
		c.answer(a.out, a.err)
		return
	}
	switch out, next, err := c.attempt.conclude(a, over); next {
	case stepAnswer:
		c.answer(out, err)
	case stepSend:
		c.send()
	case stepGiveBack:
		c.giving = true
		c.attempt.ctx = context.WithoutCancel(c.attempt.ctx)
		c.submit(&request{key: c.attempt.key, verb: verbGiveBack, ref: out.Record.Ref()})
	}
}

func (c *Call) send() {
	out, refused, err := c.p.send(&c.attempt)
	if refused || err != nil {
		c.answer(out, err)
		return
	}
	c.request = c.attempt.request
}

func (c *Call) submit(r *request) {
	r.ctx, r.lane, r.done = c.attempt.ctx, first, make(chan answer, 1)
	c.request = r
	if err := c.p.submit(r); err != nil {
		c.take(answer{err: err}, false)
	}
}

// answer ends the call.
func (c *Call) answer(out lease.Outcome, err error) {
	key := c.attempt.key
	if c.verb != verbAcquire {
		key = c.request.key
	}
	c.p.count(key, c.verb, out, err)
	c.request, c.out, c.err = nil, out, err
	c.cancel()
}
