package api

// Header names of the API, in net/http's canonical spelling.
const (
	// HeaderRequestID is on every answer: "req_" and 32 lower-case hex digits, made by the server.
	HeaderRequestID = "X-Request-Id"
	// HeaderIdempotencyKey makes a granting call safe to repeat, see [ValidIdempotencyKey].
	HeaderIdempotencyKey = "Idempotency-Key"
	// HeaderLastEventID resumes a watch after the event that it names.
	HeaderLastEventID = "Last-Event-Id"
	// HeaderRateLimit tells what is left of a budget: `"elections";r=597;t=12`.
	HeaderRateLimit = "Ratelimit"
	// HeaderRateLimitPolicy tells the budget itself: `"elections";q=600;w=60`.
	HeaderRateLimitPolicy = "Ratelimit-Policy"
	// HeaderAdminKey and HeaderOctoStoreAdminKey carry the admin key; the first is looked at first.
	HeaderAdminKey          = "X-Admin-Key"
	HeaderOctoStoreAdminKey = "X-Octostore-Admin-Key"
)

// requestIDPrefix and requestIDDigits are the two parts of a request id.
const (
	requestIDPrefix = "req_"
	requestIDDigits = 32
)

// ValidRequestID reports whether s has the form of a request id. A client shows
// a request id from an answer only if it does, because the text goes to a terminal.
func ValidRequestID(s string) bool {
	if len(s) != len(requestIDPrefix)+requestIDDigits || s[:len(requestIDPrefix)] != requestIDPrefix {
		return false
	}
	for _, b := range []byte(s[len(requestIDPrefix):]) {
		if (b < '0' || b > '9') && (b < 'a' || b > 'f') {
			return false
		}
	}
	return true
}
