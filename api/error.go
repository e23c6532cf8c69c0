package api

// Bounds of retry_after_ms in an error body, in milliseconds. Clients of the
// first generation take an error whose hint lies outside for a broken answer and
// give up, so a server clamps (see [ClampRetryAfterMs]) and never exceeds them.
const (
	MinRetryAfterMs int64 = 1
	MaxRetryAfterMs int64 = 300_000
)

// Error is the standard error body: every answer with a 4xx or 5xx status carries
// it as application/json. It is a message on the wire, not a Go error; the client
// package turns it into one.
type Error struct {
	// Label names the code for people, see [Code.Label].
	Label string `json:"error"`
	// Code is what programs act on.
	Code Code `json:"code"`
	// Details is one sentence about this occurrence. It never holds a credential,
	// a capability, SQL, a file path or a version; for 5xx it is generic.
	Details string `json:"details"`
	// RequestID equals the X-Request-Id header of the same answer.
	RequestID string `json:"request_id"`
	// RetryAfterMs is when to try again, in milliseconds from now, within
	// [MinRetryAfterMs] and [MaxRetryAfterMs]. It is present exactly for the codes
	// for which [Code.CarriesRetryAfter] holds; 0 means absent.
	RetryAfterMs int64 `json:"retry_after_ms,omitempty"`
}

// ClampRetryAfterMs forces a wait in milliseconds into the range that an error
// body may carry.
func ClampRetryAfterMs(ms int64) int64 {
	return min(max(ms, MinRetryAfterMs), MaxRetryAfterMs)
}

// RetryAfterSeconds is the value of the Retry-After header that belongs to a wait
// in milliseconds: whole seconds, rounded up so that who obeys the header is
// never early (RFC 9110, section 10.2.3). Below a millisecond it is 0.
func RetryAfterSeconds(ms int64) int64 {
	if ms <= 0 {
		return 0
	}
	return (ms-1)/1000 + 1
}
