package telemetry

import (
	"os"
	"strings"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// env is an environment of its own for tests that run in parallel.
type env map[string]string

func (e env) get(name string) string { return e[name] }

// processEnv makes the process environment hold exactly these OTEL_ variables for one test, because the exporters read it
// there. Tests that use it can not run in parallel.
func processEnv(t *testing.T, vars env) {
	t.Helper()
	for _, entry := range os.Environ() {
		if name, _, _ := strings.Cut(entry, "="); strings.HasPrefix(name, "OTEL_") {
			t.Setenv(name, "")
		}
	}
	for name, value := range vars {
		t.Setenv(name, value)
	}
}

// started is a Telemetry without any export.
func started(t *testing.T, cfg Config) *Telemetry {
	t.Helper()
	if cfg.Getenv == nil {
		cfg.Getenv = env{}.get
	}
	if cfg.LogWriter == nil {
		cfg.LogWriter = t.Output()
	}
	tel, err := Start(t.Context(), cfg)
	if err != nil {
		t.Fatalf("Start: %v", err)
	}
	return tel
}

// recorded is a Telemetry whose spans go to a recorder.
func recorded(t *testing.T, cfg Config, options ...sdktrace.TracerProviderOption) (*Telemetry, *tracetest.SpanRecorder) {
	t.Helper()
	tel := started(t, cfg)
	spans := tracetest.NewSpanRecorder()
	tel.useTracerProvider("test", append(options, sdktrace.WithSpanProcessor(spans))...)
	return tel, spans
}
