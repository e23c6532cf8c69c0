package events

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
)

func TestClose(t *testing.T) {
	t.Parallel()

	ends := func(t *testing.T, s *Stream) {
		t.Helper()
		select {
		case <-s.Ready():
		default:
			t.Error("a closed stream is not ready to say so")
		}
		if f, err := s.Next(context.Background()); !errors.Is(err, ErrClosed) {
			t.Errorf("Next = %s, %v; want ErrClosed", show(f), err)
		}
	}

	t.Run("EndsStreamsThatWait", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			b := newBook(t, Options{})
			const streams = 20
			got := make(chan error, streams)
			for i := range streams {
				s := b.watch(t, room(i%3), "")
				takeState(t, s, 0)
				go func() {
					_, err := s.Next(context.Background())
					got <- err
				}()
			}
			synctest.Wait()
			b.hub.Close()
			for range streams {
				if err := <-got; !errors.Is(err, ErrClosed) {
					t.Errorf("Next = %v, want ErrClosed", err)
				}
			}
		})
	})

	t.Run("DeliversWhatWasPublishedBefore", func(t *testing.T) {
		t.Parallel()
		b := newBook(t, Options{})
		s := b.watch(t, room(1), "")
		takeState(t, s, 0)
		granted := b.grant(room(1))
		b.publish(granted)
		b.hub.Close()
		b.publish(b.renew(room(1))) // too late
		takeEvent(t, s, granted[0])
		ends(t, s)
	})

	t.Run("ReadsNoStateAfterwards", func(t *testing.T) {
		t.Parallel()
		b := newBook(t, Options{Buffer: 1})
		first, gapped, resumed := b.watch(t, room(1), ""), b.watch(t, room(2), ""), b.watch(t, room(3), "7")
		lagging := b.watch(t, room(2), "")
		takeState(t, gapped, 0)
		takeState(t, lagging, 0)
		b.publish(b.flip(room(2)), b.flip(room(2)))
		takeGap(t, gapped)
		reads := b.reads
		b.hub.Close()
		for _, s := range []*Stream{first, gapped, resumed, lagging} {
			ends(t, s)
		}
		if b.reads != reads {
			t.Errorf("state read %d times after the end", b.reads-reads)
		}
	})

	t.Run("RefusesNewStreams", func(t *testing.T) {
		t.Parallel()
		b := newBook(t, Options{})
		b.hub.Close()
		b.hub.Close()
		if _, err := b.hub.Watch(context.Background(), room(1), "", b.present(room(1))); !errors.Is(err, ErrClosed) {
			t.Errorf("Watch = %v, want ErrClosed", err)
		}
	})

	t.Run("StreamCanBeClosedAfterHub", func(t *testing.T) {
		t.Parallel()
		b := newBook(t, Options{})
		s := b.watch(t, room(1), "")
		b.hub.Close()
		s.Close()
		if n := b.hub.Stats().Streams; n != 0 {
			t.Errorf("%d streams are left", n)
		}
	})

	t.Run("ClosedStreamSaysNothing", func(t *testing.T) {
		t.Parallel()
		b := newBook(t, Options{})
		s := b.watch(t, room(1), "")
		takeState(t, s, 0)
		s.Close()
		ends(t, s)
		b.publish(b.grant(room(1)))
		ends(t, s)
		other := b.watch(t, room(1), "")
		takeState(t, other, b.read(room(1)).Record.Revision)
	})
}
