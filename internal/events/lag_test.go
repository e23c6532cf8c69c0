package events

import (
	"runtime"
	"sync/atomic"
	"testing"
)

func TestLag(t *testing.T) {
	t.Parallel()

	lagging := func(t *testing.T, behind int) (*book, *Stream, *atomic.Int64) {
		t.Helper()
		var dropped atomic.Int64
		b := newBook(t, Options{Buffer: 4, Dropped: func(n int) { dropped.Add(int64(n)) }})
		s := b.watch(t, room(1), "")
		takeState(t, s, 0)
		for range behind {
			b.publish(b.flip(room(1)))
		}
		return b, s, &dropped
	}

	t.Run("WithinBufferLosesNothing", func(t *testing.T) {
		t.Parallel()
		_, s, dropped := lagging(t, 4)
		for range 4 {
			if f := take(t, s); f.Event == nil {
				t.Fatalf("frame = %s, want an event", show(f))
			}
		}
		takeNothing(t, s)
		if n := dropped.Load(); n != 0 {
			t.Errorf("dropped = %d", n)
		}
	})

	t.Run("BeyondBufferIsGapAndState", func(t *testing.T) {
		t.Parallel()
		b, s, dropped := lagging(t, 5)
		takeGap(t, s)
		takeState(t, s, b.read(room(1)).Record.Revision)
		takeNothing(t, s)
		if n := dropped.Load(); n != 5 {
			t.Errorf("dropped = %d, want 5", n)
		}
		evs := b.flip(room(1))
		b.publish(evs)
		takeEvent(t, s, evs[0])
	})

	t.Run("CountsFromWhatWasSent", func(t *testing.T) {
		t.Parallel()
		b, s, _ := lagging(t, 3)
		take(t, s)
		b.publish(b.flip(room(1)), b.flip(room(1)))
		for range 4 {
			if f := take(t, s); f.Event == nil {
				t.Fatalf("frame = %s, want an event", show(f))
			}
		}
	})

	t.Run("DoesNotCountWhatStateTells", func(t *testing.T) {
		t.Parallel()
		b := newBook(t, Options{Buffer: 2})
		s := b.watch(t, room(1), "")
		for range 9 {
			b.publish(b.flip(room(1))) // before the first frame is asked for
		}
		takeState(t, s, b.read(room(1)).Record.Revision)
		takeNothing(t, s)
	})

	t.Run("CountsDuringReplayOnlyWhatIsNew", func(t *testing.T) {
		t.Parallel()
		b, other, _ := lagging(t, 20)
		takeGap(t, other)
		first := b.hub.topics[room(1)].log.at(0).event.Revision
		s := b.watch(t, room(1), id(first))
		for range 4 {
			b.publish(b.flip(room(1)))
		}
		for range 19 + 4 {
			if f := take(t, s); f.Event == nil {
				t.Fatalf("frame = %s, want an event", show(f))
			}
		}
		s = b.watch(t, room(1), id(first))
		for range 5 {
			b.publish(b.flip(room(1)))
		}
		takeGap(t, s)
	})

	t.Run("ReaderThatStandsStillPinsOneEvent", func(t *testing.T) {
		t.Parallel()
		const keep = 8
		b := newBook(t, Options{History: keep})
		var freed atomic.Int64
		s := b.watch(t, room(1), "")
		takeState(t, s, 0)
		b.publish(b.flip(room(1)))
		held := take(t, s) // and then it reads no more
		const more = 200
		for range more {
			b.publish(b.flip(room(1)))
			e := b.hub.topics[room(1)].tail.Load()
			runtime.AddCleanup(e, func(struct{}) { freed.Add(1) }, struct{}{})
		}
		if n := b.hub.Stats().History; n != keep {
			t.Fatalf("history holds %d events, want %d", n, keep)
		}
		// All but the history and the anchor before it can be collected, although
		// the stream and its frame are alive.
		for i := 0; freed.Load() < more-keep-1; i++ {
			if i == 1000 {
				t.Fatalf("only %d of %d events were collected", freed.Load(), more)
			}
			runtime.GC()
			runtime.Gosched()
		}
		runtime.KeepAlive(held)
		takeGap(t, s)
		takeState(t, s, b.read(room(1)).Record.Revision)
	})
}
