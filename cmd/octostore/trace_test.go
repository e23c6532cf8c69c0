package main

import (
	"compress/gzip"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"syscall"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracev1 "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// The real program exports to a real receiver: one trace from the request to
// the commit, which names the route and neither room nor token.
func TestOneTraceFromRequestToCommit(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var spans []*tracev1.Span
	var raw strings.Builder
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body io.Reader = r.Body
		if r.Header.Get("Content-Encoding") == "gzip" {
			var err error
			if body, err = gzip.NewReader(body); err != nil {
				t.Error(err)
				return
			}
		}
		b, err := io.ReadAll(body)
		if err != nil {
			t.Error(err)
		}
		if r.URL.Path != "/v1/traces" {
			return
		}
		var req collector.ExportTraceServiceRequest
		if err := proto.Unmarshal(b, &req); err != nil {
			t.Error(err)
		}
		mu.Lock()
		defer mu.Unlock()
		raw.Write(b)
		for _, rs := range req.ResourceSpans {
			for _, ss := range rs.ScopeSpans {
				spans = append(spans, ss.Spans...)
			}
		}
		w.Header().Set("Content-Type", "application/x-protobuf")
	}))
	defer receiver.Close()
	p := start(t, t.TempDir(), "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT="+receiver.URL+"/v1/traces", "OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf")
	_, won := campaign(p, "traced-room-canary", "candidate-canary", 30)
	if code := p.signal(syscall.SIGTERM); code != 0 {
		t.Fatalf("exit code %d\n%s", code, p.Log())
	}
	mu.Lock()
	defer mu.Unlock()
	byName := make(map[string]*tracev1.Span)
	for _, s := range spans {
		byName[s.Name] = s
	}
	chain := []string{"POST /elections/{election_id}/campaign", "queue", "group commit", "sql commit"}
	root := byName[chain[0]]
	if root == nil {
		t.Fatalf("no span of the request among %v", names(spans))
	}
	for _, name := range chain[1:] {
		s := byName[name]
		if s == nil {
			t.Fatalf("no span %q among %v", name, names(spans))
		}
		if string(s.TraceId) != string(root.TraceId) {
			t.Errorf("%q is in trace %s, the request in %s", name, hex.EncodeToString(s.TraceId), hex.EncodeToString(root.TraceId))
		}
		if len(s.ParentSpanId) == 0 || s.EndTimeUnixNano < s.StartTimeUnixNano {
			t.Errorf("%q has no parent or ends before it begins", name)
		}
	}
	for _, secret := range []string{"canary", won["leader_token"].(string)} {
		if strings.Contains(raw.String(), secret) {
			t.Errorf("the export contains %q", secret)
		}
	}
}

func names(spans []*tracev1.Span) (out []string) {
	for _, s := range spans {
		out = append(out, s.Name)
	}
	return out
}
