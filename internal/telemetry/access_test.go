package telemetry

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// lockedBuffer is a writer that can be looked at.
type lockedBuffer struct {
	mu     sync.Mutex
	text   strings.Builder
	writes int
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.writes++
	return b.text.Write(p)
}

func (b *lockedBuffer) read() (string, int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String(), b.writes
}

func accessTelemetry(t *testing.T, w *lockedBuffer, format string) *Telemetry {
	t.Helper()
	tel, err := Start(t.Context(), Config{LogWriter: w, Getenv: func(name string) string {
		if name == "OCTOSTORE_LOG_FORMAT" {
			return format
		}
		return ""
	}})
	if err != nil {
		t.Fatal(err)
	}
	return tel
}

// The line is what the slog handler would have made of the same values.
func TestAccessLineIsTheHandlersLine(t *testing.T) {
	t.Parallel()
	for _, a := range []Access{
		{Route: "/elections/{election_id}/campaign", Method: "POST", Status: 200, Took: 1234567 * time.Nanosecond, Bytes: 267, Client: "127.0.0.1"},
		{Route: "unmatched", Method: "BREW\"\\", Status: 418, Code: "not\nfound", Client: "2001:db8::/64"},
		{Method: strings.Repeat("M", 40), Client: "\x1b[31mé\xff"},
	} {
		var got, want bytes.Buffer
		tel := &Telemetry{logger: slog.New(newLogHandler(&want, slog.LevelInfo, true))}
		ctx := inRequest()
		tel.LogAccess(ctx, slog.LevelInfo, a) // by the handler
		tel.access = &accessLog{buffer: &logBuffer{w: &got}}
		tel.LogAccess(ctx, slog.LevelInfo, a)
		tel.access.buffer.Flush()
		g, w := logLines(t, &got)[0], logLines(t, &want)[0]
		delete(g, "time")
		delete(w, "time")
		if d := cmp.Diff(w, g); d != "" {
			t.Errorf("%+v differs (-handler +access):\n%s", a, d)
		}
	}
}

func TestAccessLinesWaitAMomentAndNothingElseDoes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var w lockedBuffer
		tel := accessTelemetry(t, &w, "json")
		ctx := t.Context()
		for range 3 {
			tel.LogAccess(ctx, slog.LevelInfo, Access{Route: "/a"})
		}
		if text, _ := w.read(); text != "" {
			t.Fatalf("written at once: %s", text)
		}
		<-time.After(accessDelay + time.Millisecond)
		synctest.Wait()
		if text, writes := w.read(); strings.Count(text, "\n") != 3 || writes != 1 {
			t.Fatalf("%d writes of %q", writes, text)
		}
		tel.LogAccess(ctx, slog.LevelInfo, Access{Route: "/b"})
		tel.Logger().WarnContext(ctx, "careful")
		text, writes := w.read()
		if i, j := strings.Index(text, `"/b"`), strings.Index(text, "careful"); i < 0 || j < i || writes != 2 {
			t.Fatalf("the warning does not follow what came before it: %d writes of %q", writes, text)
		}
		tel.LogAccess(ctx, slog.LevelInfo, Access{Route: "/c"})
		tel.LogAccess(ctx, slog.LevelDebug, Access{Route: "/quiet"})
		if err := tel.Shutdown(ctx); err != nil {
			t.Fatal(err)
		}
		if text, _ := w.read(); !strings.Contains(text, `"/c"`) || strings.Contains(text, "/quiet") {
			t.Fatalf("after the shutdown: %q", text)
		}
	})
}

func TestManyAccessLinesAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var w lockedBuffer
		tel := accessTelemetry(t, &w, "json")
		for range 1000 {
			tel.LogAccess(t.Context(), slog.LevelInfo, Access{Route: "/elections/{election_id}"})
		}
		text, writes := w.read()
		if writes == 0 || writes > 20 || len(text) < 1000*100-accessBytes {
			t.Errorf("%d bytes in %d writes before the time was up", len(text), writes)
		}
		if err := tel.Shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
		text, _ = w.read()
		for line := range strings.Lines(text) {
			if !json.Valid([]byte(line)) {
				t.Fatalf("line %q", line)
			}
		}
		if n := strings.Count(text, "\n"); n != 1000 {
			t.Errorf("%d lines of 1000", n)
		}
	})
}

func TestAccessLinesInText(t *testing.T) {
	t.Parallel()
	var w lockedBuffer
	tel := accessTelemetry(t, &w, "text")
	tel.LogAccess(context.Background(), slog.LevelInfo, Access{Route: "/a", Status: 200})
	if err := tel.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	if text, _ := w.read(); !strings.Contains(text, "msg=request route=/a") {
		t.Errorf("%q", text)
	}
}
