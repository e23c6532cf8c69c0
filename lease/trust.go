package lease

import "time"

// TrustedFraction of the TTL is how long a holder may act without hearing
// back. The rest is what stopping the work may take.
const TrustedFraction = 0.8

// TrustWindow is how long a lease of this TTL may be trusted.
func TrustWindow(ttl time.Duration) time.Duration {
	if mutant("trust-whole-ttl") {
		return ttl
	}
	return ttl / 10 * 8 // exact for the whole seconds that a TTL is made of
}

// TrustedUntil is the instant, on the client's own suspend-inclusive clock, at
// which a holder must have stopped. It counts from before the request was
// sent, plus the time that the server says it waited for the name (rounded
// down), never from when the answer arrived: the answer may have been on the
// way for longer than the lease.
func TrustedUntil(sent Instant, waited, ttl time.Duration) Instant {
	return sent.Add(waited).Add(TrustWindow(ttl))
}
