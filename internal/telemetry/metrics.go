package telemetry

import (
	"net/http"
	"runtime"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Where a value outside its closed set is counted.
const (
	otherWord    = "other"
	otherMethod  = "OTHER"
	unmatched    = "unmatched"
	otherStatus  = 0   // as a key; the label reads "other"
	routeRoom    = 48  // templates taken where [Config.Routes] is empty; the server has about 40
	codeRoom     = 40  // codes taken where [Config.Codes] is empty
	requestRoom  = 512 // combinations of route, method, status and code
	outcomeRoom  = 128 // combinations of kind, verb and outcome
	closingRoom  = 64  // combinations of stream kind and reason
	scrapesAtOne = 4   // scrapes that run at the same time; more are answered 503
)

// Bucket bounds. Latencies start where a commit on a fast disk ends and stop at the longest request that is not a wait.
var (
	latencyBuckets = []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5}
	waitBuckets    = []float64{.0001, .0005, .001, .0025, .005, .01, .025, .05, .1, .5, 1, 5}
	lagBuckets     = []float64{.001, .005, .01, .025, .05, .1, .25, .5, 1, 5, 30}
	sizeBuckets    = []float64{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048}
)

// Metrics counts and measures, on a registry of its own. Every method is safe for concurrent use; those of the request path
// do not allocate once a combination of labels has been seen. Any string may be passed for a label: see invariant 2 of the
// package. Durations are exported in seconds.
type Metrics struct {
	registry *prometheus.Registry
	process  *prometheus.Registry // the process collector alone, for the resident memory of the 0.14 answer
	scrape   http.Handler
	legacy   EndpointStats

	routes   *vocabulary
	requests *family[requestKey, requestChild]
	outcomes *family[outcomeKey, prometheus.Counter]

	queueDepth   *family[string, prometheus.Gauge]
	queueWait    *family[string, prometheus.Observer]
	queueRefused *family[string, prometheus.Counter]
	groupSize    prometheus.Histogram
	groupRows    prometheus.Histogram
	groupTime    prometheus.Histogram
	commitFailed *family[string, prometheus.Counter]

	expiryLag  prometheus.Histogram
	liveLeases *family[string, prometheus.Gauge]
	waiters    prometheus.Gauge
	idleNames  prometheus.Gauge

	streamsOpen   *family[string, prometheus.Gauge]
	streamsOpened *family[string, prometheus.Counter]
	streamsClosed *family[closingKey, prometheus.Counter]
	eventsDropped prometheus.Counter

	stalls     prometheus.Counter
	violations *family[string, prometheus.Counter]
	panics     prometheus.Counter
	refused    *family[string, prometheus.Counter]

	storeHealthy prometheus.Gauge
	walBytes     prometheus.Gauge
	diskFree     prometheus.Gauge
}

type requestKey struct {
	route, method string
	status        int
	code          string
}

type requestChild struct {
	total   prometheus.Counter
	latency prometheus.Observer
}

type outcomeKey struct{ kind, verb, outcome string }

type closingKey struct{ kind, reason string }

// NewMetrics makes the registry. version labels octostore_build_info; routes and codes are as in [Config]. [Start] calls it;
// tests and tools may do so too.
func NewMetrics(version string, routes, codes []string) *Metrics {
	r := prometheus.NewRegistry()
	m := &Metrics{
		registry: r,
		process:  prometheus.NewRegistry(),
		scrape: promhttp.HandlerFor(r, promhttp.HandlerOpts{
			// One collector that fails (a /proc that is not there) must not hide the others.
			ErrorHandling:       promhttp.ContinueOnError,
			MaxRequestsInFlight: scrapesAtOne,
		}),
		routes: newVocabulary(unmatched, roomBeside(routes, routeRoom), isTemplate, routes...),
	}
	process := collectors.NewProcessCollector(collectors.ProcessCollectorOpts{})
	m.process.MustRegister(process)
	r.MustRegister(process, collectors.NewGoCollector())
	m.describeBuild(version)
	m.buildRequests(newVocabulary(otherWord, roomBeside(codes, codeRoom), isWord, append([]string{""}, codes...)...))
	m.buildOutcomes()
	m.buildPipeline()
	m.buildStreams()
	m.buildHealth()
	return m
}

// roomBeside is how many values a set takes beyond those it was given: none if it was given any.
func roomBeside(words []string, room int) int {
	if len(words) > 0 {
		return 0
	}
	return room
}

// Handler answers with the Prometheus text format (or OpenMetrics, where the scraper asks for it). Who may call it is the
// business of the router.
func (m *Metrics) Handler() http.Handler { return m.scrape }

func (m *Metrics) describeBuild(version string) {
	info := prometheus.NewGauge(prometheus.GaugeOpts{
		Name:        "octostore_build_info",
		Help:        "Always 1; the labels tell the version of the server and of Go.",
		ConstLabels: prometheus.Labels{"version": version, "go_version": runtime.Version()},
	})
	m.registry.MustRegister(info)
	info.Set(1)
}

