package telemetry

import (
	"bytes"
	"encoding/json"
	"math"
	"regexp"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestEndpointStats(t *testing.T) {
	t.Parallel()
	summary := func(t *testing.T, s *EndpointStats, group string) EndpointSummary {
		t.Helper()
		got, ok := s.Summary(group)
		if !ok {
			t.Fatalf("no group %q", group)
		}
		return got
	}
	t.Run("IsAllZerosWithoutRequests", func(t *testing.T) {
		t.Parallel()
		want := EndpointSummary{AvgMS: "0.0", P50MS: "0.0", P95MS: "0.0", P99MS: "0.0"}
		if diff := cmp.Diff(want, summary(t, &EndpointStats{}, "acquire")); diff != "" {
			t.Fatal(diff)
		}
	})
	t.Run("TellsOneRequestExactly", func(t *testing.T) {
		t.Parallel()
		var s EndpointStats
		s.Record("renew", 12_345*time.Microsecond, true)
		want := EndpointSummary{Count: 1, AvgMS: "12.3", P50MS: "12.3", P95MS: "12.3", P99MS: "12.3", Errors: 1, MinMS: 12, MaxMS: 12}
		if diff := cmp.Diff(want, summary(t, &s, "renew")); diff != "" {
			t.Fatal(diff)
		}
	})
	t.Run("KeepsGroupsApart", func(t *testing.T) {
		t.Parallel()
		var s EndpointStats
		groups := []string{"acquire", "release", "renew", "status", "list", "auth", "election"}
		for i, g := range groups {
			for range i + 1 {
				s.Record(g, time.Millisecond, false)
			}
		}
		for i, g := range groups {
			if got := summary(t, &s, g).Count; got != uint64(i+1) {
				t.Errorf("%s: %d requests", g, got)
			}
		}
	})
	t.Run("IgnoresOtherGroups", func(t *testing.T) {
		t.Parallel()
		var s EndpointStats
		s.Record("nonsense", time.Second, true)
		if _, ok := s.Summary("nonsense"); ok {
			t.Fatal("it is a group")
		}
	})
	t.Run("SurvivesImpossibleDurations", func(t *testing.T) {
		t.Parallel()
		var s EndpointStats
		s.Record("list", -time.Second, false)
		s.Record("list", math.MaxInt64, false)
		if got := summary(t, &s, "list"); got.Count != 2 || got.MinMS != 0 || got.MaxMS != math.MaxInt64/1_000_000 {
			t.Fatalf("%+v", got)
		}
	})
	t.Run("CountsEveryRequestOfManyWriters", func(t *testing.T) {
		t.Parallel()
		var s EndpointStats
		var writers sync.WaitGroup
		for i := range 8 {
			writers.Go(func() {
				for j := range 1000 {
					s.Record("acquire", time.Duration(i*1000+j+1)*time.Millisecond, j%2 == 0)
				}
			})
		}
		writers.Wait()
		if got := summary(t, &s, "acquire"); got.Count != 8000 || got.Errors != 4000 || got.MinMS != 1 || got.MaxMS != 8000 {
			t.Fatalf("%+v", got)
		}
	})
}

// A percentile is within the width of a bucket, an eighth, of the true value, and within the extremes.
func TestEndpointPercentilesAreClose(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		millis := rapid.SliceOfN(rapid.IntRange(1, 100_000), 1, 200).Draw(t, "milliseconds")
		var s EndpointStats
		for _, ms := range millis {
			s.Record("status", time.Duration(ms)*time.Millisecond, false)
		}
		got, _ := s.Summary("status")
		// The true median by counting, so that the check shares nothing with the code.
		value, err := strconv.ParseFloat(got.P50MS, 64)
		if err != nil {
			t.Fatal(err)
		}
		below, above := 0, 0
		for _, ms := range millis {
			if float64(ms) < value*.93-.1 {
				below++
			}
			if float64(ms) > value*1.07+.1 {
				above++
			}
		}
		if 2*below > len(millis) || 2*above > len(millis) {
			t.Fatalf("%s ms has %d of %d clearly below and %d clearly above", got.P50MS, below, len(millis), above)
		}
	})
}

func TestBucketsAreInOrderAndContainTheirMiddle(t *testing.T) {
	t.Parallel()
	last := 0
	for micros := uint64(0); micros < 1<<36; micros += max(micros/64, 1) {
		bucket := bucketOf(micros)
		if bucket < last || bucket >= bucketCount {
			t.Fatalf("%d µs is in bucket %d after %d", micros, bucket, last)
		}
		last = bucket
	}
	for i := range bucketCount {
		if got := bucketOf(uint64(bucketMiddle(i))); got != i {
			t.Fatalf("the middle of bucket %d is in bucket %d", i, got)
		}
	}
}

func TestLegacyJSON(t *testing.T) {
	t.Parallel()
	m := NewMetrics("", nil, nil)
	for range 5 {
		m.RequestDone(campaignRoute, "POST", 200, "", time.Millisecond, false)
	}
	m.EndpointDone("election", 200, 2*time.Millisecond)
	m.EndpointDone("election", 429, 2*time.Millisecond)
	out, err := json.Marshal(m.LegacyJSON(8*time.Second, 1, 2, 3, 4))
	if err != nil {
		t.Fatal(err)
	}
	memory := regexp.MustCompile(`"memory_bytes":([1-9]\d{5,})}$`)
	if !memory.Match(out) {
		t.Fatalf("no plausible memory in %s", out)
	}
	const none = `{"count":0,"avg_ms":"0.0","p50_ms":"0.0","p95_ms":"0.0","p99_ms":"0.0","errors":0,"min_ms":0,"max_ms":0}`
	want := `{"uptime_seconds":8,"total_requests":5,"requests_per_second":0.63,"active_locks":1,"total_users":2,"endpoints":{` +
		`"acquire":` + none + `,"release":` + none + `,"renew":` + none + `,"status":` + none + `,"list":` + none + `,"auth":` + none + `,` +
		`"election":{"count":2,"avg_ms":"2.0","p50_ms":"2.0","p95_ms":"2.0","p99_ms":"2.0","errors":1,"min_ms":2,"max_ms":2}},` +
		`"lock_store":{"total_acquires":3,"total_releases":4,"total_expirations":0,"cache_hits":0,"cache_misses":0},"memory_bytes":N}`
	if diff := cmp.Diff(want, string(memory.ReplaceAll(bytes.Clone(out), []byte(`"memory_bytes":N}`)))); diff != "" {
		t.Fatal(diff)
	}
}

func TestLegacyJSONAtTheFirstInstant(t *testing.T) {
	t.Parallel()
	m := NewMetrics("", nil, nil)
	m.RequestDone("/x", "GET", 200, "", 0, false)
	if got := m.LegacyJSON(0, 0, 0, 0, 0); got.RequestsPerSecond != 0 {
		t.Fatalf("%v requests a second after no time", got.RequestsPerSecond)
	}
}
