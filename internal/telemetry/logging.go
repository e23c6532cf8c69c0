package telemetry

import (
	"context"
	"io"
	"log/slog"
	"slices"

	"go.opentelemetry.io/otel/trace"
)

// The keys that the log handler adds from the context.
const (
	keyRequestID = "request_id"
	keyTraceID   = "trace_id"
	keySpanID    = "span_id"
)

// logTime is the one format of times in logs: UTC, milliseconds, Z.
const logTime = "2006-01-02T15:04:05.000Z"

// newLogHandler writes one line a record to w. Both formats escape line breaks and control characters, so a value can not
// forge a second line.
func newLogHandler(w io.Writer, level slog.Level, asJSON bool) slog.Handler {
	options := &slog.HandlerOptions{Level: level, ReplaceAttr: utcMilliseconds}
	var inner slog.Handler = slog.NewTextHandler(w, options)
	if asJSON {
		inner = slog.NewJSONHandler(w, options)
	}
	return &contextHandler{inner: inner, level: level, withTrace: true}
}

// utcMilliseconds rewrites every time, the record's own and those of attributes.
func utcMilliseconds(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() == slog.KindTime {
		a.Value = slog.StringValue(a.Value.Time().UTC().Format(logTime))
	}
	return a
}

// contextHandler adds what the context knows about the request, always at the top level of the record: a search for a
// request id must not depend on the groups of the logger that wrote the line. Because a handler can not step out of a
// group that it has opened in its inner handler, groups are kept here and built when a record is handled.
type contextHandler struct {
	inner     slog.Handler
	level     slog.Level // the inner handler's own check is asked too
	withTrace bool
	open      []logGroup // outermost first
}

type logGroup struct {
	name  string
	attrs []slog.Attr
}

// Enabled implements [slog.Handler].
func (h *contextHandler) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= h.level && h.inner.Enabled(ctx, level)
}

// Handle implements [slog.Handler].
func (h *contextHandler) Handle(ctx context.Context, record slog.Record) error {
	if len(h.open) > 0 {
		record = h.nest(record)
	} else {
		record = record.Clone() // the caller's record may share its attributes with other handlers
	}
	if id := RequestID(ctx); id != "" {
		record.AddAttrs(slog.String(keyRequestID, id))
	}
	if h.withTrace {
		if span := trace.SpanContextFromContext(ctx); span.IsValid() {
			record.AddAttrs(
				slog.String(keyTraceID, span.TraceID().String()),
				slog.String(keySpanID, span.SpanID().String()),
			)
		}
	}
	return h.inner.Handle(ctx, record)
}

// nest puts the attributes of the record into the open groups.
func (h *contextHandler) nest(record slog.Record) slog.Record {
	inside := make([]slog.Attr, 0, record.NumAttrs())
	record.Attrs(func(a slog.Attr) bool {
		inside = append(inside, a)
		return true
	})
	for _, g := range slices.Backward(h.open) {
		group := slices.Concat(g.attrs, inside)
		inside = []slog.Attr{{Key: g.name, Value: slog.GroupValue(group...)}}
	}
	nested := slog.NewRecord(record.Time, record.Level, record.Message, record.PC)
	nested.AddAttrs(inside...)
	return nested
}

// WithAttrs implements [slog.Handler].
func (h *contextHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	if len(attrs) == 0 {
		return h
	}
	next := *h
	if len(h.open) == 0 {
		next.inner = h.inner.WithAttrs(attrs)
		return &next
	}
	next.open = slices.Clone(h.open)
	last := &next.open[len(next.open)-1]
	last.attrs = slices.Concat(last.attrs, attrs)
	return &next
}

// WithGroup implements [slog.Handler].
func (h *contextHandler) WithGroup(name string) slog.Handler {
	if name == "" {
		return h
	}
	next := *h
	next.open = append(slices.Clip(h.open), logGroup{name: name})
	return &next
}
