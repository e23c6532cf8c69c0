package telemetry

import "time"

// stallThreshold is the gap above which [Metrics.Stalled] counts.
const stallThreshold = time.Second

// RequestDone counts an answered request. route is the template that matched ("" or unknown: "unmatched"), method the
// request's own, status what was written, code the error code of the body or "". stream is true for event streams and for
// requests that asked to be held (wait_ms): they are counted, but their length would say nothing about latency.
func (m *Metrics) RequestDone(route, method string, status int, code string, d time.Duration, stream bool) {
	m.legacy.requests.Add(1)
	child := m.requests.of(requestKey{route: route, method: method, status: status, code: code})
	child.total.Inc()
	if !stream {
		child.latency.Observe(d.Seconds())
	}
}

// EndpointDone feeds the JSON form of /metrics that 0.14 had. group is one of acquire, release, renew, status, list, auth
// and election; any other is ignored. A status of 400 and above counts as an error.
func (m *Metrics) EndpointDone(group string, status int, d time.Duration) {
	m.legacy.Record(group, d, status >= 400)
}

// Outcome counts an operation on a lease: kind election, lock or session; verb as in the API; outcome what came out.
func (m *Metrics) Outcome(kind, verb, outcome string) {
	m.outcomes.of(outcomeKey{kind: kind, verb: verb, outcome: outcome}).Inc()
}

// QueueDepth tells how many operations wait in a lane now.
func (m *Metrics) QueueDepth(lane string, depth int) { m.queueDepth.of(lane).Set(float64(depth)) }

// QueueWait measures how long an operation waited in a lane until its group began.
func (m *Metrics) QueueWait(lane string, d time.Duration) { m.queueWait.of(lane).Observe(d.Seconds()) }

// QueueRefused counts an operation that a full lane refused.
func (m *Metrics) QueueRefused(lane string) { m.queueRefused.of(lane).Inc() }

// GroupCommitted measures a group that is durable: its operations, the rows it wrote, and the time from its begin.
func (m *Metrics) GroupCommitted(operations, rows int, d time.Duration) {
	m.groupSize.Observe(float64(operations))
	m.groupRows.Observe(float64(rows))
	m.groupTime.Observe(d.Seconds())
}

// CommitFailed counts a group that did not commit. reason is not_applied, unknown or full.
func (m *Metrics) CommitFailed(reason string) { m.commitFailed.of(reason).Inc() }

// ExpiryLag measures how long after its deadline an expiry was recorded.
func (m *Metrics) ExpiryLag(d time.Duration) { m.expiryLag.Observe(d.Seconds()) }

// LiveLeases tells how many leases of a kind are held now.
func (m *Metrics) LiveLeases(kind string, n int64) { m.liveLeases.of(kind).Set(float64(n)) }

// Waiters tells how many requests are held by wait_ms now.
func (m *Metrics) Waiters(n int64) { m.waiters.Set(float64(n)) }

// IdleNames tells how many names without a lease are remembered now.
func (m *Metrics) IdleNames(n int64) { m.idleNames.Set(float64(n)) }

// StreamOpened counts an event stream that begins.
func (m *Metrics) StreamOpened(kind string) {
	m.streamsOpened.of(kind).Inc()
	m.streamsOpen.of(kind).Inc()
}

// StreamClosed counts the end of a stream that [Metrics.StreamOpened] counted, and why it ended.
func (m *Metrics) StreamClosed(kind, reason string) {
	m.streamsOpen.of(kind).Dec()
	m.streamsClosed.of(closingKey{kind: kind, reason: reason}).Inc()
}

// EventsDropped counts n events that a lagging reader missed. Less than one is ignored.
func (m *Metrics) EventsDropped(n int) {
	if n > 0 {
		m.eventsDropped.Add(float64(n))
	}
}

// Stalled reports a gap in which the process did not run. It counts if the gap is longer than a second.
func (m *Metrics) Stalled(d time.Duration) {
	if d > stallThreshold {
		m.stalls.Inc()
	}
}

// InvariantViolation counts a broken rule. rule is its short name, from a closed set.
func (m *Metrics) InvariantViolation(rule string) { m.violations.of(rule).Inc() }

// PanicRecovered counts a request that ended in a panic.
func (m *Metrics) PanicRecovered() { m.panics.Inc() }

// StoreHealthy tells whether the store can commit.
func (m *Metrics) StoreHealthy(ok bool) {
	value := 0.0
	if ok {
		value = 1
	}
	m.storeHealthy.Set(value)
}

// WalBytes tells the size of SQLite's write-ahead log.
func (m *Metrics) WalBytes(n int64) { m.walBytes.Set(float64(n)) }

// DiskFreeBytes tells the free space where the database is.
func (m *Metrics) DiskFreeBytes(n int64) { m.diskFree.Set(float64(n)) }

// ConnectionRefused counts a connection that was closed before a request was read from it.
func (m *Metrics) ConnectionRefused(reason string) { m.refused.of(reason).Inc() }
