package httpapi

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"
	"go.opentelemetry.io/otel/trace"

	"github.com/octostore/octostore/api"
	"github.com/octostore/octostore/internal/telemetry"
	"github.com/octostore/octostore/ratelimit"
)

// statusClientGone is what a request counts as whose caller left before it was
// answered. It is never written to a connection.
const statusClientGone = 499

// Buffers that grew beyond this are not kept for the next request.
const maxKeptBuffer = 16 << 10

// exchange is one request and its answer. It is handed to handlers in place of
// gin's context, and to gin and to foreign handlers as the http.ResponseWriter.
// It is reused: nothing may keep it after the handler has returned.
type exchange struct {
	api    *API
	w      http.ResponseWriter // net/http's own
	r      *http.Request
	route  *gin.Context // for path parameters; nil unless a route matched
	ctx    context.Context
	span   trace.Span
	began  time.Time
	client ratelimit.Client
	id     string

	template string // of the route; "" where none matched
	group    string // telemetry's endpoint group, "" for none
	quiet    bool   // logged at debug level: probes, preflights
	long     bool   // held on purpose; its length says nothing about latency

	status   int // as written, 0 before
	code     api.Code
	written  int64
	complete bool // nothing more may be written
	gone     bool // the caller left: close the connection instead of answering

	in, out []byte    // reused for the body of the request and of the answer
	length  [1]string // the value of Content-Length
}

// begin makes x ready for a request.
func (x *exchange) begin(a *API, w http.ResponseWriter, r *http.Request) {
	*x = exchange{in: x.in[:0], out: x.out[:0]}
	x.api, x.w, x.r = a, w, r
	x.began = time.Now()
	x.id = newRequestID()
	x.ctx = telemetry.WithRequestID(r.Context(), x.id)
	x.client = a.proxies.Client(r)
}

// newRequestID returns "req_" and 32 lower-case hex digits. An id has to be
// unique, not secret, so it is not worth a system call: the generator of
// math/rand/v2 is seeded by the operating system and does not repeat.
func newRequestID() string {
	var raw [16]byte
	binary.LittleEndian.PutUint64(raw[:8], rand.Uint64()) //nolint:gosec // G404: see above
	binary.LittleEndian.PutUint64(raw[8:], rand.Uint64()) //nolint:gosec // G404: see above
	var text [36]byte
	copy(text[:], "req_")
	hex.Encode(text[4:], raw[:])
	return string(text[:])
}

// param returns a path parameter, unescaped once. It is "" if it can not be
// unescaped, which no grammar accepts.
func (x *exchange) param(name string) string {
	raw := x.route.Param(name)
	if strings.IndexByte(raw, '%') < 0 {
		return raw
	}
	text, err := url.PathUnescape(raw)
	if err != nil {
		return ""
	}
	return text
}

// send writes a whole answer: status, headers and body in one write to the
// connection. The first answer wins, later ones are dropped.
func (x *exchange) send(status int, contentType []string, body []byte) {
	if x.status != 0 || x.complete {
		return
	}
	h := x.w.Header()
	h["Content-Type"] = contentType
	x.length[0] = strconv.Itoa(len(body))
	h["Content-Length"] = x.length[:]
	x.WriteHeader(status)
	// An error means that the caller is gone. What was decided stays decided.
	n, _ := x.w.Write(body)
	x.written += int64(n)
	x.complete = true
}

// leave ends a request whose caller is gone, or was cut off by the server's own
// shutdown. Returning without an answer would make net/http send an empty 200,
// so the connection is closed instead.
func (x *exchange) leave() {
	x.gone, x.complete = true, true
}

// Header implements [http.ResponseWriter].
func (x *exchange) Header() http.Header { return x.w.Header() }

// WriteHeader implements [http.ResponseWriter]. gin calls it after a handler has
// answered; those calls have no effect.
func (x *exchange) WriteHeader(status int) {
	if x.status != 0 || x.complete {
		return
	}
	x.status = status
	h := x.w.Header()
	if vary := h["Vary"]; len(vary) == 0 || &vary[0] != &corsVary[0] {
		// A foreign handler set its own; both count.
		h["Vary"] = append(corsVary[:1:1], vary...)
	}
	x.w.WriteHeader(status)
}

// Write implements [http.ResponseWriter].
func (x *exchange) Write(b []byte) (int, error) {
	if x.complete {
		return len(b), nil
	}
	x.WriteHeader(http.StatusOK)
	n, err := x.w.Write(b)
	x.written += int64(n)
	return n, err //nolint:wrapcheck // callers compare it
}

// Unwrap lets [http.ResponseController] reach the connection.
func (x *exchange) Unwrap() http.ResponseWriter { return x.w }

// hold prepares the connection for a request that is answered up to d from now:
// the server's timeout for writing is absolute and would cut the answer off. The
// one for reading does not matter any more once the body was read to its end.
func (x *exchange) hold(d time.Duration) {
	x.long = true
	// It fails on a connection that is gone, which the request's context tells.
	_ = http.NewResponseController(x.w).SetWriteDeadline(time.Now().Add(d))
}
