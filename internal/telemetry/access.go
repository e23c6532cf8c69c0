package telemetry

import (
	"context"
	"encoding/json"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"
)

// Access is one answered request, as the log tells of it.
type Access struct {
	Route  string // template, never a path
	Method string
	Status int
	Code   string // error code of the body, "" for none
	Took   time.Duration
	Bytes  int64
	Client string // the text that limits count by
}

// accessLog writes the lines of requests. They are the one kind of line that a
// busy server writes by the ten thousand, so JSON is put together here, byte by
// byte, in the shape that the slog handler gives to all others.
type accessLog struct {
	buffer *logBuffer
	lines  sync.Pool // of *[]byte
}

// LogAccess writes the line of one request, with the ids that ctx carries. It
// costs nothing if the level is switched off.
func (t *Telemetry) LogAccess(ctx context.Context, level slog.Level, a Access) {
	if !t.logger.Enabled(ctx, level) {
		return
	}
	ms := float64(a.Took.Microseconds()) / 1000
	if t.access == nil {
		t.logger.LogAttrs(ctx, level, "request",
			slog.String("route", a.Route), slog.String("method", Clip(a.Method, 16)), slog.Int("status", a.Status),
			slog.String("code", a.Code), slog.Float64("ms", ms), slog.Int64("bytes", a.Bytes), slog.String("client", a.Client))
		return
	}
	kept, ok := t.access.lines.Get().(*[]byte)
	if !ok {
		kept = new([]byte)
	}
	b := append((*kept)[:0], `{"time":"`...)
	b = time.Now().UTC().AppendFormat(b, logTime)
	b = append(b, `","level":"`...)
	b = append(b, level.String()...)
	b = append(b, `","msg":"request","route":`...)
	b = appendJSONText(b, a.Route)
	b = append(b, `,"method":`...)
	b = appendJSONText(b, Clip(a.Method, 16))
	b = append(b, `,"status":`...)
	b = strconv.AppendInt(b, int64(a.Status), 10)
	b = append(b, `,"code":`...)
	b = appendJSONText(b, a.Code)
	b = append(b, `,"ms":`...)
	b = strconv.AppendFloat(b, ms, 'f', -1, 64)
	b = append(b, `,"bytes":`...)
	b = strconv.AppendInt(b, a.Bytes, 10)
	b = append(b, `,"client":`...)
	b = appendJSONText(b, a.Client)
	if id := RequestID(ctx); id != "" {
		b = append(b, `,"`+keyRequestID+`":`...)
		b = appendJSONText(b, id)
	}
	if span := trace.SpanContextFromContext(ctx); span.IsValid() {
		b = append(b, `,"`+keyTraceID+`":"`...)
		b = append(b, span.TraceID().String()...)
		b = append(b, `","`+keySpanID+`":"`...)
		b = append(b, span.SpanID().String()...)
		b = append(b, '"')
	}
	b = append(b, '}', '\n')
	t.access.buffer.later(b)
	*kept = b
	t.access.lines.Put(kept)
}

// appendJSONText appends s as a JSON string. What needs no escape, which is
// nearly all there is, is copied.
func appendJSONText(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < 0x20 || c >= 0x7f || c == '"' || c == '\\' {
			quoted, err := json.Marshal(s)
			if err != nil {
				quoted = []byte(`""`) // a string can not fail
			}
			return append(b, quoted...)
		}
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}
