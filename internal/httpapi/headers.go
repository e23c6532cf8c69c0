package httpapi

import (
	"net/http"

	"github.com/octostore/octostore/api"
)

// The values of headers that never change, as net/http stores them. They are
// shared by all answers, so that setting one costs no allocation, and are never
// written to.
var (
	contentJSON     = []string{"application/json"}
	contentText     = []string{"text/plain; charset=utf-8"}
	contentYAML     = []string{"application/yaml"}
	contentEvents   = []string{"text/event-stream"}
	noStore         = []string{"no-store"}
	noCache         = []string{"no-cache"}
	noBuffering     = []string{"no"}
	connectionClose = []string{"close"}

	challenge        = []string{`Bearer realm="octostore"`}
	challengeInvalid = []string{`Bearer realm="octostore", error="invalid_token"`}

	noSniff    = []string{"nosniff"}
	noReferrer = []string{"no-referrer"}

	corsVary    = []string{"Origin, Access-Control-Request-Method, Access-Control-Request-Headers"}
	corsExpose  = []string{"Retry-After, X-Request-Id, RateLimit, RateLimit-Policy"}
	corsMethods = []string{"GET, POST, PUT, DELETE"}
	corsHeaders = []string{"Authorization, Content-Type, X-Admin-Key, X-OctoStore-Admin-Key, " +
		"Idempotency-Key, Last-Event-ID, Prefer, Traceparent"}
	corsMaxAge = []string{"600"}
)

// setCommonHeaders sets what every answer carries, preflights and errors
// included. An origin is allowed by exact comparison with the configured ones and
// echoed; credentials are never allowed, because none travels in a cookie.
func (a *API) setCommonHeaders(x *exchange) {
	h := x.w.Header()
	h[api.HeaderRequestID] = []string{x.id}
	h["X-Content-Type-Options"] = noSniff
	h["Referrer-Policy"] = noReferrer
	h["Vary"] = corsVary
	if origin := x.r.Header["Origin"]; len(origin) == 1 {
		if echo, ok := a.origins[origin[0]]; ok {
			h["Access-Control-Allow-Origin"] = echo
		}
	}
	if x.r.Method != http.MethodOptions {
		h["Access-Control-Expose-Headers"] = corsExpose
	}
}

// preflight answers any OPTIONS request on any path: whether there is such a path
// is told by the request that follows.
func (x *exchange) preflight() {
	h := x.w.Header()
	h["Access-Control-Allow-Methods"] = corsMethods
	h["Access-Control-Allow-Headers"] = corsHeaders
	h["Access-Control-Max-Age"] = corsMaxAge
	x.quiet = true
	x.WriteHeader(http.StatusOK)
	x.complete = true
}
