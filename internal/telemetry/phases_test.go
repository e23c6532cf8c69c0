package telemetry

import (
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// spanNamed finds the one span of a name.
func spanNamed(t *testing.T, spans []sdktrace.ReadOnlySpan, name string) sdktrace.ReadOnlySpan {
	t.Helper()
	var found sdktrace.ReadOnlySpan
	for _, s := range spans {
		if s.Name() == name {
			if found != nil {
				t.Fatalf("two spans %q", name)
			}
			found = s
		}
	}
	if found == nil {
		t.Fatalf("no span %q", name)
	}
	return found
}

func TestGroupTraced(t *testing.T) {
	t.Parallel()
	at := func(ms int) time.Time { return time.Date(2026, 1, 1, 0, 0, 0, ms*1e6, time.UTC) }

	t.Run("ShowsTheWholeWayInOneTrace", func(t *testing.T) {
		t.Parallel()
		tel, recorder := recorded(t, Config{})
		r := capabilityRequest(t, http.MethodPost)
		ctx, request := tel.StartRequest(r.Context(), r, campaignRoute)
		tel.GroupTraced(ctx, "first", at(1), at(2), at(3), at(5), 17, 4)
		tel.EndRequest(request, 200)

		spans := recorder.Ended()
		if len(spans) != 4 {
			t.Fatalf("%d spans", len(spans))
		}
		queue, commit, sql := spanNamed(t, spans, "queue"), spanNamed(t, spans, "group commit"), spanNamed(t, spans, "sql commit")
		type shape struct {
			Parent     trace.SpanID
			Start, End time.Time
			Attributes map[string]any
		}
		of := func(s sdktrace.ReadOnlySpan) shape {
			if s.SpanContext().TraceID() != request.SpanContext().TraceID() {
				t.Errorf("%q is in another trace", s.Name())
			}
			return shape{s.Parent().SpanID(), s.StartTime(), s.EndTime(), attributesOf(s.Attributes())}
		}
		for _, tc := range []struct {
			span sdktrace.ReadOnlySpan
			want shape
		}{
			{queue, shape{request.SpanContext().SpanID(), at(1), at(2), map[string]any{"octostore.queue.lane": "first"}}},
			{commit, shape{
				request.SpanContext().SpanID(), at(2), at(5),
				map[string]any{"octostore.group.size": int64(17), "octostore.group.rows": int64(4)},
			}},
			{sql, shape{commit.SpanContext().SpanID(), at(3), at(5), map[string]any{}}},
		} {
			if diff := cmp.Diff(tc.want, of(tc.span)); diff != "" {
				t.Errorf("%s: %s", tc.span.Name(), diff)
			}
		}
	})
	t.Run("LeavesOutAPhaseThatNeverBegan", func(t *testing.T) {
		t.Parallel()
		tel, recorder := recorded(t, Config{})
		ctx, span := tel.Tracer().Start(t.Context(), "request")
		tel.GroupTraced(ctx, "first", at(1), at(2), time.Time{}, at(5), 1, 0)
		span.End()
		if n := len(recorder.Ended()); n != 3 {
			t.Fatalf("%d spans, want request, queue and group commit", n)
		}
	})
	t.Run("NeverEndsAPhaseBeforeItsStart", func(t *testing.T) {
		t.Parallel()
		tel, recorder := recorded(t, Config{})
		ctx, span := tel.Tracer().Start(t.Context(), "request")
		RecordPhases(ctx, tel.Tracer(), Phase{Name: "p", Start: at(2), End: at(1)}, Phase{Name: "q", Start: at(2)})
		span.End()
		for _, name := range []string{"p", "q"} {
			if got := spanNamed(t, recorder.Ended(), name); !got.EndTime().Equal(at(2)) {
				t.Errorf("%s ends at %v", name, got.EndTime())
			}
		}
	})
	t.Run("RecordsNothingForADroppedRequest", func(t *testing.T) {
		t.Parallel()
		tel, recorder := recorded(t, Config{}, sdktrace.WithSampler(sdktrace.NeverSample()))
		ctx, span := tel.Tracer().Start(t.Context(), "request")
		tel.GroupTraced(ctx, "first", at(1), at(2), at(3), at(5), 1, 1)
		span.End()
		if n := len(recorder.Ended()); n != 0 {
			t.Fatalf("%d spans", n)
		}
	})
	t.Run("RecordsNothingAfterTheRequestEnded", func(t *testing.T) {
		t.Parallel()
		tel, recorder := recorded(t, Config{})
		ctx, span := tel.Tracer().Start(t.Context(), "request")
		span.End()
		tel.GroupTraced(ctx, "first", at(1), at(2), at(3), at(5), 1, 1)
		if n := len(recorder.Ended()); n != 1 {
			t.Fatalf("%d spans", n)
		}
	})
}
