package telemetry

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"
)

func TestProblemLog(t *testing.T) {
	t.Parallel()
	setup := func() (*problemLog, *bytes.Buffer, *time.Time) {
		var log bytes.Buffer
		now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		p := newProblemLog(slog.New(newLogHandler(&log, slog.LevelInfo, true)))
		p.now = func() time.Time { return now }
		p.run()
		return p, &log, &now
	}
	t.Run("WritesOneLineAMinuteAndCountsTheRest", func(t *testing.T) {
		t.Parallel()
		p, log, now := setup()
		for range 60 {
			p.Handle(errors.New("refused"))
			*now = now.Add(time.Second)
		}
		p.Handle(errors.New("refused"))
		lines := logLines(t, log)
		if len(lines) != 2 || lines[0]["skipped"] != 0.0 || lines[1]["skipped"] != 59.0 {
			t.Fatalf("lines %v", lines)
		}
	})
	t.Run("ClipsWhatItWrites", func(t *testing.T) {
		t.Parallel()
		p, log, _ := setup()
		p.Handle(errors.New(strings.Repeat("x", 10_000)))
		if log.Len() > 1000 {
			t.Fatalf("%d bytes", log.Len())
		}
	})
	t.Run("PassesOnNoValuesOfTheSDK", func(t *testing.T) {
		t.Parallel()
		p, log, _ := setup()
		sdkComplaints{p}.Error(errors.New("missing key of s3cret"), "parse headers", "input", "s3cret")
		if strings.Contains(log.String(), "s3cret") || !strings.Contains(log.String(), "parse headers") {
			t.Fatal(log.String())
		}
	})
	t.Run("NamesTheVariableButNotItsValueDuringTheSetUp", func(t *testing.T) {
		t.Parallel()
		p, log, _ := setup()
		p.running = false
		p.Handle(errors.New("invalid OTEL_EXPORTER_OTLP_HEADERS value s3cret"))
		p.Handle(errors.New("s3cret"))
		lines := logLines(t, log)
		if strings.Contains(log.String(), "s3cret") || len(lines) != 2 ||
			!strings.HasPrefix(fmt.Sprint(lines[0]["problem"]), "OTEL_EXPORTER_OTLP_HEADERS ") {
			t.Fatal(log.String())
		}
	})
	t.Run("IsSilentAfterwards", func(t *testing.T) {
		t.Parallel()
		p, log, _ := setup()
		p.silence()
		p.Handle(errors.New("x"))
		p.complain("y")
		if log.Len() > 0 {
			t.Fatal(log.String())
		}
	})
}
