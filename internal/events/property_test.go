package events

import (
	"context"
	"math"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/octostore/octostore/lease"
)

// Random histories of a few names, published at once, late, out of order or
// never, read by streams that come, lag, go and come back: every stream keeps
// its promises, and in the end all know the present state.
func TestRandomHistories(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var seen tally
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(t, rt)
		defer w.book.hub.Close()
		rt.Repeat(map[string]func(*rapid.T){
			"commit": w.commit,
			"lose":   w.lose,
			"flush":  w.flush,
			"late":   w.publishLate,
			"join":   w.join,
			"leave":  w.leave,
			"read":   w.readOne,
			"drain":  w.drainOne,
			"":       w.bounded,
		})
		w.settle(rt)
		mu.Lock()
		seen.add(w.seen)
		mu.Unlock()
	})
	if t.Failed() {
		return
	}
	if seen.replays == 0 || seen.repeats == 0 || seen.gaps == 0 || seen.events == 0 || seen.states == 0 || seen.vacancies == 0 {
		t.Errorf("not everything happened: %+v", seen)
	}
}

type world struct {
	book    *book
	options Options
	keys    []lease.Key
	pending [][]lease.Event // committed, to be published in this order
	lost    [][]lease.Event // committed, not published
	readers []*reader
	gone    map[lease.Key][]int64 // last revisions of readers that left
	seen    tally
}

func newWorld(t *testing.T, rt *rapid.T) *world {
	t.Helper()
	o := Options{
		Buffer:  rapid.IntRange(1, 5).Draw(rt, "buffer"),
		History: rapid.IntRange(1, 12).Draw(rt, "history"),
		Linger:  -1,
	}
	if rapid.Bool().Draw(rt, "linger") {
		o.Linger = DefaultLinger
	}
	return &world{book: newBook(t, o), options: o, keys: []lease.Key{room(1), room(2)}, gone: map[lease.Key][]int64{}}
}

func (w *world) transition(t *rapid.T) []lease.Event {
	key := rapid.SampledFrom(w.keys).Draw(t, "name")
	if !w.book.read(key).Record.Held {
		return w.book.grant(key)
	}
	switch rapid.SampledFrom([]string{"renew", "release", "expire"}).Draw(t, "transition") {
	case "renew":
		return w.book.renew(key)
	case "release":
		return w.book.release(key)
	default:
		return w.book.expire(key)
	}
}

func (w *world) commit(t *rapid.T) {
	for range rapid.IntRange(1, 6).Draw(t, "many") {
		w.pending = append(w.pending, w.transition(t))
	}
	if rapid.Bool().Draw(t, "publish") {
		w.flush(t)
	}
}

func (w *world) flush(*rapid.T) {
	w.book.publish(w.pending...)
	w.pending = nil
}

func (w *world) lose(t *rapid.T) {
	w.flush(t)
	w.lost = append(w.lost, w.transition(t))
}

func (w *world) publishLate(t *rapid.T) {
	if len(w.lost) > 0 {
		w.book.publish(rapid.SampledFrom(w.lost).Draw(t, "lost"))
	}
}

func (w *world) join(t *rapid.T) {
	if len(w.readers) == 8 {
		return
	}
	r := &reader{key: rapid.SampledFrom(w.keys).Draw(t, "name"), from: -1}
	present := w.book.read(r.key).Record.Revision
	switch rapid.SampledFrom([]string{"none", "back", "back", "old", "future", "garbage"}).Draw(t, "resume") {
	case "back":
		if ids := w.gone[r.key]; len(ids) > 0 {
			r.from = rapid.SampledFrom(ids).Draw(t, "id")
		}
	case "old":
		r.from = max(0, present-rapid.Int64Range(0, 30).Draw(t, "back"))
	case "future":
		r.from = present + rapid.Int64Range(1, 5).Draw(t, "ahead") // may come true before the first frame
	case "garbage":
		r.resume = rapid.SampledFrom([]string{"x", "-1", "+1", "007", id(math.MaxInt64)}).Draw(t, "garbage")
	}
	if r.from >= 0 {
		r.resume = id(r.from)
	}
	s, err := w.book.hub.Watch(context.Background(), r.key, r.resume, w.book.present(r.key))
	if err != nil {
		t.Fatal(err)
	}
	r.stream = s
	w.readers = append(w.readers, r)
}

func (w *world) leave(t *rapid.T) {
	if len(w.readers) == 0 {
		return
	}
	i := rapid.IntRange(0, len(w.readers)-1).Draw(t, "reader")
	r := w.readers[i]
	w.readers = append(w.readers[:i:i], w.readers[i+1:]...)
	r.stream.Close()
	w.seen.add(r.tally)
	if r.frames > 0 && !r.gapped {
		w.gone[r.key] = append(w.gone[r.key], r.last)
	}
}

func (w *world) readOne(t *rapid.T) {
	if len(w.readers) > 0 {
		w.next(t, rapid.SampledFrom(w.readers).Draw(t, "reader"))
	}
}

func (w *world) drainOne(t *rapid.T) {
	if len(w.readers) > 0 {
		r := rapid.SampledFrom(w.readers).Draw(t, "reader")
		for w.next(t, r) {
		}
	}
}

func (w *world) next(t *rapid.T, r *reader) bool {
	f, ok, err := r.stream.TryNext(context.Background())
	if err == nil && ok {
		err = r.check(f)
	}
	if err != nil {
		t.Fatal(err)
	}
	return ok
}

func (w *world) bounded(t *rapid.T) {
	if got := w.book.hub.Stats(); got.History > w.options.History || got.Streams != len(w.readers) {
		t.Fatalf("stats = %+v with %d readers and a history of %d", got, len(w.readers), w.options.History)
	}
}

// settle publishes all that is pending and one event more of each name, which
// tells those who watch it of whatever was lost before.
func (w *world) settle(t *rapid.T) {
	w.flush(t)
	for _, key := range w.keys {
		w.book.publish(w.book.flip(key))
	}
	for _, r := range w.readers {
		for w.next(t, r) {
		}
		if err := r.agrees(w.book.read(r.key).Record); err != nil {
			t.Fatal(err)
		}
		r.stream.Close()
		w.seen.add(r.tally)
	}
}
