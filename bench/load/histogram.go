package load

import (
	"math"
	"math/bits"
	"time"
)

// The buckets of a Histogram: every power of two is cut into subBuckets parts,
// so a value is told with an error of at most one part in 2*subBuckets, 0.8 %.
const (
	subBits    = 6
	subBuckets = 1 << subBits
	topBit     = 38 // values of 2^38 ns, about 4.6 minutes, and more share the last bucket
	buckets    = (topBit - subBits + 1) * subBuckets
)

// Histogram counts durations in buckets of logarithmic width. Its zero value is
// empty. It is not safe for concurrent use: each client has its own.
type Histogram struct {
	counts [buckets]uint32
	total  int64
	max    time.Duration
}

// Record counts one duration. A negative one counts as 0.
func (h *Histogram) Record(d time.Duration) {
	d = max(d, 0)
	h.counts[bucketOf(uint64(d))]++
	h.total++
	h.max = max(h.max, d)
}

// Merge adds what another histogram has counted.
func (h *Histogram) Merge(o *Histogram) {
	for i, n := range o.counts {
		h.counts[i] += n
	}
	h.total += o.total
	h.max = max(h.max, o.max)
}

// Count is the number of durations recorded.
func (h *Histogram) Count() int64 { return h.total }

// Max is the longest duration recorded, exactly.
func (h *Histogram) Max() time.Duration { return h.max }

// Quantile returns the duration that a share q (0 to 1) of all recorded ones do
// not exceed, by the nearest rank: the middle of its bucket, and never more than
// Max. It is 0 for an empty histogram.
func (h *Histogram) Quantile(q float64) time.Duration {
	if h.total == 0 {
		return 0
	}
	rank := int64(math.Ceil(q * float64(h.total)))
	rank = min(max(rank, 1), h.total)
	for i, n := range h.counts {
		if rank -= int64(n); rank <= 0 {
			return min(middle(i), h.max)
		}
	}
	return h.max
}

// bucketOf returns the bucket of a value in nanoseconds.
func bucketOf(v uint64) int {
	if v < subBuckets {
		return int(v)
	}
	octave := bits.Len64(v) - 1 - subBits // 0 for subBuckets..2*subBuckets-1
	if octave >= topBit-subBits {
		return buckets - 1
	}
	return (octave+1)*subBuckets + int(v>>octave) - subBuckets //nolint:gosec // G115: below 2*subBuckets
}

// middle returns a duration in the middle of a bucket.
func middle(i int) time.Duration {
	if i < subBuckets {
		return time.Duration(i)
	}
	octave := i/subBuckets - 1
	low := uint64(subBuckets+i%subBuckets) << octave
	return time.Duration(low + (uint64(1)<<octave-1)/2) //nolint:gosec // G115: below 2^39
}
