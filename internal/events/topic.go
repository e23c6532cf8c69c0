package events

import (
	"container/list"
	"sync/atomic"
	"time"

	"github.com/octostore/octostore/lease"
)

// entry is one event in the log of one topic. Once it is linked, seq and event
// do not change.
type entry struct {
	topic *topic
	seq   int64 // place in the log, from 1
	event lease.Event
	next  atomic.Pointer[entry] // nil at the end of the log, Hub.cut if the next one was evicted
	text  encoding

	older, younger *entry // in the history; guarded by Hub.mu
}

// wave is the channel that streams with nothing to read wait on until the next
// time that their topic is woken. A channel that is closed reaches all of them
// at once, so a topic keeps no list of its streams.
type wave struct{ c chan struct{} }

// topic is one watched name, or one that was watched a little while ago.
type topic struct {
	key  lease.Key
	tail atomic.Pointer[entry] // newest entry, or the anchor; stored under Hub.mu
	wave atomic.Pointer[wave]  // nil while nobody waits

	// Guarded by Hub.mu.
	log     backlog
	anchor  *entry // stands before the oldest entry of log: the one evicted last, or the place where the log began
	streams int
	dirty   bool          // is in Hub.dirty
	place   *list.Element // in Hub.lingering, nil while watched
	until   time.Time     // end of lingering
}

func newTopic(key lease.Key) *topic {
	t := &topic{key: key, anchor: &entry{}}
	t.tail.Store(t.anchor)
	return t
}

// link puts e at the end of the log. What now lies further back than a stream
// may lag is only read again by those who resume, so its encoding is let go.
func (t *topic) link(e *entry, buffer int64) {
	t.log.push(e)
	t.tail.Load().next.Store(e)
	t.tail.Store(e)
	if behind := int64(t.log.n) - 1 - buffer; behind >= 0 {
		t.log.at(int(behind)).text.release()
	}
}

// evict takes the oldest entry out of the log. The chain is cut before it:
// streams that have not read it find the cut, those that have go on from it,
// and what lies before the cut holds nothing in memory.
func (t *topic) evict(cut *entry) {
	old := t.log.pop()
	t.anchor.next.Store(cut)
	t.anchor = old
}

// resume finds the place of a reader that has seen the revision: what it is
// due, and the entry after which it goes on.
func (t *topic) resume(seen int64) (due, *entry) {
	i := t.log.after(seen)
	switch {
	case i == t.log.n:
		// Nothing that is kept comes after it. Whether the reader is up to date or
		// has made it up, only the present state can tell.
		return dueProof, t.tail.Load()
	case t.log.at(i).event.Previous != seen:
		return dueGap, t.tail.Load()
	case i == 0:
		return dueEvent, t.anchor
	default:
		return dueEvent, t.log.at(i - 1)
	}
}

// signal returns a channel that is closed when the topic is woken next. To
// miss nothing, take it first, then look for an entry, then wait.
func (t *topic) signal() <-chan struct{} {
	for {
		if w := t.wave.Load(); w != nil {
			return w.c
		}
		w := &wave{c: make(chan struct{})}
		if t.wave.CompareAndSwap(nil, w) {
			return w.c
		}
	}
}

// wake reaches every stream that took the channel before.
func (t *topic) wake() {
	if w := t.wave.Swap(nil); w != nil {
		close(w.c)
	}
}
