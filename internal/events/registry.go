package events

import (
	"context"
	"time"

	"github.com/octostore/octostore/lease"
)

// Watch opens a stream of what happens to the name, which the caller must
// Close.
//
// resume is the id of the last frame that the reader saw, as it sent it, or
// empty if it sent none. Without it the first frame is the present state. With
// it the stream goes on from there if all that the reader missed is still kept,
// or begins with the present state under the same id if it missed nothing.
// Otherwise, and if the id can not be read or was never given out, it begins
// with a gap and then the present state.
//
// present shows the committed state of the name. It is called by Next and
// TryNext with their context, on the goroutine that calls them, and must show
// every transition that was published before it was called.
//
// Watch itself reads nothing and does not block. It returns ErrFull if too many
// other names are watched, ErrClosed after Close, and the error of a context
// that has ended.
func (h *Hub) Watch(
	ctx context.Context, key lease.Key, resume string,
	present func(context.Context) (lease.Reading, error),
) (*Stream, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s := &Stream{hub: h, present: present}
	seen, readable := parseRevision(resume)

	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed.Load() {
		return nil, ErrClosed
	}
	t := h.topics[key]
	switch {
	case t == nil:
		if !h.makeRoom() {
			return nil, ErrFull
		}
		t = newTopic(key)
		h.topics[key] = t
	case t.place != nil:
		h.lingering.Remove(t.place)
		t.place = nil
	}
	t.streams++
	h.streams++

	s.topic = t
	s.cursor = t.tail.Load()
	s.joined = s.cursor.seq
	switch {
	case resume == "":
		s.due = dueState
	case !readable:
		s.due = dueGap
	default:
		s.last = seen
		s.due, s.cursor = t.resume(seen)
	}
	return s, nil
}

// makeRoom sees to it that one more name fits. The caller holds mu.
func (h *Hub) makeRoom() bool {
	if len(h.topics) < h.names {
		return true
	}
	oldest := h.lingering.Front()
	if oldest == nil {
		return false
	}
	h.drop(oldest.Value.(*topic))
	return true
}

// leave takes a stream off its topic.
func (h *Hub) leave(t *topic) {
	h.mu.Lock()
	defer h.mu.Unlock()
	t.streams--
	h.streams--
	if t.streams > 0 || h.closed.Load() {
		return
	}
	t.until = time.Now().Add(h.linger)
	t.place = h.lingering.PushBack(t)
	if h.lingering.Len() == 1 {
		h.poke() // the timer may not be set
	}
}

// drop forgets a name without streams. Its entries leave the history bit by
// bit, because there may be as many as the history holds. The caller holds mu.
func (h *Hub) drop(t *topic) {
	if t.place != nil {
		h.lingering.Remove(t.place)
		t.place = nil
	}
	delete(h.topics, t.key)
	if t.log.n > 0 {
		h.forgotten = append(h.forgotten, t)
		h.poke()
	}
}

// expire drops names that have lingered long enough, at most n, and returns
// when the next one is due, 0 if there is none or if the goroutine comes back
// by itself. The caller holds mu.
func (h *Hub) expire(now time.Time, n int) time.Duration {
	for range n {
		oldest := h.lingering.Front()
		if oldest == nil {
			return 0
		}
		t := oldest.Value.(*topic)
		if wait := t.until.Sub(now); wait > 0 {
			return wait
		}
		h.drop(t)
	}
	h.poke()
	return 0
}

// forget takes at most n entries of dropped topics out of the history. The
// caller holds mu.
func (h *Hub) forget(n int) {
	for range n {
		last := len(h.forgotten) - 1
		if last < 0 {
			return
		}
		if e := h.forgotten[last].log.pop(); e != nil {
			h.history.remove(e)
			continue
		}
		h.forgotten[last] = nil
		h.forgotten = h.forgotten[:last]
	}
	h.poke()
}
