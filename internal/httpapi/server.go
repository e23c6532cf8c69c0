package httpapi

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/octostore/octostore/auth"
	"github.com/octostore/octostore/elections"
	"github.com/octostore/octostore/internal/events"
	"github.com/octostore/octostore/internal/telemetry"
	"github.com/octostore/octostore/lease"
	"github.com/octostore/octostore/ratelimit"
)

// The server's timeouts and bounds. A request that waits or streams sets its own
// deadlines on its connection.
const (
	readHeaderTimeout = 5 * time.Second
	readTimeout       = 10 * time.Second
	writeTimeout      = 30 * time.Second
	idleTimeout       = 120 * time.Second
	maxHeaderBytes    = 16 << 10
)

// Defaults of Config.
const (
	DefaultHeartbeat     = 15 * time.Second
	DefaultWatchLifetime = 900 * time.Second
)

// Config is what an API needs. A field may be left out only where its comment says
// what that means.
type Config struct {
	// Elections answers the election routes.
	Elections *elections.Service
	// Records is the store behind Elections. Its clock is read on every campaign,
	// renewal and status.
	Records Records
	// Events is where watches get their frames from.
	Events *events.Hub
	// PublicElections switches the election routes on. Left out, each of them
	// answers 403.
	PublicElections bool
	// Admission is the budget that creating rooms and campaigning share.
	Admission *ratelimit.Admission
	// Waiters bounds how many requests of one client may wait for a room, and
	// Streams how many watches it, and all clients together, may have open.
	Waiters, Streams *ratelimit.Slots
	// WatchLifetime is the maximum age of a watch; zero means DefaultWatchLifetime.
	WatchLifetime time.Duration
	// Heartbeat is the time between two comments of a silent watch; zero means
	// DefaultHeartbeat.
	Heartbeat time.Duration
	// Proxies are the trusted proxies; the zero value trusts none.
	Proxies ratelimit.Proxies
	// Origins are the CORS origins, compared byte for byte; nil allows none.
	Origins []string
	// Credentials knows the admin key and the static tokens.
	Credentials Credentials
	// Storage and Counters feed /health, /status and the JSON form of /metrics.
	Storage  Storage
	Counters func() Counters
	// Probes are asked by /readyz; nil for none.
	Probes []Probe
	// Telemetry takes logs, metrics and spans.
	Telemetry *telemetry.Telemetry
	// Version is told in the OpenAPI document; empty means 0.0.0.
	Version string
}

// Records shows committed records and the clock that decides about them.
// *store.Pipeline implements it.
type Records interface {
	Now() lease.Now
	Read(ctx context.Context, key lease.Key) (lease.Reading, error)
}

// Credentials checks what a caller shows. *auth.Credentials implements it.
type Credentials interface {
	CheckAdminKey(key string) bool
	Lookup(token string) (auth.Principal, bool)
}

// API is the HTTP interface. It is an [http.Handler] and safe for concurrent use.
type API struct {
	engine    *gin.Engine
	exchanges sync.Pool // of *exchange
	telemetry *telemetry.Telemetry
	log       *slog.Logger

	proxies    ratelimit.Proxies
	warnForged sync.Once
	origins    map[string][]string

	elections       *elections.Service
	records         Records
	publicElections bool
	admission       *ratelimit.Admission
	waiters         *ratelimit.Slots
	streams         streams
	system          system

	closing      chan struct{} // closed by BeginShutdown
	beginClosing sync.Once
}

// route is one operation of the OpenAPI document. HEAD comes with every GET.
type route struct {
	method   string
	template string // as the document spells it: /elections/{election_id}
	handle   func(*exchange)
	group    string // under which the JSON form of /metrics sums it up, "" for none
	quiet    bool   // logged at debug level: asked every few seconds by machines
}

