package telemetry

import (
	"context"
	"fmt"
	"log/slog"
	"sync"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/contrib/bridges/otelslog"
	prometheusbridge "go.opentelemetry.io/contrib/bridges/prometheus"
	"go.opentelemetry.io/contrib/exporters/autoexport"
	"go.opentelemetry.io/otel"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
)

// startExport sets up the signals that s switches on. What was begun before an error is in t.closers and is stopped by the
// caller.
func (t *Telemetry) startExport(ctx context.Context, cfg Config, s settings, local slog.Handler) error {
	otel.SetErrorHandler(t.problems)
	otel.SetLogger(logr.New(sdkComplaints{t.problems}))
	res := t.describeProcess(ctx, cfg)
	if s.traces {
		if err := t.startTraces(ctx, res, cfg.Version, s.sampler); err != nil {
			return fmt.Errorf("set up the export of traces (OTEL_TRACES_EXPORTER, OTEL_EXPORTER_OTLP_PROTOCOL): %w", err)
		}
	}
	if s.metrics {
		if err := t.startMetrics(ctx, cfg, res); err != nil {
			return fmt.Errorf("set up the export of metrics (OTEL_METRICS_EXPORTER, OTEL_EXPORTER_OTLP_PROTOCOL): %w", err)
		}
	}
	if s.logs {
		if err := t.startLogs(ctx, res, cfg.Version, s.logLevel, local); err != nil {
			return fmt.Errorf("set up the export of logs (OTEL_LOGS_EXPORTER, OTEL_EXPORTER_OTLP_PROTOCOL): %w", err)
		}
	}
	return nil
}

// describeProcess builds the resource. The host and process detectors of the SDK are left out on purpose: they would
// export the command line and the account that runs the server.
func (t *Telemetry) describeProcess(ctx context.Context, cfg Config) *resource.Resource {
	res, err := resource.New(ctx,
		resource.WithTelemetrySDK(),
		resource.WithService(), // service.instance.id, a random UUID: two replicas must not share their series
		resource.WithAttributes(semconv.ServiceName(cfg.Service), semconv.ServiceVersion(cfg.Version)),
		resource.WithFromEnv(),
	)
	if err != nil {
		t.problems.complain("a part of OTEL_RESOURCE_ATTRIBUTES is not key=value")
	}
	return res
}

func (t *Telemetry) startTraces(ctx context.Context, res *resource.Resource, version string, sampler sdktrace.Sampler) error {
	exporter, err := autoexport.NewSpanExporter(ctx)
	if err != nil {
		return err
	}
	t.useTracerProvider(version,
		sdktrace.WithBatcher(exporter),
		sdktrace.WithResource(res),
		sdktrace.WithSampler(sampler))
	return nil
}

// useTracerProvider switches tracing on. Tests come in here with a recorder in place of an exporter.
func (t *Telemetry) useTracerProvider(version string, options ...sdktrace.TracerProviderOption) {
	// The SDK would write the value of a panic that passes a span into that span, and such a text can contain anything.
	options = append(options, sdktrace.WithoutPanicRecording())
	provider := sdktrace.NewTracerProvider(options...)
	t.provider, t.tracing = provider, true
	t.tracer = provider.Tracer(scope, trace.WithInstrumentationVersion(version))
	t.closers = append(t.closers, provider.Shutdown)
}

// producerFallback serialises the use of a variable in autoexport: it takes the producer of a metric reader from a global
// setting only, and reads it without a lock.
var producerFallback sync.Mutex

func (t *Telemetry) startMetrics(ctx context.Context, cfg Config, res *resource.Resource) error {
	if cfg.Getenv(signalMetrics.exporterVariable()) == exporterPrometheus {
		return t.startMetricListener(ctx, cfg.Getenv)
	}
	reader, err := t.metricReader(ctx)
	if err != nil {
		return err
	}
	provider := sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader), sdkmetric.WithResource(res))
	t.closers = append(t.closers, provider.Shutdown)
	return nil
}

func (t *Telemetry) metricReader(ctx context.Context) (sdkmetric.Reader, error) {
	producerFallback.Lock()
	defer producerFallback.Unlock()
	defer autoexport.WithFallbackMetricProducer(nil)
	autoexport.WithFallbackMetricProducer(func(context.Context) (sdkmetric.Producer, error) {
		return prometheusbridge.NewMetricProducer(prometheusbridge.WithGatherer(t.metrics.registry)), nil
	})
	return autoexport.NewMetricReader(ctx)
}

func (t *Telemetry) startLogs(ctx context.Context, res *resource.Resource, version string, level slog.Level, local slog.Handler) error {
	exporter, err := autoexport.NewLogExporter(ctx)
	if err != nil {
		return err
	}
	provider := sdklog.NewLoggerProvider(
		sdklog.WithProcessor(sdklog.NewBatchProcessor(exporter)),
		sdklog.WithResource(res),
	)
	t.closers = append(t.closers, provider.Shutdown)
	bridge := otelslog.NewHandler(scope, otelslog.WithLoggerProvider(provider), otelslog.WithVersion(version))
	// The record takes trace and span id from the context itself, so only the request id is added here.
	remote := &contextHandler{inner: bridge, level: level}
	t.logger = slog.New(slog.NewMultiHandler(local, remote))
	return nil
}
