package events

import (
	"sync"
	"sync/atomic"

	"github.com/octostore/octostore/lease"
)

// Frame is one thing to tell a reader: an event, the present state, or a gap.
type Frame struct {
	// Gap says that the reader was not told of something. All else is zero then,
	// and the next frame of the stream is the present state.
	Gap bool
	// Revision is the id of the frame: the last transition that it tells of, 0
	// for a name that nobody has used.
	Revision int64
	// Record is the state of the name: after the event, or the present one.
	Record lease.Record
	// At is the instant for which the frame speaks: when the event took effect,
	// or when the state was read.
	At lease.Now
	// Event is what happened, nil for a present state and for a gap. It is
	// shared by all streams and must not be changed.
	Event *lease.Event

	entry *entry
}

func (e *entry) frame() Frame {
	return Frame{Revision: e.event.Revision, Record: e.event.Record, At: e.event.At, Event: &e.event, entry: e}
}

// Encode returns fn(f). Of an event the result is kept and shared by all
// streams of the name as long as one of them may still have to send it, so an
// event is encoded once however many watch. Therefore fn must depend on the
// frame alone, every caller must pass the same fn for names of one kind, and
// the result must not be changed. An event of long ago, a present state and a
// gap are encoded each time.
func (f Frame) Encode(fn func(Frame) []byte) []byte {
	if f.entry == nil {
		return fn(f)
	}
	return f.entry.text.of(f, fn)
}

// encoding is the text of one event, made by the first who needs it.
type encoding struct {
	making sync.Mutex
	made   atomic.Pointer[[]byte]
	late   atomic.Bool // not kept any more
}

func (e *encoding) of(f Frame, fn func(Frame) []byte) []byte {
	if b := e.made.Load(); b != nil {
		return *b
	}
	if e.late.Load() {
		return fn(f)
	}
	e.making.Lock()
	defer e.making.Unlock()
	if b := e.made.Load(); b != nil {
		return *b
	}
	b := fn(f)
	e.made.Store(&b)
	if e.late.Load() {
		e.made.Store(nil) // released while it was made
	}
	return b
}

// release lets the text go for good. It is called while events are published,
// so it waits for nobody.
func (e *encoding) release() {
	e.late.Store(true)
	e.made.Store(nil)
}
