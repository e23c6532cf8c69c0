package telemetry

import (
	"math"
	"runtime/metrics"
	"time"
)

// LegacyMetrics is the JSON form of /metrics as 0.14 answered it, with its keys in its order.
type LegacyMetrics struct {
	UptimeSeconds     int64           `json:"uptime_seconds"`
	TotalRequests     uint64          `json:"total_requests"`
	RequestsPerSecond float64         `json:"requests_per_second"`
	ActiveLocks       int64           `json:"active_locks"`
	TotalUsers        int64           `json:"total_users"`
	Endpoints         LegacyEndpoints `json:"endpoints"`
	LockStore         LegacyLockStore `json:"lock_store"`
	MemoryBytes       uint64          `json:"memory_bytes"`
}

// LegacyEndpoints has one summary for each group; all keys are always there.
type LegacyEndpoints struct {
	Acquire  EndpointSummary `json:"acquire"`
	Release  EndpointSummary `json:"release"`
	Renew    EndpointSummary `json:"renew"`
	Status   EndpointSummary `json:"status"`
	List     EndpointSummary `json:"list"`
	Auth     EndpointSummary `json:"auth"`
	Election EndpointSummary `json:"election"`
}

// LegacyLockStore is the lock_store object. The last three numbers were always 0 in 0.14 and are here.
type LegacyLockStore struct {
	TotalAcquires    int64 `json:"total_acquires"`
	TotalReleases    int64 `json:"total_releases"`
	TotalExpirations int64 `json:"total_expirations"`
	CacheHits        int64 `json:"cache_hits"`
	CacheMisses      int64 `json:"cache_misses"`
}

// LegacyJSON is what /metrics answers where the caller accepts application/json. activeLocks, totalUsers, acquires and
// releases are the caller's numbers, as in /status; the rest was recorded by [Metrics.RequestDone] and
// [Metrics.EndpointDone]. The rate is the mean since the start, with two decimals.
func (m *Metrics) LegacyJSON(uptime time.Duration, activeLocks, totalUsers, acquires, releases int64) LegacyMetrics {
	total := m.legacy.requests.Load()
	rate := 0.0
	if uptime > 0 {
		rate = math.Round(float64(total)/uptime.Seconds()*100) / 100
	}
	group := func(g endpointGroup) EndpointSummary { return m.legacy.groups[g].summary() }
	return LegacyMetrics{
		UptimeSeconds:     int64(uptime / time.Second),
		TotalRequests:     total,
		RequestsPerSecond: rate,
		ActiveLocks:       activeLocks,
		TotalUsers:        totalUsers,
		Endpoints: LegacyEndpoints{
			Acquire: group(groupAcquire), Release: group(groupRelease), Renew: group(groupRenew), Status: group(groupStatus),
			List: group(groupList), Auth: group(groupAuth), Election: group(groupElection),
		},
		LockStore:   LegacyLockStore{TotalAcquires: acquires, TotalReleases: releases},
		MemoryBytes: m.residentMemory(),
	}
}

// residentMemory is the resident set in bytes. Where the operating system does not tell it (macOS without cgo), it is what
// the Go runtime has mapped, which is close and never 0.
func (m *Metrics) residentMemory() uint64 {
	// What could be gathered is returned beside an error.
	families, _ := m.process.Gather()
	for _, f := range families {
		if f.GetName() == "process_resident_memory_bytes" && len(f.GetMetric()) == 1 {
			return uint64(f.GetMetric()[0].GetGauge().GetValue())
		}
	}
	sample := []metrics.Sample{{Name: "/memory/classes/total:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
