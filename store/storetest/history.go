package storetest

import (
	"fmt"
	"time"

	"github.com/octostore/octostore/lease"
)

// checkHistory replays everything that a database published through a model
// that was written from the contract and not from the kernel, and returns
// what breaks a promise.
func checkHistory(lives []life) []string {
	m := model{names: make(map[lease.Key]*reign)}
	for _, l := range lives {
		m.begin(l)
		for _, b := range l.batches {
			for _, e := range b.events {
				m.event(e)
				if e.At.At > b.at.At {
					m.broken(e, "arrived at %v, before it happened at %v", b.at.At, e.At.At)
				}
			}
		}
	}
	return m.problems
}

// model is what an outsider knows who has heard every event.
type model struct {
	names    map[lease.Key]*reign
	moved    bool // some life began on another clock
	gap      bool // some life may have lost its last events
	problems []string
}

// reign is what is known of one name.
type reign struct {
	held     bool
	ref      lease.Ref
	deadline lease.Instant
	ended    lease.Instant // when the last lease ended
	free     lease.Instant // end of the lock-delay

	top      lease.Term // highest term that was ever granted
	revision int64

	// What a new life makes uncertain, until the next event of the name.
	moved bool // instants of before mean nothing any more
	gap   bool // events may have been lost
}

func (m *model) begin(l life) {
	m.moved, m.gap = m.moved || l.after == Reboot, m.gap || l.lost
	for _, r := range m.names {
		r.moved = r.moved || l.after == Reboot
		r.gap = r.gap || l.lost
		if l.after == Reboot {
			r.ended, r.free = 0, 0
		}
	}
}

func (m *model) broken(e lease.Event, format string, args ...any) {
	m.problems = append(m.problems, fmt.Sprintf("%s of %q, revision %d, term %d: %s",
		e.Type, e.Record.Key.Name(), e.Revision, e.Record.Term, fmt.Sprintf(format, args...)))
}

// guarded is how long a lease of this TTL is kept.
func guarded(ttl time.Duration) time.Duration { return ttl + max(50*time.Millisecond, ttl/1000) }

func (m *model) event(e lease.Event) {
	r := m.names[e.Record.Key]
	if r == nil {
		r = &reign{moved: m.moved, gap: m.gap}
		m.names[e.Record.Key] = r
	}
	m.chain(e, r)
	if r.gap {
		m.adopt(e, r)
	}
	switch e.Type {
	case lease.Acquired:
		m.acquired(e, r)
	case lease.Renewed:
		m.renewed(e, r)
	case lease.WasReleased, lease.Expired:
		m.ended(e, r)
	default:
		m.broken(e, "unknown type")
	}
	r.moved, r.gap = false, false
}

// chain checks the revisions: one step while the row lives, a jump where a row
// is new or the machine went down, never back.
func (m *model) chain(e lease.Event, r *reign) {
	if e.Revision != e.Record.Revision {
		m.broken(e, "its record has revision %d", e.Record.Revision)
	}
	fresh := e.Previous == 0
	if e.Revision <= r.revision && !fresh {
		m.broken(e, "revision is not above %d", r.revision)
	}
	switch {
	case r.gap:
	case !fresh && e.Previous != r.revision:
		m.broken(e, "comes after revision %d, but %d was the last", e.Previous, r.revision)
	case !fresh && !r.moved && e.Revision != e.Previous+1:
		m.broken(e, "revision jumped from %d", e.Previous)
	case fresh && (r.held || e.Type != lease.Acquired):
		m.broken(e, "a new row does not begin with a grant")
	}
	r.revision = e.Revision
}

// adopt takes over what an event after a gap says of what came before it.
func (m *model) adopt(e lease.Event, r *reign) {
	switch {
	case e.Was != nil:
		r.held, r.ref = true, lease.Ref{Term: e.Record.Term, Nonce: e.Was.Nonce}
		r.deadline = e.Was.Deadline
	case e.Type == lease.Renewed:
		r.held, r.ref, r.moved = true, e.Record.Ref(), true
	default:
		r.held = false
	}
	if r.held {
		r.top = max(r.top, r.ref.Term)
	}
}

