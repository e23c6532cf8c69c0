package httpapi

import (
	"fmt"
	"log/slog"
	"net/http"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/octostore/octostore/api"
	"github.com/octostore/octostore/internal/telemetry"
)

// ServeHTTP implements [http.Handler]. What gin calls middleware happens here,
// around the router: that way it also covers what gin answers by itself, and a
// request costs one reused object instead of a chain of closures.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x, ok := a.exchanges.Get().(*exchange)
	if !ok {
		x = new(exchange)
	}
	x.begin(a, w, r)
	defer func() { a.end(x, recover()) }()
	if x.client.Forged {
		a.warnForged.Do(func() {
			a.log.LogAttrs(x.ctx, slog.LevelWarn,
				"a forwarding header came from a peer that is not in TRUSTED_PROXIES and was ignored; "+
					"if it is your proxy, add its network (this is said once)",
				slog.String("client", x.client.Key))
		})
	}
	a.setCommonHeaders(x)
	if r.Method == http.MethodOptions {
		x.preflight()
		return
	}
	a.engine.ServeHTTP(x, r)
}

// adapt makes a gin handler of a route. gin's own context goes no further than
// to the path parameters: as a context.Context it never ends, and its writer
// hides the errors of a flush.
func (a *API) adapt(rt route) gin.HandlerFunc {
	return func(c *gin.Context) {
		x := exchangeOf(c)
		x.template, x.group, x.quiet, x.route = rt.template, rt.group, rt.quiet, c
		a.enter(x)
		rt.handle(x)
	}
}

// adaptMiss makes a gin handler for requests that no route takes.
func (a *API) adaptMiss(handle func(*exchange)) gin.HandlerFunc {
	return func(c *gin.Context) {
		x := exchangeOf(c)
		a.enter(x)
		handle(x)
		c.Writer.WriteHeaderNow() // has no effect but that gin knows of the answer and adds none
	}
}

// exchangeOf finds the exchange that ServeHTTP handed to gin as its writer.
func exchangeOf(c *gin.Context) *exchange {
	if w, ok := c.Writer.(interface{ Unwrap() http.ResponseWriter }); ok {
		if x, ok := w.Unwrap().(*exchange); ok {
			return x
		}
	}
	panic("httpapi: the router was entered without an exchange")
}

// enter begins the span of a request whose route is known.
func (a *API) enter(x *exchange) {
	x.ctx, x.span = a.telemetry.StartRequest(x.ctx, x.r, x.template)
}

func notFound(x *exchange) {
	x.fail(&failure{code: api.CodeNotFound, details: "There is no such path."})
}

// methodNotAllowed answers a path that exists under another method. gin has set
// Allow.
func methodNotAllowed(x *exchange) {
	x.fail(&failure{
		code: api.CodeInvalidInput, status: http.StatusMethodNotAllowed,
		details: "This path does not support the method.",
	})
}

// end finishes a request whatever became of it: a panic is answered, the answer
// is counted, traced and logged. It ends the connection by panicking with
// http.ErrAbortHandler where a truthful answer is not possible any more.
func (a *API) end(x *exchange, panicked any) {
	if panicked != nil {
		a.recovered(x, panicked)
	}
	status := x.status
	if x.gone {
		status = statusClientGone
	}
	took := time.Since(x.began)
	m := a.telemetry.Metrics()
	m.RequestDone(x.template, x.r.Method, status, string(x.code), took, x.long)
	if x.group != "" && !x.long {
		m.EndpointDone(x.group, status, took)
	}
	if x.span != nil {
		a.telemetry.EndRequest(x.span, status)
	}
	a.logRequest(x, status, took)
	abort := x.gone
	if panicked == nil { // otherwise gin, or whoever panicked, may still hold it
		a.recycle(x)
	}
	if abort {
		panic(http.ErrAbortHandler)
	}
}

// recovered answers 500 for a panic, or marks the connection to be closed if an
// answer had begun. What was panicked with may hold anything, a secret too, so
// only the runtime's own errors are logged by their text; the stack names the
// line for all others.
func (a *API) recovered(x *exchange, panicked any) {
	if err, ok := panicked.(error); ok && err == http.ErrAbortHandler { //nolint:errorlint // net/http compares it this way
		x.leave()
		return
	}
	text := fmt.Sprintf("a value of type %T", panicked)
	if err, ok := panicked.(runtime.Error); ok {
		text = telemetry.Clip(err.Error(), maxLoggedError)
	}
	a.telemetry.Metrics().PanicRecovered()
	a.log.LogAttrs(x.ctx, slog.LevelError, "panic",
		slog.String("route", x.template), slog.String("panic", text), slog.String("stack", string(debug.Stack())))
	if x.status != 0 {
		x.leave()
		return
	}
	x.complete = false
	h := x.w.Header()
	for _, name := range []string{"Cache-Control", "Content-Encoding", "Etag", "Retry-After"} {
		delete(h, name) // they belonged to the answer that was not given
	}
	x.fail(&failure{code: api.CodeInternalError})
}

// logRequest writes the one line that every request leaves. The client is the
// text that limits count by, so the log shows whom a limit has hit.
func (a *API) logRequest(x *exchange, status int, took time.Duration) {
	level := slog.LevelInfo
	if x.quiet {
		level = slog.LevelDebug
	}
	route := x.template
	if route == "" {
		route = "unmatched"
	}
	a.telemetry.LogAccess(x.ctx, level, telemetry.Access{
		Route: route, Method: x.r.Method, Status: status, Code: string(x.code),
		Took: took, Bytes: x.written, Client: x.client.Key,
	})
}

// recycle keeps x for another request.
func (a *API) recycle(x *exchange) {
	in, out := x.in, x.out
	if cap(in) > maxKeptBuffer {
		in = nil
	}
	if cap(out) > maxKeptBuffer {
		out = nil
	}
	*x = exchange{in: in, out: out}
	a.exchanges.Put(x)
}
