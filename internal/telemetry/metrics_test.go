package telemetry

import (
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
)

// scraped is the text that Prometheus gets.
func scraped(t *testing.T, m *Metrics) string {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
	if w.Code != http.StatusOK || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/plain") {
		t.Fatalf("status %d, type %q", w.Code, w.Header().Get("Content-Type"))
	}
	return w.Body.String()
}

// series are the sample lines of a scrape, without values.
func series(t *testing.T, m *Metrics) []string {
	t.Helper()
	var out []string
	for line := range strings.Lines(scraped(t, m)) {
		if !strings.HasPrefix(line, "#") {
			out = append(out, line[:strings.LastIndexByte(line, ' ')])
		}
	}
	return out
}

// recordAll calls every method once, with the labels that word gives.
func recordAll(m *Metrics, word func(label string) string, status int) {
	d := 3 * time.Millisecond
	m.RequestDone(word("route"), word("method"), status, word("code"), d, false)
	m.RequestDone(word("route"), word("method"), status, word("code"), d, true)
	m.EndpointDone(word("endpoint"), status, d)
	m.Outcome(word("kind"), word("verb"), word("outcome"))
	m.QueueDepth(word("lane"), 3)
	m.QueueWait(word("lane"), d)
	m.QueueRefused(word("lane"))
	m.GroupCommitted(17, 4, d)
	m.CommitFailed(word("failure"))
	m.ExpiryLag(d)
	m.LiveLeases(word("kind"), 7)
	m.Waiters(8)
	m.IdleNames(9)
	m.StreamOpened(word("stream"))
	m.StreamClosed(word("stream"), word("closing"))
	m.EventsDropped(2)
	m.Stalled(2 * time.Second)
	m.InvariantViolation(word("rule"))
	m.PanicRecovered()
	m.StoreHealthy(true)
	m.WalBytes(11)
	m.DiskFreeBytes(12)
	m.ConnectionRefused(word("refusal"))
}

var usualWords = map[string]string{
	"route": campaignRoute, "method": "POST", "code": "rate_limited", "endpoint": "election",
	"kind": "election", "verb": "campaign", "outcome": "leader", "lane": "second", "failure": "unknown",
	"stream": "election", "closing": "lagged", "rule": "one_holder", "refusal": "per_client",
}

func usual(label string) string { return usualWords[label] }

func TestMetricsAreCountedUnderTheirNames(t *testing.T) {
	t.Parallel()
	m := NewMetrics("1.2.3", nil, nil)
	recordAll(m, usual, 429)
	text := scraped(t, m)
	for _, want := range []string{
		`octostore_http_requests_total{code="rate_limited",method="POST",route="/elections/{id}/campaign",status="429"} 2`,
		`octostore_http_request_duration_seconds_count{route="/elections/{id}/campaign"} 1`, // the stream is not measured
		`octostore_http_request_duration_seconds_sum{route="/elections/{id}/campaign"} 0.003`,
		`octostore_lease_operations_total{kind="election",outcome="leader",verb="campaign"} 1`,
		`octostore_queue_depth{lane="second"} 3`,
		`octostore_queue_wait_seconds_count{lane="second"} 1`,
		`octostore_queue_refused_total{lane="second"} 1`,
		`octostore_group_commit_operations_sum 17`,
		`octostore_group_commit_rows_sum 4`,
		`octostore_group_commit_duration_seconds_sum 0.003`,
		`octostore_commit_failures_total{reason="unknown"} 1`,
		`octostore_lease_expiry_lag_seconds_sum 0.003`,
		`octostore_leases_live{kind="election"} 7`,
		`octostore_waiters 8`,
		`octostore_idle_names 9`,
		`octostore_streams_open{kind="election"} 0`,
		`octostore_streams_opened_total{kind="election"} 1`,
		`octostore_streams_closed_total{kind="election",reason="lagged"} 1`,
		`octostore_events_dropped_total 2`,
		`octostore_stalls_total 1`,
		`octostore_invariant_violations_total{rule="one_holder"} 1`,
		`octostore_panics_recovered_total 1`,
		`octostore_store_healthy 1`,
		`octostore_wal_bytes 11`,
		`octostore_disk_free_bytes 12`,
		`octostore_connections_refused_total{reason="per_client"} 1`,
		`octostore_build_info{go_version="go`,
		`version="1.2.3"} 1`,
		`go_goroutines `,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no line with %s", want)
		}
	}
	if problems, err := promlint.New(strings.NewReader(text)).Lint(); err != nil || len(problems) > 0 {
		t.Errorf("the rules for names and help texts: %v %v", problems, err)
	}
}

