package events

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/octostore/octostore/lease"
)

// book stands in for a store: committed records, changed by the kernel's own
// transitions. As in a store the new state can be read before the events of
// the change are published.
type book struct {
	hub *Hub

	mu      sync.Mutex
	now     lease.Now
	records map[lease.Key]lease.Record
	reads   int
	grants  int
}

const leaseTTL = 10 * time.Second

func newBook(tb testing.TB, o Options) *book {
	tb.Helper()
	h := New(o)
	tb.Cleanup(h.Close)
	return &book{hub: h, now: lease.Now{At: 1, Wall: 1_000_000}, records: map[lease.Key]lease.Record{}}
}

func room(i int) lease.Key { return lease.ElectionKey("room-" + strconv.Itoa(i)) }

type transition func(lease.Record, lease.Now) (lease.Record, lease.Outcome, []lease.Event)

// commit makes the transition durable and returns what is to be published.
func (b *book) commit(key lease.Key, tr transition) []lease.Event {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.now.At, b.now.Wall = b.now.At.Add(time.Millisecond), b.now.Wall.Add(time.Millisecond)
	r := b.records[key]
	r.Key = key
	r, _, evs := tr(r, b.now)
	b.records[key] = r
	return evs
}

func (b *book) grant(key lease.Key) []lease.Event {
	return b.commit(key, func(r lease.Record, now lease.Now) (lease.Record, lease.Outcome, []lease.Event) {
		b.grants++
		return r.Acquire(lease.Ground{Now: now}, lease.Acquire{TTL: leaseTTL, Label: fmt.Sprint("candidate-", b.grants)})
	})
}

func (b *book) renew(key lease.Key) []lease.Event {
	return b.commit(key, func(r lease.Record, now lease.Now) (lease.Record, lease.Outcome, []lease.Event) {
		return r.Renew(now, r.Ref(), 0)
	})
}

func (b *book) release(key lease.Key) []lease.Event {
	return b.commit(key, func(r lease.Record, now lease.Now) (lease.Record, lease.Outcome, []lease.Event) {
		return r.Release(now, r.Ref())
	})
}

func (b *book) expire(key lease.Key) []lease.Event {
	b.mu.Lock()
	b.now.At, b.now.Wall = b.now.At.Add(2*leaseTTL), b.now.Wall.Add(2*leaseTTL)
	b.mu.Unlock()
	return b.commit(key, func(r lease.Record, now lease.Now) (lease.Record, lease.Outcome, []lease.Event) {
		r, evs := r.Settle(now)
		return r, lease.Outcome{}, evs
	})
}

// flip changes who has the name: free names are granted, held ones released.
func (b *book) flip(key lease.Key) []lease.Event {
	if r := b.read(key).Record; r.Held {
		return b.release(key)
	}
	return b.grant(key)
}

func (b *book) publish(evs ...[]lease.Event) {
	for _, e := range evs {
		b.hub.Publish(e)
	}
}

func (b *book) read(key lease.Key) lease.Reading {
	b.mu.Lock()
	defer b.mu.Unlock()
	r := b.records[key]
	r.Key = key
	return lease.Reading{Record: r, At: b.now}
}

func (b *book) present(key lease.Key) func(context.Context) (lease.Reading, error) {
	return func(ctx context.Context) (lease.Reading, error) {
		b.mu.Lock()
		b.reads++
		b.mu.Unlock()
		return b.read(key), ctx.Err()
	}
}

func (b *book) watch(tb testing.TB, key lease.Key, resume string) *Stream {
	tb.Helper()
	s, err := b.hub.Watch(context.Background(), key, resume, b.present(key))
	if err != nil {
		tb.Fatalf("Watch(%q) = %v", resume, err)
	}
	tb.Cleanup(s.Close)
	return s
}

func id(revision int64) string { return strconv.FormatInt(revision, 10) }

// take returns the next frame, which must be there already.
func take(tb testing.TB, s *Stream) Frame {
	tb.Helper()
	f, ok, err := s.TryNext(context.Background())
	if err != nil || !ok {
		tb.Fatalf("TryNext = %v, %v; want a frame", ok, err)
	}
	return f
}

func takeGap(tb testing.TB, s *Stream) {
	tb.Helper()
	if f := take(tb, s); !f.Gap || f.Event != nil || f.Revision != 0 {
		tb.Fatalf("frame = %s, want a gap", show(f))
	}
}

func takeState(tb testing.TB, s *Stream, revision int64) Frame {
	tb.Helper()
	f := take(tb, s)
	if f.Gap || f.Event != nil || f.Revision != revision || f.Record.Revision != revision {
		tb.Fatalf("frame = %s, want the state at revision %d", show(f), revision)
	}
	return f
}

func takeEvent(tb testing.TB, s *Stream, want lease.Event) Frame {
	tb.Helper()
	f := take(tb, s)
	if f.Gap || f.Event == nil || f.Revision != want.Revision || f.Event.Type != want.Type ||
		f.Record.Revision != want.Revision || f.At != want.At {
		tb.Fatalf("frame = %s, want event %s at revision %d", show(f), want.Type, want.Revision)
	}
	return f
}

func takeNothing(tb testing.TB, s *Stream) {
	tb.Helper()
	if f, ok, err := s.TryNext(context.Background()); ok || err != nil {
		tb.Fatalf("TryNext = %s, %v, %v; want nothing", show(f), ok, err)
	}
}

func show(f Frame) string {
	switch {
	case f.Gap:
		return "gap"
	case f.Event == nil:
		return fmt.Sprintf("state %d", f.Revision)
	default:
		return fmt.Sprintf("%s %d", f.Event.Type, f.Revision)
	}
}

// pass moves the clock of a synctest bubble on.
func pass(d time.Duration) { <-time.After(d) }