func (m *model) acquired(e lease.Event, r *reign) {
	now, l := e.At.At, e.Record.Lease
	switch {
	case r.held:
		m.broken(e, "two holders: term %d has not ended", r.ref.Term)
	case !e.Record.Held:
		m.broken(e, "its record is not held")
	case e.Record.Term <= r.top:
		m.broken(e, "term is not above %d", r.top)
	case now < r.ended:
		m.broken(e, "granted at %v, the lease before it ended at %v", now, r.ended)
	case now < r.free:
		m.broken(e, "granted at %v, the lock-delay ends at %v", now, r.free)
	case l.Deadline != now.Add(guarded(l.TTL)):
		m.broken(e, "deadline is %v after the grant, want %v", l.Deadline.Sub(now), guarded(l.TTL))
	case l.Expires != e.At.Wall.Add(l.TTL):
		m.broken(e, "expires at %v, want %v", l.Expires.Time(), e.At.Wall.Add(l.TTL).Time())
	case e.Record.Term < lease.Term(e.At.Wall):
		m.broken(e, "term is below the wall clock, %d", e.At.Wall)
	case e.Record.Term >= 1<<53:
		m.broken(e, "term does not fit into 53 bits")
	}
	r.held, r.ref, r.top = true, e.Record.Ref(), e.Record.Term
	r.deadline = l.Deadline
}

func (m *model) renewed(e lease.Event, r *reign) {
	now, l := e.At.At, e.Record.Lease
	switch {
	case !r.held || !e.Record.Held:
		m.broken(e, "nothing was held")
	case e.Record.Ref() != r.ref:
		m.broken(e, "the holder was term %d", r.ref.Term)
	case l.Deadline == now.Add(guarded(l.TTL)) && (r.moved || now < r.deadline):
	case r.moved && l.Deadline > now.Add(guarded(l.TTL)):
	case now >= r.deadline:
		m.broken(e, "revived at %v, the deadline was %v", now, r.deadline)
	case l.Deadline == r.deadline: // a repeat that asked for less than is left
	default:
		m.broken(e, "deadline is %v after the renewal, want %v", l.Deadline.Sub(now), guarded(l.TTL))
	}
	r.deadline = l.Deadline
}

func (m *model) ended(e lease.Event, r *reign) {
	now := e.At.At
	switch {
	case !r.held:
		m.broken(e, "nothing was held")
	case e.Record.Held || e.Was == nil || e.Record.Last == nil:
		m.broken(e, "does not tell what ended")
	case (lease.Ref{Term: e.Record.Term, Nonce: e.Was.Nonce}) != r.ref:
		m.broken(e, "the holder was term %d", r.ref.Term)
	case (e.Type == lease.Expired) != (e.Reason == lease.ByExpiry):
		m.broken(e, "reason %d", e.Reason)
	case r.moved:
	case e.Type == lease.Expired && now != r.deadline:
		m.broken(e, "ended at %v, the deadline was %v", now, r.deadline)
	case e.Type == lease.WasReleased && now >= r.deadline:
		m.broken(e, "released at %v, the deadline was %v", now, r.deadline)
	}
	r.held, r.ended, r.free = false, now, e.Record.Free
	var delay time.Duration
	if e.Was != nil && e.Was.Bound != nil {
		delay = e.Was.Bound.LockDelay
	}
	// A give-back leaves no delay; every other end leaves the whole of it.
	if want := now.Add(delay); delay > 0 && r.free != want && (r.free != 0 || e.Reason != lease.ByRelease) {
		m.broken(e, "the lock-delay ends %v after the end, want %v", r.free.Sub(now), delay)
	}
}
