package telemetry

import (
	"context"
	"math"
	"strings"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// sampledUnder asks a sampler about a span under a parent. The trace id is the one that the SDK's ratio sampler always
// takes: its low eight bytes are nearly zero.
func sampledUnder(s sdktrace.Sampler, parent trace.SpanContextConfig) bool {
	ctx := context.Background()
	id := trace.TraceID{15: 1}
	if parent.SpanID.IsValid() {
		parent.TraceID = id
		ctx = trace.ContextWithSpanContext(ctx, trace.NewSpanContext(parent))
	}
	return s.ShouldSample(sdktrace.SamplingParameters{ParentContext: ctx, TraceID: id}).Decision == sdktrace.RecordAndSample
}

func TestGuardedSampler(t *testing.T) {
	t.Parallel()
	span := trace.SpanID{1}
	draws := func(x float64) func() float64 { return func() float64 { return x } }

	t.Run("DoesNotFollowARemoteWishBeyondTheRatio", func(t *testing.T) {
		t.Parallel()
		s := guardedSampler(1, .1, draws(.1))
		if sampledUnder(s, trace.SpanContextConfig{SpanID: span, Remote: true, TraceFlags: trace.FlagsSampled}) {
			t.Fatal("a remote parent with a chosen trace id and the sampled flag forced a sample")
		}
	})
	t.Run("FollowsARemoteWishWithinTheRatio", func(t *testing.T) {
		t.Parallel()
		s := guardedSampler(0, .1, draws(.0999))
		if !sampledUnder(s, trace.SpanContextConfig{SpanID: span, Remote: true, TraceFlags: trace.FlagsSampled}) {
			t.Fatal("not sampled")
		}
	})
	t.Run("RatioOneFollowsEveryWish", func(t *testing.T) {
		t.Parallel()
		s := guardedSampler(0, 1, draws(math.Nextafter(1, 0)))
		if !sampledUnder(s, trace.SpanContextConfig{SpanID: span, Remote: true, TraceFlags: trace.FlagsSampled}) {
			t.Fatal("not sampled")
		}
	})
	t.Run("RatioZeroFollowsNone", func(t *testing.T) {
		t.Parallel()
		s := guardedSampler(1, 0, draws(0))
		if sampledUnder(s, trace.SpanContextConfig{SpanID: span, Remote: true, TraceFlags: trace.FlagsSampled}) {
			t.Fatal("sampled")
		}
	})
	t.Run("FollowsARemoteParentThatIsNotSampled", func(t *testing.T) {
		t.Parallel()
		if sampledUnder(guardedSampler(1, 1, draws(0)), trace.SpanContextConfig{SpanID: span, Remote: true}) {
			t.Fatal("sampled")
		}
	})
	t.Run("FollowsALocalParent", func(t *testing.T) {
		t.Parallel()
		s := guardedSampler(0, 0, draws(.99))
		if !sampledUnder(s, trace.SpanContextConfig{SpanID: span, TraceFlags: trace.FlagsSampled}) {
			t.Fatal("a child of a sampled span was dropped")
		}
		if sampledUnder(guardedSampler(1, 1, draws(0)), trace.SpanContextConfig{SpanID: span}) {
			t.Fatal("a child of a dropped span was sampled")
		}
	})
	t.Run("SamplesRootsByTheirRatio", func(t *testing.T) {
		t.Parallel()
		if sampledUnder(guardedSampler(0, 1, draws(0)), trace.SpanContextConfig{}) ||
			!sampledUnder(guardedSampler(1, 0, draws(0)), trace.SpanContextConfig{}) {
			t.Fatal("the ratio of roots was not followed")
		}
	})
}

func TestReadSampler(t *testing.T) {
	t.Parallel()
	unset := math.NaN()
	for name, tc := range map[string]struct {
		env    env
		remote float64
		want   string
	}{
		"GuardsByDefault":          {env{}, unset, "remoteParentSampled:DrawSampler{1}"},
		"TakesItsRatioFromTheArg":  {env{envSamplerArg: "0.25"}, unset, "root:TraceIDRatioBased{0.25},remoteParentSampled:DrawSampler{0.25}"},
		"RemoteRatioGoesBeforeArg": {env{envSamplerArg: "0.25"}, .5, "root:TraceIDRatioBased{0.25},remoteParentSampled:DrawSampler{0.5}"},
		"RemoteRatioMayBeZero":     {env{}, 0, "remoteParentSampled:DrawSampler{0}"},
		"HonoursAlwaysOn":          {env{envSampler: "always_on"}, unset, "AlwaysOnSampler"},
		"HonoursAlwaysOff":         {env{envSampler: "ALWAYS_OFF"}, unset, "AlwaysOffSampler"},
		"HonoursRatio":             {env{envSampler: "traceidratio", envSamplerArg: "0.5"}, unset, "TraceIDRatioBased{0.5}"},
		"HonoursParentRatio":       {env{envSampler: "parentbased_traceidratio", envSamplerArg: "0.5"}, unset, "root:TraceIDRatioBased{0.5},remoteParentSampled:AlwaysOn"},
		"HonoursParentAlwaysOn":    {env{envSampler: "parentbased_always_on"}, unset, "root:AlwaysOnSampler"},
		"HonoursParentAlwaysOff":   {env{envSampler: "parentbased_always_off"}, unset, "root:AlwaysOffSampler"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := readSampler(tc.env.get, tc.remote)
			if err != nil {
				t.Fatal(err)
			}
			if got := s.Description(); !strings.Contains(got, tc.want) {
				t.Fatalf("sampler %q, want %q in it", got, tc.want)
			}
		})
	}
	for name, vars := range map[string]env{
		"RefusesAnUnknownSampler": {envSampler: "jaeger_remote"},
		"RefusesABadRatio":        {envSamplerArg: "often"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := readSampler(vars.get, unset); err == nil || !strings.Contains(err.Error(), "allowed") {
				t.Fatalf("error %v", err)
			}
		})
	}
}
