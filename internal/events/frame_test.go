package events

import (
	"bytes"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
)

func TestEncode(t *testing.T) {
	t.Parallel()

	encoder := func() (func(Frame) []byte, *atomic.Int64) {
		var calls atomic.Int64
		return func(f Frame) []byte {
			calls.Add(1)
			for range 100 {
				runtime.Gosched() // so that others come meanwhile
			}
			return []byte(show(f))
		}, &calls
	}

	t.Run("OncePerEventForAllStreams", func(t *testing.T) {
		t.Parallel()
		b := newBook(t, Options{})
		const streams = 50
		var all []*Stream
		for range streams {
			s := b.watch(t, room(1), "")
			takeState(t, s, 0)
			all = append(all, s)
		}
		evs := append(b.grant(room(1)), b.renew(room(1))...)
		b.publish(evs)
		fn, calls := encoder()
		var wg sync.WaitGroup
		for _, s := range all {
			wg.Go(func() {
				for _, ev := range evs {
					f := takeEvent(t, s, ev)
					if got := f.Encode(fn); !bytes.Equal(got, []byte(show(f))) {
						t.Errorf("encoding = %q, want %q", got, show(f))
					}
				}
			})
		}
		wg.Wait()
		if n := calls.Load(); n != 2 {
			t.Errorf("%d encodings of 2 events", n)
		}
	})

	t.Run("EachTimeForStatesAndGaps", func(t *testing.T) {
		t.Parallel()
		b := newBook(t, Options{})
		fn, calls := encoder()
		for range 3 {
			s := b.watch(t, room(1), "x")
			for _, want := range []string{"gap", "state 0"} {
				if got := string(take(t, s).Encode(fn)); got != want {
					t.Errorf("encoding = %q, want %q", got, want)
				}
			}
		}
		if n := calls.Load(); n != 6 {
			t.Errorf("%d encodings of 6 frames", n)
		}
	})

	t.Run("IsKeptOnlyWhileStreamsNeedIt", func(t *testing.T) {
		t.Parallel()
		b := newBook(t, Options{Buffer: 2})
		s := b.watch(t, room(1), "")
		takeState(t, s, 0)
		fn, calls := encoder()
		var frames []Frame
		for range 5 {
			evs := b.flip(room(1))
			b.publish(evs)
			f := takeEvent(t, s, evs[0])
			f.Encode(fn)
			frames = append(frames, f)
		}
		for i, f := range frames {
			before := calls.Load()
			if got := string(f.Encode(fn)); got != show(f) {
				t.Errorf("encoding = %q, want %q", got, show(f))
			}
			if kept := calls.Load() == before; kept != (i >= 3) {
				t.Errorf("event %d of 5: kept = %v", i+1, kept)
			}
			if made := f.entry.text.made.Load() != nil; made != (i >= 3) {
				t.Errorf("event %d of 5: made = %v", i+1, made)
			}
		}
	})

	t.Run("LetsGoWhatIsReleasedWhileItIsMade", func(t *testing.T) {
		t.Parallel()
		b := newBook(t, Options{Buffer: 1})
		s := b.watch(t, room(1), "")
		takeState(t, s, 0)
		b.publish(b.flip(room(1)))
		f := take(t, s)
		got := f.Encode(func(Frame) []byte {
			b.publish(b.flip(room(1)), b.flip(room(1)))
			return []byte("text")
		})
		if string(got) != "text" || f.entry.text.made.Load() != nil {
			t.Errorf("encoding = %q, kept = %v", got, f.entry.text.made.Load() != nil)
		}
	})

	t.Run("SurvivesPanicOfEncoder", func(t *testing.T) {
		t.Parallel()
		b := newBook(t, Options{})
		s := b.watch(t, room(1), "")
		takeState(t, s, 0)
		b.publish(b.flip(room(1)))
		f := take(t, s)
		func() {
			defer func() {
				if recover() == nil {
					t.Error("the panic was swallowed")
				}
			}()
			f.Encode(func(Frame) []byte { panic("broken") })
		}()
		fn, _ := encoder()
		if got := string(f.Encode(fn)); got != show(f) {
			t.Errorf("encoding = %q, want %q", got, show(f))
		}
	})
}
