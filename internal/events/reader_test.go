package events

import (
	"fmt"

	"github.com/octostore/octostore/lease"
)

// reader holds a stream to what it promises, frame by frame.
type reader struct {
	key    lease.Key
	stream *Stream
	resume string // what the stream was opened with
	from   int64  // the revision that resume is, -1 if it is none that was ever told

	frames int
	gapped bool // the last frame was a gap
	last   int64
	record lease.Record
	tally  tally
}

// tally tells whether a test saw what it is about.
type tally struct{ replays, repeats, gaps, events, states, vacancies int }

func (a *tally) add(b tally) {
	a.replays += b.replays
	a.repeats += b.repeats
	a.gaps += b.gaps
	a.events += b.events
	a.states += b.states
	a.vacancies += b.vacancies
}

func (r *reader) check(f Frame) error {
	first := r.frames == 0
	r.frames++
	gapped := r.gapped
	r.gapped = f.Gap
	fail := func(format string, args ...any) error {
		return fmt.Errorf("frame %d of a stream resumed with %q: %s after revision %d: %s",
			r.frames, r.resume, show(f), r.last, fmt.Sprintf(format, args...))
	}
	switch {
	case f.Gap:
		r.tally.gaps++
		if first && r.resume == "" {
			return fail("a stream without an id begins with a gap")
		}
		if gapped {
			return fail("a gap after a gap")
		}
		return nil
	case f.Revision != f.Record.Revision || f.Record.Key != r.key:
		return fail("record is at revision %d of %s", f.Record.Revision, f.Record.Key.Name())
	case f.Event == nil:
		r.tally.states++
		switch {
		case first && r.resume != "":
			r.tally.repeats++
			if f.Revision != r.from {
				return fail("nothing was missed, but the id differs")
			}
		case !first && !gapped:
			return fail("a state without a gap before it")
		case f.Revision < r.last:
			return fail("revisions fall")
		}
	default:
		r.tally.events++
		if !f.Record.Held {
			r.tally.vacancies++
		}
		switch before := r.last; {
		case gapped:
			return fail("no state after a gap")
		case first && r.from < 0:
			return fail("a stream begins with an event")
		case first:
			r.tally.replays++
			before = r.from
			fallthrough
		default:
			if f.Event.Previous != before || f.Revision <= before {
				return fail("the event follows revision %d", f.Event.Previous)
			}
		}
	}
	r.last, r.record = f.Revision, f.Record
	return nil
}

// agrees tells whether the reader knows the present state.
func (r *reader) agrees(present lease.Record) error {
	if r.last != present.Revision || r.record.Held != present.Held || r.record.Lease.Label != present.Lease.Label {
		return fmt.Errorf("reader knows revision %d (held %v, %q), present is %d (held %v, %q)",
			r.last, r.record.Held, r.record.Lease.Label, present.Revision, present.Held, present.Lease.Label)
	}
	return nil
}
