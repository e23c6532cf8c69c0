package httpapi

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/octostore/octostore/api"
	"github.com/octostore/octostore/elections"
	"github.com/octostore/octostore/lease"
)

// serve runs one request and tells what it panicked with.
func serve(a *API, r *http.Request) (w *httptest.ResponseRecorder, panicked any) {
	w = httptest.NewRecorder()
	defer func() { panicked = recover() }()
	a.ServeHTTP(w, r)
	return w, nil
}

func TestPanics(t *testing.T) {
	t.Parallel()
	a, _, hub := newBare(t, nil)
	t.Cleanup(hub.Close)
	add := func(path string, handle func(*exchange)) {
		a.engine.GET(path, a.adapt(route{template: path, handle: handle}))
	}
	add("/before", func(x *exchange) {
		x.w.Header()["Etag"] = []string{`"of the answer that was not given"`}
		panic("before")
	})
	add("/runtime", func(x *exchange) { x.written = 1 / int64(x.status) }) // no status yet: a division by 0
	add("/after", func(x *exchange) {
		_, _ = x.Write([]byte("half an ans"))
		panic("after")
	})
	add("/abort", func(*exchange) { panic(http.ErrAbortHandler) })

	for path, abort := range map[string]bool{"/before": false, "/runtime": false, "/after": true, "/abort": true} {
		w, panicked := serve(a, httptest.NewRequest(http.MethodGet, path, nil))
		if err, _ := panicked.(error); errors.Is(err, http.ErrAbortHandler) != abort {
			t.Errorf("%s: the connection was not treated right: %v", path, panicked)
		}
		if !abort && (w.Code != http.StatusInternalServerError || !strings.Contains(w.Body.String(), `"code":"internal_error"`) || w.Header().Get("ETag") != "") {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
	// What comes after is served as ever.
	if w, _ := serve(a, httptest.NewRequest(http.MethodGet, "/livez", nil)); w.Body.String() != "ok\n" {
		t.Fatalf("%s", w.Body)
	}
}

func TestAForeignHandlerKeepsItsVary(t *testing.T) {
	t.Parallel()
	a, _, hub := newBare(t, nil)
	t.Cleanup(hub.Close)
	a.engine.GET("/foreign", a.adapt(route{handle: func(x *exchange) {
		x.Header().Set("Vary", "Accept-Encoding")
		x.WriteHeader(http.StatusOK)
	}}))
	w, _ := serve(a, httptest.NewRequest(http.MethodGet, "/foreign", nil))
	if vary := w.Result().Header.Values("Vary"); len(vary) != 2 || vary[0] != corsVary[0] || vary[1] != "Accept-Encoding" {
		t.Fatalf("%q", vary)
	}
}

func TestScrapesAreBounded(t *testing.T) {
	t.Parallel()
	a, _, hub := newBare(t, func(c *Config) { c.Credentials = everybodyIsAdmin{c.Credentials} })
	t.Cleanup(hub.Close)
	for range maxScrapes {
		a.system.scrapes <- struct{}{}
	}
	r := httptest.NewRequest(http.MethodGet, "/metrics", nil)
	r.Header.Set("X-Admin-Key", "key")
	if w, _ := serve(a, r); w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), `"code":"unavailable"`) {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	<-a.system.scrapes
	if w, _ := serve(a, r); w.Code != http.StatusOK {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
}

type everybodyIsAdmin struct{ Credentials }

func (everybodyIsAdmin) CheckAdminKey(string) bool { return true }

func TestNewRefusesAnIncompleteConfiguration(t *testing.T) {
	t.Parallel()
	if _, err := New(Config{}); err == nil {
		t.Fatal("it was taken")
	}
}

func TestServerHasItsTimeouts(t *testing.T) {
	t.Parallel()
	a, _, hub := newBare(t, nil)
	t.Cleanup(hub.Close)
	s := a.NewHTTPServer("127.0.0.1:3000")
	if s.Addr != "127.0.0.1:3000" || s.ReadHeaderTimeout != 5*time.Second || s.ReadTimeout != 10*time.Second ||
		s.WriteTimeout != 30*time.Second || s.IdleTimeout != 120*time.Second || s.MaxHeaderBytes != 16<<10 {
		t.Fatalf("%+v", s)
	}
	if !s.Protocols.HTTP1() || s.Protocols.HTTP2() || s.Protocols.UnencryptedHTTP2() {
		t.Fatalf("protocols: %v", s.Protocols)
	}
}

func TestAStreamWhoseStateCanNotBeReadSaysThatItEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, records, hub := newBare(t, nil)
		defer hub.Close()
		w, done := openStream(t.Context(), a)
		room := lease.ElectionKey("a-room-of-its-own")
		_ = records.renew(room) // nobody is told of this one
		records.breakDown()
		hub.Publish(records.renew(room))
		<-done
		if text := w.read(); !strings.HasSuffix(text, frameGap+frameReconnect) {
			t.Fatalf("%q", text)
		}
	})
}

// readOnly is a store that shows one room.
type readOnly struct {
	elections.Store
	records *bubbleRecords
}

func (r readOnly) Read(ctx context.Context, key lease.Key) (lease.Reading, error) {
	return r.records.Read(ctx, key)
}

// discard is a connection that takes everything.
type discard struct{ header http.Header }

func (d *discard) Header() http.Header         { return d.header }
func (d *discard) WriteHeader(int)             {}
func (d *discard) Write(b []byte) (int, error) { return len(b), nil }

// Without the race detector, which also drops pooled objects, it is 12: id and
// context of the request, its log line, the room's key and its leader. The
// bound is there for the day on which somebody adds a layer.
func TestAStatusCostsFewAllocations(t *testing.T) {
	var records *bubbleRecords
	a, _, hub := newBare(t, func(c *Config) {
		records, _ = c.Records.(*bubbleRecords)
		c.Elections = elections.New(elections.Config{Store: readOnly{records: records}})
	})
	defer hub.Close()
	records.renew(lease.ElectionKey("a-room-of-its-own"))
	r := httptest.NewRequest(http.MethodGet, "/elections/a-room-of-its-own", nil)
	w := &discard{header: make(http.Header)}
	n := testing.AllocsPerRun(200, func() {
		clear(w.header)
		a.ServeHTTP(w, r)
	})
	if n > 25 {
		t.Fatalf("%v allocations", n)
	}
}

func TestRoutesAreTemplates(t *testing.T) {
	t.Parallel()
	routes := Routes()
	if len(routes) != 15 || routes[0] != "/elections" {
		t.Fatalf("%q", routes)
	}
	for _, r := range routes {
		if api.ValidElectionID(r) || !strings.HasPrefix(r, "/") {
			t.Errorf("%q is no template", r)
		}
	}
}
