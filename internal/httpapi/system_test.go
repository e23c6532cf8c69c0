package httpapi_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/octostore/octostore/api"
	"github.com/octostore/octostore/internal/httpapi"
	"github.com/octostore/octostore/store/sqlite"
)

func TestHealthAndStatus(t *testing.T) {
	t.Parallel()
	s := start(t)
	health := s.get("/health")
	if health.text(t, "status") != "ok" || health.text(t, "storage") != "wal" || health.number(t, "db_size_bytes") <= 0 {
		t.Fatalf("%s", health.body)
	}
	s.lead(s.room(), "a")
	status := s.get("/status")
	if status.text(t, "status") != "ok" || status.number(t, "active_locks") != 1 || status.number(t, "total_users") != 1 {
		t.Fatalf("%s", status.body)
	}
	if got := s.get("/livez"); string(got.body) != "ok\n" {
		t.Fatalf("%s", got.body)
	}
	s.do(call{method: http.MethodHead, path: "/livez", valid: true}).want(t, http.StatusOK, "")
	s.do(call{method: http.MethodHead, path: "/status", valid: true}).want(t, http.StatusOK, "")
}

func TestReadiness(t *testing.T) {
	t.Parallel()
	t.Run("IsOKWhileTheStoreServes", func(t *testing.T) {
		t.Parallel()
		s := start(t)
		if r := s.get("/readyz"); r.status != http.StatusOK || string(r.body) != "ok\n" {
			t.Fatalf("%d %s", r.status, r.body)
		}
		if r := s.get("/readyz?verbose"); r.status != http.StatusOK || string(r.body) != "store: ok\nshutdown: ok\n" {
			t.Fatalf("%d %s", r.status, r.body)
		}
	})
	t.Run("FailsDuringShutdown", func(t *testing.T) {
		t.Parallel()
		s := start(t)
		s.api.BeginShutdown()
		s.api.BeginShutdown()
		if r := s.get("/readyz"); r.status != http.StatusServiceUnavailable || string(r.body) != "shutdown: in_progress\n" {
			t.Fatalf("%d %s", r.status, r.body)
		}
		if r := s.get("/livez"); r.status != http.StatusOK {
			t.Fatalf("liveness %d", r.status)
		}
	})
	t.Run("FailsWithoutTheFileAndMakesNone", func(t *testing.T) {
		t.Parallel()

		s := start(t)
		dir := filepath.Dir(s.store.Path())
		must(t, os.Rename(s.store.Path(), filepath.Join(dir, "elsewhere")))
		before := listing(t, dir)
		r := s.get("/readyz")
		if r.status != http.StatusServiceUnavailable || !strings.HasPrefix(string(r.body), "store: ") || strings.Contains(string(r.body), "/") {
			t.Fatalf("%d %s", r.status, r.body)
		}
		if r := s.get("/livez"); r.status != http.StatusOK {
			t.Fatalf("liveness %d", r.status)
		}
		if after := listing(t, dir); !slices.Equal(before, after) {
			t.Fatalf("the probe changed the folder: %v, then %v", before, after)
		}
		must(t, os.Rename(filepath.Join(dir, "elsewhere"), s.store.Path()))
		if r := s.get("/readyz"); r.status != http.StatusOK {
			t.Fatalf("with the file back: %d %s", r.status, r.body)
		}
	})
	t.Run("TellsADiskThatIsNearlyFull", func(t *testing.T) {
		t.Parallel()
		s := start(t, func(c *setup) {
			c.Probes = []httpapi.Probe{{Name: "store", Check: func(context.Context) error { return sqlite.ErrNoRoom }}}
		})
		if r := s.get("/readyz"); r.status != http.StatusServiceUnavailable || string(r.body) != "store: disk_full\n" {
			t.Fatalf("%d %s", r.status, r.body)
		}
	})
	t.Run("KeepsSecretsOfTheProbe", func(t *testing.T) {
		t.Parallel()
		s := start(t, func(c *setup) {
			c.Probes = []httpapi.Probe{
				{Name: "first", Check: func(context.Context) error { return errors.New("password of /var/lib is hunter2") }},
				{Name: "second", Check: func(context.Context) error { return reason("Not One Word") }},
				{Name: "third", Check: func(context.Context) error { return nil }},
			}
		})
		r := s.get("/readyz?verbose=1")
		if r.status != http.StatusServiceUnavailable || string(r.body) != "first: failed\nsecond: failed\nthird: ok\nshutdown: ok\n" {
			t.Fatalf("%d %s", r.status, r.body)
		}
	})
	t.Run("HasATimeoutOfItsOwn", func(t *testing.T) {
		t.Parallel()
		release := make(chan struct{})
		defer close(release)
		running := make(chan struct{}, 16)
		s := start(t, func(c *setup) {
			c.Probes = []httpapi.Probe{{Name: "store", Check: func(context.Context) error {
				running <- struct{}{}
				<-release // deaf to its context
				return nil
			}}}
		})
		for range 2 {
			before := time.Now()
			r := s.get("/readyz")
			if r.status != http.StatusServiceUnavailable || string(r.body) != "store: timeout\n" || time.Since(before) > 10*time.Second {
				t.Fatalf("after %v: %d %s", time.Since(before), r.status, r.body)
			}
		}
		if n := len(running); n != 1 {
			t.Fatalf("%d probes hang, want one", n)
		}
	})
}

type reason string

func (r reason) Error() string  { return "no" }
func (r reason) Reason() string { return string(r) }

