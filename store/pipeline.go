package store

import (
	"context"
	"sync"
	"time"

	"github.com/octostore/octostore/lease"
)

// Bounds of the pipeline. They are far above what the disk can commit in the
// time that a caller is willing to wait, and far below what memory can hold.
const (
	// MaxQueueTime is how long a request may stand in a lane before it is
	// dropped undecided. The wait for a name does not count.
	MaxQueueTime = 10 * time.Second
	// FirstLane and SecondLane are how many requests each lane holds.
	FirstLane  = 8192
	SecondLane = 8192
	// GroupSize is how many requests are decided in one group, due deadlines
	// included.
	GroupSize = 512
	// SecondShare of every group belongs to the second lane while it is not
	// empty: one part in this many.
	SecondShare = 8
	// CleanSize is how many ended rows are cleaned up in one group.
	CleanSize = 256
	// WaitersPerName and WaitersInAll bound the queues before names.
	WaitersPerName = 1024
	WaitersInAll   = 16384
	// StallAfter is from when on a pause of the committer is counted.
	StallAfter = time.Second

	// pollEvery bounds a sleep towards a deadline: timers of the Go runtime stop
	// while the machine is suspended, the deciding clock does not. It also bounds
	// how late a deadline is noticed after a resume.
	pollEvery = 100 * time.Millisecond
	// retryDue is the pause before deadlines are tried again after a group failed.
	retryDue = 250 * time.Millisecond
	// busyGroup is from how many operations on a group is worth a linger.
	busyGroup = 8
)

// Options configures a Pipeline.
type Options struct {
	Backend   Backend
	Publisher Publisher // may be nil
	Observer  Observer  // may be nil
	// Linger is how long a group may wait for company while groups are large, at
	// most a millisecond. A lone client never waits. 0 for none.
	Linger time.Duration
	// Manual leaves out the committer's goroutine: the caller drives the
	// pipeline with Step. For simulations.
	Manual bool
}

// Pipeline decides requests one after another and makes them durable in
// groups. It implements the Store interfaces of the domains. It is safe for
// concurrent use.
type Pipeline struct {
	backend Backend
	publish Publisher
	observe Observer
	linger  time.Duration
	totals  totals

	mu       sync.Mutex
	lanes    [lanes]fifo
	waiters  waiters
	draining bool // no new grants, no new waiters
	closed   bool

	signal  chan struct{} // something stands in a lane
	stop    chan struct{}
	stopped chan struct{}

	// The committer's own.
	lastGroup int
	retryAt   time.Time
	group     group
}

// New starts a pipeline over a backend. Close stops it.
func New(o Options) *Pipeline {
	p := &Pipeline{
		backend: o.Backend, publish: o.Publisher, observe: o.Observer,
		linger:  min(o.Linger, time.Millisecond),
		waiters: waiters{queues: make(map[lease.Key]*queue), perName: WaitersPerName, limit: WaitersInAll},
		signal:  make(chan struct{}, 1), stop: make(chan struct{}), stopped: make(chan struct{}),
	}
	if p.observe == nil {
		p.observe = unobserved{}
	}
	if o.Manual {
		close(p.stopped)
	} else {
		go p.run()
	}
	return p
}

// submit puts a request into its lane.
func (p *Pipeline) submit(r *request) error {
	r.enqueued = time.Now()
	if mutant("one-lane") {
		r.lane = second
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	q := &p.lanes[r.lane]
	switch {
	case p.closed, p.draining && r.verb == verbAcquire:
		return &lease.Retry{Err: lease.ErrUnavailable, After: time.Second}
	case q.len() >= [lanes]int{FirstLane, SecondLane}[r.lane] && r.verb != verbGiveBack:
		p.observe.QueueRefused(r.lane.String())
		return &lease.Retry{Err: lease.ErrUnavailable, After: time.Second}
	}
	q.push(r)
	p.wake()
	return nil
}

func (p *Pipeline) wake() {
	select {
	case p.signal <- struct{}{}:
	default:
	}
}

// await waits for the answer to a submitted request, its caller, or the end of
// its wait. over reports that the wait for the name ended without an answer.
func (p *Pipeline) await(r *request) (a answer, over bool) {
	var timeout <-chan time.Time
	if r.wait > 0 {
		t := time.NewTimer(r.wait)
		defer t.Stop()
		timeout = t.C
	}
	select {
	case a := <-r.done:
		return a, false
	case <-r.ctx.Done():
		if p.withdraw(r, true) {
			return answer{err: r.ctx.Err()}, false
		}
	case <-timeout:
		if p.withdraw(r, false) {
			return answer{}, true
		}
	}
	// It is being decided: the answer is at most a commit away. One that still
	// stands in a lane when its wait is over is answered when its turn comes.
	return <-r.done, false
}

// withdraw takes a request back unless it is being decided. A request whose
// wait is over is only taken out of the queue of its name.
func (p *Pipeline) withdraw(r *request, lanesToo bool) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch r.state {
	case waiting:
		p.waiters.leave(r)
		p.observe.Waiters(int64(p.waiters.total))
		return true
	case queued:
		if lanesToo {
			r.state = gone // skipped when its turn comes
			return true
		}
	case decided:
		r.leaving = true
	case gone:
	}
	return false
}

