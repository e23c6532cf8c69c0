package telemetry

import (
	"context"
	"strings"

	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// Limits of what is taken over from a caller, in bytes over all lines of the header.
const (
	maxTracestate = 512  // what W3C Trace Context (section 3.3.1.5) asks a vendor to pass on at least
	maxBaggage    = 8192 // W3C Baggage, section 3.3.2
)

// callerPropagator is the W3C pair of trace context and baggage, for headers that strangers write. A tracestate above the
// limit is dropped, because it would be kept and exported with every span of the request; a baggage that does not parse is
// dropped without a word, because OpenTelemetry's own propagator puts a piece of the header into the error it logs.
type callerPropagator struct {
	trace   propagation.TraceContext
	baggage propagation.Baggage
}

func newCallerPropagator() propagation.TextMapPropagator { return callerPropagator{} }

// Inject implements [propagation.TextMapPropagator].
func (p callerPropagator) Inject(ctx context.Context, carrier propagation.TextMapCarrier) {
	p.trace.Inject(ctx, carrier)
	p.baggage.Inject(ctx, carrier)
}

// Extract implements [propagation.TextMapPropagator].
func (p callerPropagator) Extract(ctx context.Context, carrier propagation.TextMapCarrier) context.Context {
	ctx = p.trace.Extract(ctx, carrier)
	if len(carried(carrier, "tracestate")) > maxTracestate {
		if remote := trace.SpanContextFromContext(ctx); remote.IsRemote() {
			ctx = trace.ContextWithRemoteSpanContext(ctx, remote.WithTraceState(trace.TraceState{}))
		}
	}
	members := carried(carrier, "baggage")
	if members == "" || len(members) > maxBaggage {
		return ctx
	}
	if bag, err := baggage.Parse(members); err == nil && bag.Len() > 0 {
		ctx = baggage.ContextWithBaggage(ctx, bag)
	}
	return ctx
}

// Fields implements [propagation.TextMapPropagator].
func (p callerPropagator) Fields() []string {
	return append(p.trace.Fields(), p.baggage.Fields()...)
}

// carried is a header as one value: a list header may come on several lines.
func carried(carrier propagation.TextMapCarrier, key string) string {
	if lines, ok := carrier.(propagation.ValuesGetter); ok {
		return strings.Join(lines.Values(key), ",")
	}
	return carrier.Get(key)
}
