package store

import (
	"fmt"
	"testing"
	"time"

	"github.com/octostore/octostore/lease"
)

func TestStale(t *testing.T) {
	t.Parallel()
	const many = 100
	stale := func(m *Image, clock *hands) map[lease.Key]bool {
		keys := make(map[lease.Key]bool)
		for _, k := range m.Stale(clock.Now(), many) {
			keys[k] = true
		}
		return keys
	}
	t.Run("RoomsGoAfterAnHourAndLocksAfterADay", func(t *testing.T) {
		t.Parallel()
		clock := newHands()
		m := NewImage(ImageOptions{Clock: clock, Writer: &memory{}})
		room, lock := lease.ElectionKey("r"), lease.LockKey("acme", "l")
		for _, k := range []lease.Key{room, lock} {
			begin(t, m, k, nil)
			end(t, m, k)
		}
		clock.pass(time.Hour - 1)
		if got := stale(m, clock); len(got) != 0 {
			t.Errorf("within the hour: %v", got)
		}
		clock.pass(1)
		if got := stale(m, clock); !got[room] || got[lock] {
			t.Errorf("after the hour: %v", got)
		}
		clock.pass(23*time.Hour - 1)
		if got := stale(m, clock); got[lock] {
			t.Errorf("within the day: %v", got)
		}
		clock.pass(1)
		if got := stale(m, clock); !got[room] || !got[lock] {
			t.Errorf("after the day: %v", got)
		}
	})
	t.Run("HeldNamesNeverGo", func(t *testing.T) {
		t.Parallel()
		clock := newHands()
		m := NewImage(ImageOptions{Clock: clock, Writer: &memory{}, MaxIdle: 1})
		for i := range 10 {
			begin(t, m, lease.ElectionKey(fmt.Sprint(i)), nil)
		}
		clock.pass(30 * 24 * time.Hour)
		if got := stale(m, clock); len(got) != 0 {
			t.Errorf("would drop %v", got)
		}
	})
	t.Run("TheOldestGoEarlyWhenThereAreMany", func(t *testing.T) {
		t.Parallel()
		clock := newHands()
		m := NewImage(ImageOptions{Clock: clock, Writer: &memory{}, MaxIdle: 4})
		add := func(n int) {
			for range n {
				k := lease.ElectionKey(fmt.Sprint(m.Len()))
				begin(t, m, k, nil)
				end(t, m, k)
				clock.pass(time.Second)
			}
		}
		add(6)
		if got := stale(m, clock); len(got) != 0 {
			t.Errorf("too early: %v", got)
		}
		clock.pass(MinIdle)
		if got := stale(m, clock); len(got) != 2 || !got[lease.ElectionKey("0")] || !got[lease.ElectionKey("1")] {
			t.Errorf("want the two oldest: %v", got)
		}
		add(4) // ten are more than twice as many: regardless of age, down to twice
		if got := stale(m, clock); len(got) != 6 {
			t.Errorf("would drop %d of 10", len(got))
		}
	})
	t.Run("FreshOnesGoAboveTwiceTheNumberAlone", func(t *testing.T) {
		t.Parallel()
		clock := newHands()
		m := NewImage(ImageOptions{Clock: clock, Writer: &memory{}, MaxIdle: 4})
		for i := range 11 {
			k := lease.ElectionKey(fmt.Sprint(i))
			begin(t, m, k, nil)
			end(t, m, k)
		}
		if got := stale(m, clock); len(got) != 3 {
			t.Errorf("would drop %d of 11, want 3", len(got))
		}
	})
	t.Run("NamesThatCoolStay", func(t *testing.T) {
		t.Parallel()
		clock := newHands()
		m := NewImage(ImageOptions{Clock: clock, Writer: &memory{}, MaxIdle: 1})
		for i := range 5 {
			k := lease.LockKey("acme", fmt.Sprint(i))
			begin(t, m, k, &lease.Binding{LockDelay: 30 * time.Second})
			end(t, m, k)
		}
		if got := stale(m, clock); len(got) != 0 {
			t.Errorf("would drop %v", got)
		}
		clock.pass(30 * time.Second)
		if got := stale(m, clock); len(got) != 3 {
			t.Errorf("would drop %d of 5 that have cooled, want 3", len(got))
		}
	})
	t.Run("NeverMoreThanAskedFor", func(t *testing.T) {
		t.Parallel()
		clock := newHands()
		m := NewImage(ImageOptions{Clock: clock, Writer: &memory{}})
		for i := range 10 {
			for _, k := range []lease.Key{lease.ElectionKey(fmt.Sprint(i)), lease.LockKey("", fmt.Sprint(i))} {
				begin(t, m, k, nil)
				end(t, m, k)
			}
		}
		clock.pass(48 * time.Hour)
		for _, limit := range []int{0, 1, 7, 13, 20, 50} {
			if got := len(m.Stale(clock.Now(), limit)); got != min(limit, 20) {
				t.Errorf("%d of at most %d", got, limit)
			}
		}
	})
	t.Run("AgeCountsFromTheEndAlsoAfterLoading", func(t *testing.T) {
		t.Parallel()
		clock := newHands()
		m := NewImage(ImageOptions{Clock: clock, Writer: &memory{}})
		past := func(name string, ago time.Duration) lease.Record {
			return lease.Record{Key: lease.ElectionKey(name), Term: 1, Revision: 1, Last: &lease.Past{At: clock.now.At.Add(-ago)}}
		}
		for i, r := range []lease.Record{past("young", time.Minute), past("old", 2*time.Hour), past("older", 3*time.Hour)} {
			if err := m.Load(Row{ID: int64(i + 1), Record: r}); err != nil {
				t.Fatal(err)
			}
		}
		m.Loaded()
		got := m.Stale(clock.Now(), many)
		if len(got) != 2 || got[0].Name() != "older" || got[1].Name() != "old" {
			t.Errorf("would drop %v", got)
		}
	})
}
