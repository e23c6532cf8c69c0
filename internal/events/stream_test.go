package events

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/octostore/octostore/lease"
)

func TestStream(t *testing.T) {
	t.Parallel()

	t.Run("BeginsWithPresentState", func(t *testing.T) {
		t.Parallel()
		b := newBook(t, Options{})
		granted := b.grant(room(1))
		b.publish(granted)
		s := b.watch(t, room(1), "")
		f := takeState(t, s, granted[0].Revision)
		if f.Record.Lease.Label != "candidate-1" || f.At != b.read(room(1)).At {
			t.Errorf("state = %q at %v", f.Record.Lease.Label, f.At)
		}
		takeNothing(t, s)
	})

	t.Run("BeginsWithVacancyOfUnknownName", func(t *testing.T) {
		t.Parallel()
		b := newBook(t, Options{})
		s := b.watch(t, room(1), "")
		takeState(t, s, 0)
		granted := b.grant(room(1))
		b.publish(granted)
		takeEvent(t, s, granted[0])
	})

	t.Run("TellsEveryTransitionInOrder", func(t *testing.T) {
		t.Parallel()
		b := newBook(t, Options{})
		s := b.watch(t, room(1), "")
		takeState(t, s, 0)
		var want []lease.Type
		for _, step := range []func(lease.Key) []lease.Event{b.grant, b.renew, b.release, b.grant, b.expire} {
			evs := step(room(1))
			b.publish(evs)
			f := takeEvent(t, s, evs[0])
			want = append(want, f.Event.Type)
			if ended := f.Event.Type == lease.WasReleased || f.Event.Type == lease.Expired; ended == f.Record.Held {
				t.Errorf("after %s held = %v", f.Event.Type, f.Record.Held)
			}
		}
		if len(want) != 5 || want[2] != lease.WasReleased || want[4] != lease.Expired {
			t.Errorf("types = %v", want)
		}
		takeNothing(t, s)
	})

	t.Run("HearsOnlyOfItsOwnName", func(t *testing.T) {
		t.Parallel()
		b := newBook(t, Options{})
		s := b.watch(t, room(1), "")
		lock := b.watch(t, lease.LockKey("acme", "room-1"), "")
		takeState(t, s, 0)
		takeState(t, lock, 0)
		b.publish(b.grant(room(2)), b.grant(lease.LockKey("other", "room-1")))
		takeNothing(t, s)
		takeNothing(t, lock)
	})

	t.Run("AcceptsRevisionsThatJump", func(t *testing.T) {
		t.Parallel()
		b := newBook(t, Options{})
		granted := b.grant(room(1))
		s := b.watch(t, room(1), "")
		takeState(t, s, granted[0].Revision)
		b.mu.Lock()
		r := b.records[room(1)]
		r.Rebase = true
		b.now.Wall += 1_000_000
		b.records[room(1)] = r
		b.mu.Unlock()
		renewed := b.renew(room(1))
		if renewed[0].Revision <= granted[0].Revision+1 {
			t.Fatalf("revision %d follows %d: no jump", renewed[0].Revision, granted[0].Revision)
		}
		b.publish(renewed)
		takeEvent(t, s, renewed[0])
	})

	t.Run("SendsWhatIsPublishedWhileStateIsRead", func(t *testing.T) {
		t.Parallel()
		b := newBook(t, Options{})
		b.publish(b.grant(room(1)))
		var released []lease.Event
		s, err := b.hub.Watch(context.Background(), room(1), "", func(context.Context) (lease.Reading, error) {
			before := b.read(room(1))
			released = b.release(room(1))
			b.publish(released)
			return before, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if f := take(t, s); f.Event != nil || f.Revision != released[0].Previous {
			t.Fatalf("frame = %s, want the state before the release", show(f))
		}
		takeEvent(t, s, released[0])
	})

	t.Run("DoesNotRepeatWhatStateTells", func(t *testing.T) {
		t.Parallel()
		b := newBook(t, Options{})
		s, err := b.hub.Watch(context.Background(), room(1), "", func(context.Context) (lease.Reading, error) {
			b.publish(b.grant(room(1)), b.renew(room(1)))
			return b.read(room(1)), nil
		})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if f := take(t, s); f.Event != nil || f.Revision == 0 || f.Revision != b.read(room(1)).Record.Revision {
			t.Fatalf("frame = %s, want the state after both", show(f))
		}
		takeNothing(t, s)
		released := b.release(room(1))
		b.publish(released)
		takeEvent(t, s, released[0])
	})

	t.Run("DoesNotRepeatLatePublication", func(t *testing.T) {
		t.Parallel()
		b := newBook(t, Options{})
		granted := b.grant(room(1)) // committed, not yet published
		s := b.watch(t, room(1), "")
		takeState(t, s, granted[0].Revision)
		b.publish(granted)
		takeNothing(t, s)
	})

	t.Run("AnnouncesBrokenContinuity", func(t *testing.T) {
		t.Parallel()
		b := newBook(t, Options{})
		s := b.watch(t, room(1), "")
		takeState(t, s, 0)
		b.publish(b.grant(room(1)))
		take(t, s)
		b.renew(room(1)) // never published
		b.publish(b.renew(room(1)))
		takeGap(t, s)
		takeState(t, s, b.read(room(1)).Record.Revision)
		released := b.release(room(1))
		b.publish(released)
		takeEvent(t, s, released[0])
	})

	t.Run("AnnouncesEventsOutOfOrder", func(t *testing.T) {
		t.Parallel()
		b := newBook(t, Options{})
		granted, renewed := b.grant(room(1)), b.renew(room(1))
		s := b.watch(t, room(1), "")
		takeState(t, s, renewed[0].Revision)
		late, last := b.renew(room(1)), b.release(room(1))
		b.publish(last, late, granted, last)
		takeGap(t, s)
		takeState(t, s, last[0].Revision)
		takeNothing(t, s)
		if n := b.hub.Stats().History; n != 1 {
			t.Errorf("history holds %d events, want only the one that came in order", n)
		}
	})

	t.Run("ReturnsErrorOfPresentStateAndRecovers", func(t *testing.T) {
		t.Parallel()
		b := newBook(t, Options{})
		fail := errors.New("no store")
		broken := true
		s, err := b.hub.Watch(context.Background(), room(1), "", func(context.Context) (lease.Reading, error) {
			if broken {
				return lease.Reading{}, fail
			}
			return b.read(room(1)), nil
		})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		for range 2 {
			if _, err := s.Next(context.Background()); !errors.Is(err, fail) {
				t.Fatalf("Next = %v, want %v", err, fail)
			}
		}
		broken = false
		takeState(t, s, 0)
	})

	t.Run("StopsWithItsContext", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			b := newBook(t, Options{})
			s := b.watch(t, room(1), "")
			takeState(t, s, 0)
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			if _, err := s.Next(ctx); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("Next = %v", err)
			}
			if _, err := b.hub.Watch(ctx, room(1), "", b.present(room(1))); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("Watch = %v", err)
			}
			granted := b.grant(room(1))
			b.publish(granted)
			takeEvent(t, s, granted[0]) // the stream itself goes on
		})
	})

	t.Run("WakesWhoWaits", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			b := newBook(t, Options{})
			s := b.watch(t, room(1), "")
			takeState(t, s, 0)
			got := make(chan Frame)
			go func() {
				for range 3 {
					f, err := s.Next(context.Background())
					if err != nil {
						t.Error(err)
					}
					got <- f
				}
			}()
			for _, step := range []func(lease.Key) []lease.Event{b.grant, b.renew, b.release} {
				synctest.Wait() // it waits again
				evs := step(room(1))
				b.publish(evs)
				if f := <-got; f.Revision != evs[0].Revision {
					t.Errorf("frame = %s, want revision %d", show(f), evs[0].Revision)
				}
			}
		})
	})
}