func (m *Metrics) buildRequests(codes *vocabulary) {
	methods := newVocabulary(otherMethod, 0, standardMethod,
		http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete,
		http.MethodConnect, http.MethodOptions, http.MethodTrace)
	latencies := histogramsBy(m.registry, "octostore_http_request_duration_seconds",
		"Time from receipt of a request to the end of its answer, without streams.", "route", m.routes, latencyBuckets)
	total := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "octostore_http_requests_total",
		Help: "Requests answered. code is the error code of the answer, empty for a success.",
	}, []string{"route", "method", "status", "code"})
	m.registry.MustRegister(total)

	m.requests = newFamily(requestRoom,
		requestKey{route: unmatched, method: otherMethod, status: otherStatus, code: otherWord},
		func(k requestKey) requestKey {
			if k.status < 100 || k.status > 599 {
				k.status = otherStatus
			}
			return requestKey{route: m.routes.of(k.route), method: methods.of(k.method), status: k.status, code: codes.of(k.code)}
		},
		func(k requestKey) requestChild {
			status := otherWord
			if k.status != otherStatus {
				status = strconv.Itoa(k.status)
			}
			return requestChild{total: total.WithLabelValues(k.route, k.method, status, k.code), latency: latencies.of(k.route)}
		})
}

func (m *Metrics) buildOutcomes() {
	kinds := newVocabulary(otherWord, 8, isWord)
	verbs := newVocabulary(otherWord, 24, isWord)
	outcomes := newVocabulary(otherWord, 32, isWord)
	total := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "octostore_lease_operations_total",
		Help: "Operations on leases by what came out: kind is election, lock or session.",
	}, []string{"kind", "verb", "outcome"})
	m.registry.MustRegister(total)
	m.outcomes = newFamily(outcomeRoom, outcomeKey{otherWord, otherWord, otherWord},
		func(k outcomeKey) outcomeKey {
			return outcomeKey{kind: kinds.of(k.kind), verb: verbs.of(k.verb), outcome: outcomes.of(k.outcome)}
		},
		func(k outcomeKey) prometheus.Counter { return total.WithLabelValues(k.kind, k.verb, k.outcome) })
	m.liveLeases = gaugesBy(m.registry, "octostore_leases_live", "Leases that are held now.", "kind", kinds)
	m.expiryLag = histogram(m.registry, "octostore_lease_expiry_lag_seconds",
		"Time from a lease's deadline to the commit that recorded its expiry.", lagBuckets)
	m.waiters = gauge(m.registry, "octostore_waiters", "Requests that are held until a name can be granted to them.")
	m.idleNames = gauge(m.registry, "octostore_idle_names", "Names that are remembered although nobody holds them.")
}

func (m *Metrics) buildPipeline() {
	r, lanes := m.registry, newVocabulary(otherWord, 4, isWord)
	m.queueDepth = gaugesBy(r, "octostore_queue_depth", "Operations that wait for a group.", "lane", lanes)
	m.queueWait = histogramsBy(r, "octostore_queue_wait_seconds",
		"Time an operation waited until its group began.", "lane", lanes, waitBuckets)
	m.queueRefused = countersBy(r, "octostore_queue_refused_total",
		"Operations that were refused because the queue was full.", "lane", lanes)
	m.groupSize = histogram(r, "octostore_group_commit_operations", "Operations in a committed group.", sizeBuckets)
	m.groupRows = histogram(r, "octostore_group_commit_rows", "Rows written by a committed group.", sizeBuckets)
	m.groupTime = histogram(r, "octostore_group_commit_duration_seconds",
		"Time from the begin of a group to its durable commit.", latencyBuckets)
	reasons := newVocabulary(otherWord, 0, isWord, "not_applied", "unknown", "full")
	m.commitFailed = countersBy(r, "octostore_commit_failures_total",
		"Groups that did not commit: not_applied (nothing happened), unknown (it may have), full (no space).", "reason", reasons)
}

func (m *Metrics) buildStreams() {
	kinds, reasons := newVocabulary(otherWord, 6, isWord), newVocabulary(otherWord, 12, isWord)
	m.streamsOpen = gaugesBy(m.registry, "octostore_streams_open", "Event streams that are open.", "kind", kinds)
	m.streamsOpened = countersBy(m.registry, "octostore_streams_opened_total", "Event streams opened.", "kind", kinds)
	closed := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "octostore_streams_closed_total", Help: "Event streams closed, by why.",
	}, []string{"kind", "reason"})
	m.registry.MustRegister(closed)
	m.streamsClosed = newFamily(closingRoom, closingKey{otherWord, otherWord},
		func(k closingKey) closingKey { return closingKey{kind: kinds.of(k.kind), reason: reasons.of(k.reason)} },
		func(k closingKey) prometheus.Counter { return closed.WithLabelValues(k.kind, k.reason) })
	m.eventsDropped = counter(m.registry, "octostore_events_dropped_total",
		"Events that a reader missed because it lagged; it is told so by a gap.")
}

func (m *Metrics) buildHealth() {
	r := m.registry
	m.stalls = counter(r, "octostore_stalls_total", "Times the process did not run for more than a second.")
	m.violations = countersBy(r, "octostore_invariant_violations_total",
		"Broken rules that the server found in its own state. Anything but 0 is an incident.", "rule",
		newVocabulary(otherWord, 32, isWord))
	m.panics = counter(r, "octostore_panics_recovered_total", "Requests that ended in a panic.")
	m.refused = countersBy(r, "octostore_connections_refused_total", "Connections that were closed before a request was read.",
		"reason", newVocabulary(otherWord, 8, isWord))
	m.storeHealthy = gauge(r, "octostore_store_healthy", "1 while the store can commit, else 0.")
	m.walBytes = gauge(r, "octostore_wal_bytes", "Size of the write-ahead log of SQLite.")
	m.diskFree = gauge(r, "octostore_disk_free_bytes", "Free space where the database is.")
}
