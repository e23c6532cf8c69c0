package api

// StatusOK is the `status` of [Health] and [Status].
const StatusOK = "ok"

// Health answers GET /health. It never fails: whoever can be asked is healthy
// enough to answer. Use /readyz to decide about traffic.
type Health struct {
	// Status is [StatusOK].
	Status string `json:"status"`
	// Storage names the journal of the store, "wal" for SQLite.
	Storage string `json:"storage"`
	// DBSizeBytes is the size of the main database file in bytes, 0 if it can not be read.
	DBSizeBytes int64 `json:"db_size_bytes"`
}

// Status answers GET /status. Totals count since the start of the process.
type Status struct {
	// Status is [StatusOK].
	Status        string `json:"status"`
	UptimeSeconds int64  `json:"uptime_seconds"`
	// ActiveLocks is the number of live leases, elections included.
	ActiveLocks int64 `json:"active_locks"`
	TotalUsers  int64 `json:"total_users"`
	// TotalAcquires counts grants and repeated acquires, elections included.
	TotalAcquires int64 `json:"total_acquires"`
	// TotalReleases counts releases and resignations, not expiry.
	TotalReleases int64 `json:"total_releases"`
}

// Metrics answers GET /metrics for a caller that asks for application/json. Others get the
// Prometheus text format, which has more and is the one to build on.
type Metrics struct {
	UptimeSeconds     int64            `json:"uptime_seconds"`
	TotalRequests     int64            `json:"total_requests"`
	RequestsPerSecond float64          `json:"requests_per_second"`
	ActiveLocks       int64            `json:"active_locks"`
	TotalUsers        int64            `json:"total_users"`
	Endpoints         EndpointMetrics  `json:"endpoints"`
	LockStore         LockStoreMetrics `json:"lock_store"`
	// MemoryBytes is the resident set of the process in bytes.
	MemoryBytes int64 `json:"memory_bytes"`
}

// EndpointMetrics has one entry for each group of routes.
type EndpointMetrics struct {
	Acquire  EndpointLatency `json:"acquire"`
	Release  EndpointLatency `json:"release"`
	Renew    EndpointLatency `json:"renew"`
	Status   EndpointLatency `json:"status"`
	List     EndpointLatency `json:"list"`
	Auth     EndpointLatency `json:"auth"`
	Election EndpointLatency `json:"election"`
}

// EndpointLatency summarises one group of routes. The four averages and quantiles are
// texts with one decimal ("0.5"), in milliseconds: dashboards in use expect that.
type EndpointLatency struct {
	Count int64  `json:"count"`
	AvgMs string `json:"avg_ms"`
	P50Ms string `json:"p50_ms"`
	P95Ms string `json:"p95_ms"`
	P99Ms string `json:"p99_ms"`
	// Errors counts answers with a 4xx or 5xx status.
	Errors int64 `json:"errors"`
	MinMs  int64 `json:"min_ms"`
	MaxMs  int64 `json:"max_ms"`
}

// LockStoreMetrics counts what became of leases.
type LockStoreMetrics struct {
	TotalAcquires int64 `json:"total_acquires"`
	TotalReleases int64 `json:"total_releases"`
	// TotalExpirations, CacheHits and CacheMisses are always 0. They are kept because
	// dashboards in use refuse a body without them.
	TotalExpirations int64 `json:"total_expirations"`
	CacheHits        int64 `json:"cache_hits"`
	CacheMisses      int64 `json:"cache_misses"`
}