// Drain refuses new campaigns and acquires and answers everyone who waits for
// a name. Those who hold can still renew, release and resign.
func (p *Pipeline) Drain() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.draining = true
	for _, q := range p.waiters.queues {
		for e := q.places.Front(); e != nil; e = q.places.Front() {
			pl := e.Value.(*place)
			p.waiters.take(pl)
			p.settleAll(pl.callers, answer{err: &lease.Retry{Err: lease.ErrUnavailable, After: time.Second}})
		}
	}
	p.observe.Waiters(0)
}

func (p *Pipeline) settleAll(rs []*request, a answer) {
	for _, r := range rs {
		r.state = gone
		r.done <- a
	}
}

// Close answers what stands in the lanes and stops the committer. It must be
// called after the last caller was answered; later requests are refused.
func (p *Pipeline) Close() {
	p.Drain()
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return
	}
	p.closed = true
	p.mu.Unlock()
	close(p.stop)
	<-p.stopped
	for p.Step(context.Background()) {
	}
}

// run is the committer.
func (p *Pipeline) run() {
	defer close(p.stopped)
	timer := time.NewTimer(0)
	defer timer.Stop()
	last := time.Now()
	for {
		if p.step(context.Background()) {
			last = p.stalled(last, 0)
			if p.linger > 0 && p.lastGroup >= busyGroup {
				p.gatherMore(timer)
			}
			continue
		}
		last = p.stalled(last, 0)
		pause := p.pause()
		var tick <-chan time.Time
		if pause >= 0 {
			timer.Reset(pause)
			tick = timer.C
		}
		select {
		case <-p.signal:
			last = time.Now()
		case <-tick:
			last = p.stalled(last, pause)
		case <-p.stop:
			return
		}
	}
}

// stalled counts a pause of the committer beyond what was asked for.
func (p *Pipeline) stalled(last time.Time, asked time.Duration) time.Time {
	now := time.Now()
	if late := now.Sub(last) - asked; late >= StallAfter {
		p.observe.Stalled(late)
	}
	return now
}

// gatherMore lets the next group grow while clients are many: each sync costs
// more than the requests in it. What is there already does not shorten the
// wait, unless it fills a group by itself: those who were just answered are
// about to come back.
func (p *Pipeline) gatherMore(timer *time.Timer) {
	p.mu.Lock()
	n := p.lanes[first].len() + p.lanes[second].len()
	p.mu.Unlock()
	if n >= GroupSize/4 {
		return
	}
	timer.Reset(p.linger)
	<-timer.C
}

// pause is how long the committer may sleep if nobody calls; negative for
// until somebody does.
func (p *Pipeline) pause() time.Duration {
	now := p.backend.Now().At
	next, ok := p.backend.NextDue()
	p.mu.Lock()
	if w := p.waiters.wakes; len(w) > 0 && (!ok || w[0].at < next) {
		next, ok = w[0].at, true
	}
	p.mu.Unlock()
	if wait := time.Until(p.retryAt); wait > 0 && ok {
		return min(wait, pollEvery)
	}
	if !ok {
		if len(p.backend.Stale(lease.Now{At: 1<<63 - 1}, 1)) == 0 {
			return -1
		}
		return time.Second // only clean-up is left to do
	}
	return max(0, min(next.Sub(now), pollEvery))
}

// Step runs one group on the caller's goroutine and reports whether there was
// anything to do. Only a Manual pipeline may be stepped.
func (p *Pipeline) Step(ctx context.Context) bool { return p.step(ctx) }
