package events

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/octostore/octostore/lease"
)

// The list of topics to wake is what takes the place of a queue: it is bounded
// because a topic stands in it once, however much happens before its turn.
func TestDirtyTopics(t *testing.T) {
	t.Parallel()
	b := newBook(t, Options{})
	b.watch(t, room(1), "")
	b.watch(t, room(2), "").Close()
	var evs []lease.Event
	for range 10 {
		evs = append(evs, b.flip(room(1))...)
		evs = append(evs, b.flip(room(2))...)
	}
	b.hub.mu.Lock()
	defer b.hub.mu.Unlock()
	for i := range evs {
		b.hub.record(b.hub.topics[evs[i].Record.Key], &evs[i])
	}
	if len(b.hub.dirty) != 1 || b.hub.dirty[0].key != room(1) {
		t.Errorf("%d topics are to be woken, want the watched one, once", len(b.hub.dirty))
	}
}

func TestWakeReachesAllWhoWait(t *testing.T) {
	t.Parallel()
	tp := newTopic(room(1))
	for range 2000 {
		const streams = 2
		var channels [streams]<-chan struct{}
		var arrived atomic.Int32
		var wg sync.WaitGroup
		for i := range streams {
			wg.Go(func() {
				arrived.Add(1)
				for n := 1; arrived.Load() < streams; n++ {
					if n%1000 == 0 { // spins, so that both go at the same instant
						runtime.Gosched()
					}
				}
				channels[i] = tp.signal()
			})
		}
		wg.Wait()
		tp.wake()
		for i, c := range channels {
			select {
			case <-c:
			default:
				t.Fatalf("stream %d sleeps on", i)
			}
		}
	}
}
