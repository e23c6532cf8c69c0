package telemetry

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// The variables of the Prometheus exporter, and where it listens without them, as OpenTelemetry specifies.
const (
	envPrometheusHost = "OTEL_EXPORTER_PROMETHEUS_HOST"
	envPrometheusPort = "OTEL_EXPORTER_PROMETHEUS_PORT"
	prometheusHost    = "localhost"
	prometheusPort    = "9464"
)

// exporterPrometheus is the metrics exporter that is scraped.
const exporterPrometheus = "prometheus"

// startMetricListener serves the registry at /metrics on an address of its own, for OTEL_METRICS_EXPORTER=prometheus. There
// is no authentication, which is why it listens on loopback unless told otherwise. The exporter that autoexport has for
// this value would serve an empty page: it can not carry metrics that were made with the Prometheus client.
func (t *Telemetry) startMetricListener(ctx context.Context, getenv func(string) string) error {
	host, port := getenv(envPrometheusHost), getenv(envPrometheusPort)
	if host == "" {
		host = prometheusHost
	}
	if port == "" {
		port = prometheusPort
	}
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", net.JoinHostPort(host, port))
	if err != nil {
		return fmt.Errorf("listen as %s and %s say: %w", envPrometheusHost, envPrometheusPort, err)
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", t.metrics.Handler())
	server := &http.Server{
		Handler:           mux,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      30 * time.Second,
		IdleTimeout:       120 * time.Second,
		MaxHeaderBytes:    16 << 10,
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := server.Serve(listener); err != nil && !errors.Is(err, http.ErrServerClosed) {
			t.problems.Handle(fmt.Errorf("the listener for metrics ended: %w", err))
		}
	}()
	t.closers = append(t.closers, func(ctx context.Context) error {
		err := server.Shutdown(ctx)
		if err != nil {
			// A scraper that does not hang up must not keep the process.
			err = errors.Join(err, server.Close())
		}
		<-ended
		return err
	})
	t.logger.InfoContext(ctx, "metrics are served", "address", listener.Addr().String())
	return nil
}
