package store

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

	"github.com/octostore/octostore/lease"
	"pgregory.net/rapid"
)

// The heap against a plain list of everything that is in it.
func TestDueHeapAgainstAList(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var (
			heap dueHeap
			list []*entry
			made int
		)
		deadline := rapid.Custom(func(t *rapid.T) lease.Instant { return lease.Instant(rapid.Int64Range(0, 30).Draw(t, "deadline")) })
		pick := func(t *rapid.T) *entry {
			if len(list) == 0 {
				t.Skip("nothing is in it")
			}
			return list[rapid.IntRange(0, len(list)-1).Draw(t, "entry")]
		}
		t.Repeat(map[string]func(*rapid.T){
			"push": func(t *rapid.T) {
				made++
				e := &entry{slot: noSlot, rec: lease.Record{Key: lease.ElectionKey(fmt.Sprint(made))}}
				e.rec.Lease.Deadline = deadline.Draw(t, "deadline")
				heap.push(e)
				list = append(list, e)
			},
			"remove": func(t *rapid.T) {
				e := pick(t)
				heap.remove(e)
				list = slices.DeleteFunc(list, func(o *entry) bool { return o == e })
				if e.slot != noSlot {
					t.Fatalf("slot %d after it left", e.slot)
				}
			},
			"move": func(t *rapid.T) {
				e := pick(t)
				e.rec.Lease.Deadline = deadline.Draw(t, "deadline")
				heap.fix(int(e.slot))
			},
			"": func(t *rapid.T) {
				if len(heap) != len(list) {
					t.Fatalf("%d entries, want %d", len(heap), len(list))
				}
				for i, e := range heap {
					if int(e.slot) != i {
						t.Fatalf("entry %d believes to be at %d", i, e.slot)
					}
				}
				if len(list) > 0 {
					first := slices.MinFunc(list, func(a, b *entry) int { return cmp.Compare(a.rec.Lease.Deadline, b.rec.Lease.Deadline) })
					if heap[0].rec.Lease.Deadline != first.rec.Lease.Deadline {
						t.Fatalf("the first is due at %v, want %v", heap[0].rec.Lease.Deadline, first.rec.Lease.Deadline)
					}
				}
				checkPassed(t, heap, list)
			},
		})
	})
}

// checkPassed checks that what has passed is found: all of it, or as much as
// was asked for, and nothing else.
func checkPassed(t *rapid.T, heap dueHeap, list []*entry) {
	at := lease.Instant(rapid.Int64Range(-1, 31).Draw(t, "at"))
	limit := rapid.IntRange(0, 20).Draw(t, "limit")
	due := make(map[lease.Key]bool)
	for _, e := range list {
		if e.rec.Lease.Deadline <= at {
			due[e.rec.Key] = true
		}
	}
	got := heap.passed(at, limit)
	if want := min(limit, len(due)); len(got) != want {
		t.Fatalf("%d have passed, want %d", len(got), want)
	}
	for _, key := range got {
		if !due[key] {
			t.Fatalf("%q has not passed, or is told twice", key.Name())
		}
		delete(due, key)
	}
}

// The list of ended names against a slice.
func TestIdleListAgainstASlice(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var (
			list  idleList
			model []*entry
		)
		ended := func(t *rapid.T) *entry {
			return &entry{rec: lease.Record{Last: &lease.Past{At: lease.Instant(rapid.Int64Range(0, 9).Draw(t, "at"))}}}
		}
		t.Repeat(map[string]func(*rapid.T){
			"push": func(t *rapid.T) {
				e := ended(t)
				list.push(e)
				model = append(model, e)
			},
			"remove": func(t *rapid.T) {
				if len(model) == 0 {
					t.Skip("nothing is in it")
				}
				i := rapid.IntRange(0, len(model)-1).Draw(t, "entry")
				list.remove(model[i])
				if model[i].next != nil || model[i].prev != nil {
					t.Fatal("an entry that left still has neighbours")
				}
				model = slices.Delete(model, i, i+1)
			},
			"sort": func(*rapid.T) {
				list.sort()
				slices.SortStableFunc(model, func(a, b *entry) int { return cmp.Compare(a.rec.Last.At, b.rec.Last.At) })
			},
			"": func(t *rapid.T) {
				var forward, backward []*entry
				for e := list.front; e != nil; e = e.next {
					forward = append(forward, e)
				}
				for e := list.back; e != nil; e = e.prev {
					backward = append(backward, e)
				}
				slices.Reverse(backward)
				if !slices.Equal(forward, model) || !slices.Equal(backward, model) || list.n != int64(len(model)) {
					t.Fatalf("holds %d forward, %d backward, %d counted; want %d", len(forward), len(backward), list.n, len(model))
				}
			},
		})
	})
}
