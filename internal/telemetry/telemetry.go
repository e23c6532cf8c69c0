package telemetry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// scope names the instrumentation on spans and exported log records.
const scope = "github.com/octostore/octostore"

// Config is what [Start] needs beside the environment. The zero value works.
type Config struct {
	// Service is the service.name of the resource, "octostore" if empty. OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES
	// go before it.
	Service string
	// Version is the service.version of the resource and the version label of octostore_build_info.
	Version string
	// Getenv reads one variable; nil means [os.Getenv]. The exporters read the process environment themselves, so a Getenv
	// that switches on an export that the process environment does not show is refused.
	Getenv func(string) string
	// LogWriter takes the log, one line a record; nil means standard output. Writes are serialised.
	LogWriter io.Writer
	// Routes and Codes are the closed sets of route templates and error codes. With a set, any other value is counted as
	// "unmatched" or "other". Without one, the first values that look like a template or a code are taken, up to a bound.
	Routes, Codes []string
}

// Telemetry is the telemetry of one process. All methods are safe for concurrent use.
type Telemetry struct {
	logger     *slog.Logger
	metrics    *Metrics
	tracing    bool
	provider   trace.TracerProvider
	tracer     trace.Tracer
	propagator propagation.TextMapPropagator

	lines  *logBuffer
	access *accessLog // nil where requests go through the logger like all else

	problems *problemLog
	closers  []func(context.Context) error // in the order of shutting down
	shutdown sync.Once
	shutErr  error
}

// Start reads the environment and sets up logs, metrics and, where an OTEL_* variable asks for them, exporters. ctx bounds
// the set-up only. An error names the variable and what is allowed; nothing is left running then.
//
// While something is exported, the error handler and the internal logger of OpenTelemetry, both global to the process,
// write to this log instead of standard error. No other global is touched: in particular there is no global tracer
// provider, so whoever wants to trace is handed one ([Telemetry.TracerProvider]).
func Start(ctx context.Context, cfg Config) (*Telemetry, error) {
	if cfg.Service == "" {
		cfg.Service = "octostore"
	}
	if cfg.Getenv == nil {
		cfg.Getenv = os.Getenv
	}
	if cfg.LogWriter == nil {
		cfg.LogWriter = os.Stdout
	}
	s, err := readSettings(cfg.Getenv)
	if err != nil {
		return nil, err
	}

	lines := &logBuffer{w: cfg.LogWriter}
	local := newLogHandler(lines, s.logLevel, s.logJSON)
	t := &Telemetry{
		logger:     slog.New(local),
		metrics:    NewMetrics(cfg.Version, cfg.Routes, cfg.Codes),
		provider:   offProvider{},
		tracer:     offTracer{},
		propagator: newCallerPropagator(),
		problems:   newProblemLog(slog.New(local)),
		lines:      lines,
	}
	if s.logJSON && !s.logs {
		t.access = &accessLog{buffer: lines}
	}
	if s.traces || s.metrics || s.logs {
		if err := t.startExport(ctx, cfg, s, local); err != nil {
			return nil, fmt.Errorf("telemetry: %w", errors.Join(err, t.Shutdown(ctx)))
		}
	}
	t.problems.run()
	return t, nil
}

// Logger is the log of the process. Pass the request's context to its …Context methods to have the request and trace id on
// the line.
func (t *Telemetry) Logger() *slog.Logger { return t.logger }

// Metrics is the registry of the process, never nil.
func (t *Telemetry) Metrics() *Metrics { return t.metrics }

// Tracing tells whether spans are made at all.
func (t *Telemetry) Tracing() bool { return t.tracing }

// Tracer makes spans. While tracing is off its Start returns the context it was given, without an allocation.
func (t *Telemetry) Tracer() trace.Tracer { return t.tracer }

// TracerProvider is for instrumentation that asks for a provider, such as a database tracer. It is never nil.
func (t *Telemetry) TracerProvider() trace.TracerProvider { return t.provider }

// Propagator reads and writes the W3C headers traceparent, tracestate and baggage.
func (t *Telemetry) Propagator() propagation.TextMapPropagator { return t.propagator }

// Flush writes the lines of requests that wait to be written together.
func (t *Telemetry) Flush() { t.lines.Flush() }

// Shutdown flushes and stops what Start began: spans, then metrics, then log records, so that a failure of the first two
// can still be logged. It waits as long as ctx allows. Only the first call does something; every call returns its result.
func (t *Telemetry) Shutdown(ctx context.Context) error {
	t.shutdown.Do(func() {
		var errs []error
		for _, stop := range t.closers {
			errs = append(errs, stop(ctx))
		}
		t.problems.silence()
		t.lines.Flush()
		if err := errors.Join(errs...); err != nil {
			t.shutErr = fmt.Errorf("telemetry: flush: %w", err)
		}
	})
	return t.shutErr
}
