package events

import (
	"container/list"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/octostore/octostore/lease"
)

// What Options mean when they are left zero.
const (
	DefaultNames   = 16_384
	DefaultBuffer  = 16
	DefaultHistory = 65_536
	DefaultLinger  = 2 * time.Minute
)

// What a watch can end with, beside the error of a context or of the function
// that shows the present state.
var (
	// ErrFull: as many names are watched as Options allow. Watching one of
	// these names is still possible.
	ErrFull = errors.New("events: too many names are watched")
	// ErrClosed: the hub, or this stream, was closed.
	ErrClosed = errors.New("events: closed")
)

// Options are the bounds of a Hub. The zero value has the defaults.
type Options struct {
	// Names is the most distinct names watched at one time. 0 or less means
	// DefaultNames.
	Names int
	// Buffer is how many events a stream may lag before it is told of a gap
	// instead. Events that it replays after a resume do not count as lag. 0 or
	// less means DefaultBuffer.
	Buffer int
	// History is how many events are kept for resuming, over all names. An event
	// takes about 320 bytes besides its label and metadata. 0 or less means
	// DefaultHistory.
	History int
	// Linger is how long the events of a name are still kept after its last
	// stream was closed. 0 means DefaultLinger, less means not at all.
	Linger time.Duration
	// Dropped, if not nil, is told how many published events a stream will not
	// be sent because it lagged or because what came before them is missing. It
	// is called on the goroutine that reads the stream, and must be safe for
	// concurrent use.
	Dropped func(n int)
}

// Hub hands the events of committed transitions to the streams that watch
// their names. It is safe for concurrent use.
type Hub struct {
	names   int
	buffer  int64
	linger  time.Duration
	dropped func(n int)

	cut     *entry        // stands in a chain where the next entry was evicted
	always  chan struct{} // closed: there is no reason to wait
	kick    chan struct{} // one slot: the goroutine has something to do
	stop    chan struct{} // closed by Close
	stopped chan struct{} // closed by the goroutine as its last act
	ending  sync.Once
	closed  atomic.Bool // set under mu, so that no topic is made after it

	// mu guards all below. Nothing that depends on the number of streams of a
	// topic is done while it is held.
	mu        sync.Mutex
	topics    map[lease.Key]*topic
	history   history
	lingering list.List // of *topic, the one that goes first in front
	streams   int
	dirty     []*topic // have news that their streams were not woken for
	forgotten []*topic // no longer in topics, entries still in history
}

// New returns a Hub and starts its goroutine, which runs until Close.
func New(o Options) *Hub {
	h := &Hub{
		names:   positive(o.Names, DefaultNames),
		buffer:  int64(positive(o.Buffer, DefaultBuffer)),
		linger:  o.Linger,
		dropped: o.Dropped,
		cut:     &entry{},
		always:  make(chan struct{}),
		kick:    make(chan struct{}, 1),
		stop:    make(chan struct{}),
		stopped: make(chan struct{}),
		topics:  make(map[lease.Key]*topic),
		history: history{limit: positive(o.History, DefaultHistory)},
	}
	if h.linger == 0 {
		h.linger = DefaultLinger
	}
	close(h.always)
	go h.run()
	return h
}

func positive(n, fallback int) int {
	if n <= 0 {
		return fallback
	}
	return n
}

// Publish tells of transitions that are durable. It must be called after the
// present state shows them, and in the order of the revisions of each name: an
// event that comes after a later one is dropped, and the later one will have
// been announced by a gap. The slice is not kept. Publish never waits for a
// reader; after Close it does nothing.
func (h *Hub) Publish(evs []lease.Event) {
	if len(evs) == 0 || h.closed.Load() {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.topics) == 0 || h.closed.Load() {
		return
	}
	for i := range evs {
		if t := h.topics[evs[i].Record.Key]; t != nil {
			h.record(t, &evs[i])
		}
	}
	if len(h.dirty) > 0 {
		h.poke()
	}
}

// record adds an event to the log of its name. The caller holds mu.
func (h *Hub) record(t *topic, ev *lease.Event) {
	tail := t.tail.Load()
	if ev.Revision <= tail.event.Revision {
		return
	}
	e := &entry{topic: t, seq: tail.seq + 1, event: *ev}
	if old := h.history.add(e); old != nil {
		old.topic.evict(h.cut)
	}
	t.link(e, h.buffer)
	if t.streams > 0 && !t.dirty {
		t.dirty = true
		h.dirty = append(h.dirty, t)
	}
}

// poke makes the goroutine look for work. It never blocks: one token is enough
// for all work that was put down before the goroutine takes it.
func (h *Hub) poke() {
	select {
	case h.kick <- struct{}{}:
	default:
	}
}

// turnSize bounds what one turn of the goroutine does under the lock. At some
// tens of nanoseconds a piece that is a few microseconds.
const turnSize = 256

// run wakes streams, and lets go of names that have lingered long enough.
func (h *Hub) run() {
	defer close(h.stopped)
	timer := time.NewTimer(DefaultLinger)
	timer.Stop()
	defer timer.Stop()
	var spare []*topic
	for {
		select {
		case <-h.stop:
			return
		case <-h.kick:
		case <-timer.C:
		}
		h.mu.Lock()
		woken := h.dirty
		h.dirty = spare
		for _, t := range woken {
			t.dirty = false
		}
		if wait := h.expire(time.Now(), turnSize); wait > 0 {
			timer.Reset(wait)
		}
		h.forget(turnSize)
		h.mu.Unlock()

		for _, t := range woken {
			t.wake()
		}
		clear(woken)
		spare = woken[:0]
	}
}

// Close ends every stream: its Next returns the events that were published
// before, and then ErrClosed, upon which the writer can still send a closing
// frame. Close waits for the goroutine of the hub, not for the streams. It may
// be called more than once.
func (h *Hub) Close() {
	h.ending.Do(func() {
		h.mu.Lock()
		h.closed.Store(true)
		h.mu.Unlock()
		close(h.stop)
		<-h.stopped

		// From here on no topic is made and none is woken by anyone else.
		last := &wave{c: h.always}
		h.mu.Lock()
		waiting := make([]*wave, 0, len(h.topics))
		for _, t := range h.topics {
			if w := t.wave.Swap(last); w != nil {
				waiting = append(waiting, w)
			}
		}
		h.mu.Unlock()
		for _, w := range waiting {
			close(w.c)
		}
	})
}

// Stats is how full a hub is.
type Stats struct {
	Names     int // names with at least one stream
	Lingering int // names without one whose events are still kept
	Streams   int
	History   int // events kept
}

// Stats tells how full the hub is.
func (h *Hub) Stats() Stats {
	h.mu.Lock()
	defer h.mu.Unlock()
	return Stats{
		Names:     len(h.topics) - h.lingering.Len(),
		Lingering: h.lingering.Len(),
		Streams:   h.streams,
		History:   h.history.n,
	}
}
