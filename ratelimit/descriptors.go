package ratelimit

// Bounds of what DescriptorBudget hands out.
const (
	// reservedDescriptors are kept for the database and its readers, outgoing calls, listeners and the connections that
	// are accepted only to be refused.
	reservedDescriptors = 256
	// maxConnections is Linux's default for the largest RLIMIT_NOFILE. A process with an unlimited one gets no more.
	maxConnections = 1 << 20
)

// DescriptorBudget divides the descriptors that the process may open (the soft RLIMIT_NOFILE). connections is for
// [ConnLimits.Total]: all but a reserve of 256, or of a quarter where descriptors are few. streamsAndWaiters is for the
// [Ceiling] above watch streams and waiting requests: half of the connections, hence less than half of the descriptors,
// so that the other half is always there for renewals, releases and short requests. There is at least one connection.
func DescriptorBudget(rlimit uint64) (connections, streamsAndWaiters int) {
	reserve := min(reservedDescriptors, rlimit/4)
	connections = int(max(1, min(maxConnections, rlimit-reserve)))
	return connections, connections / 2
}
