package ratelimit_test

import (
	"errors"
	"fmt"
	"strconv"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/octostore/octostore/ratelimit"
)

func mustAcquire(t *testing.T, s *ratelimit.Slots, key string) (release func()) {
	t.Helper()
	release, err := s.Acquire(key)
	if err != nil {
		t.Fatalf("acquire for %q: %v", key, err)
	}
	return release
}

func TestSlots(t *testing.T) {
	t.Parallel()

	t.Run("BoundEachClient", func(t *testing.T) {
		t.Parallel()
		s := ratelimit.NewSlots(8, 1024)
		for range 8 {
			mustAcquire(t, s, "a")
		}
		if release, err := s.Acquire("a"); !errors.Is(err, ratelimit.ErrClientFull) || release != nil {
			t.Errorf("the ninth: release %v, error %v", release != nil, err)
		}
		mustAcquire(t, s, "b")
	})

	t.Run("BoundAllClientsTogether", func(t *testing.T) {
		t.Parallel()
		s := ratelimit.NewSlots(2, 3)
		mustAcquire(t, s, "a")
		release := mustAcquire(t, s, "b")
		mustAcquire(t, s, "c")
		if _, err := s.Acquire("d"); !errors.Is(err, ratelimit.ErrFull) {
			t.Errorf("error %v, want ErrFull", err)
		}
		release()
		mustAcquire(t, s, "d")
	})

	t.Run("TellTheClientsOwnBoundFirst", func(t *testing.T) {
		t.Parallel()
		s := ratelimit.NewSlots(2, 2)
		mustAcquire(t, s, "a")
		mustAcquire(t, s, "a")
		if _, err := s.Acquire("a"); !errors.Is(err, ratelimit.ErrClientFull) {
			t.Errorf("error %v, want ErrClientFull", err)
		}
		if _, err := s.Acquire("b"); !errors.Is(err, ratelimit.ErrFull) {
			t.Errorf("error %v, want ErrFull", err)
		}
	})

	t.Run("ReleaseCountsOnce", func(t *testing.T) {
		t.Parallel()
		s := ratelimit.NewSlots(2, 10)
		first := mustAcquire(t, s, "a")
		mustAcquire(t, s, "a")
		first()
		first()
		first()
		if s.InUse() != 1 {
			t.Errorf("%d slots in use, want 1", s.InUse())
		}
		mustAcquire(t, s, "a")
		if _, err := s.Acquire("a"); !errors.Is(err, ratelimit.ErrClientFull) {
			t.Errorf("error %v, want ErrClientFull: a repeated release has freed a foreign slot", err)
		}
	})

	t.Run("RefusalsTakeNothing", func(t *testing.T) {
		t.Parallel()
		s := ratelimit.NewSlots(1, 1)
		release := mustAcquire(t, s, "a")
		for range 5 {
			_, _ = s.Acquire("a")
			_, _ = s.Acquire("b")
		}
		release()
		if s.InUse() != 0 {
			t.Errorf("%d slots in use, want 0", s.InUse())
		}
		mustAcquire(t, s, "b")
	})

	t.Run("NoSlotsAdmitNobody", func(t *testing.T) {
		t.Parallel()
		if _, err := ratelimit.NewSlots(0, 1).Acquire("a"); !errors.Is(err, ratelimit.ErrClientFull) {
			t.Errorf("error %v, want ErrClientFull", err)
		}
		if _, err := ratelimit.NewSlots(1, -1).Acquire("a"); !errors.Is(err, ratelimit.ErrFull) {
			t.Errorf("error %v, want ErrFull", err)
		}
	})

	t.Run("StayWithinTheirBoundsUnderConcurrency", func(t *testing.T) {
		t.Parallel()
		const perClient, global = 3, 10
		s := ratelimit.NewSlots(perClient, global).Under(ratelimit.NewCeiling(9))
		var mu sync.Mutex
		held, total := map[string]int{}, 0
		var wg sync.WaitGroup
		for g := range 8 {
			wg.Go(func() {
				key := strconv.Itoa(g % 4)
				for range 300 {
					release, err := s.Acquire(key)
					if err != nil {
						continue
					}
					mu.Lock()
					held[key]++
					total++
					if held[key] > perClient || total > 9 {
						t.Errorf("%d slots for %q, %d in all", held[key], key, total)
					}
					held[key]--
					total--
					mu.Unlock()
					var twice sync.WaitGroup
					twice.Go(release)
					release()
					twice.Wait()
				}
			})
		}
		wg.Wait()
		if s.InUse() != 0 {
			t.Errorf("%d slots in use at the end", s.InUse())
		}
	})
}

