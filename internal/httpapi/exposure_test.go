package httpapi_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/octostore/octostore/api"
)

// series returns how many lines of values the metrics have.
func series(text string) int {
	n := 0
	for line := range strings.SplitSeq(text, "\n") {
		if line != "" && line[0] != '#' {
			n++
		}
	}
	return n
}

// Scanners, rooms, user agents and addresses must cost no memory.
func TestSeriesDoNotGrowWithWhatCallersChoose(t *testing.T) {
	t.Parallel()
	s := start(t, func(c *setup) {
		c.getenv = func(name string) string { // 60,000 log lines are not what is tested
			if name == "OCTOSTORE_LOG_LEVEL" {
				return "error"
			}
			return ""
		}
	})
	random := rand.New(rand.NewPCG(1, 2))
	send := func(method, path string) int {
		r := httptest.NewRequest(method, path, nil)
		r.RemoteAddr = fmt.Sprintf("%d.%d.%d.%d:%d", random.IntN(223)+1, random.IntN(256), random.IntN(256), random.IntN(256), random.IntN(60_000)+1)
		r.Header.Set("User-Agent", fmt.Sprintf("scanner/%d", random.IntN(1000)))
		w := httptest.NewRecorder()
		s.api.ServeHTTP(w, r)
		return w.Code
	}
	// One of each kind first: what is counted afterwards has its series already.
	methods := []string{http.MethodGet, http.MethodPost, http.MethodDelete, "BREW"}
	for _, m := range methods {
		send(m, "/first")
		send(m, "/elections/the-first-room")
	}
	before := series(s.scrape())
	for i := range 50_000 {
		path := fmt.Sprintf("/%x/%x.php?id=%d", random.Uint64(), random.Uint32(), i)
		if got := send(methods[i%len(methods)], path); got != http.StatusNotFound {
			t.Fatalf("%s: %d", path, got)
		}
	}
	for i := range 10_000 {
		if got := send(http.MethodGet, fmt.Sprintf("/elections/room-%08d", i)); got != http.StatusOK {
			t.Fatalf("room %d: %d", i, got)
		}
	}
	text := s.scrape()
	if after := series(text); after > before+20 { // the scrape itself, and gauges of the runtime
		t.Fatalf("%d series before, %d after", before, after)
	}
	for _, part := range []string{".php", "room-0", "scanner/", "BREW"} {
		if strings.Contains(text, part) {
			t.Errorf("the metrics contain %q", part)
		}
	}
}

// collector takes everything that is exported over OTLP.
type collector struct {
	mu   sync.Mutex
	seen map[string]*bytes.Buffer // by path
}

func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.seen[r.URL.Path] == nil {
		c.seen[r.URL.Path] = new(bytes.Buffer)
	}
	c.seen[r.URL.Path].Write(body)
}

func (c *collector) got(path string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.seen[path] == nil {
		return ""
	}
	return c.seen[path].String()
}

// Neither capabilities nor what callers write is told to logs, traces or metrics.
func TestNothingSecretLeaves(t *testing.T) { //nolint:paralleltest // the exporters read the process environment
	c := &collector{seen: make(map[string]*bytes.Buffer)}
	sink := httptest.NewServer(c)
	defer sink.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", sink.URL)
	t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf")
	t.Setenv("OCTOSTORE_LOG_LEVEL", "debug")
	s := start(t, func(c *setup) { c.getenv = os.Getenv; c.Origins = []string{"https://canary-origin.example"} })

	const (
		key   = "canary-idempotency-key-01"
		room  = "/elections/canary-room-id"
		agent = "canary-agent/1"
	)
	header := []string{"Idempotency-Key", key, "User-Agent", agent, "Origin", "https://canary-origin.example", "X-Request-Id", "canary-request"}
	won := s.post(room+"/campaign", `{"candidate_id":"canary-candidate","metadata":"canary-metadata"}`, header...)
	won.want(t, http.StatusOK, "")
	token := won.text(t, "leader_token")
	s.post(room+"/renew?canary-query=1", `{"leader_token":"`+token+`"}`)
	s.get(room, header...)
	w := s.watch(room, "Last-Event-ID", "canary-event-id")
	w.next()
	w.close()
	s.post(room+"/resign", `{"leader_token":"`+token+`"}`)
	wrong := strings.Repeat("W", 42) + "A"
	s.post(room+"/renew", `{"leader_token":"`+wrong+`"}`).want(t, http.StatusNotFound, api.CodeLeaseNotCurrent)
	s.do(call{method: http.MethodPost, path: room + "/campaign", body: `{"canary-key":`})
	s.do(call{method: http.MethodGet, path: "/canary-path"})
	s.do(call{method: http.MethodGet, path: "/metrics", header: []string{"X-Admin-Key", "canary-admin-key"}})
	metrics := s.scrape()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	must(t, s.telemetry.Shutdown(ctx))

	spans := c.got("/v1/traces")
	if !strings.Contains(spans, "POST /elections/{election_id}/campaign") || !strings.Contains(spans, "/elections/{election_id}/watch") ||
		!strings.Contains(spans, "group commit") {
		t.Fatal("the spans did not arrive, so nothing was tested")
	}
	for name, text := range map[string]string{
		"log": s.logText(), "metrics": metrics, "spans": spans, "exported metrics": c.got("/v1/metrics"), "exported log": c.got("/v1/logs"),
	} {
		if len(text) == 0 {
			t.Errorf("the %s are empty, so nothing was tested", name)
		}
		for _, secret := range []string{token, wrong, "canary", adminKey, staticToken} {
			if strings.Contains(text, secret) {
				t.Errorf("the %s contain %.8s…", name, secret)
			}
		}
	}
	if id := won.header.Get("X-Request-Id"); !strings.Contains(s.logText(), id) {
		t.Error("the log lacks the request id")
	}
}

func TestEveryRequestLeavesOneLine(t *testing.T) {
	t.Parallel()
	s := start(t)
	room := s.room()
	r := s.do(call{method: http.MethodPost, path: room + "/renew", body: `{"leader_token":"no token"}`})
	r.want(t, http.StatusBadRequest, api.CodeInvalidInput)
	s.loggedClient(r) // waits for the line
	var mine map[string]any
	for _, line := range s.logged("request") {
		if line["request_id"] == r.header.Get("X-Request-Id") {
			if mine != nil {
				t.Fatal("two lines for one request")
			}
			mine = line
		}
	}
	for key, want := range map[string]any{
		"level": "INFO", "route": "/elections/{election_id}/renew", "method": "POST", "status": 400.0, "code": "invalid_input",
		"bytes": float64(len(r.body)), "client": "127.0.0.1",
	} {
		if mine[key] != want {
			t.Errorf("%s is %v, want %v", key, mine[key], want)
		}
	}
	if ms, ok := mine["ms"].(float64); !ok || ms <= 0 {
		t.Errorf("ms is %v", mine["ms"])
	}
	for _, path := range []string{"/health", "/livez", "/readyz"} {
		probe := s.get(path)
		s.loggedClient(probe)
		for _, line := range s.logged("request") {
			if line["request_id"] == probe.header.Get("X-Request-Id") && line["level"] != "DEBUG" {
				t.Errorf("%s is logged at %v", path, line["level"])
			}
		}
	}
}
