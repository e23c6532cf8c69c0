package ratelimit

// tally counts things by key and gives memory back when keys leave. A Go map never shrinks by itself, so one flood from
// many addresses would be paid for until the next restart. The zero value is ready; it is not safe for concurrent use.
type tally[K comparable] struct {
	counts map[K]int
	// peak is the largest number of keys that the present map has held, hence a measure of its size.
	peak int
}

// A map that has held fewer than tallyKeep keys is not worth giving back. A larger one is replaced once it is down to a
// tallyShrink-th: by then more keys have left than have to be copied, so the copy is paid for.
const (
	tallyKeep   = 64
	tallyShrink = 8
)

func (t *tally[K]) of(key K) int { return t.counts[key] }

func (t *tally[K]) add(key K) {
	if t.counts == nil {
		t.counts = make(map[K]int)
	}
	t.counts[key]++
	t.peak = max(t.peak, len(t.counts))
}

// drop takes one off key's count, which must be positive.
func (t *tally[K]) drop(key K) {
	if n := t.counts[key]; n > 1 {
		t.counts[key] = n - 1
		return
	}
	delete(t.counts, key)
	if t.peak < tallyKeep || len(t.counts) > t.peak/tallyShrink {
		return
	}
	smaller := make(map[K]int, len(t.counts))
	for k, n := range t.counts {
		smaller[k] = n
	}
	t.counts, t.peak = smaller, len(smaller)
}
