package events

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// The ring of a log against a plain slice.
func TestBacklogIsASlice(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var b backlog
		var model []*entry
		var revision int64
		t.Repeat(map[string]func(*rapid.T){
			"push": func(t *rapid.T) {
				for range rapid.IntRange(1, 40).Draw(t, "many") {
					revision += rapid.Int64Range(1, 3).Draw(t, "step")
					e := &entry{}
					e.event.Revision = revision
					b.push(e)
					model = append(model, e)
				}
			},
			"pop": func(t *rapid.T) {
				for range rapid.IntRange(1, 40).Draw(t, "many") {
					var want *entry
					if len(model) > 0 {
						want, model = model[0], model[1:]
					}
					if got := b.pop(); got != want {
						t.Fatalf("pop = %p, want %p", got, want)
					}
				}
			},
			"after": func(t *rapid.T) {
				seen := rapid.Int64Range(0, revision+1).Draw(t, "seen")
				want := 0
				for want < len(model) && model[want].event.Revision <= seen {
					want++
				}
				if got := b.after(seen); got != want {
					t.Fatalf("after(%d) = %d, want %d", seen, got, want)
				}
			},
			"": func(t *rapid.T) {
				if b.n != len(model) || len(b.ring) > max(smallestRing, 4*b.n) {
					t.Fatalf("%d of %d entries in a ring of %d", b.n, len(model), len(b.ring))
				}
				for i, want := range model {
					if b.at(i) != want {
						t.Fatalf("entry %d differs", i)
					}
				}
			},
		})
	})
}

// The history against a plain slice, removals in the middle included.
func TestHistoryIsASlice(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		h := history{limit: rapid.IntRange(1, 8).Draw(t, "limit")}
		var model []*entry
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				e := &entry{}
				var want *entry
				if len(model) == h.limit {
					want, model = model[0], model[1:]
				}
				model = append(model, e)
				if got := h.add(e); got != want {
					t.Fatalf("evicted %p, want %p", got, want)
				}
			},
			"remove": func(t *rapid.T) {
				if len(model) == 0 {
					return
				}
				i := rapid.IntRange(0, len(model)-1).Draw(t, "which")
				e := model[i]
				model = append(model[:i:i], model[i+1:]...)
				h.remove(e)
				if e.older != nil || e.younger != nil {
					t.Fatal("a removed entry holds others")
				}
			},
			"": func(t *rapid.T) {
				e := h.oldest
				for _, want := range model {
					if e != want {
						t.Fatal("order differs")
					}
					e = e.younger
				}
				e = h.newest
				for _, want := range slices.Backward(model) {
					if e != want {
						t.Fatal("reverse order differs")
					}
					e = e.older
				}
				if h.n != len(model) {
					t.Fatalf("n = %d, want %d", h.n, len(model))
				}
			},
		})
	})
}
