package load

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

func TestHistogram(t *testing.T) {
	t.Parallel()

	t.Run("IsEmptyAtFirst", func(t *testing.T) {
		t.Parallel()
		var h Histogram
		if h.Count() != 0 || h.Max() != 0 || h.Quantile(0.5) != 0 {
			t.Errorf("count %d, max %v, median %v of nothing", h.Count(), h.Max(), h.Quantile(0.5))
		}
	})

	t.Run("TellsSmallValuesExactly", func(t *testing.T) {
		t.Parallel()
		var h Histogram
		for d := range time.Duration(64) {
			h.Record(d)
		}
		for _, c := range []struct {
			q    float64
			want time.Duration
		}{{0, 0}, {0.5, 31}, {0.99, 63}, {1, 63}} {
			if got := h.Quantile(c.q); got != c.want {
				t.Errorf("quantile %v is %v, want %v", c.q, got, c.want)
			}
		}
	})

	t.Run("UsesNearestRank", func(t *testing.T) {
		t.Parallel()
		var h Histogram
		for range 99 {
			h.Record(10)
		}
		h.Record(50)
		if got := h.Quantile(0.99); got != 10 {
			t.Errorf("p99 of 99 tens and a fifty is %v, want 10ns", got)
		}
		if got := h.Quantile(0.991); got != 50 {
			t.Errorf("p99.1 is %v, want 50ns", got)
		}
	})

	t.Run("TellsLargeValuesWithinOnePercent", func(t *testing.T) {
		t.Parallel()
		seed := rand.Uint64()
		t.Logf("seed %d", seed)
		r := rand.New(rand.NewPCG(seed, 1))
		var h Histogram
		all := make([]time.Duration, 20_000)
		for i := range all {
			all[i] = time.Duration(math.Exp(r.Float64()*math.Log(float64(4*time.Minute)))) + 1
			h.Record(all[i])
		}
		slices.Sort(all)
		for _, q := range []float64{0.01, 0.5, 0.9, 0.99, 0.999} {
			want := float64(all[int(math.Ceil(q*float64(len(all))))-1])
			if got := float64(h.Quantile(q)); math.Abs(got-want) > 0.01*want+1 {
				t.Errorf("quantile %v is %v, exactly it is %v", q, got, want)
			}
		}
		if h.Max() != all[len(all)-1] {
			t.Errorf("max is %v, want %v", h.Max(), all[len(all)-1])
		}
	})

	t.Run("NeverTellsMoreThanMax", func(t *testing.T) {
		t.Parallel()
		var h Histogram
		h.Record(1_000_000)
		if got := h.Quantile(1); got > h.Max() {
			t.Errorf("quantile 1 is %v, more than the maximum %v", got, h.Max())
		}
	})

	t.Run("KeepsValuesBeyondItsRange", func(t *testing.T) {
		t.Parallel()
		var h Histogram
		h.Record(time.Hour)
		h.Record(-time.Second)
		if h.Count() != 2 || h.Max() != time.Hour || h.Quantile(0.5) != 0 {
			t.Errorf("count %d, max %v, median %v", h.Count(), h.Max(), h.Quantile(0.5))
		}
	})

	t.Run("MergesAsIfRecordedInOne", func(t *testing.T) {
		t.Parallel()
		var a, b, both Histogram
		for i := range time.Duration(1000) {
			d := i * i * 100
			both.Record(d)
			if i%3 == 0 {
				a.Record(d)
			} else {
				b.Record(d)
			}
		}
		a.Merge(&b)
		if a != both {
			t.Error("the parts do not add up to the whole")
		}
	})
}

// TestBuckets holds the numbering against its two promises: every value has a
// bucket, and the buckets are in the order of the values.
func TestBuckets(t *testing.T) {
	t.Parallel()
	last := -1
	for exponent := 2; exponent < 64; exponent++ { // below, the offsets would overlap
		for _, offset := range []uint64{0, 1, 3} {
			v := uint64(1)<<exponent + offset
			i := bucketOf(v)
			if i < last || i >= buckets {
				t.Fatalf("value %d is in bucket %d, after bucket %d of %d", v, i, last, buckets)
			}
			last = max(last, i)
		}
	}
	for i := range buckets {
		if got := bucketOf(uint64(middle(i))); got != i {
			t.Fatalf("the middle of bucket %d, %d, is in bucket %d", i, middle(i), got)
		}
	}
}
