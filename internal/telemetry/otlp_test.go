package telemetry

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"
	collogs "go.opentelemetry.io/proto/otlp/collector/logs/v1"
	colmetrics "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	coltrace "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	logspb "go.opentelemetry.io/proto/otlp/logs/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"
)

// collector speaks OTLP over HTTP with protobuf, as a real one does.
type collector struct {
	url      string
	status   atomic.Int64 // what it answers, 200 if 0
	requests atomic.Int64

	mu      sync.Mutex
	traces  []*coltrace.ExportTraceServiceRequest
	metrics []*colmetrics.ExportMetricsServiceRequest
	logs    []*collogs.ExportLogsServiceRequest
	raw     bytes.Buffer
}

func newCollector(t *testing.T) *collector {
	t.Helper()
	c := &collector{}
	server := httptest.NewServer(c)
	t.Cleanup(server.Close)
	c.url = server.URL
	return c
}

func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.requests.Add(1)
	body, err := io.ReadAll(r.Body)
	if err != nil || r.Header.Get("Content-Type") != "application/x-protobuf" {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	if status := c.status.Load(); status != 0 {
		w.WriteHeader(int(status))
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.raw.Write(body)
	var answer proto.Message
	switch r.URL.Path {
	case "/v1/traces":
		in := &coltrace.ExportTraceServiceRequest{}
		err = proto.Unmarshal(body, in)
		c.traces, answer = append(c.traces, in), &coltrace.ExportTraceServiceResponse{}
	case "/v1/metrics":
		in := &colmetrics.ExportMetricsServiceRequest{}
		err = proto.Unmarshal(body, in)
		c.metrics, answer = append(c.metrics, in), &colmetrics.ExportMetricsServiceResponse{}
	case "/v1/logs":
		in := &collogs.ExportLogsServiceRequest{}
		err = proto.Unmarshal(body, in)
		c.logs, answer = append(c.logs, in), &collogs.ExportLogsServiceResponse{}
	default:
		w.WriteHeader(http.StatusNotFound)
		return
	}
	out, encodeErr := proto.Marshal(answer)
	if err != nil || encodeErr != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
	_, _ = w.Write(out)
}

func (c *collector) spans() (byName map[string]*tracepb.Span, resource map[string]string) {
	byName, resource = map[string]*tracepb.Span{}, map[string]string{}
	for _, in := range c.traces {
		for _, rs := range in.GetResourceSpans() {
			for k, v := range texts(rs.GetResource().GetAttributes()) {
				resource[k] = v
			}
			for _, ss := range rs.GetScopeSpans() {
				for _, s := range ss.GetSpans() {
					byName[s.GetName()] = s
				}
			}
		}
	}
	return byName, resource
}

func (c *collector) records() []*logspb.LogRecord {
	var out []*logspb.LogRecord
	for _, in := range c.logs {
		for _, rl := range in.GetResourceLogs() {
			for _, sl := range rl.GetScopeLogs() {
				out = append(out, sl.GetLogRecords()...)
			}
		}
	}
	return out
}

func texts(list []*commonpb.KeyValue) map[string]string {
	out := map[string]string{}
	for _, kv := range list {
		out[kv.GetKey()] = kv.GetValue().GetStringValue()
	}
	return out
}

// hidden is a secret as the callers of this package have them.
type hidden string

func (hidden) LogValue() slog.Value { return slog.StringValue("[redacted]") }

// serveOnce does what one traced request does in the server.
func serveOnce(t *testing.T, tel *Telemetry, token slog.LogValuer) trace.SpanContext {
	t.Helper()
	r := capabilityRequest(t, http.MethodPost)
	ctx, span := tel.StartRequest(WithRequestID(r.Context(), "req_1"), r, campaignRoute)
	now := time.Now()
	tel.GroupTraced(ctx, "second", now, now.Add(1), now.Add(2), now.Add(3), 5, 3)
	tel.Logger().With("early", 1).WithGroup("g").InfoContext(ctx, "granted", "token", token)
	tel.Metrics().RequestDone(campaignRoute, "POST", 200, "", time.Millisecond, false)
	tel.EndRequest(span, 200)
	return span.SpanContext()
}

func TestExportToACollector(t *testing.T) {
	before := goleak.IgnoreCurrent()
	c := newCollector(t)
	processEnv(t, env{envEndpoint: c.url})
	var log bytes.Buffer
	tel, err := Start(t.Context(), Config{Version: "9.8.7", LogWriter: &log})
	if err != nil {
		t.Fatal(err)
	}
	request := serveOnce(t, tel, hidden("t0psecret"))
	if err := tel.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()

	t.Run("SendsOneTrace", func(t *testing.T) {
		spans, resource := c.spans()
		if len(spans) != 4 {
			t.Fatalf("spans %v", spans)
		}
		traceID, rootID := request.TraceID(), request.SpanID()
		root := "POST " + campaignRoute
		commit := spans["group commit"].GetSpanId()
		for name, parent := range map[string][]byte{root: nil, "queue": rootID[:], "group commit": rootID[:], "sql commit": commit} {
			s := spans[name]
			if s == nil || !bytes.Equal(s.GetTraceId(), traceID[:]) || !bytes.Equal(s.GetParentSpanId(), parent) {
				t.Errorf("%s: %v", name, s)
			}
		}
		if spans[root].GetKind() != tracepb.Span_SPAN_KIND_SERVER || len(spans[root].GetAttributes()) != 5 {
			t.Errorf("request span %v", spans[root])
		}
		if resource["service.name"] != "octostore" || resource["service.version"] != "9.8.7" || resource["service.instance.id"] == "" {
			t.Errorf("resource %v", resource)
		}
	})
	t.Run("SendsTheMetricsOfThePrivateRegistry", func(t *testing.T) {
		names := map[string]bool{}
		for _, in := range c.metrics {
			for _, rm := range in.GetResourceMetrics() {
				if texts(rm.GetResource().GetAttributes())["service.version"] != "9.8.7" {
					t.Error("the metrics do not carry the resource")
				}
				for _, sm := range rm.GetScopeMetrics() {
					for _, m := range sm.GetMetrics() {
						names[m.GetName()] = true
					}
				}
			}
		}
		for _, name := range []string{"octostore_http_requests_total", "octostore_http_request_duration_seconds", "go_goroutines"} {
			if !names[name] {
				t.Errorf("%s is missing among %d metrics", name, len(names))
			}
		}
	})
	t.Run("SendsTheLogWithItsIDs", func(t *testing.T) {
		records := c.records()
		if len(records) != 1 {
			t.Fatalf("%d records", len(records))
		}
		traceID, spanID := request.TraceID(), request.SpanID()
		got := records[0]
		if got.GetBody().GetStringValue() != "granted" || texts(got.GetAttributes())["request_id"] != "req_1" ||
			!bytes.Equal(got.GetTraceId(), traceID[:]) || !bytes.Equal(got.GetSpanId(), spanID[:]) {
			t.Errorf("record %v", got)
		}
		if !strings.Contains(log.String(), request.TraceID().String()) {
			t.Errorf("the local log lost the line: %q", log.String())
		}
	})
	t.Run("SendsNoSecretAndNothingOfTheCaller", func(t *testing.T) {
		for _, secret := range []string{"t0psecret", "s3cret", "192.0.2.77", "token=", "user_agent", "url.path"} {
			if bytes.Contains(c.raw.Bytes(), []byte(secret)) || strings.Contains(log.String(), secret) {
				t.Errorf("%q was exported or logged", secret)
			}
		}
	})
	t.Run("LeavesNothingRunning", func(t *testing.T) {
		goleak.VerifyNone(t, before, goleak.IgnoreTopFunction("net/http/httptest.(*Server).goServe.func1"),
			goleak.IgnoreAnyFunction("net/http.(*Server).Serve"), goleak.IgnoreAnyFunction("net/http.(*conn).serve"),
			goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"), goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop"))
	})
}

