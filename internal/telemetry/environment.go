package telemetry

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"strconv"
	"strings"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// The variables of our own that this package reads.
const (
	envLogLevel    = "OCTOSTORE_LOG_LEVEL"
	envLogFormat   = "OCTOSTORE_LOG_FORMAT"
	envRustLog     = "RUST_LOG"
	envRemoteRatio = "OCTOSTORE_TRACE_REMOTE_RATIO"
)

// The OpenTelemetry variables that decide whether anything is exported at all. Everything else is read by the SDK.
const (
	envSDKDisabled = "OTEL_SDK_DISABLED"
	envEndpoint    = "OTEL_EXPORTER_OTLP_ENDPOINT"
	envSampler     = "OTEL_TRACES_SAMPLER"
	envSamplerArg  = "OTEL_TRACES_SAMPLER_ARG"
)

// exporterNone is the exporter that switches a signal off although there is an endpoint.
const exporterNone = "none"

// signal is one of the three kinds of telemetry, spelled as the OTEL_* variables spell it.
type signal string

const (
	signalTraces  signal = "TRACES"
	signalMetrics signal = "METRICS"
	signalLogs    signal = "LOGS"
)

func (s signal) exporterVariable() string { return "OTEL_" + string(s) + "_EXPORTER" }
func (s signal) endpointVariable() string { return "OTEL_EXPORTER_OTLP_" + string(s) + "_ENDPOINT" }

// settings is the environment, read and checked once.
type settings struct {
	logLevel              slog.Level
	logJSON               bool
	traces, metrics, logs bool
	sampler               sdktrace.Sampler // nil unless traces
}

// readSettings reads every variable and reports all mistakes at once, each with the variable and what it may be.
func readSettings(getenv func(string) string) (settings, error) {
	var s settings
	var problems []error
	note := func(err error) {
		if err != nil {
			problems = append(problems, err)
		}
	}

	var err error
	s.logLevel, err = readLogLevel(getenv)
	note(err)
	s.logJSON, err = readLogFormat(getenv)
	note(err)

	s.traces, err = exports(getenv, signalTraces)
	note(err)
	s.metrics, err = exports(getenv, signalMetrics)
	note(err)
	s.logs, err = exports(getenv, signalLogs)
	note(err)

	// Our own variable is checked even while tracing is off, so that a typing error shows on the day it is made.
	remote, err := readRatio(getenv, envRemoteRatio, math.NaN())
	note(err)
	if s.traces {
		s.sampler, err = readSampler(getenv, remote)
		note(err)
	}
	if len(problems) > 0 {
		return settings{}, fmt.Errorf("telemetry: %w", errors.Join(problems...))
	}
	return s, nil
}

// exports tells whether a signal is to be exported. The exporters look at the process environment and nowhere else, so a
// getenv that says something different would switch on an exporter with other settings, by default one that sends to
// localhost: that is refused.
func exports(getenv func(string) string, sig signal) (bool, error) {
	if strings.EqualFold(getenv(envSDKDisabled), "true") {
		return false, nil
	}
	exporter := getenv(sig.exporterVariable())
	if exporter == exporterNone {
		return false, nil
	}
	if exporter == "" && getenv(envEndpoint) == "" && getenv(sig.endpointVariable()) == "" {
		return false, nil
	}
	for _, name := range []string{sig.exporterVariable(), envEndpoint, sig.endpointVariable()} {
		if getenv(name) != os.Getenv(name) {
			return false, fmt.Errorf("%s has to be set in the environment of the process, where the exporters read it", name)
		}
	}
	return true, nil
}

// parseLogLevel knows the words that OCTOSTORE_LOG_LEVEL takes, in any case.
func parseLogLevel(word string) (slog.Level, bool) {
	switch strings.ToLower(word) {
	case "debug":
		return slog.LevelDebug, true
	case "info":
		return slog.LevelInfo, true
	case "warn":
		return slog.LevelWarn, true
	case "error":
		return slog.LevelError, true
	default:
		return slog.LevelInfo, false
	}
}

func readLogLevel(getenv func(string) string) (slog.Level, error) {
	if word := getenv(envLogLevel); word != "" {
		level, ok := parseLogLevel(word)
		if !ok {
			return level, fmt.Errorf("%s is %q, allowed are debug, info, warn and error", envLogLevel, Clip(word, 64))
		}
		return level, nil
	}
	// RUST_LOG is a filter language of its own. A deployment that comes from 0.14 keeps the two forms with an obvious
	// meaning; a filter that we would only half understand must not change what is logged, nor stop the start.
	word := strings.TrimPrefix(getenv(envRustLog), "octostore=")
	if strings.EqualFold(word, "trace") {
		return slog.LevelDebug, nil
	}
	level, _ := parseLogLevel(word)
	return level, nil
}

func readLogFormat(getenv func(string) string) (asJSON bool, err error) {
	switch word := getenv(envLogFormat); strings.ToLower(word) {
	case "", "json":
		return true, nil
	case "text":
		return false, nil
	default:
		return true, fmt.Errorf("%s is %q, allowed are json and text", envLogFormat, Clip(word, 64))
	}
}

// readRatio reads a number from 0 to 1; unset gives fallback.
func readRatio(getenv func(string) string, name string, fallback float64) (float64, error) {
	text := strings.TrimSpace(getenv(name))
	if text == "" {
		return fallback, nil
	}
	ratio, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(ratio) || ratio < 0 || ratio > 1 {
		return fallback, fmt.Errorf("%s is %q, allowed is a number from 0 to 1", name, Clip(text, 64))
	}
	return ratio, nil
}
