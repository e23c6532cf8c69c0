package store

import (
	"fmt"
	"slices"
	"testing"

	"github.com/octostore/octostore/lease"
	"pgregory.net/rapid"
)

func newWaiters(perName, limit int) *waiters {
	return &waiters{queues: make(map[lease.Key]*queue), perName: perName, limit: limit}
}

func waiterFor(key lease.Key, idem ...byte) *request {
	r := &request{key: key, acquire: &lease.Acquire{}}
	for _, k := range idem {
		r.acquire.Idem = append(r.acquire.Idem, lease.Idempotency{Key: lease.Digest{k}})
	}
	return r
}

func TestWaitersAreBoundedByNameAndInAll(t *testing.T) {
	t.Parallel()
	w := newWaiters(3, 5)
	name := func(i int) lease.Key { return lease.ElectionKey(fmt.Sprint(i)) }
	var joined []*request
	for i := range 3 {
		joined = append(joined, waiterFor(name(0)))
		if !w.room(name(0)) {
			t.Fatalf("no room for number %d", i)
		}
		w.join(joined[i], nil)
	}
	if w.room(name(0)) {
		t.Error("one name has room for a fourth")
	}
	for i := 1; i <= 2; i++ {
		if !w.room(name(i)) {
			t.Fatalf("no room at name %d", i)
		}
		w.join(waiterFor(name(i)), nil)
	}
	if w.room(name(3)) || w.total != 5 {
		t.Errorf("room for one more than %d in all", w.total)
	}
	w.leave(joined[1])
	if !w.room(name(0)) || !w.room(name(3)) {
		t.Error("a place that became free is not to be had")
	}
}

func TestWaitersProductionBounds(t *testing.T) {
	t.Parallel()
	p := New(Options{Backend: NewImage(ImageOptions{Clock: newHands(), Writer: &memory{}}), Manual: true})
	defer p.Close()
	if p.waiters.perName != WaitersPerName || p.waiters.limit != WaitersInAll || WaitersPerName != 1024 || WaitersInAll != 16384 {
		t.Errorf("bounds %d and %d", p.waiters.perName, p.waiters.limit)
	}
}

// The queues against plain slices of places.
func TestWaitersAgainstSlices(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		const perName, limit = 6, 12
		w := newWaiters(perName, limit)
		lines := make(map[lease.Key][][]*request) // places, each with its callers
		var taken []*place
		keys := []lease.Key{lease.ElectionKey("a"), lease.ElectionKey("b"), lease.LockKey("t", "a")}
		count := func(key lease.Key) (n int) {
			for _, callers := range lines[key] {
				n += len(callers)
			}
			return n
		}
		someone := func(t *rapid.T) (lease.Key, int) {
			var all []lease.Key
			for _, k := range keys {
				if len(lines[k]) > 0 {
					all = append(all, k)
				}
			}
			if len(all) == 0 {
				t.Skip("nobody waits")
			}
			key := rapid.SampledFrom(all).Draw(t, "key")
			return key, rapid.IntRange(0, len(lines[key])-1).Draw(t, "place")
		}
		t.Repeat(map[string]func(*rapid.T){
			"join": func(t *rapid.T) {
				key := rapid.SampledFrom(keys).Draw(t, "key")
				if !w.room(key) {
					return
				}
				r := waiterFor(key)
				if k := rapid.ByteRange(0, 4).Draw(t, "idempotency key"); k > 0 {
					r = waiterFor(key, k)
				}
				repeats, equal := w.find(r)
				i := slices.IndexFunc(lines[key], func(callers []*request) bool {
					return len(r.acquire.Idem) > 0 && len(callers[0].acquire.Idem) > 0 && callers[0].acquire.Idem[0] == r.acquire.Idem[0]
				})
				if (repeats != nil) != (i >= 0) || (repeats != nil && !equal) {
					t.Fatalf("found %v, %v; the place is %d", repeats, equal, i)
				}
				w.join(r, repeats)
				if i >= 0 {
					lines[key][i] = append(lines[key][i], r)
				} else {
					lines[key] = append(lines[key], []*request{r})
				}
			},
			"leave": func(t *rapid.T) {
				key, i := someone(t)
				j := rapid.IntRange(0, len(lines[key][i])-1).Draw(t, "caller")
				w.leave(lines[key][i][j])
				if lines[key][i] = slices.Delete(lines[key][i], j, j+1); len(lines[key][i]) == 0 {
					lines[key] = slices.Delete(lines[key], i, i+1)
				}
			},
			"take": func(t *rapid.T) {
				key, _ := someone(t)
				p, ok := w.queues[key].places.Front().Value.(*place)
				if !ok || !slices.Equal(p.callers, lines[key][0]) {
					t.Fatalf("the first place has %d callers, want %d", len(p.callers), len(lines[key][0]))
				}
				w.take(p)
				lines[key] = lines[key][1:]
				taken = append(taken, p)
			},
			"putBack": func(*rapid.T) {
				for _, p := range slices.Backward(taken) {
					if w.total+len(p.callers) <= limit && w.count(p.key)+len(p.callers) <= perName && !repeated(w, p) {
						w.putBack(p)
						lines[p.key] = append([][]*request{slices.Clone(p.callers)}, lines[p.key]...)
					}
				}
				taken = nil
			},
			"": func(t *rapid.T) {
				total := 0
				for _, key := range keys {
					total += count(key)
					if got := w.count(key); got != count(key) {
						t.Fatalf("%q has %d waiters, want %d", key.Name(), got, count(key))
					}
					if (w.queues[key] != nil) != (len(lines[key]) > 0) {
						t.Fatalf("%q has a queue: %v", key.Name(), w.queues[key] != nil)
					}
				}
				if w.total != total {
					t.Fatalf("%d in all, want %d", w.total, total)
				}
			},
		})
	})
}

