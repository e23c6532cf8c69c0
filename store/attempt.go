package store

import (
	"context"
	"errors"
	"time"

	"github.com/octostore/octostore/lease"
)

// attempt is an acquire on its way to an answer: what is submitted, and what is
// made of the answer, for callers that block and for those that do not.
type attempt struct {
	ctx     context.Context
	key     lease.Key
	req     *lease.Acquire
	wait    time.Duration // 0 once it is over
	waited  bool          // the wait is over and the name was free at that moment
	request *request
}

// step is what has to follow the answer to an attempt's request.
type step uint8

const (
	stepAnswer   step = iota // it is the caller's
	stepSend                 // once more, without waiting
	stepGiveBack             // it grants what nobody hears of
)

// send submits the attempt. A refusal that needs no write and no place in a
// queue is given from the committed record instead, also once a wait is over.
// Whoever may turn out to be the holder is never refused that way: another call
// with the same key may have got the name in the moment in which the wait ended.
func (p *Pipeline) send(t *attempt) (out lease.Outcome, refused bool, err error) {
	if t.wait <= 0 && len(t.req.Idem) == 0 && t.req.Proof == nil && t.req.Bound == nil {
		if out, refused, err := p.refusal(t.ctx, t.key); refused || err != nil {
			return out, refused, err
		}
	}
	t.request = &request{
		ctx: t.ctx, key: t.key, verb: verbAcquire, acquire: t.req, lane: second, wait: max(0, t.wait),
		done: make(chan answer, 1),
	}
	if t.wait > 0 {
		t.request.until = p.backend.Now().At.Add(t.wait)
	}
	return lease.Outcome{}, false, p.submit(t.request)
}

// conclude says what has to follow the answer to the request, or the end of its
// wait without one.
func (t *attempt) conclude(a answer, over bool) (lease.Outcome, step, error) {
	if !over && !errors.Is(a.err, errWaitOver) {
		if a.err == nil && a.out.Verdict == lease.Granted && len(t.req.Idem) == 0 && t.ctx.Err() != nil && !mutant("give-back-forgotten") {
			return a.out, stepGiveBack, nil
		}
		a.out.Waited = a.out.Waited || t.waited
		return a.out, stepAnswer, a.err
	}
	if err := t.ctx.Err(); err != nil {
		return lease.Outcome{}, stepAnswer, err
	}
	t.wait, t.waited = 0, true // free at this very moment: one more try, without waiting
	return lease.Outcome{}, stepSend, nil
}