// New builds the interface. It starts no goroutine and opens nothing.
func New(c Config) (*API, error) {
	switch {
	case c.Elections == nil, c.Records == nil, c.Events == nil, c.Admission == nil, c.Waiters == nil, c.Streams == nil,
		c.Credentials == nil, c.Storage == nil, c.Counters == nil, c.Telemetry == nil:
		return nil, errors.New("httpapi: a required part of the configuration is missing")
	}
	if c.WatchLifetime == 0 {
		c.WatchLifetime = DefaultWatchLifetime
	}
	if c.Heartbeat == 0 {
		c.Heartbeat = DefaultHeartbeat
	}
	a := &API{
		telemetry: c.Telemetry,
		log:       c.Telemetry.Logger(),
		proxies:   c.Proxies,
		origins:   make(map[string][]string, len(c.Origins)),

		elections:       c.Elections,
		records:         c.Records,
		publicElections: c.PublicElections,
		admission:       c.Admission,
		waiters:         c.Waiters,
		streams: streams{
			hub: c.Events, slots: c.Streams, metrics: c.Telemetry.Metrics(),
			lifetime: c.WatchLifetime, heartbeat: c.Heartbeat,
		},
		closing: make(chan struct{}),
	}
	for _, origin := range c.Origins {
		a.origins[origin] = []string{origin}
	}
	a.system = newSystem(c, a.closing)
	engine, err := newEngine()
	if err != nil {
		return nil, err
	}
	a.engine = engine
	engine.NoRoute(a.adaptMiss(notFound))
	engine.NoMethod(a.adaptMiss(methodNotAllowed))
	a.mount(func(rt route) {
		path := ginPath(rt.template)
		engine.Handle(rt.method, path, a.adapt(rt))
		if rt.method == http.MethodGet {
			engine.Handle(http.MethodHead, path, a.adapt(rt))
		}
	})
	return a, nil
}

// mount adds the routes of every domain.
func (a *API) mount(add func(route)) {
	a.mountElections(add)
	a.mountSystem(add)
}

// Routes returns the templates of all routes, as [telemetry.Config] wants them:
// anything else is counted as unmatched.
func Routes() []string {
	var templates []string
	seen := make(map[string]bool)
	new(API).mount(func(rt route) {
		if !seen[rt.template] {
			seen[rt.template] = true
			templates = append(templates, rt.template)
		}
	})
	return templates
}

// Operations returns all routes as "METHOD template", HEAD and OPTIONS left out.
func (a *API) Operations() []string {
	var operations []string
	a.mount(func(rt route) { operations = append(operations, rt.method+" "+rt.template) })
	return operations
}

// newEngine makes a router that matches the path as it was sent, changes nothing
// about it and redirects nowhere.
func newEngine() (*gin.Engine, error) {
	quietGin()
	e := gin.New()
	e.UseEscapedPath, e.ContextWithFallback, e.HandleMethodNotAllowed = true, true, true
	e.UnescapePathValues, e.RemoveExtraSlash = false, false
	e.RedirectTrailingSlash, e.RedirectFixedPath = false, false
	// Whose request it is, is decided by ratelimit.Proxies; gin's own idea of it is
	// switched off, so that nobody uses it by mistake.
	e.ForwardedByClientIP = false
	if err := e.SetTrustedProxies(nil); err != nil {
		return nil, err //nolint:wrapcheck // nil can not fail
	}
	return e, nil
}

// quietGin keeps gin from writing to standard output. The mode is a setting of the
// whole process and not safe to be set twice at the same time.
var quietGin = sync.OnceFunc(func() { gin.SetMode(gin.ReleaseMode) })

// ginPath spells a template as gin does: {x} is :x.
func ginPath(template string) string {
	return strings.NewReplacer("{", ":", "}", "").Replace(template)
}

// NewHTTPServer returns a server for the API with its timeouts and bounds. The
// caller sets ConnState and serves it: with [ratelimit.Listen] in front, as that
// function describes.
//
// It speaks HTTP/1.1 only. HTTP/2 without TLS is left out on purpose, and TLS
// belongs to the proxy in front.
func (a *API) NewHTTPServer(addr string) *http.Server {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	return &http.Server{
		Addr:                         addr,
		Handler:                      a,
		ReadHeaderTimeout:            readHeaderTimeout,
		ReadTimeout:                  readTimeout,
		WriteTimeout:                 writeTimeout,
		IdleTimeout:                  idleTimeout,
		MaxHeaderBytes:               maxHeaderBytes,
		Protocols:                    protocols,
		DisableGeneralOptionsHandler: true, // "OPTIONS *" is answered like any other
		ErrorLog:                     slog.NewLogLogger(a.log.Handler(), slog.LevelWarn),
	}
}

// BeginShutdown makes the server leave gracefully: /readyz fails from now on, and
// every watch ends with a closing event. Requests go on being answered; those
// that wait for a room are answered by the store's own drain. Call it before
// [http.Server.Shutdown], which waits for streams and would wait for ever. More
// calls do nothing.
func (a *API) BeginShutdown() {
	a.beginClosing.Do(func() { close(a.closing) })
}
