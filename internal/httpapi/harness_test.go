package httpapi_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/octostore/octostore/api"
	"github.com/octostore/octostore/api/apitest"
	"github.com/octostore/octostore/auth"
	"github.com/octostore/octostore/elections"
	"github.com/octostore/octostore/internal/events"
	"github.com/octostore/octostore/internal/httpapi"
	"github.com/octostore/octostore/internal/telemetry"
	"github.com/octostore/octostore/lease"
	"github.com/octostore/octostore/ratelimit"
	"github.com/octostore/octostore/store"
	"github.com/octostore/octostore/store/sqlite"
)

// The credentials that every server of these tests knows.
const (
	adminKey    = "correct-horse-battery-staple-0001"
	staticToken = "static-token-of-a-user-0000000001"
)

// checker compares every exchange of these tests with openapi.yaml. Reading the
// document takes a while, and it never changes.
var checker = sync.OnceValue(func() *apitest.Checker {
	var c *apitest.Checker
	// New only fails a test; there is none here, and a document that does not parse shows as a nil checker.
	func() {
		defer func() { _ = recover() }()
		c = apitest.New(new(documentTB))
	}()
	return c
})

// documentTB lets apitest.New run outside of one test.
type documentTB struct{ testing.TB }

func (*documentTB) Helper()               {}
func (*documentTB) Fatalf(string, ...any) { panic("openapi.yaml is not valid") }

// movableClock is the machine's clock, moved by the test.
type movableClock struct{ ahead, wall atomic.Int64 }

func (c *movableClock) Now() lease.Now {
	n := store.SystemClock{}.Now()
	ahead := time.Duration(c.ahead.Load())
	return lease.Now{At: n.At.Add(ahead), Wall: n.Wall.Add(ahead + time.Duration(c.wall.Load()))}
}

func (c *movableClock) advance(d time.Duration) { c.ahead.Add(int64(d)) }

// observer takes what the store tells, as the program wires it, and wakes tests
// that wait for a number of waiters.
type observer struct {
	*telemetry.Metrics
	traces *telemetry.Telemetry

	mu   sync.Mutex
	news chan struct{} // closed and replaced by the next news
}

func (o *observer) GroupTraced(
	ctx context.Context, lane string, enqueued, began, committing, committed time.Time, operations, rows int,
) {
	o.traces.GroupTraced(ctx, lane, enqueued, began, committing, committed, operations, rows)
}

func (o *observer) Waiters(n int64) {
	o.Metrics.Waiters(n)
	o.mu.Lock()
	defer o.mu.Unlock()
	close(o.news)
	o.news = make(chan struct{})
}

func (o *observer) next() <-chan struct{} {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.news
}

// server is a whole server over a real store, listening on loopback.
type server struct {
	t         *testing.T
	api       *httpapi.API
	http      *http.Server
	store     *sqlite.Store
	hub       *events.Hub
	service   *elections.Service
	clock     *movableClock
	telemetry *telemetry.Telemetry
	observer  *observer
	logs      *syncBuffer
	url       string
	client    *http.Client
}

// setup is what a test may change before the server starts.
type setup struct {
	httpapi.Config
	maxRooms  int64
	requests  int64 // budget of a client
	window    time.Duration
	waiters   int
	perClient int // streams
	global    int
	hub       events.Options
	store     func(*sqlite.Options)
	server    func(*http.Server)
	getenv    func(string) string
	records   func(httpapi.Records) httpapi.Records
	elections func(elections.Store) elections.Store
	noAdmin   bool
}