// The loop of a writer has to serve its own clocks between frames.
func TestReady(t *testing.T) {
	t.Parallel()

	closed := func(c <-chan struct{}) bool {
		select {
		case <-c:
			return true
		default:
			return false
		}
	}

	t.Run("IsClosedWhileThereIsSomething", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			b := newBook(t, Options{Buffer: 1})
			s := b.watch(t, room(1), "")
			if !closed(s.Ready()) {
				t.Error("not ready for the first frame")
			}
			takeState(t, s, 0)
			c := s.Ready()
			if closed(c) {
				t.Error("ready without news")
			}
			b.publish(b.grant(room(1)))
			synctest.Wait()
			if !closed(c) || !closed(s.Ready()) {
				t.Error("not ready for an event")
			}
			take(t, s)
			if closed(s.Ready()) {
				t.Error("ready after all was read")
			}
			b.publish(b.renew(room(1)), b.renew(room(1)))
			takeGap(t, s)
			if !closed(s.Ready()) {
				t.Error("not ready for the state after a gap")
			}
		})
	})

	t.Run("LetsHeartbeatsPass", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			b := newBook(t, Options{})
			start := time.Now()
			s := b.watch(t, room(1), "")
			heartbeat := time.NewTicker(15 * time.Second)
			defer heartbeat.Stop()
			lifetime := time.NewTimer(70 * time.Second)
			defer lifetime.Stop()
			flip := time.AfterFunc(20*time.Second, func() { b.publish(b.grant(room(1)), b.release(room(1))) })
			defer flip.Stop()
			var beats, frames int
			for {
				select {
				case <-heartbeat.C:
					beats++
					continue
				case <-lifetime.C:
					if beats != 4 || frames != 3 {
						t.Errorf("%d heartbeats and %d frames, want 4 and 3", beats, frames)
					}
					if d := time.Since(start); d != 70*time.Second {
						t.Errorf("ended after %v", d)
					}
					return
				case <-s.Ready():
				}
				if _, ok, err := s.TryNext(context.Background()); err != nil {
					t.Fatal(err)
				} else if ok {
					frames++
				}
			}
		})
	})

	t.Run("MayTurnOutToBeNothing", func(t *testing.T) {
		t.Parallel()
		b := newBook(t, Options{})
		granted := b.grant(room(1))
		s := b.watch(t, room(1), "")
		takeState(t, s, granted[0].Revision)
		b.publish(granted)
		if !closed(s.Ready()) {
			t.Error("not ready to look at the event")
		}
		takeNothing(t, s)
		if closed(s.Ready()) {
			t.Error("still ready after looking at it")
		}
	})
}
