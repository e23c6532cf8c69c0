package events

import (
	"context"
	"sync/atomic"

	"github.com/octostore/octostore/lease"
)

// due is what a stream has to send next.
type due uint8

const (
	dueEvent due = iota // the next event, if there is one
	dueState            // the present state
	dueGap              // a gap, and then the present state
	dueProof            // the present state if the reader is up to date with it, else a gap
)

// Stream is one reader's view of one name. Its methods are for one goroutine,
// that of the reader; only Close may be called from another.
//
// A stream has no goroutine and no timer, so that a writer can wait for the
// next frame and for its own clocks in one select:
//
//	for {
//		select {
//		case <-ctx.Done():
//			return
//		case <-heartbeat.C:
//			// write a comment
//		case <-s.Ready():
//			f, ok, err := s.TryNext(ctx)
//			// on ErrClosed write a closing frame and return; if ok write f
//		}
//	}
type Stream struct {
	hub     *Hub
	topic   *topic
	present func(context.Context) (lease.Reading, error)

	cursor *entry // read up to here
	joined int64  // seq at the end of the log when the stream came; what lies before it is replayed, not lag
	last   int64  // revision that was sent last, or that the reader says it has
	due    due
	left   atomic.Bool
}

// Ready returns a channel that is closed as soon as TryNext has something to
// do, which may turn out to be nothing to send. Take it anew for each wait.
func (s *Stream) Ready() <-chan struct{} {
	c := s.topic.signal() // before looking, or news in between would be slept over; closed once the hub is
	if s.due != dueEvent || s.cursor.next.Load() != nil || s.left.Load() {
		return s.hub.always
	}
	return c
}

// Next waits for the next frame. It returns the error of a context that ended,
// ErrClosed, or an error of the function that shows the present state, after
// which it can be called again.
func (s *Stream) Next(ctx context.Context) (Frame, error) {
	for {
		if err := ctx.Err(); err != nil {
			return Frame{}, err
		}
		ready := s.Ready()
		f, ok, err := s.TryNext(ctx)
		if ok || err != nil {
			return f, err
		}
		select {
		case <-ready:
		case <-ctx.Done():
		}
	}
}

// TryNext is Next without the wait: ok is false if there is nothing to send.
// It can still take the time that the present state takes to read, for which
// ctx is.
func (s *Stream) TryNext(ctx context.Context) (f Frame, ok bool, err error) {
	if s.left.Load() {
		return Frame{}, false, ErrClosed
	}
	// Asked before looking: what was published before the end is delivered.
	closed := s.hub.closed.Load()
	for {
		if s.due == dueEvent {
			if e := s.advance(); e != nil {
				return e.frame(), true, nil
			}
		}
		switch {
		case closed:
			// A gap or a state would have to be read, while the store is about to
			// close. The reader comes back and is told then.
			return Frame{}, false, ErrClosed
		case s.due == dueEvent:
			return Frame{}, false, nil
		case s.due == dueGap:
			s.due = dueState
			return Frame{Gap: true}, true, nil
		case s.due == dueProof && s.proven():
			s.due = dueEvent
			continue
		}
		// The place in the log first, the state after it.
		tail := s.topic.tail.Load()
		r, err := s.present(ctx)
		if err != nil {
			return Frame{}, false, err
		}
		if s.due == dueProof && r.Record.Revision != s.last {
			// Unless what the reader missed was published in the meantime.
			s.due = dueGap
			if s.proven() {
				s.due = dueEvent
			}
			continue
		}
		s.due, s.cursor, s.last = dueEvent, tail, r.Record.Revision
		return Frame{Revision: r.Record.Revision, Record: r.Record, At: r.At}, true, nil
	}
}

// proven tells whether the log has the event that follows the revision that
// the reader says it has seen. Nothing else shows that this revision was ever
// given out, and a made-up one must not make the stream pass over events.
func (s *Stream) proven() bool {
	for e := s.cursor.next.Load(); e != nil && e != s.hub.cut; e = e.next.Load() {
		if e.event.Revision > s.last {
			return e.event.Previous == s.last
		}
	}
	return false
}

// advance moves on to the next event to send. It returns nil if there is none,
// or if there is a gap, which is due then.
func (s *Stream) advance() *entry {
	for {
		next := s.cursor.next.Load()
		switch {
		case next == nil:
			return nil
		case next == s.hub.cut:
			s.miss()
			return nil
		case next.event.Revision <= s.last:
			s.cursor = next // a state that was sent tells it already
		case s.lag() > s.hub.buffer, next.event.Previous != s.last:
			s.miss()
			return nil
		default:
			s.cursor, s.last = next, next.event.Revision
			return next
		}
	}
}

// lag is how many events wait to be read, without those that were already
// there when the stream came.
func (s *Stream) lag() int64 {
	return s.topic.tail.Load().seq - max(s.cursor.seq, s.joined)
}

func (s *Stream) miss() {
	s.due = dueGap
	if s.hub.dropped != nil {
		s.hub.dropped(int(s.topic.tail.Load().seq - s.cursor.seq))
	}
}

// Close ends the stream. It may be called more than once, and from another
// goroutine; but it does not end a Next that is waiting, which is what the
// context of Next is for.
func (s *Stream) Close() {
	if !s.left.Swap(true) {
		s.hub.leave(s.topic)
	}
}