func TestExportFollowsTheEnvironment(t *testing.T) {
	run := func(t *testing.T, vars env) {
		t.Helper()
		processEnv(t, vars)
		tel, err := Start(t.Context(), Config{Version: "1", LogWriter: t.Output()})
		if err != nil {
			t.Fatal(err)
		}
		serveOnce(t, tel, hidden("x"))
		if err := tel.Shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	t.Run("ResourceOfTheOperatorGoesFirst", func(t *testing.T) {
		c := newCollector(t)
		run(t, env{envEndpoint: c.url, "OTEL_SERVICE_NAME": "mine", "OTEL_RESOURCE_ATTRIBUTES": "deployment.environment.name=prod"})
		c.mu.Lock()
		defer c.mu.Unlock()
		if _, resource := c.spans(); resource["service.name"] != "mine" || resource["deployment.environment.name"] != "prod" {
			t.Fatalf("resource %v", resource)
		}
	})
	t.Run("NoneSwitchesASignalOff", func(t *testing.T) {
		c := newCollector(t)
		run(t, env{envEndpoint: c.url, "OTEL_METRICS_EXPORTER": "none", "OTEL_LOGS_EXPORTER": "none"})
		c.mu.Lock()
		defer c.mu.Unlock()
		if len(c.traces) == 0 || len(c.metrics) != 0 || len(c.logs) != 0 {
			t.Fatalf("%d traces, %d metrics, %d logs", len(c.traces), len(c.metrics), len(c.logs))
		}
	})
	t.Run("DisabledSwitchesAllOff", func(t *testing.T) {
		c := newCollector(t)
		run(t, env{envEndpoint: c.url, envSDKDisabled: "true"})
		if n := c.requests.Load(); n != 0 {
			t.Fatalf("%d exports", n)
		}
	})
	t.Run("RatioZeroSamplesNoRequest", func(t *testing.T) {
		c := newCollector(t)
		run(t, env{envEndpoint: c.url, envSamplerArg: "0"})
		c.mu.Lock()
		defer c.mu.Unlock()
		if spans, _ := c.spans(); len(spans) != 0 {
			t.Fatalf("spans %v", spans)
		}
	})
}

func TestStartRefusals(t *testing.T) {
	before := goleak.IgnoreCurrent()
	c := newCollector(t)
	for name, tc := range map[string]struct {
		vars env
		want string
	}{
		"UnknownExporterStopsWhatWasBegun": {env{envEndpoint: c.url, "OTEL_LOGS_EXPORTER": "pigeon"}, "OTEL_LOGS_EXPORTER"},
		"UnknownProtocol":                  {env{envEndpoint: c.url, "OTEL_EXPORTER_OTLP_PROTOCOL": "smtp"}, "OTEL_EXPORTER_OTLP_PROTOCOL"},
		"UnknownSampler":                   {env{envEndpoint: c.url, envSampler: "sometimes"}, envSampler},
	} {
		t.Run(name, func(t *testing.T) {
			processEnv(t, tc.vars)
			_, err := Start(t.Context(), Config{LogWriter: t.Output()})
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Fatalf("error %v", err)
			}
		})
	}
	goleak.VerifyNone(t, before, goleak.IgnoreAnyFunction("net/http.(*Server).Serve"), goleak.IgnoreAnyFunction("net/http.(*conn).serve"),
		goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"), goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop"))
}

