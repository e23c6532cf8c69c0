package events

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/octostore/octostore/lease"
)

// A name changes hands every 20 ms for 30 s, vacancy included, while 50 readers
// connect at random moments, go, and come back with the last id. One of
// them hardly reads, one always asks from an id older than what is kept, one
// sends garbage. Time is the bubble's.
func TestFlips(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)

	synctest.Test(t, func(t *testing.T) {
		const (
			flips    = 1500
			interval = 20 * time.Millisecond
			history  = 256
			watchers = 50
		)
		b := newBook(t, Options{History: history})
		key := room(1)
		done := make(chan struct{})

		var wg sync.WaitGroup
		var each [watchers]tally
		for i := range watchers {
			v := &visitor{book: b, key: key, rand: rand.New(rand.NewPCG(seed, uint64(i)))} //nolint:gosec // a test
			switch i {
			case 0:
				v.pause = 2 * time.Second
			case 1:
				v.always, v.from = "1", 1
			case 2:
				v.always, v.from = "garbage", -1
			}
			wg.Go(func() { each[i] = v.visit(t, done) })
		}

		for range flips {
			evs := b.flip(key)
			b.publish(evs)
			if got := b.hub.Stats(); got.History > history || got.Names+got.Lingering > 1 || got.Streams > watchers {
				t.Errorf("stats = %+v", got)
			}
			pass(interval)
		}
		close(done)
		wg.Wait()

		for i, name := range []string{"slow", "old", "garbage"} {
			if each[i].gaps == 0 {
				t.Errorf("the %s reader was told of no gap", name)
			}
		}
		var seen tally
		for _, got := range each {
			seen.add(got)
		}
		if seen.replays < watchers || seen.vacancies < flips || seen.states < watchers {
			t.Errorf("not everything happened: %+v", seen)
		}
	})
}

// visitor watches one name again and again.
type visitor struct {
	book   *book
	key    lease.Key
	rand   *rand.Rand
	pause  time.Duration // longest time between two frames; 0 reads at once
	always string        // id sent each time instead of the last one
	from   int64
}

// visit goes on until done and a last stay in which the reader must come to
// know the present state.
func (v *visitor) visit(t *testing.T, done <-chan struct{}) (total tally) {
	t.Helper()
	var last *reader
	for over := false; !over; {
		pass(v.upTo(500 * time.Millisecond))
		select {
		case <-done:
			over = true
		default:
		}
		r := &reader{key: v.key, from: -1, resume: v.always}
		switch {
		case v.always != "":
			r.from = v.from
		case last != nil && last.frames > 0 && !last.gapped:
			r.from = last.last
			r.resume = id(r.from)
		}
		s, err := v.book.hub.Watch(context.Background(), v.key, r.resume, v.book.present(v.key))
		if err != nil {
			t.Error(err)
			return total
		}
		r.stream = s
		stay := v.upTo(5 * time.Second)
		if over {
			stay = time.Minute // nothing happens any more: the last frame comes long before
		}
		ctx, cancel := context.WithTimeout(context.Background(), stay)
		for {
			f, err := s.Next(ctx)
			if err != nil {
				break
			}
			if err := r.check(f); err != nil {
				t.Error(err)
			}
			if v.pause > 0 && !over {
				pass(v.upTo(v.pause))
			}
		}
		cancel()
		s.Close()
		total.add(r.tally)
		last = r
	}
	if err := last.agrees(v.book.read(v.key).Record); err != nil {
		t.Error(err)
	}
	return total
}

func (v *visitor) upTo(d time.Duration) time.Duration {
	return time.Duration(v.rand.Int64N(int64(d))) + 1
}
