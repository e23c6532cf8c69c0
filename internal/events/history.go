package events

import "sort"

// history is all entries of all logs in the order of their publication, at
// most limit of them.
type history struct {
	oldest, newest *entry
	n, limit       int
}

// add puts e at the young end. If that is one too many, the oldest is removed
// and returned.
func (h *history) add(e *entry) (evicted *entry) {
	if h.n == h.limit {
		evicted = h.oldest
		h.remove(evicted)
	}
	e.older = h.newest
	if h.newest != nil {
		h.newest.younger = e
	} else {
		h.oldest = e
	}
	h.newest = e
	h.n++
	return evicted
}

func (h *history) remove(e *entry) {
	if e.older != nil {
		e.older.younger = e.younger
	} else {
		h.oldest = e.younger
	}
	if e.younger != nil {
		e.younger.older = e.older
	} else {
		h.newest = e.older
	}
	// A stream may still hold e: it must not hold the rest with it.
	e.older, e.younger = nil, nil
	h.n--
}

// backlog is the entries of one log that are still kept, oldest first, in a
// ring so that a reader who comes back is found its place by bisection.
type backlog struct {
	ring  []*entry // its length is 0 or a power of two
	first int
	n     int
}

// smallestRing keeps the ring of a quiet name from being resized all the time.
const smallestRing = 8

func (b *backlog) at(i int) *entry { return b.ring[(b.first+i)&(len(b.ring)-1)] }

func (b *backlog) push(e *entry) {
	if b.n == len(b.ring) {
		b.resize(max(smallestRing, 2*b.n))
	}
	b.ring[(b.first+b.n)&(len(b.ring)-1)] = e
	b.n++
}

// pop removes and returns the oldest entry, nil if there is none. The ring
// shrinks with its content: a name that was busy once must not keep the room
// for it while others have their turn.
func (b *backlog) pop() *entry {
	if b.n == 0 {
		return nil
	}
	e := b.ring[b.first]
	b.ring[b.first] = nil
	b.first = (b.first + 1) & (len(b.ring) - 1)
	b.n--
	if len(b.ring) > smallestRing && b.n <= len(b.ring)/4 {
		b.resize(len(b.ring) / 2)
	}
	return e
}

func (b *backlog) resize(size int) {
	ring := make([]*entry, size)
	for i := range b.n {
		ring[i] = b.at(i)
	}
	b.ring, b.first = ring, 0
}

// after returns the index of the oldest entry whose revision is above seen, n
// if there is none.
func (b *backlog) after(seen int64) int {
	return sort.Search(b.n, func(i int) bool { return b.at(i).event.Revision > seen })
}
