package httpapi

import (
	"net/http"
	"strconv"
	"time"

	"github.com/octostore/octostore/api"
	"github.com/octostore/octostore/web"
)

// Storage describes the database to /health.
type Storage interface {
	// Journal names the journal, "wal" for SQLite.
	Journal() string
	// SizeBytes is the size of the main database file, 0 if it can not be read. It
	// must not wait for the database.
	SizeBytes() int64
}

// Counters is what /status and the JSON form of /metrics count. Totals count
// since the start of the process.
type Counters struct {
	ActiveLocks   int64 // live leases, elections included
	TotalUsers    int64
	TotalAcquires int64 // grants and repeated acquires, elections included
	TotalReleases int64 // releases and resignations, not expiry
}

// system is what the routes beside the products need.
type system struct {
	storage  Storage
	counters func() Counters
	ready    *readiness
	admin    admin
	document document
	pages    pages
	scrapes  chan struct{} // a place for each scrape that runs
	began    time.Time
}

// maxScrapes is how many scrapes run at the same time: gathering costs memory, and
// one more answer is of no use to anyone. It is not more than the metrics'
// own handler takes, whose refusal would not have our error body.
const maxScrapes = 4

func newSystem(c Config, closing <-chan struct{}) system {
	return system{
		storage:  c.Storage,
		counters: c.Counters,
		ready:    newReadiness(c.Probes, closing),
		admin:    newAdmin(c.Credentials),
		document: newDocument(api.OpenAPI(c.Version)),
		pages:    pages{page: web.Page(), assets: web.Assets()},
		scrapes:  make(chan struct{}, maxScrapes),
		began:    time.Now(),
	}
}

// mountSystem adds the routes that belong to no product.
func (a *API) mountSystem(add func(route)) {
	for _, r := range []route{
		{template: "/", handle: a.referencePage},
		{template: "/docs", handle: a.referencePage},
		{template: "/docs/assets/{asset}", handle: a.referenceAsset},
		{template: "/openapi.yaml", handle: a.openAPI},
		{template: "/health", handle: a.health, quiet: true},
		{template: "/livez", handle: a.liveness, quiet: true},
		{template: "/readyz", handle: a.readiness, quiet: true},
		{template: "/status", handle: a.status},
		{template: "/metrics", handle: a.metrics, quiet: true},
	} {
		r.method = http.MethodGet
		add(r)
	}
}

// health answers GET /health: the process is there. It asks the file system for
// one number and the database for nothing, so it never fails.
func (a *API) health(x *exchange) {
	b := append(x.out[:0], `{"status":"`+api.StatusOK+`","storage":`...)
	b = appendString(b, a.system.storage.Journal())
	b = append(b, `,"db_size_bytes":`...)
	b = strconv.AppendInt(b, max(0, a.system.storage.SizeBytes()), 10)
	x.out = append(b, '}')
	x.send(http.StatusOK, contentJSON, x.out)
}

// liveness answers GET /livez.
func (a *API) liveness(x *exchange) {
	x.w.Header()["Cache-Control"] = noStore
	x.out = append(x.out[:0], "ok\n"...)
	x.send(http.StatusOK, contentText, x.out)
}

// status answers GET /status.
func (a *API) status(x *exchange) {
	n := a.system.counters()
	b := append(x.out[:0], `{"status":"`+api.StatusOK+`"`...)
	for _, field := range []struct {
		key string
		n   int64
	}{
		{`,"uptime_seconds":`, int64(time.Since(a.system.began) / time.Second)},
		{`,"active_locks":`, n.ActiveLocks},
		{`,"total_users":`, n.TotalUsers},
		{`,"total_acquires":`, n.TotalAcquires},
		{`,"total_releases":`, n.TotalReleases},
	} {
		b = append(b, field.key...)
		b = strconv.AppendInt(b, field.n, 10)
	}
	x.out = append(b, '}')
	x.send(http.StatusOK, contentJSON, x.out)
}
