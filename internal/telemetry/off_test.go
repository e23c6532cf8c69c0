package telemetry

import (
	"net/http"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.uber.org/goleak"
)

// Allocations can only be counted while no test runs beside; so the tests of this file are not parallel.

func TestTracingThatIsOffAllocatesNothing(t *testing.T) {
	tel := started(t, Config{})
	r := capabilityRequest(t, http.MethodPost)
	r.Header.Set("Traceparent", parentHeader)
	ctx, now := r.Context(), time.Now()
	phases := []Phase{{Name: "p", Start: now, End: now}}
	for name, call := range map[string]func(){
		"Request":      func() { _, span := tel.StartRequest(ctx, r, campaignRoute); tel.EndRequest(span, 200) },
		"Span":         func() { _, span := tel.Tracer().Start(ctx, "x"); span.End() },
		"GroupTraced":  func() { tel.GroupTraced(ctx, "first", now, now, now, now, 3, 2) },
		"RecordPhases": func() { RecordPhases(ctx, tel.Tracer(), phases...) },
		"Provider":     func() { _, span := tel.TracerProvider().Tracer("x").Start(ctx, "x"); span.End() },
	} {
		t.Run(name, func(t *testing.T) {
			if n := testing.AllocsPerRun(200, call); n != 0 {
				t.Fatalf("%v allocations", n)
			}
		})
	}
}

func TestGroupTracedAllocatesNothingForADroppedRequest(t *testing.T) {
	tel, _ := recorded(t, Config{}, sdktrace.WithSampler(sdktrace.NeverSample()))
	ctx, span := tel.Tracer().Start(t.Context(), "request")
	defer span.End()
	now := time.Now()
	if n := testing.AllocsPerRun(200, func() { tel.GroupTraced(ctx, "first", now, now, now, now, 3, 2) }); n != 0 {
		t.Fatalf("%v allocations", n)
	}
}

func TestWithoutVariables(t *testing.T) {
	collector := newCollector(t)
	processEnv(t, nil)
	before := goleak.IgnoreCurrent()
	tel := started(t, Config{Getenv: env{}.get})
	if tel.Tracing() {
		t.Error("tracing is on")
	}
	r := capabilityRequest(t, http.MethodPost)
	ctx, span := tel.StartRequest(r.Context(), r, campaignRoute)
	if ctx != r.Context() || span.SpanContext().IsValid() || span.IsRecording() {
		t.Error("a span was made")
	}
	tel.EndRequest(span, 200)
	tel.Metrics().RequestDone(campaignRoute, "POST", 200, "", time.Millisecond, false)
	tel.Logger().InfoContext(ctx, "m")
	goleak.VerifyNone(t, before) // before the shutdown: nothing may run at all
	if err := tel.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if n := collector.requests.Load(); n != 0 {
		t.Errorf("%d exports", n)
	}
}

func TestOffSpanDoesNotEndItsParent(t *testing.T) {
	t.Parallel()
	tel, recorder := recorded(t, Config{})
	ctx, parent := tel.Tracer().Start(t.Context(), "parent")
	inner, span := offProvider{}.Tracer("x").Start(ctx, "x")
	span.End()
	if n := len(recorder.Ended()); n != 0 || !parent.IsRecording() || trace.SpanFromContext(inner) != parent {
		t.Fatalf("%d spans ended", n)
	}
	parent.End()
}