func listing(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	must(t, err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestMetricsAreForAdmins(t *testing.T) {
	t.Parallel()
	s := start(t)
	none := start(t, func(c *setup) { c.noAdmin = true })
	for name, tc := range map[string]struct {
		server *server
		header []string
		status int
		code   api.Code
	}{
		"AdminKey":             {s, []string{"X-Admin-Key", adminKey}, 200, ""},
		"SecondHeader":         {s, []string{"X-OctoStore-Admin-Key", adminKey}, 200, ""},
		"Bearer":               {s, []string{"Authorization", "Bearer admin:" + adminKey}, 200, ""},
		"WrongThenRight":       {s, []string{"X-Admin-Key", "wrong", "Authorization", "Bearer admin:" + adminKey}, 200, ""},
		"Nothing":              {s, nil, 401, api.CodeAuthenticationRequired},
		"WrongKey":             {s, []string{"X-Admin-Key", "wrong"}, 401, api.CodeAuthenticationFailed},
		"WrongBearerKey":       {s, []string{"Authorization", "Bearer admin:wrong"}, 401, api.CodeAuthenticationFailed},
		"KeyAsToken":           {s, []string{"Authorization", "Bearer " + adminKey}, 401, api.CodeAuthenticationFailed},
		"UnknownToken":         {s, []string{"Authorization", "Bearer nobody"}, 401, api.CodeAuthenticationFailed},
		"OtherScheme":          {s, []string{"Authorization", "Basic " + adminKey}, 401, api.CodeAuthenticationRequired},
		"Member":               {s, []string{"Authorization", "Bearer " + staticToken}, 403, api.CodeForbidden},
		"NoKeyIsConfigured":    {none, []string{"X-Admin-Key", adminKey}, 401, api.CodeAuthenticationFailed},
		"EmptyKeyOfNoKey":      {none, []string{"Authorization", "Bearer admin:"}, 401, api.CodeAuthenticationFailed},
		"NothingAndNoKeyEther": {none, nil, 401, api.CodeAuthenticationRequired},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := tc.server.do(call{method: http.MethodGet, path: "/metrics", header: tc.header})
			if r.status == http.StatusOK {
				if tc.status != http.StatusOK || !strings.Contains(string(r.body), "octostore_build_info") {
					t.Fatalf("%d %s", r.status, r.body)
				}
				return
			}
			r.want(t, tc.status, tc.code)
			if (r.header.Get("WWW-Authenticate") != "") != (tc.status == 401) {
				t.Fatalf("WWW-Authenticate %q", r.header.Get("WWW-Authenticate"))
			}
		})
	}
	t.Run("InTheJSONOfTheFirstGeneration", func(t *testing.T) {
		t.Parallel()
		s.get(s.room())
		r := s.get("/metrics", "X-Admin-Key", adminKey, "Accept", "text/html, application/json;q=0.9")
		var m api.Metrics
		if err := json.Unmarshal(r.body, &m); err != nil || m.MemoryBytes == 0 || m.Endpoints.Election.Count == 0 || m.TotalUsers != 1 {
			t.Fatalf("%v: %s", err, r.body)
		}
	})
	t.Run("AsTextForAnyOtherAccept", func(t *testing.T) {
		t.Parallel()
		for _, accept := range []string{"*/*", "application/*", "application/json;q=0", "application/jsonx", "text/plain"} {
			r := s.get("/metrics", "X-Admin-Key", adminKey, "Accept", accept)
			if !strings.Contains(string(r.body), "octostore_build_info") {
				t.Errorf("Accept %s: %.60s", accept, r.body)
			}
		}
	})
}

func TestGuessingTheAdminKeyIsThrottled(t *testing.T) {
	t.Parallel()
	s := start(t)
	var last reply
	for range 121 {
		last = s.do(call{method: http.MethodGet, path: "/metrics", header: []string{"X-Admin-Key", "guess"}})
	}
	last.want(t, http.StatusTooManyRequests, api.CodeRateLimited)
	// It does not tell any more whether a guess is right.
	s.get("/metrics", "X-Admin-Key", adminKey).want(t, http.StatusTooManyRequests, api.CodeRateLimited)
}

func TestReference(t *testing.T) {
	t.Parallel()
	s := start(t)
	t.Run("ServesTheDocumentOfThisBinary", func(t *testing.T) {
		t.Parallel()
		r := s.get("/openapi.yaml")
		if r.header.Get("Content-Type") != "application/yaml" || !strings.Contains(string(r.body), `version: "0.0.0-test"`) {
			t.Fatalf("%v", r.header)
		}
		tag := r.header.Get("ETag")
		for _, known := range []string{tag, "W/" + tag, `"other", ` + tag, "*"} {
			if again := s.get("/openapi.yaml", "If-None-Match", known); again.status != http.StatusNotModified || len(again.body) != 0 {
				t.Errorf("If-None-Match %s: %d", known, again.status)
			}
		}
		if again := s.get("/openapi.yaml", "If-None-Match", `"other"`); again.status != http.StatusOK {
			t.Errorf("another tag: %d", again.status)
		}
	})
	t.Run("ServesThePageAndItsParts", func(t *testing.T) {
		t.Parallel()
		for _, path := range []string{"/", "/docs", "/docs/assets/docs.js", "/docs/assets/swagger-ui.css", "/docs/assets/docs%2Ejs"} {
			r := s.get(path)
			if r.status != http.StatusOK || len(r.body) == 0 {
				t.Errorf("%s: %d", path, r.status)
			}
			if again := s.get(path, "If-None-Match", r.header.Get("ETag")); again.status != http.StatusNotModified {
				t.Errorf("%s, known: %d", path, again.status)
			}
		}
		s.do(call{method: http.MethodGet, path: "/docs/assets/none.js"}).want(t, http.StatusNotFound, api.CodeNotFound)
	})
}
