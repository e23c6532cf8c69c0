package telemetry

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
)

// The attributes of the spans that [Telemetry.GroupTraced] records.
const (
	attrLane      = attribute.Key("octostore.queue.lane")
	attrGroupSize = attribute.Key("octostore.group.size")
	attrGroupRows = attribute.Key("octostore.group.rows")
)

// Phase is a stretch of work that is over. It becomes a span with the times it had.
type Phase struct {
	// Name is the span's name, from a closed set.
	Name string
	// Start and End are wall-clock instants. A phase without a Start never began and is left out with its children; an End
	// before the Start counts as the Start.
	Start, End time.Time
	// Attributes must hold no caller's text.
	Attributes []attribute.KeyValue
	// Children happened inside this phase.
	Children []Phase
}

// RecordPhases emits phases as children of the span in ctx. It exists because a committer serves many requests at once and
// has no span of any of them while it works: what it measured is written down afterwards, into each request's own trace.
// Without a recording span in ctx it does nothing and allocates nothing; a caller that builds phases on a hot path should
// ask IsRecording first, because building them may allocate.
func RecordPhases(ctx context.Context, tracer trace.Tracer, phases ...Phase) {
	if !trace.SpanFromContext(ctx).IsRecording() {
		return
	}
	for _, p := range phases {
		if p.Start.IsZero() {
			continue
		}
		end := p.End
		if end.Before(p.Start) {
			end = p.Start
		}
		inner, span := tracer.Start(ctx, p.Name, trace.WithTimestamp(p.Start), trace.WithAttributes(p.Attributes...))
		RecordPhases(inner, tracer, p.Children...)
		span.End(trace.WithTimestamp(end))
	}
}

// GroupTraced records, for one request, the way of its operation through the pipeline: "queue" from enqueued to began,
// then "group commit" from began to committed with a child "sql commit" from committing to committed. ctx carries the
// request's span, which must not have ended. lane is the queue's name; operations and rows are the size of the whole group
// that the request shared. A group that wrote nothing passes a zero committing. Free where the request is not sampled.
func (t *Telemetry) GroupTraced(
	ctx context.Context, lane string, enqueued, began, committing, committed time.Time, operations, rows int,
) {
	if !trace.SpanFromContext(ctx).IsRecording() {
		return
	}
	RecordPhases(ctx, t.tracer,
		Phase{
			Name: "queue", Start: enqueued, End: began,
			Attributes: []attribute.KeyValue{attrLane.String(lane)},
		},
		Phase{
			Name: "group commit", Start: began, End: committed,
			Attributes: []attribute.KeyValue{attrGroupSize.Int(operations), attrGroupRows.Int(rows)},
			Children:   []Phase{{Name: "sql commit", Start: committing, End: committed}},
		},
	)
}