func start(t *testing.T, changes ...func(*setup)) *server {
	t.Helper()
	s := &server{t: t, clock: new(movableClock), logs: new(syncBuffer)}
	c := setup{requests: 100_000, window: time.Minute, waiters: 256, perClient: 8, global: 1024, maxRooms: 10_000}
	c.PublicElections = true
	c.Version = "0.0.0-test"
	c.getenv = func(name string) string {
		if name == "OCTOSTORE_LOG_LEVEL" {
			return "debug"
		}
		return ""
	}
	for _, change := range changes {
		change(&c)
	}
	var codes []string
	for _, code := range api.Codes() {
		codes = append(codes, string(code))
	}
	ctx := context.Background()
	var err error
	s.telemetry, err = telemetry.Start(ctx, telemetry.Config{
		Getenv: c.getenv, LogWriter: s.logs, Routes: httpapi.Routes(), Codes: codes,
	})
	must(t, err)

	s.hub = events.New(c.hub)
	t.Cleanup(s.hub.Close)
	s.observer = &observer{Metrics: s.telemetry.Metrics(), traces: s.telemetry, news: make(chan struct{})}
	o := sqlite.Options{Clock: s.clock, Publisher: s.hub, Logger: s.telemetry.Logger(), Observer: s.observer}
	if c.store != nil {
		c.store(&o)
	}
	s.store, err = sqlite.Open(ctx, filepath.Join(t.TempDir(), "octostore.db"), o)
	must(t, err)
	t.Cleanup(func() { _ = s.store.Close() })

	secret := make([]byte, lease.KeySize)
	_, _ = rand.Read(secret)
	keys, err := lease.NewKeyring(secret)
	must(t, err)
	var domain elections.Store = s.store
	if c.elections != nil {
		domain = c.elections(domain)
	}
	s.service = elections.New(elections.Config{Store: domain, Keys: keys, MaxRooms: c.maxRooms})

	var key auth.Secret
	if !c.noAdmin {
		key = auth.NewSecret(adminKey)
	}
	tokens, _, err := auth.TokenSources{Inline: auth.NewSecret("ops:" + staticToken)}.Load()
	must(t, err)
	credentials, err := auth.NewCredentials(tokens, key, func(string) string { return "token-00000000" })
	must(t, err)

	c.Elections, c.Records, c.Events = s.service, s.store, s.hub
	if c.records != nil {
		c.Records = c.records(c.Records)
	}
	c.Admission = ratelimit.NewAdmission(c.requests, ratelimit.Window(c.window))
	c.Waiters = ratelimit.NewSlots(c.waiters, 16_384)
	c.Streams = ratelimit.NewSlots(c.perClient, c.global)
	c.Credentials = credentials
	c.Storage = s.store
	c.Counters = func() httpapi.Counters {
		n := s.store.Stats()
		return httpapi.Counters{ActiveLocks: n.Rooms + n.Locks, TotalUsers: 1}
	}
	if c.Probes == nil {
		c.Probes = []httpapi.Probe{{Name: "store", Check: s.store.Probe}}
	}
	c.Telemetry = s.telemetry
	s.api, err = httpapi.New(c.Config)
	must(t, err)

	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	s.http = s.api.NewHTTPServer(listener.Addr().String())
	if c.server != nil {
		c.server(s.http)
	}
	s.url = "http://" + listener.Addr().String()
	served := make(chan error, 1)
	go func() { served <- s.http.Serve(listener) }()
	transport := &http.Transport{MaxIdleConnsPerHost: 64}
	s.client = &http.Client{Transport: transport, Timeout: 60 * time.Second}
	t.Cleanup(func() {
		s.api.BeginShutdown()
		s.store.Drain()
		transport.CloseIdleConnections()
		_ = s.http.Close()
		if err := <-served; !errors.Is(err, http.ErrServerClosed) {
			t.Errorf("serve: %v", err)
		}
	})
	return s
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// reply is an answer that was read to its end.
type reply struct {
	status int
	header http.Header
	body   []byte
}

// field returns a member of a JSON answer, nil if it has none.
func (r reply) field(t testing.TB, name string) any {
	t.Helper()
	var object map[string]any
	if err := json.Unmarshal(r.body, &object); err != nil {
		t.Fatalf("status %d: not a JSON object: %v", r.status, err)
	}
	return object[name]
}

func (r reply) text(t testing.TB, name string) string {
	t.Helper()
	text, _ := r.field(t, name).(string)
	return text
}

func (r reply) number(t testing.TB, name string) float64 {
	t.Helper()
	n, ok := r.field(t, name).(float64)
	if !ok {
		t.Fatalf("no number %q in %s", name, r.body)
	}
	return n
}

// call is one request. Headers are pairs of name and value; a JSON body gets its
// Content-Type unless there is one.
type call struct {
	method, path, body string
	header             []string
	valid              bool // meant to be valid: the request is checked too
}

// do sends a request and checks it and its answer against the document.
func (s *server) do(c call) reply {
	s.t.Helper()
	return s.doAs(context.Background(), c)
}

func (s *server) doAs(ctx context.Context, c call) reply {
	s.t.Helper()
	r, err := s.try(ctx, c)
	if err != nil {
		s.t.Fatalf("%s %s: %v", c.method, c.path, err)
	}
	return r
}

func (s *server) try(ctx context.Context, c call) (reply, error) {
	s.t.Helper()
	var body io.Reader
	if c.body != "" {
		body = strings.NewReader(c.body)
	}
	req, err := http.NewRequestWithContext(ctx, c.method, s.url+c.path, body)
	must(s.t, err)
	if c.body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(c.header); i += 2 {
		name, value := c.header[i], c.header[i+1]
		if value == "" {
			req.Header.Del(name)
			continue
		}
		if name == "Content-Type" {
			req.Header.Del(name)
		}
		req.Header.Add(name, value)
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return reply{}, err
	}
	defer func() { _ = resp.Body.Close() }()
	got, err := io.ReadAll(resp.Body)
	if err != nil {
		return reply{}, err
	}
	if c.valid {
		checker().Check(s.t, req, []byte(c.body), resp, got)
	} else {
		checker().CheckResponse(s.t, req, resp, got)
	}
	return reply{resp.StatusCode, resp.Header, got}, nil
}

// get and post send what was meant to be valid.
func (s *server) get(path string, header ...string) reply {
	s.t.Helper()
	return s.do(call{method: http.MethodGet, path: path, header: header, valid: true})
}

func (s *server) post(path, body string, header ...string) reply {
	s.t.Helper()
	return s.do(call{method: http.MethodPost, path: path, body: body, header: header, valid: true})
}

// room returns the path of a new room.
func (s *server) room() string {
	s.t.Helper()
	r := s.post("/elections", "")
	if r.status != http.StatusCreated {
		s.t.Fatalf("create: %d %s", r.status, r.body)
	}
	return r.text(s.t, "status_path")
}

// lead makes a candidate the leader of a room and returns the token.
func (s *server) lead(room, candidate string) string {
	s.t.Helper()
	r := s.post(room+"/campaign", `{"candidate_id":"`+candidate+`"}`)
	if r.text(s.t, "status") != api.StatusLeader {
		s.t.Fatalf("campaign: %d %s", r.status, r.body)
	}
	return r.text(s.t, "leader_token")
}

// want fails the test unless the answer has the status and the error code, ""
// for none.
func (r reply) want(t testing.TB, status int, code api.Code) {
	t.Helper()
	var body api.Error
	_ = json.Unmarshal(r.body, &body)
	if r.status != status || body.Code != code {
		t.Fatalf("status %d code %q, want %d %q: %s", r.status, body.Code, status, code, r.body)
	}
}

// syncBuffer collects the log.
type syncBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

func newReader(r io.Reader) *bufio.Reader { return bufio.NewReader(r) }
