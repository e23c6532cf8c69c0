package telemetry

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"regexp"
	"strings"
	"testing"
	"testing/slogtest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/trace"
)

// logLines parses what a JSON handler wrote.
func logLines(t *testing.T, log *bytes.Buffer) []map[string]any {
	t.Helper()
	var lines []map[string]any
	for line := range strings.Lines(log.String()) {
		var fields map[string]any
		if err := json.Unmarshal([]byte(line), &fields); err != nil {
			t.Fatalf("line %q: %v", line, err)
		}
		lines = append(lines, fields)
	}
	return lines
}

func inRequest() context.Context {
	ctx := WithRequestID(context.Background(), "req_1")
	return trace.ContextWithSpanContext(ctx, trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID{0xab, 15: 1}, SpanID: trace.SpanID{0xcd, 7: 2},
	}))
}

func TestLogHandlerKeepsTheRulesOfHandlers(t *testing.T) {
	t.Parallel()
	var log *bytes.Buffer
	slogtest.Run(t, func(*testing.T) slog.Handler {
		log = &bytes.Buffer{}
		return newLogHandler(log, slog.LevelInfo, true)
	}, func(t *testing.T) map[string]any {
		return logLines(t, log)[0]
	})
}

func TestLogLine(t *testing.T) {
	t.Parallel()
	write := func(t *testing.T, ctx context.Context, use func(context.Context, *slog.Logger)) map[string]any {
		t.Helper()
		var log bytes.Buffer
		use(ctx, slog.New(newLogHandler(&log, slog.LevelInfo, true)))
		lines := logLines(t, &log)
		if len(lines) != 1 {
			t.Fatalf("%d lines", len(lines))
		}
		return lines[0]
	}

	t.Run("CarriesRequestAndTraceID", func(t *testing.T) {
		t.Parallel()
		line := write(t, inRequest(), func(ctx context.Context, l *slog.Logger) { l.InfoContext(ctx, "m", "a", 1) })
		delete(line, "time")
		want := map[string]any{
			"level": "INFO", "msg": "m", "a": 1.0, "request_id": "req_1",
			"trace_id": "ab000000000000000000000000000001", "span_id": "cd00000000000002",
		}
		if diff := cmp.Diff(want, line); diff != "" {
			t.Fatal(diff)
		}
	})
	t.Run("KeepsTheIDsOutOfGroups", func(t *testing.T) {
		t.Parallel()
		line := write(t, inRequest(), func(ctx context.Context, l *slog.Logger) {
			l.With("a", 1).WithGroup("g").With("b", 2).WithGroup("h").InfoContext(ctx, "m", "c", 3)
		})
		delete(line, "time")
		want := map[string]any{
			"level": "INFO", "msg": "m", "a": 1.0, "request_id": "req_1",
			"trace_id": "ab000000000000000000000000000001", "span_id": "cd00000000000002",
			"g": map[string]any{"b": 2.0, "h": map[string]any{"c": 3.0}},
		}
		if diff := cmp.Diff(want, line); diff != "" {
			t.Fatal(diff)
		}
	})
	t.Run("DoesNotMixLoggersOfOneGroup", func(t *testing.T) {
		t.Parallel()
		line := write(t, context.Background(), func(ctx context.Context, l *slog.Logger) {
			group := l.WithGroup("g").With("a", 1)
			_, _ = group.With("b", 2), group.WithGroup("x").With("y", 1)
			group.InfoContext(ctx, "m")
		})
		if diff := cmp.Diff(map[string]any{"a": 1.0}, line["g"]); diff != "" {
			t.Fatal(diff)
		}
	})
	t.Run("DoesNotMixLoggersWithACommonStem", func(t *testing.T) {
		t.Parallel()
		line := write(t, context.Background(), func(ctx context.Context, l *slog.Logger) {
			stem := l.WithGroup("g").With("a", 1).With("b", 2).With("c", 3)
			one := stem.With("d", 4)
			_ = stem.With("e", 5)
			one.InfoContext(ctx, "m")
		})
		if diff := cmp.Diff(map[string]any{"a": 1.0, "b": 2.0, "c": 3.0, "d": 4.0}, line["g"]); diff != "" {
			t.Fatal(diff)
		}
	})
	t.Run("LeavesARecordThatOthersShareAlone", func(t *testing.T) {
		t.Parallel()
		var log bytes.Buffer
		h := newLogHandler(&log, slog.LevelInfo, true)
		record := slog.NewRecord(time.Time{}, slog.LevelInfo, "m", 0)
		for _, key := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} { // three beyond what a record keeps in itself leave spare room
			record.AddAttrs(slog.Int(key, 1))
		}
		for range 2 {
			if err := h.Handle(inRequest(), record); err != nil {
				t.Fatal(err)
			}
		}
		if lines := logLines(t, &log); len(lines) != 2 || !cmp.Equal(lines[0], lines[1]) {
			t.Fatalf("lines %v", lines)
		}
	})
	t.Run("HasNoIDsOutsideARequest", func(t *testing.T) {
		t.Parallel()
		line := write(t, context.Background(), func(ctx context.Context, l *slog.Logger) { l.InfoContext(ctx, "m") })
		for _, key := range []string{keyRequestID, keyTraceID, keySpanID} {
			if _, there := line[key]; there {
				t.Errorf("%s is there", key)
			}
		}
	})
	t.Run("TellsTimesInUTCMilliseconds", func(t *testing.T) {
		t.Parallel()
		at := time.Date(2026, 7, 1, 12, 0, 0, 123_999_999, time.FixedZone("x", 2*3600))
		line := write(t, context.Background(), func(ctx context.Context, l *slog.Logger) {
			l.InfoContext(ctx, "m", "at", at, slog.Group("g", "at", at))
		})
		stamp := regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$`)
		if got, _ := line["time"].(string); !stamp.MatchString(got) {
			t.Errorf("time %q", got)
		}
		want := any("2026-07-01T10:00:00.123Z")
		if line["at"] != want || !cmp.Equal(line["g"], map[string]any{"at": want}) {
			t.Errorf("at %v, in a group %v, want %s", line["at"], line["g"], want)
		}
	})
	t.Run("DropsWhatIsBelowTheLevel", func(t *testing.T) {
		t.Parallel()
		var log bytes.Buffer
		l := slog.New(newLogHandler(&log, slog.LevelWarn, true))
		l.Info("m")
		l.WithGroup("g").Info("m")
		if log.Len() > 0 {
			t.Fatal(log.String())
		}
	})
}

func TestLogFormats(t *testing.T) {
	t.Parallel()
	for format, prefix := range map[string]string{"": `{"time":"`, "json": `{"time":"`, "TEXT": "time=2"} {
		t.Run("Format"+format, func(t *testing.T) {
			t.Parallel()
			var log bytes.Buffer
			tel := started(t, Config{LogWriter: &log, Getenv: env{envLogFormat: format, envLogLevel: "debug"}.get})
			tel.Logger().DebugContext(inRequest(), "two\nlines", "k", "v\nforged=1")
			if !strings.HasPrefix(log.String(), prefix) || !strings.Contains(log.String(), "req_1") {
				t.Errorf("line %q", log.String())
			}
			if strings.Count(log.String(), "\n") != 1 {
				t.Errorf("a value broke the line: %q", log.String())
			}
		})
	}
}
