package store

import (
	"container/heap"
	"container/list"

	"github.com/octostore/octostore/lease"
)

// waiters are the queues of the names that are waited for, in memory, first
// come first served. All of it is guarded by Pipeline.mu. A place in a queue
// belongs to one request, or to several that repeat it with the same
// idempotency key; it lives while one of them is open.
type waiters struct {
	queues  map[lease.Key]*queue
	total   int // callers in all of them
	perName int
	limit   int
	wakes   wakeHeap // ends of lock-delays that somebody waits for
}

// queue is the line before one name.
type queue struct {
	places  list.List // of *place
	callers int
	keyed   map[lease.Digest]*place // by idempotency key
	wake    lease.Instant           // when a wake is set for it, 0 if none
}

// place is one position in a queue.
type place struct {
	key     lease.Key
	acquire *lease.Acquire
	callers []*request
	element *list.Element // nil once out of the queue
}

func (w *waiters) count(key lease.Key) int {
	if q := w.queues[key]; q != nil {
		return q.callers
	}
	return 0
}

// find returns the place that the request repeats, nil if none, and whether
// its parameters are the same.
func (w *waiters) find(r *request) (p *place, equal bool) {
	q := w.queues[r.key]
	if q == nil {
		return nil, false
	}
	for _, form := range r.acquire.Idem {
		if p := q.keyed[form.Key]; p != nil {
			_, equal := r.acquire.Idem.Repeats(&p.acquire.Idem[0])
			return p, equal
		}
	}
	return nil, false
}

// room tells whether one more caller may wait for the name.
func (w *waiters) room(key lease.Key) bool {
	return w.total < w.limit && w.count(key) < w.perName
}

// join puts a request at the end of the queue of its name, or into the place
// that it repeats.
func (w *waiters) join(r *request, repeats *place) {
	q := w.queue(r.key)
	if repeats == nil {
		repeats = &place{key: r.key, acquire: r.acquire}
		repeats.element = q.places.PushBack(repeats)
		q.remember(repeats)
	}
	repeats.callers = append(repeats.callers, r)
	r.place, r.state = repeats, waiting
	q.callers++
	w.total++
}

func (w *waiters) queue(key lease.Key) *queue {
	q := w.queues[key]
	if q == nil {
		q = &queue{}
		w.queues[key] = q
	}
	return q
}

func (q *queue) remember(p *place) {
	if len(p.acquire.Idem) == 0 {
		return
	}
	if q.keyed == nil {
		q.keyed = make(map[lease.Digest]*place)
	}
	q.keyed[p.acquire.Idem[0].Key] = p
}

// leave takes one caller out; its place goes with the last of them.
func (w *waiters) leave(r *request) {
	p := r.place
	for i, c := range p.callers {
		if c == r {
			p.callers = append(p.callers[:i], p.callers[i+1:]...)
			w.queues[p.key].callers--
			w.total--
			break
		}
	}
	r.place, r.state = nil, gone
	if len(p.callers) == 0 {
		w.remove(p)
	}
}

// remove takes a place out of its queue.
func (w *waiters) remove(p *place) {
	if p.element == nil {
		return
	}
	q := w.queues[p.key]
	q.places.Remove(p.element)
	p.element = nil
	if len(p.acquire.Idem) > 0 {
		delete(q.keyed, p.acquire.Idem[0].Key)
	}
	q.callers -= len(p.callers)
	if q.places.Len() == 0 {
		delete(w.queues, p.key)
	}
}

// take removes the place with all its callers, whose answers will come.
func (w *waiters) take(p *place) {
	w.remove(p)
	w.total -= len(p.callers)
	for _, c := range p.callers {
		c.state = decided
	}
}

// putBack returns a place that was taken to the head of its queue, because the
// group that it was taken for did not happen. Call it in reverse order.
func (w *waiters) putBack(p *place) {
	q := w.queue(p.key)
	p.element = q.places.PushFront(p)
	q.remember(p)
	q.callers += len(p.callers)
	w.total += len(p.callers)
	for _, c := range p.callers {
		c.state, c.place = waiting, p
	}
}

// wake is a moment at which a name that is waited for can be granted.
type wake struct {
	at  lease.Instant
	key lease.Key
}

type wakeHeap []wake

func (h wakeHeap) Len() int           { return len(h) }
func (h wakeHeap) Less(i, j int) bool { return h[i].at < h[j].at }
func (h wakeHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }

// Push implements heap.Interface.
func (h *wakeHeap) Push(x any) { *h = append(*h, x.(wake)) }

// Pop implements heap.Interface.
func (h *wakeHeap) Pop() any {
	old := *h
	x := old[len(old)-1]
	*h = old[:len(old)-1]
	return x
}

// wakeAt sets a wake for a name that is waited for.
func (w *waiters) wakeAt(at lease.Instant, key lease.Key) {
	if q := w.queues[key]; q != nil && (q.wake == 0 || at < q.wake) {
		q.wake = at
		heap.Push(&w.wakes, wake{at, key})
	}
}

// dueWakes takes out up to limit names whose delay is over.
func (w *waiters) dueWakes(at lease.Instant, limit int) (keys []lease.Key) {
	for len(w.wakes) > 0 && w.wakes[0].at <= at && len(keys) < limit {
		key := heap.Pop(&w.wakes).(wake).key
		if q := w.queues[key]; q != nil {
			q.wake = 0
			keys = append(keys, key)
		}
	}
	return keys
}