func TestMetricRules(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		record func(m *Metrics)
		want   string
	}{
		"CountsAnEmptyRouteAsUnmatched": {
			func(m *Metrics) { m.RequestDone("", "GET", 404, "not_found", 0, false) }, `route="unmatched",status="404"} 1`,
		},
		"CountsAnUnknownMethodAsOther": {
			func(m *Metrics) { m.RequestDone("/x", "get", 405, "", 0, false) }, `method="OTHER",route="/x",status="405"} 1`,
		},
		"CountsAnImpossibleStatusAsOther": {
			func(m *Metrics) {
				m.RequestDone("/x", "GET", 0, "", 0, false)
				m.RequestDone("/x", "GET", 600, "", 0, false)
			}, `status="other"} 2`,
		},
		"CountsSuccessWithAnEmptyCode": {
			func(m *Metrics) { m.RequestDone("/x", "GET", 200, "", 0, false) }, `{code="",method="GET",route="/x",status="200"} 1`,
		},
		"CountsAnUnknownFailureAsOther": {
			func(m *Metrics) { m.CommitFailed("disk caught fire") }, `octostore_commit_failures_total{reason="other"} 1`,
		},
		"CountsNoStallOfASecond":  {func(m *Metrics) { m.Stalled(time.Second) }, "octostore_stalls_total 0\n"},
		"IgnoresNoDroppedEvents":  {func(m *Metrics) { m.EventsDropped(0); m.EventsDropped(-1) }, "octostore_events_dropped_total 0\n"},
		"TellsAnUnhealthyStore":   {func(m *Metrics) { m.StoreHealthy(true); m.StoreHealthy(false) }, "octostore_store_healthy 0\n"},
		"CountsOpenStreams":       {func(m *Metrics) { m.StreamOpened("lock"); m.StreamOpened("lock"); m.StreamClosed("lock", "x") }, `octostore_streams_open{kind="lock"} 1`},
		"RefusesTextAsALabel":     {func(m *Metrics) { m.Outcome("lock", "acquire", "tenant a/b") }, `outcome="other"`},
		"RefusesALongWordAsLabel": {func(m *Metrics) { m.QueueRefused(strings.Repeat("x", 41)) }, `lane="other"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := NewMetrics("", nil, nil)
			tc.record(m)
			if text := scraped(t, m); !strings.Contains(text, tc.want) {
				t.Fatalf("no line with %s", tc.want)
			}
		})
	}
	t.Run("TakesNothingBeyondTheGivenSets", func(t *testing.T) {
		t.Parallel()
		m := NewMetrics("", []string{"/a"}, []string{"conflict"})
		m.RequestDone("/a", "GET", 409, "conflict", 0, false)
		m.RequestDone("/b", "GET", 409, "surprise", 0, false)
		text := scraped(t, m)
		for _, want := range []string{`{code="conflict",method="GET",route="/a",status="409"} 1`, `{code="other",method="GET",route="unmatched",status="409"} 1`} {
			if !strings.Contains(text, want) {
				t.Errorf("no line with %s", want)
			}
		}
	})
}

// Random values for every label, many more than there is room for, from a caller who can choose all of them.
func TestSeriesAreBoundedWhateverTheLabels(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		metrics *Metrics
		times   int
	}{
		"WithClosedSets": {NewMetrics("", []string{campaignRoute, "/health"}, []string{"rate_limited", "conflict"}), 10_000},
		"WithOpenSets":   {NewMetrics("", nil, nil), 50_000},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := tc.metrics
			random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // a test wants the same values again
			hostile := func(label string) string {
				n := random.Uint64()
				switch n % 5 {
				case 0:
					return "w" + strconv.FormatUint(n, 10) // looks like a word
				case 1:
					return "/locks/" + strconv.FormatUint(n, 16) + "/acquire"
				case 2:
					return strconv.FormatUint(n, 16) + "\n\xff\"}"
				case 3:
					return strings.Repeat("x", int(n>>8%300))
				default:
					return usual(label)
				}
			}
			record := func(times int) {
				for range times {
					recordAll(m, hostile, 50+random.IntN(600))
				}
			}
			record(tc.times / 2)
			half := series(t, m)
			record(tc.times / 2)
			whole := series(t, m)
			if len(whole) > 2000 {
				t.Errorf("%d series", len(whole))
			}
			// Nearly all room is taken by then. Without a bound there would be tens of thousands more.
			if len(whole)-len(half) > 20 {
				t.Errorf("%d series after half of the requests, %d after all", len(half), len(whole))
			}
			// What is real keeps its own series through the flood where the sets were given.
			if name == "WithClosedSets" && !slices.ContainsFunc(whole, func(s string) bool {
				return strings.HasPrefix(s, "octostore_http_requests_total") &&
					strings.Contains(s, campaignRoute) && strings.Contains(s, "rate_limited")
			}) {
				t.Error("the flood displaced a real route")
			}
		})
	}
}

// The first words of a flood take the room; whatever comes later has to be counted somewhere all the same.
func TestNothingIsLostWhenTheRoomIsTaken(t *testing.T) {
	t.Parallel()
	m := NewMetrics("", nil, nil)
	const requests = 3000
	for i := range requests {
		m.RequestDone("/r"+strconv.Itoa(i%100), "GET", 100+i%500, "c"+strconv.Itoa(i%90), 0, false)
	}
	total := 0
	for line := range strings.Lines(scraped(t, m)) {
		if strings.HasPrefix(line, "octostore_http_requests_total{") {
			n, err := strconv.Atoi(strings.TrimSpace(line[strings.LastIndexByte(line, ' '):]))
			if err != nil {
				t.Fatal(err)
			}
			total += n
		}
	}
	if total != requests {
		t.Fatalf("%d of %d requests are counted", total, requests)
	}
}

func TestOneChildForManyFirstCallers(t *testing.T) {
	t.Parallel()
	m := NewMetrics("", nil, nil)
	var callers sync.WaitGroup
	for range 8 {
		callers.Go(func() {
			for i := range 200 {
				m.QueueRefused("lane" + strconv.Itoa(i%3))
				m.Outcome("lock", "acquire", "o"+strconv.Itoa(i%20))
			}
		})
	}
	callers.Wait()
	text := scraped(t, m)
	for _, want := range []string{`octostore_queue_refused_total{lane="lane2"} 528`, `{kind="lock",outcome="o19",verb="acquire"} 80`} {
		if !strings.Contains(text, want) {
			t.Errorf("no line with %s", want)
		}
	}
}

func TestRecordingDoesNotAllocate(t *testing.T) {
	m := NewMetrics("", []string{campaignRoute}, []string{"rate_limited"})
	recordAll(m, usual, 429)
	if n := testing.AllocsPerRun(200, func() { recordAll(m, usual, 429) }); n != 0 {
		t.Fatalf("%v allocations for a round of all methods", n)
	}
}

func BenchmarkRequestDone(b *testing.B) {
	m := NewMetrics("", []string{campaignRoute}, []string{"rate_limited"})
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			m.RequestDone(campaignRoute, "POST", 200, "", time.Millisecond, false)
		}
	})
}
