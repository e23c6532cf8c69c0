package telemetry

import (
	"context"
	"net"
	"net/http"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
)

// StartRequest begins the server span of a request; end it with [Telemetry.EndRequest]. ctx is the request's context and route the
// template that matched, the same one that [Metrics.RequestDone] gets. The span is named "METHOD route" and carries
// http.request.method, http.route, url.scheme and server.address, and nothing else: never a path, a query, a header value
// or anything about the client. server.address is the address of the socket, not the Host header, which is the caller's.
//
// The caller's traceparent, tracestate and baggage are taken over; how far its sampled flag counts is in the package
// comment. While tracing is off, ctx comes back as it is and nothing is parsed or allocated.
func (t *Telemetry) StartRequest(ctx context.Context, r *http.Request, route string) (context.Context, trace.Span) {
	if !t.tracing {
		return ctx, offSpan
	}
	ctx = t.propagator.Extract(ctx, propagation.HeaderCarrier(r.Header))

	method, name := r.Method, r.Method
	if !standardMethod(method) {
		method, name = "_OTHER", "HTTP" // the words of the semantic conventions for a method that is not known
	}
	route = t.metrics.routes.of(route) // a raw path that got here by mistake must not become a span
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	attributes := []attribute.KeyValue{
		semconv.HTTPRequestMethodKey.String(method),
		semconv.HTTPRoute(route),
		semconv.URLScheme(scheme),
	}
	if local, ok := ctx.Value(http.LocalAddrContextKey).(net.Addr); ok {
		if host, _, err := net.SplitHostPort(local.String()); err == nil {
			attributes = append(attributes, semconv.ServerAddress(host))
		}
	}
	return t.tracer.Start(ctx, name+" "+route, //nolint:spancheck // EndRequest ends it
		trace.WithSpanKind(trace.SpanKindServer),
		trace.WithAttributes(attributes...))
}

// EndRequest ends the span of [Telemetry.StartRequest]. status is the HTTP status that was written, 0 if none was; 500 and
// above mark the span as failed, client errors do not.
func (t *Telemetry) EndRequest(span trace.Span, status int) {
	if span.IsRecording() && status != 0 {
		span.SetAttributes(semconv.HTTPResponseStatusCode(status))
		if status >= http.StatusInternalServerError {
			span.SetStatus(codes.Error, "")
		}
	}
	span.End()
}

// standardMethod tells whether method is one of the nine of RFC 9110 and RFC 5789. They are case-sensitive.
func standardMethod(method string) bool {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete,
		http.MethodConnect, http.MethodOptions, http.MethodTrace:
		return true
	default:
		return false
	}
}
