package telemetry

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// readSampler builds the sampler that the environment asks for. remoteRatio is NaN where OCTOSTORE_TRACE_REMOTE_RATIO is
// unset. A name that we do not know is refused: the SDK would fall back to a sampler that trusts every caller.
func readSampler(getenv func(string) string, remoteRatio float64) (sdktrace.Sampler, error) {
	name := strings.ToLower(strings.TrimSpace(getenv(envSampler)))
	switch name {
	case "always_on":
		return sdktrace.AlwaysSample(), nil
	case "always_off":
		return sdktrace.NeverSample(), nil
	case "parentbased_always_on":
		return sdktrace.ParentBased(sdktrace.AlwaysSample()), nil
	case "parentbased_always_off":
		return sdktrace.ParentBased(sdktrace.NeverSample()), nil
	case "", "traceidratio", "parentbased_traceidratio":
	default:
		return nil, fmt.Errorf("%s is %q, allowed are always_on, always_off, traceidratio, parentbased_always_on, "+
			"parentbased_always_off and parentbased_traceidratio", envSampler, Clip(name, 64))
	}

	ratio, err := readRatio(getenv, envSamplerArg, 1)
	if err != nil {
		return nil, err
	}
	switch name {
	case "traceidratio":
		return sdktrace.TraceIDRatioBased(ratio), nil
	case "parentbased_traceidratio":
		return sdktrace.ParentBased(sdktrace.TraceIDRatioBased(ratio)), nil
	}
	if math.IsNaN(remoteRatio) {
		remoteRatio = ratio
	}
	return guardedSampler(ratio, remoteRatio, rand.Float64), nil
}

// guardedSampler is the default: parent-based inside the process, and a draw where a stranger says "sampled".
// draw returns a number in [0, 1).
func guardedSampler(rootRatio, remoteRatio float64, draw func() float64) sdktrace.Sampler {
	return sdktrace.ParentBased(
		sdktrace.TraceIDRatioBased(rootRatio),
		sdktrace.WithRemoteParentSampled(drawSampler{ratio: remoteRatio, draw: draw}),
	)
}

// drawSampler samples by a draw of its own. The SDK's ratio sampler would not do here: it compares the trace id, and a
// remote caller chooses that as freely as the flag, so eight zero bytes would force every sample. A draw for each request
// also holds the ratio for a caller that repeats one id for ever. The price is that with a ratio below 1 a trace of
// several requests can have holes.
type drawSampler struct {
	ratio float64
	draw  func() float64
}

// ShouldSample implements [sdktrace.Sampler].
func (s drawSampler) ShouldSample(p sdktrace.SamplingParameters) sdktrace.SamplingResult {
	decision := sdktrace.Drop
	if s.draw() < s.ratio {
		decision = sdktrace.RecordAndSample
	}
	return sdktrace.SamplingResult{
		Decision:   decision,
		Tracestate: trace.SpanContextFromContext(p.ParentContext).TraceState(),
	}
}

// Description implements [sdktrace.Sampler].
func (s drawSampler) Description() string { return fmt.Sprintf("DrawSampler{%g}", s.ratio) }
