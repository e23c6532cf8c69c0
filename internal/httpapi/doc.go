// Package httpapi is the server's HTTP interface: it turns requests into calls
// of the domains and their answers into the bodies of package api.
//
// It owns the routes, the order in which a request is checked, the table from
// error code to HTTP status, the strict reading of JSON bodies, the headers that
// every answer carries (request id, CORS, security, rate limits, caching), event
// streams, what an answer leaves behind (one log line, one count, one span),
// and the timeouts of the http.Server. It is the only package that knows gin,
// and it uses gin as a router only: answers are written past it.
//
// It does not own what an election means, who may lead, when something is
// durable, who a client is or how many requests it has left. It opens no
// socket; whoever wires the server does.
//
// Invariants:
//
//   - Every answer that this package writes carries x-request-id, and every 4xx
//     and 5xx the standard error body (readiness and assets excepted, which are
//     plain text by nature). What net/http refuses before a handler runs (a
//     broken escape, a header that is too large) is net/http's own.
//   - No answer carries a lease that is over at the moment of writing. A grant
//     whose caller has left before the first byte is given back; once a byte was
//     written it stays.
//   - A request that was cut off is never answered with an empty 200: its
//     connection is closed instead.
//   - Renewing, resigning and reading the status pass no budget and no bound.
//   - Paths, queries, header values and bodies are never logged, traced or
//     counted: route templates are. An error that nobody foresaw is told to the
//     caller as internal_error; its text stays in the log, under the request id.
//   - Bodies are read to their end, because only then does net/http notice that
//     a caller hangs up.
//
// # Streams
//
// A watch sends its headers with the first frame, a comment every 15 seconds,
// and ends in one of four ways: the client leaves; it does not drain a frame
// for ten seconds and is cut off; it has reached its maximum age; the server
// shuts down. In the last two cases the stream's last frame is
//
//	event: reconnect
//	data: {}
//
// # Time
//
// Two clocks are used. Whether a lease is over, and when a campaign arrived, is
// read from the store's deciding clock (Config.Now). Deadlines of connections,
// heartbeats and latencies use Go's monotonic clock.
package httpapi
