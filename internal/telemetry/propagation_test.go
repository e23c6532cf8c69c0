package telemetry

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

const parentHeader = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

func TestCallerPropagator(t *testing.T) {
	t.Parallel()
	extract := func(h http.Header) context.Context {
		return newCallerPropagator().Extract(context.Background(), propagation.HeaderCarrier(h))
	}
	t.Run("TakesOverAndPassesOn", func(t *testing.T) {
		t.Parallel()
		in := http.Header{"Traceparent": {parentHeader}, "Tracestate": {"a=1"}, "Baggage": {"team=x"}}
		out := http.Header{}
		newCallerPropagator().Inject(extract(in), propagation.HeaderCarrier(out))
		for name := range in {
			if out.Get(name) != in.Get(name) {
				t.Errorf("%s: %q became %q", name, in.Get(name), out.Get(name))
			}
		}
	})
	t.Run("MarksTheParentAsRemote", func(t *testing.T) {
		t.Parallel()
		if span := trace.SpanContextFromContext(extract(http.Header{"Traceparent": {parentHeader}})); !span.IsRemote() {
			t.Fatal("not remote, so the sampler would trust it")
		}
	})
	t.Run("DropsALongTracestateButKeepsTheParent", func(t *testing.T) {
		t.Parallel()
		span := trace.SpanContextFromContext(extract(http.Header{
			"Traceparent": {parentHeader}, "Tracestate": {"a=" + strings.Repeat("x", 200), "b=" + strings.Repeat("x", 200), "c=" + strings.Repeat("x", 200)},
		}))
		if !span.IsValid() || span.TraceState().Len() != 0 {
			t.Fatalf("span context %+v", span)
		}
	})
	t.Run("JoinsTheLinesOfBaggage", func(t *testing.T) {
		t.Parallel()
		if bag := baggage.FromContext(extract(http.Header{"Baggage": {"a=1", "b=2"}})); bag.Len() != 2 {
			t.Fatalf("baggage %q", bag)
		}
	})
	for name, value := range map[string]string{
		"DropsBaggageThatDoesNotParse": "a=1;;;=,\x00",
		"DropsBaggageAboveTheLimit":    "a=" + strings.Repeat("x", maxBaggage),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if bag := baggage.FromContext(extract(http.Header{"Baggage": {value}})); bag.Len() != 0 {
				t.Fatalf("baggage %q", bag)
			}
		})
	}
	t.Run("IgnoresABadParent", func(t *testing.T) {
		t.Parallel()
		if trace.SpanContextFromContext(extract(http.Header{"Traceparent": {"00-zz"}})).IsValid() {
			t.Fatal("valid")
		}
	})
	t.Run("NamesItsFields", func(t *testing.T) {
		t.Parallel()
		if got := strings.Join(newCallerPropagator().Fields(), " "); got != "traceparent tracestate baggage" {
			t.Fatal(got)
		}
	})
}
