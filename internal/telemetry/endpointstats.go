package telemetry

import (
	"math"
	"math/bits"
	"strconv"
	"sync/atomic"
	"time"
)

// endpointGroup is an index into the groups that 0.14 measured.
type endpointGroup int

const (
	groupAcquire endpointGroup = iota
	groupRelease
	groupRenew
	groupStatus
	groupList
	groupAuth
	groupElection
	groupCount
)

func parseEndpointGroup(name string) (endpointGroup, bool) {
	switch name {
	case "acquire":
		return groupAcquire, true
	case "release":
		return groupRelease, true
	case "renew":
		return groupRenew, true
	case "status":
		return groupStatus, true
	case "list":
		return groupList, true
	case "auth":
		return groupAuth, true
	case "election":
		return groupElection, true
	default:
		return 0, false
	}
}

// Buckets are logarithmic: each power of two of microseconds is cut into eight, so a percentile is at most about 6 % off.
// The last one begins at 67 minutes; what takes longer counts there.
const (
	subBits     = 3
	subBuckets  = 1 << subBits
	bucketCount = 30 * subBuckets
)

// EndpointStats measures requests by endpoint group since the start, in constant memory (about 14 KiB), without a lock. The
// zero value is ready. A reader may see a request in one number and not yet in another.
type EndpointStats struct {
	requests atomic.Uint64 // all requests, those outside the groups too
	groups   [groupCount]endpointRecorder
}

type endpointRecorder struct {
	errors  atomic.Uint64
	sum     atomic.Uint64 // microseconds
	least   atomic.Uint64 // microseconds + 1, so that 0 means none yet
	most    atomic.Uint64 // microseconds
	buckets [bucketCount]atomic.Uint64
}

// EndpointSummary is a group as 0.14 shows it: milliseconds, the mean and the percentiles as text with one decimal, the
// extremes as whole numbers rounded down. A group without a request is all zeros.
type EndpointSummary struct {
	Count  uint64 `json:"count"`
	AvgMS  string `json:"avg_ms"`
	P50MS  string `json:"p50_ms"`
	P95MS  string `json:"p95_ms"`
	P99MS  string `json:"p99_ms"`
	Errors uint64 `json:"errors"`
	MinMS  uint64 `json:"min_ms"`
	MaxMS  uint64 `json:"max_ms"`
}

// Record adds a request that took d. group is one of acquire, release, renew, status, list, auth and election; any other is
// ignored. A negative d counts as 0.
func (s *EndpointStats) Record(group string, d time.Duration, failed bool) {
	index, ok := parseEndpointGroup(group)
	if !ok {
		return
	}
	r := &s.groups[index]
	micros := uint64(max(d, 0) / time.Microsecond)
	for {
		least := r.least.Load()
		if (least != 0 && least <= micros+1) || r.least.CompareAndSwap(least, micros+1) {
			break
		}
	}
	for {
		most := r.most.Load()
		if most >= micros || r.most.CompareAndSwap(most, micros) {
			break
		}
	}
	if failed {
		r.errors.Add(1)
	}
	r.sum.Add(micros)
	r.buckets[bucketOf(micros)].Add(1)
}

// Summary is what was recorded for a group; false for a name that is none.
func (s *EndpointStats) Summary(group string) (EndpointSummary, bool) {
	index, ok := parseEndpointGroup(group)
	if !ok {
		return EndpointSummary{}, false
	}
	return s.groups[index].summary(), true
}

func (r *endpointRecorder) summary() EndpointSummary {
	var counts [bucketCount]uint64
	var n uint64
	for i := range r.buckets {
		counts[i] = r.buckets[i].Load()
		n += counts[i]
	}
	out := EndpointSummary{Count: n, Errors: r.errors.Load(), AvgMS: "0.0", P50MS: "0.0", P95MS: "0.0", P99MS: "0.0"}
	if n == 0 {
		return out
	}
	least, most := r.least.Load()-1, r.most.Load()
	percentile := func(p float64) string {
		rank := uint64(math.Ceil(p * float64(n)))
		var below uint64
		for i, count := range counts {
			if below += count; below >= rank {
				return milliseconds(min(max(bucketMiddle(i), float64(least)), float64(most)))
			}
		}
		return milliseconds(float64(most))
	}
	out.AvgMS = milliseconds(float64(r.sum.Load()) / float64(n))
	out.P50MS, out.P95MS, out.P99MS = percentile(.50), percentile(.95), percentile(.99)
	out.MinMS, out.MaxMS = least/1000, most/1000
	return out
}

// bucketOf finds the bucket of a duration: values below eight have one each, above them the top four bits decide.
func bucketOf(micros uint64) int {
	if micros < subBuckets {
		return int(micros)
	}
	shift := bits.Len64(micros) - 1 - subBits
	return min((shift+1)*subBuckets+int(micros>>shift&(subBuckets-1)), bucketCount-1)
}

// bucketMiddle is the middle of a bucket in microseconds.
func bucketMiddle(i int) float64 {
	if i < subBuckets {
		return float64(i)
	}
	shift := i/subBuckets - 1
	low := uint64(i%subBuckets+subBuckets) << shift
	return float64(low) + float64(uint64(1)<<shift)/2
}

func milliseconds(micros float64) string { return strconv.FormatFloat(micros/1000, 'f', 1, 64) }
