package store

import (
	"cmp"
	"slices"

	"github.com/octostore/octostore/lease"
)

// dueHeap orders the entries that hold a lease by deadline. Each entry knows
// its slot, so a renewal moves it in logarithmic time and nothing is ever
// scanned.
type dueHeap []*entry

func (h dueHeap) less(i, j int) bool {
	return h[i].rec.Lease.Deadline < h[j].rec.Lease.Deadline
}

func (h dueHeap) swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].slot, h[j].slot = int32(i), int32(j) //nolint:gosec // bounded by memory long before 2^31 leases
}

func (h *dueHeap) push(e *entry) {
	e.slot = int32(len(*h)) //nolint:gosec // as above
	*h = append(*h, e)
	h.up(int(e.slot))
}

func (h *dueHeap) remove(e *entry) {
	i, last := int(e.slot), len(*h)-1
	if i != last {
		h.swap(i, last)
	}
	(*h)[last] = nil
	*h = (*h)[:last]
	e.slot = noSlot
	if i != last {
		h.fix(i)
	}
}

func (h dueHeap) fix(i int) {
	if !h.down(i) {
		h.up(i)
	}
}

func (h dueHeap) up(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if !h.less(i, parent) {
			return
		}
		h.swap(i, parent)
		i = parent
	}
}

func (h dueHeap) down(i int) (moved bool) {
	for {
		child := 2*i + 1
		if child >= len(h) {
			return moved
		}
		if right := child + 1; right < len(h) && h.less(right, child) {
			child = right
		}
		if !h.less(child, i) {
			return moved
		}
		h.swap(i, child)
		i, moved = child, true
	}
}

// passed collects up to limit entries whose deadline is not after at, without
// removing them: they leave the heap when their end has been committed. The
// children of an entry that is not due cannot be due, so the walk touches only
// what it returns.
func (h dueHeap) passed(at lease.Instant, limit int) []lease.Key {
	if len(h) == 0 || h[0].rec.Lease.Deadline > at || limit <= 0 {
		return nil
	}
	keys := make([]lease.Key, 0, min(limit, 16))
	todo := make([]int, 1, 16)
	for len(todo) > 0 && len(keys) < limit {
		i := todo[0]
		todo = todo[1:]
		keys = append(keys, h[i].rec.Key)
		for c := 2*i + 1; c <= 2*i+2 && c < len(h); c++ {
			if h[c].rec.Lease.Deadline <= at {
				todo = append(todo, c)
			}
		}
	}
	return keys
}

// idleList holds the entries whose lease has ended, oldest first. They leave
// from the front when they are cleaned up and from anywhere when they are
// granted again.
type idleList struct {
	front, back *entry
	n           int64
}

func (l *idleList) push(e *entry) {
	e.prev, e.next = l.back, nil
	if l.back != nil {
		l.back.next = e
	} else {
		l.front = e
	}
	l.back = e
	l.n++
}

func (l *idleList) remove(e *entry) {
	if e.prev != nil {
		e.prev.next = e.next
	} else {
		l.front = e.next
	}
	if e.next != nil {
		e.next.prev = e.prev
	} else {
		l.back = e.prev
	}
	e.prev, e.next = nil, nil
	l.n--
}

// sort puts the list in the order in which the leases ended.
func (l *idleList) sort() {
	entries := make([]*entry, 0, l.n)
	for e := l.front; e != nil; e = e.next {
		entries = append(entries, e)
	}
	slices.SortStableFunc(entries, func(a, b *entry) int { return cmp.Compare(a.rec.Last.At, b.rec.Last.At) })
	*l = idleList{}
	for _, e := range entries {
		l.push(e)
	}
}
