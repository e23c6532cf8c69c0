package events

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestRegistry(t *testing.T) {
	t.Parallel()

	watch := func(b *book, i int) (*Stream, error) {
		return b.hub.Watch(context.Background(), room(i), "", b.present(room(i)))
	}

	t.Run("RefusesOneNameTooMany", func(t *testing.T) {
		t.Parallel()
		b := newBook(t, Options{Names: 2})
		b.watch(t, room(1), "")
		b.watch(t, room(2), "")
		if _, err := watch(b, 3); !errors.Is(err, ErrFull) {
			t.Fatalf("Watch = %v, want ErrFull", err)
		}
		b.watch(t, room(2), "") // a name that is watched already needs no room
		if got, want := b.hub.Stats(), (Stats{Names: 2, Streams: 3}); got != want {
			t.Errorf("stats = %+v, want %+v", got, want)
		}
	})

	t.Run("NameWithoutStreamsMakesRoom", func(t *testing.T) {
		t.Parallel()
		b := newBook(t, Options{Names: 2})
		s := b.watch(t, room(1), "")
		b.watch(t, room(2), "")
		s.Close()
		s.Close() // counts once
		b.watch(t, room(3), "")
		if _, err := watch(b, 1); !errors.Is(err, ErrFull) {
			t.Fatalf("Watch = %v, want ErrFull", err)
		}
		if got, want := b.hub.Stats(), (Stats{Names: 2, Streams: 2}); got != want {
			t.Errorf("stats = %+v, want %+v", got, want)
		}
	})

	t.Run("LongestLingeringMakesRoomFirst", func(t *testing.T) {
		t.Parallel()
		b := newBook(t, Options{Names: 3})
		for _, i := range []int{1, 2, 3} {
			b.watch(t, room(i), "").Close()
		}
		granted := b.grant(room(2))
		b.publish(granted)
		back := b.watch(t, room(1), "") // not the one that goes any more
		b.watch(t, room(4), "")         // takes the place of room 2
		takeGap(t, b.watch(t, room(2), id(0)))
		takeState(t, back, 0)
		if got, want := b.hub.Stats(), (Stats{Names: 3, Streams: 3}); got.Names != want.Names || got.Streams != want.Streams {
			t.Errorf("stats = %+v, want %+v", got, want)
		}
	})

	t.Run("EventsAreKeptWhileNameLingers", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			b := newBook(t, Options{Linger: time.Minute})
			s := b.watch(t, room(1), "")
			takeState(t, s, 0)
			s.Close()
			pass(time.Minute - 1)
			granted := b.grant(room(1))
			b.publish(granted)
			s = b.watch(t, room(1), "0")
			takeEvent(t, s, granted[0])
			pass(time.Hour) // watched again: the old time limit is void
			synctest.Wait()
			takeNothing(t, s)
			renewed := b.renew(room(1))
			b.publish(renewed)
			takeEvent(t, s, renewed[0])
		})
	})

	t.Run("EventsGoWhenNameLingeredLongEnough", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			b := newBook(t, Options{Linger: time.Minute})
			const names, each = 3, 5 * turnSize // more than one turn of the goroutine takes out
			for i := range names {
				s := b.watch(t, room(i), "")
				for range each {
					b.publish(b.flip(room(i)))
				}
				s.Close()
				pass(10 * time.Second)
			}
			other := b.watch(t, room(names), "")
			b.publish(b.grant(room(names)))
			pass(25 * time.Second)
			for left := names; left >= 0; left-- { // 55 s after the first was closed, then 65 s, ...
				synctest.Wait()
				if got, want := b.hub.Stats(), (Stats{Names: 1, Lingering: left, Streams: 1, History: each*left + 1}); got != want {
					t.Errorf("stats = %+v, want %+v", got, want)
				}
				pass(10 * time.Second)
			}
			takeState(t, other, b.read(room(names)).Record.Revision)
			takeGap(t, b.watch(t, room(0), id(b.read(room(0)).Record.Revision-1)))
		})
	})

	t.Run("ManyNamesGoTogether", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			const names = 3 * turnSize
			b := newBook(t, Options{})
			for i := range names {
				b.watch(t, room(i), "").Close()
			}
			pass(DefaultLinger - 1)
			if got, want := b.hub.Stats(), (Stats{Lingering: names}); got != want {
				t.Errorf("stats = %+v, want %+v", got, want)
			}
			pass(1)
			synctest.Wait()
			if got := b.hub.Stats(); got != (Stats{}) {
				t.Errorf("stats = %+v, want none", got)
			}
		})
	})

	t.Run("KeepsNothingIfLingerIsNegative", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			b := newBook(t, Options{Linger: -1})
			s := b.watch(t, room(1), "")
			b.publish(b.grant(room(1)), b.renew(room(1)))
			s.Close()
			synctest.Wait()
			if got := b.hub.Stats(); got != (Stats{}) {
				t.Errorf("stats = %+v, want none", got)
			}
		})
	})

	t.Run("OldestEventGoesWhateverItsName", func(t *testing.T) {
		t.Parallel()
		b := newBook(t, Options{History: 4})
		quiet := b.watch(t, room(1), "")
		takeState(t, quiet, 0)
		b.watch(t, room(2), "")
		granted := b.grant(room(1))
		b.publish(granted)
		read := b.watch(t, room(1), "")
		takeState(t, read, granted[0].Revision)
		for range 4 {
			b.publish(b.flip(room(2)))
		}
		takeGap(t, quiet) // what it had not read is gone ...
		takeState(t, quiet, granted[0].Revision)
		renewed := b.renew(room(1))
		b.publish(renewed)
		takeEvent(t, read, renewed[0]) // ... and who had read it goes on without a gap
		takeEvent(t, quiet, renewed[0])
		if n := b.hub.Stats().History; n != 4 {
			t.Errorf("history = %d, want 4", n)
		}
	})

	t.Run("NamesNobodyWatchesLeaveNothing", func(t *testing.T) {
		t.Parallel()
		b := newBook(t, Options{})
		b.watch(t, room(0), "")
		for i := 1; i < 100; i++ {
			b.publish(b.grant(room(i)))
		}
		if got, want := b.hub.Stats(), (Stats{Names: 1, Streams: 1}); got != want {
			t.Errorf("stats = %+v, want %+v", got, want)
		}
	})
}
