package events

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/octostore/octostore/lease"
)

// group is what one full commit of names that nobody watches publishes.
func group(b *book, n int) []lease.Event {
	var evs []lease.Event
	for i := range n {
		evs = append(evs, b.grant(room(1_000_000+i))...)
	}
	return evs
}

//nolint:paralleltest // counts allocations
func TestPublishWithoutWatchersAllocatesNothing(t *testing.T) {
	b := newBook(t, Options{})
	evs := group(b, 512)
	if n := testing.AllocsPerRun(10, func() { b.hub.Publish(evs) }); n != 0 {
		t.Errorf("an empty hub: %v allocations", n)
	}
	for i := range 100 {
		b.watch(t, room(i), "")
	}
	if n := testing.AllocsPerRun(10, func() { b.hub.Publish(evs) }); n != 0 {
		t.Errorf("with other names watched: %v allocations", n)
	}
}

// What an idle stream takes, apart from the goroutine that reads it.
//
//nolint:paralleltest // measures what the process allocates
func TestIdleStreamIsSmall(t *testing.T) {
	const streams = 2000
	for name, c := range map[string]struct{ names, limit uint64 }{
		"OnSharedName":   {1, 256},
		"OnNameOfItsOwn": {streams, 1024},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBook(t, Options{})
			ctx := context.Background()
			all := make([]*Stream, 0, streams)
			presents := make([]func(context.Context) (lease.Reading, error), c.names)
			for i := range presents {
				presents[i] = b.present(room(i))
			}
			keys := make([]lease.Key, c.names)
			for i := range keys {
				keys[i] = room(i)
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			for i := range streams {
				n := i % len(keys)
				s, err := b.hub.Watch(ctx, keys[n], "", presents[n])
				if err != nil {
					t.Fatal(err)
				}
				if _, _, err := s.TryNext(ctx); err != nil {
					t.Fatal(err)
				}
				s.Ready() // it waits
				all = append(all, s)
			}
			runtime.ReadMemStats(&after)
			if per := (after.TotalAlloc - before.TotalAlloc) / streams; per > c.limit {
				t.Errorf("a stream takes %d bytes, more than %d", per, c.limit)
			} else {
				t.Logf("a stream takes %d bytes", per)
			}
			for _, s := range all {
				s.Close()
			}
		})
	}
	if n := unsafe.Sizeof(entry{}); n > 320 {
		t.Errorf("an event takes %d bytes", n)
	}
}

func BenchmarkPublishWithoutWatchers(b *testing.B) {
	for name, watched := range map[string]int{"EmptyRegistry": 0, "FullRegistry": DefaultNames} {
		b.Run(name, func(b *testing.B) {
			bk := newBook(b, Options{})
			for i := range watched {
				bk.watch(b, room(i), "")
			}
			evs := group(bk, 512)
			b.ReportAllocs()
			for b.Loop() {
				bk.hub.Publish(evs)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/512, "ns/event")
		})
	}
}

func BenchmarkPublishAllWatched(b *testing.B) {
	bk := newBook(b, Options{})
	var evs []lease.Event
	for i := range 512 {
		s := bk.watch(b, room(i), "")
		evs = append(evs, bk.grant(room(i))...)
		takeState(b, s, evs[i].Revision)
	}
	b.ReportAllocs()
	for b.Loop() {
		for i := range evs {
			evs[i].Previous, evs[i].Revision = evs[i].Revision, evs[i].Revision+1
		}
		bk.hub.Publish(evs)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/512, "ns/event")
}

// One event to 10,000 streams, each read by a goroutine of its own as by the
// handlers of a server: the time until all have it, and how long Publish and
// Watch took while that went on.
func BenchmarkFanOut(b *testing.B) {
	const streams = 10_000
	bk := newBook(b, Options{})
	key := room(1)
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()

	var encoded atomic.Int64
	encode := func(f Frame) []byte { encoded.Add(1); return []byte(f.Record.Key.Name()) }
	started, got := make(chan struct{}, streams), make(chan struct{}, streams)
	for range streams {
		s := bk.watch(b, key, "")
		takeState(b, s, 0)
		wg.Go(func() {
			started <- struct{}{}
			for {
				f, err := s.Next(ctx)
				if err != nil {
					return
				}
				f.Encode(encode)
				got <- struct{}{}
			}
		})
	}
	for range streams {
		<-started
	}
	var publish, watch time.Duration
	b.ReportAllocs()
	for b.Loop() {
		evs := bk.flip(key)
		start := time.Now()
		bk.hub.Publish(evs)
		published := time.Now()
		publish = max(publish, published.Sub(start))
		for i := range streams {
			<-got
			if i == streams/2 { // in the middle of it
				start := time.Now()
				s, err := bk.hub.Watch(ctx, key, "", bk.present(key))
				if err != nil {
					b.Fatal(err)
				}
				s.Close()
				watch = max(watch, time.Since(start))
			}
		}
	}
	if n := encoded.Load(); n != int64(b.N) {
		b.Errorf("%d encodings of %d events", n, b.N)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/streams, "ns/stream")
	b.ReportMetric(float64(publish.Microseconds()), "max-publish-us")
	b.ReportMetric(float64(watch.Microseconds()), "max-watch-us")
}