func TestACollectorThatRefuses(t *testing.T) {
	c := newCollector(t)
	c.status.Store(http.StatusBadRequest) // not retried, so the shutdown need not wait
	processEnv(t, env{envEndpoint: c.url, "OTEL_EXPORTER_OTLP_HEADERS": "credential-without-a-name"})
	var log bytes.Buffer
	tel, err := Start(t.Context(), Config{Version: "1", LogWriter: &log})
	if err != nil {
		t.Fatal(err)
	}
	serveOnce(t, tel, hidden("x"))
	first := tel.Shutdown(t.Context())
	t.Run("ShutdownRepeatsItsResult", func(t *testing.T) {
		if second := tel.Shutdown(t.Context()); second != first { //nolint:errorlint // the very same value is meant
			t.Fatalf("first %v, second %v", first, second)
		}
	})
	t.Run("TellsOfTheFailure", func(t *testing.T) {
		if first == nil && !strings.Contains(log.String(), "could not be exported") {
			t.Fatalf("nobody was told: %q", log.String())
		}
	})
	t.Run("IsSilentAfterTheShutdown", func(t *testing.T) {
		before := log.Len()
		tel.problems.complain("late") // unlike Handle, it has no quiet minute
		if log.Len() != before {
			t.Fatal("an error was written to a log that may be closed")
		}
	})
	t.Run("DoesNotLogAMalformedCredential", func(t *testing.T) {
		if strings.Contains(log.String(), "credential-without") || !strings.Contains(log.String(), "OTEL_EXPORTER_OTLP_HEADERS") {
			t.Fatal(log.String())
		}
	})
}