func TestCeiling(t *testing.T) {
	t.Parallel()

	t.Run("IsSharedByItsSlots", func(t *testing.T) {
		t.Parallel()
		c := ratelimit.NewCeiling(3)
		streams := ratelimit.NewSlots(8, 100).Under(c)
		waiters := ratelimit.NewSlots(8, 100).Under(c)
		mustAcquire(t, streams, "a")
		mustAcquire(t, streams, "b")
		release := mustAcquire(t, waiters, "a")
		for _, s := range []*ratelimit.Slots{streams, waiters} {
			if _, err := s.Acquire("c"); !errors.Is(err, ratelimit.ErrFull) {
				t.Errorf("error %v, want ErrFull", err)
			}
		}
		if c.InUse() != 3 {
			t.Errorf("%d places in use, want 3", c.InUse())
		}
		release()
		release()
		mustAcquire(t, streams, "c")
		if _, err := waiters.Acquire("c"); !errors.Is(err, ratelimit.ErrFull) {
			t.Errorf("error %v, want ErrFull", err)
		}
	})

	t.Run("IsNotTakenByARefusal", func(t *testing.T) {
		t.Parallel()
		c := ratelimit.NewCeiling(10)
		s := ratelimit.NewSlots(1, 1).Under(c)
		mustAcquire(t, s, "a")
		_, _ = s.Acquire("a")
		_, _ = s.Acquire("b")
		if c.InUse() != 1 {
			t.Errorf("%d places in use, want 1", c.InUse())
		}
	})

	t.Run("OfZeroAdmitsNobody", func(t *testing.T) {
		t.Parallel()
		if _, err := ratelimit.NewSlots(1, 1).Under(ratelimit.NewCeiling(0)).Acquire("a"); !errors.Is(err, ratelimit.ErrFull) {
			t.Errorf("error %v, want ErrFull", err)
		}
	})
}

func TestSlotsMatchAModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		perClient := rapid.IntRange(0, 4).Draw(rt, "per client")
		global := rapid.IntRange(0, 8).Draw(rt, "global")
		s := ratelimit.NewSlots(perClient, global)
		type slot struct {
			key     string
			release func()
			open    bool
		}
		var slots []*slot
		count := func(key string) (n int) {
			for _, s := range slots {
				if s.open && (key == "" || s.key == key) {
					n++
				}
			}
			return n
		}
		for range rapid.IntRange(1, 60).Draw(rt, "steps") {
			if len(slots) > 0 && rapid.Bool().Draw(rt, "release") {
				released := slots[rapid.IntRange(0, len(slots)-1).Draw(rt, "slot")]
				released.release()
				released.open = false
			} else {
				key := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(rt, "key")
				var want error
				switch {
				case count(key) >= perClient:
					want = ratelimit.ErrClientFull
				case count("") >= global:
					want = ratelimit.ErrFull
				}
				release, err := s.Acquire(key)
				if !errors.Is(err, want) {
					rt.Fatalf("acquire for %q: %v, want %v", key, err, want)
				}
				if err == nil {
					slots = append(slots, &slot{key, release, true})
				}
			}
			if s.InUse() != count("") {
				rt.Fatalf("%d slots in use, want %d", s.InUse(), count(""))
			}
		}
	})
}

// The test may not run in parallel: AllocsPerRun counts what the whole process allocates.
func TestSlotAllocations(t *testing.T) {
	s := ratelimit.NewSlots(8, 1024)
	mustAcquire(t, s, "a")
	t.Run("AcquireTakesTwo", func(t *testing.T) {
		got := testing.AllocsPerRun(200, func() {
			release, err := s.Acquire("a")
			if err != nil {
				t.Fatal(err)
			}
			release()
		})
		if got > 2 {
			t.Errorf("%v allocations, want at most 2", got)
		}
	})
	t.Run("ReleaseTakesNone", func(t *testing.T) {
		release := mustAcquire(t, s, "b")
		if got := testing.AllocsPerRun(200, release); got != 0 {
			t.Errorf("%v allocations, want none", got)
		}
	})
	t.Run("RefusalTakesNone", func(t *testing.T) {
		full := ratelimit.NewSlots(0, 0)
		if got := testing.AllocsPerRun(200, func() { _, _ = full.Acquire("a") }); got != 0 {
			t.Errorf("%v allocations, want none", got)
		}
	})
}

func ExampleSlots() {
	streams := ratelimit.NewSlots(1, 1024)
	release, err := streams.Acquire("203.0.113.9")
	fmt.Println(streams.InUse(), err)
	_, err = streams.Acquire("203.0.113.9")
	fmt.Println(err)
	release()
	fmt.Println(streams.InUse())
	// Output:
	// 1 <nil>
	// the client holds all the slots it may have
	// 0
}
