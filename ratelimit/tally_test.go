package ratelimit

import (
	"runtime"
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

func TestTally(t *testing.T) {
	t.Parallel()

	t.Run("MatchesAModel", func(t *testing.T) {
		t.Parallel()
		rapid.Check(t, func(rt *rapid.T) {
			var got tally[int]
			want := map[int]int{}
			for range rapid.IntRange(1, 500).Draw(rt, "steps") {
				key := rapid.IntRange(0, 150).Draw(rt, "key")
				if want[key] > 0 && rapid.IntRange(0, 2).Draw(rt, "drop") > 0 {
					got.drop(key)
					if want[key]--; want[key] == 0 {
						delete(want, key)
					}
				} else {
					got.add(key)
					want[key]++
				}
				if got.of(key) != want[key] || len(got.counts) != len(want) {
					rt.Fatalf("%d: %d of %d keys, want %d of %d", key, got.of(key), len(got.counts), want[key], len(want))
				}
			}
		})
	})

	t.Run("KeepsCountsAcrossShrinking", func(t *testing.T) {
		t.Parallel()
		var counts tally[int]
		for i := range 1000 {
			counts.add(i)
		}
		counts.add(999)
		for i := range 998 {
			counts.drop(i)
		}
		if counts.of(998) != 1 || counts.of(999) != 2 || counts.of(0) != 0 {
			t.Errorf("counts %v", counts.counts)
		}
		if counts.peak >= 1000/tallyShrink {
			t.Errorf("the map still has the size for %d keys", counts.peak)
		}
	})
}

// The test may not run in parallel: it looks at the heap of the whole process.
func TestSlotsGiveMemoryBack(t *testing.T) {
	heap := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	const clients = 20_000
	s := NewSlots(1, clients)
	before := heap()
	releases := make([]func(), 0, clients)
	for i := range clients {
		release, err := s.Acquire("client-" + strconv.Itoa(i))
		if err != nil {
			t.Fatal(err)
		}
		releases = append(releases, release)
	}
	full := heap()
	for _, release := range releases {
		release()
	}
	releases = nil
	after := heap()
	if full-before < 1<<20 {
		t.Fatalf("%d clients took %d bytes: the test measures nothing", clients, full-before)
	}
	if left := after - before; left > 64<<10 {
		t.Errorf("%d bytes are left of %d after all slots were released", left, full-before)
	}
	runtime.KeepAlive(s)
	runtime.KeepAlive(releases)
}