// repeated tells whether the key of a place was taken up by another one since.
// The committer alone joins and puts back, so it does not happen to it.
func repeated(w *waiters, p *place) bool {
	found, _ := w.find(&request{key: p.key, acquire: p.acquire})
	return found != nil
}

func TestWakesComeInOrderAndNotBeforeTheirTime(t *testing.T) {
	t.Parallel()
	w := newWaiters(10, 10)
	a, b, c := lease.ElectionKey("a"), lease.ElectionKey("b"), lease.ElectionKey("c")
	for _, k := range []lease.Key{a, b, c} {
		w.join(waiterFor(k), nil)
	}
	w.wakeAt(30, c)
	w.wakeAt(10, a)
	w.wakeAt(20, b)
	w.wakeAt(25, b) // later than the one that is set
	w.wakeAt(5, lease.ElectionKey("nobody waits here"))
	for _, step := range []struct {
		at   lease.Instant
		want []lease.Key
	}{{9, nil}, {20, []lease.Key{a, b}}, {20, nil}, {100, []lease.Key{c}}, {100, nil}} {
		if got := w.dueWakes(step.at, 10); !slices.Equal(got, step.want) {
			t.Errorf("at %d: %v, want %v", step.at, got, step.want)
		}
	}
	w.wakeAt(40, a)
	w.wakeAt(35, a) // earlier: counts
	if got := w.dueWakes(36, 10); !slices.Equal(got, []lease.Key{a}) {
		t.Errorf("the earlier wake of two: %v", got)
	}
	w.wakeAt(1, b)
	w.wakeAt(2, c)
	if got := w.dueWakes(50, 1); len(got) != 1 {
		t.Errorf("%d of at most 1", len(got))
	}
}

func TestFifo(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var (
			q     fifo
			model []*request
		)
		t.Repeat(map[string]func(*rapid.T){
			"push": func(t *rapid.T) {
				for range rapid.IntRange(1, 1500).Draw(t, "requests") {
					r := &request{}
					q.push(r)
					model = append(model, r)
				}
			},
			"pop": func(t *rapid.T) {
				for range rapid.IntRange(0, len(model)).Draw(t, "requests") {
					if got := q.pop(); got != model[0] {
						t.Fatal("not the first")
					}
					model = model[1:]
				}
			},
			"": func(t *rapid.T) {
				if q.len() != len(model) {
					t.Fatalf("%d, want %d", q.len(), len(model))
				}
				if len(q.items) > 2*len(model)+2048 {
					t.Fatalf("%d slots for %d requests", len(q.items), len(model))
				}
			},
		})
	})
}
