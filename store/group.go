package store

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/octostore/octostore/lease"
)

// group is what is decided and committed together. It belongs to the
// committer and is reused.
type group struct {
	requests []*request
	due      []lease.Key
	wakes    []lease.Key
	stale    []lease.Key
	answers  []pending
	joined   []*request // began to wait in this group
	taken    []*place   // left their queue in this group
	keys     []lease.Key
	began    time.Time
}

// pending is an answer that waits for the commit.
type pending struct {
	request *request
	answer  answer
	changes bool // the answer tells of a change, which may or may not have happened if the commit fails
}

func (g *group) reset() {
	clear(g.requests)
	clear(g.answers)
	clear(g.joined)
	clear(g.taken)
	clear(g.keys)
	*g = group{
		requests: g.requests[:0], answers: g.answers[:0], joined: g.joined[:0],
		taken: g.taken[:0], keys: g.keys[:0],
	}
}

func (g *group) reply(r *request, out lease.Outcome, err error) {
	g.answers = append(g.answers, pending{r, answer{out, err}, changes(out.Verdict) && err == nil})
}

// changes tells whether a verdict speaks of a change that has to be durable.
func changes(v lease.Verdict) bool {
	switch v {
	case lease.Granted, lease.Confirmed, lease.Released:
		return true
	case lease.Taken, lease.Delayed, lease.NotCurrent, lease.Repeated, lease.Conflict, lease.Full,
		lease.NotHeld, lease.SessionEnded, lease.NoSession:
		return false
	}
	return false
}

// gather takes the next group: due deadlines, then the first lane, then the
// second, which gets its share in any case.
func (p *Pipeline) gather() *group {
	g := &p.group
	g.reset()
	g.began = time.Now()
	now := p.backend.Now()
	if !g.began.Before(p.retryAt) {
		g.due = p.backend.Due(now, GroupSize/2)
		g.stale = p.backend.Stale(now, CleanSize)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.waiters.wakes) > 0 && !g.began.Before(p.retryAt) {
		g.wakes = p.waiters.dueWakes(now.At, GroupSize/4)
	}
	p.observe.QueueDepth(first.String(), p.lanes[first].len())
	p.observe.QueueDepth(second.String(), p.lanes[second].len())
	room := GroupSize - len(g.due) - len(g.wakes)
	reserved := min(p.lanes[second].len(), GroupSize/SecondShare)
	p.take(first, room-reserved)
	p.take(second, room-len(g.requests))
	return g
}

// take moves up to n requests of a lane into the group and drops those whose
// caller is gone or who stood there for too long. The caller holds mu.
func (p *Pipeline) take(l lane, n int) {
	g := &p.group
	for q := &p.lanes[l]; n > 0 && q.len() > 0; {
		r := q.pop()
		switch {
		case r.state == gone && !mutant("abandoned-request-decided"):
			continue
		case r.expired(g.began) && !mutant("abandoned-request-decided"):
			r.state = gone
			err := r.ctx.Err()
			if err == nil {
				err = &lease.Retry{Err: lease.ErrUnavailable, After: time.Second}
			}
			r.done <- answer{err: err}
			continue
		}
		r.state = decided
		g.requests = append(g.requests, r)
		n--
	}
}

// step runs one group. It reports whether there was anything to do.
func (p *Pipeline) step(ctx context.Context) bool {
	g := p.gather()
	if len(g.requests)+len(g.due)+len(g.wakes)+len(g.stale) == 0 {
		return false
	}
	p.lastGroup = len(g.requests)
	for _, r := range g.requests {
		g.keys = append(g.keys, r.key)
	}
	g.keys = append(append(append(g.keys, g.due...), g.wakes...), g.stale...)
	tx, err := p.backend.Begin(ctx, g.keys)
	if err != nil {
		for _, r := range g.requests {
			g.reply(r, lease.Outcome{}, err)
		}
		p.fail(g, err)
		return true
	}
	p.decide(g, tx)
	committing := time.Now()
	if mutant("event-before-commit") {
		p.tellEarly(tx)
	}
	if mutant("answer-before-fsync") {
		p.answerEarly(g, committing)
	}
	done, err := tx.Commit(ctx)
	if err != nil {
		p.fail(g, err)
		return true
	}
	p.succeed(g, done, committing)
	return true
}

// succeed answers everyone and then tells the hub.
func (p *Pipeline) succeed(g *group, done Commit, committing time.Time) {
	committed := time.Now()
	p.mu.Lock()
	for i := range g.answers {
		g.answers[i].request.state = gone
	}
	total := p.waiters.total
	p.mu.Unlock()
	if done.Rows > 0 {
		p.observe.GroupCommitted(len(g.requests)+len(g.due), done.Rows, committed.Sub(committing))
	}
	for i := range g.answers {
		r := g.answers[i].request
		if r.ctx != nil {
			p.observe.GroupTraced(r.ctx, r.lane.String(), r.enqueued, g.began, committing, committed, len(g.requests), done.Rows)
		}
		p.observe.QueueWait(r.lane.String(), g.began.Sub(r.enqueued))
		r.done <- g.answers[i].answer
	}
	if len(g.joined)+len(g.taken) > 0 {
		p.observe.Waiters(int64(total))
	}
	if p.publish != nil && len(done.Events) > 0 && !mutant("event-before-commit") {
		p.publish.Publish(done.Events)
	}
}

// fail answers a group that did not commit. If certainly nothing was applied,
// those who waited before it go on waiting; otherwise whoever was told of a
// change learns that its outcome is not known.
func (p *Pipeline) fail(g *group, err error) {
	unknown := !errors.Is(err, lease.ErrUnavailable) && !mutant("unknown-told-as-failure")
	p.retryAt = time.Now().Add(retryDue)
	unavailable := &lease.Retry{Err: lease.ErrUnavailable, After: lease.RetryAfter(err, time.Second)}
	reason := "not_applied"
	if unknown {
		reason = "unknown"
	}
	p.observe.CommitFailed(reason)

	p.mu.Lock()
	defer p.mu.Unlock()
	back := make(map[*request]bool)
	if !unknown {
		for i := len(g.taken) - 1; i >= 0; i-- {
			p.returnPlace(g.taken[i], unavailable, back)
		}
	}
	for _, r := range g.joined {
		if r.state == waiting {
			p.waiters.leave(r)
			r.done <- answer{err: unavailable}
			back[r] = true
		}
	}
	for _, a := range g.answers {
		switch {
		case back[a.request]:
			continue
		case unknown && a.changes:
			a.answer = answer{err: &lease.Retry{Err: lease.ErrOutcomeUnknown, After: time.Second}}
		default:
			a.answer = answer{err: unavailable}
		}
		a.request.state = gone
		a.request.done <- a.answer
	}
	for _, key := range g.wakes {
		p.waiters.wakeAt(0, key)
	}
	p.observe.Waiters(int64(p.waiters.total))
}

// returnPlace gives a place back to the callers who were chosen in a group that
// did not happen. Whoever meanwhile stopped watching its wait gets an answer
// instead: nobody would wake it again. The caller holds mu.
func (p *Pipeline) returnPlace(pl *place, unavailable error, back map[*request]bool) {
	p.waiters.putBack(pl)
	for _, r := range slices.Clone(pl.callers) {
		err := errWaitOver
		switch {
		case p.draining:
			err = unavailable
		case !r.leaving:
			back[r] = true
			continue
		}
		p.waiters.leave(r)
		r.done <- answer{err: err}
		back[r] = true
	}
}
