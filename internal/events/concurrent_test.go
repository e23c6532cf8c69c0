package events

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/octostore/octostore/lease"
)

// One committer publishes groups, readers come and go with their last id,
// names come and go until the registry is full, and then the hub closes under
// all of them.
func TestEverythingAtOnce(t *testing.T) {
	t.Parallel()
	const (
		names  = 3
		extra  = 6 // names in excess of the registry
		groups = 300
	)
	b := newBook(t, Options{Names: names + extra/2, History: 64, Linger: time.Millisecond, Buffer: 4})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // only so that a stream that hangs fails
	defer cancel()
	working, finish := context.WithCancel(ctx)
	defer finish()

	// The names proper are watched throughout, so that they keep their places.
	for i := range names {
		b.watch(t, room(i), "")
	}

	var readers, churn sync.WaitGroup
	caughtUp := make(chan struct{}, 64)
	for i := range 12 {
		key := room(i % names)
		readers.Go(func() {
			var last *reader
			for over := false; !over; {
				over = working.Err() != nil
				stay := working
				if over {
					stay = ctx
				}
				r := &reader{key: key, from: -1}
				if last != nil && last.frames > 0 && !last.gapped {
					r.from = last.last
					r.resume = id(r.from)
				}
				s, err := b.hub.Watch(ctx, key, r.resume, b.present(key))
				if err != nil {
					t.Error(err)
					return
				}
				r.stream = s
				for n := 0; over || n < 1+i; n++ {
					if over && r.last == b.read(key).Record.Revision && !r.gapped && r.frames > 0 {
						break
					}
					f, err := s.Next(stay)
					if err != nil {
						if !errors.Is(err, context.Canceled) {
							t.Error(err)
						}
						break
					}
					if err := r.check(f); err != nil {
						t.Error(err)
					}
				}
				if over {
					caughtUp <- struct{}{}
					if f, err := s.Next(ctx); !errors.Is(err, ErrClosed) {
						t.Errorf("after the last event: %s, %v; want ErrClosed", show(f), err)
					}
				}
				s.Close()
				last = r
			}
			if err := last.agrees(b.read(key).Record); err != nil {
				t.Error(err)
			}
		})
	}
	for i := range extra {
		key := room(names + i)
		churn.Go(func() {
			for {
				s, err := b.hub.Watch(ctx, key, id(b.read(key).Record.Revision), b.present(key))
				switch {
				case err == nil:
					if _, _, err := s.TryNext(ctx); err != nil && !errors.Is(err, ErrClosed) {
						t.Error(err)
					}
					s.Close()
				case errors.Is(err, ErrClosed):
					return
				case !errors.Is(err, ErrFull):
					t.Error(err)
					return
				}
				if got := b.hub.Stats(); got.Names+got.Lingering > names+extra/2 || got.History > 64 {
					t.Errorf("stats = %+v", got)
				}
			}
		})
	}

	for range groups {
		var group []lease.Event
		for i := range names + extra {
			group = append(group, b.flip(room(i))...)
		}
		b.publish(group)
	}
	finish()
	for range 12 {
		<-caughtUp
	}
	var closing sync.WaitGroup
	for range 3 {
		closing.Go(b.hub.Close)
	}
	closing.Wait()
	readers.Wait()
	churn.Wait()
}
