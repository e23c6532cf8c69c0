package httpapi_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/octostore/octostore/api"
)

func TestRoutesAndDocumentHaveTheSameOperations(t *testing.T) {
	t.Parallel()
	s := start(t)
	mounted := s.api.Operations()
	slices.Sort(mounted)
	if diff := cmp.Diff(checker().Operations(), mounted); diff != "" {
		t.Fatalf("document (-) and routes (+) differ:\n%s", diff)
	}
}

func TestEveryAnswerHasTheCommonHeaders(t *testing.T) {
	t.Parallel()
	s := start(t, func(c *setup) { c.Origins = []string{"https://octostore.io"} })
	room := s.room()
	seen := make(map[string]bool)
	for _, c := range []call{
		{method: http.MethodGet, path: "/health"},
		{method: http.MethodGet, path: "/"},
		{method: http.MethodGet, path: "/docs/assets/swagger-ui.css"},
		{method: http.MethodGet, path: "/docs/assets/none.css"},
		{method: http.MethodGet, path: "/openapi.yaml"},
		{method: http.MethodHead, path: "/health"},
		{method: http.MethodGet, path: "/metrics"},
		{method: http.MethodGet, path: "/nowhere"},
		{method: http.MethodDelete, path: "/health"},
		{method: http.MethodOptions, path: "/health"},
		{method: http.MethodOptions, path: "/nowhere/at/all"},
		{method: http.MethodPost, path: room + "/campaign", body: "{"},
		{method: "BREW", path: "/health"},
	} {
		c.header = []string{"X-Request-Id", "req_00000000000000000000000000000000", "Accept-Encoding", "gzip"}
		r := s.do(c)
		id := r.header.Get("X-Request-Id")
		if !api.ValidRequestID(id) || seen[id] || strings.HasSuffix(id, strings.Repeat("0", 32)) {
			t.Errorf("%s %s: X-Request-Id %q", c.method, c.path, id)
		}
		seen[id] = true
		if r.header.Get("X-Content-Type-Options") != "nosniff" || r.header.Get("Referrer-Policy") != "no-referrer" {
			t.Errorf("%s %s: security headers are missing: %v", c.method, c.path, r.header)
		}
		vary := strings.ToLower(strings.Join(r.header.Values("Vary"), ","))
		for _, name := range []string{"origin", "access-control-request-method", "access-control-request-headers"} {
			if !strings.Contains(vary, name) {
				t.Errorf("%s %s: Vary lacks %s: %q", c.method, c.path, name, vary)
			}
		}
		if exposed := r.header.Get("Access-Control-Expose-Headers"); (exposed == "") != (c.method == http.MethodOptions) {
			t.Errorf("%s %s: exposed headers %q", c.method, c.path, exposed)
		}
		if r.header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s %s: an origin that nobody sent is allowed", c.method, c.path)
		}
	}
}

func TestCORS(t *testing.T) {
	t.Parallel()
	s := start(t, func(c *setup) { c.Origins = []string{"https://octostore.io", "http://localhost:3000"} })
	allowed := func(r reply) string { return r.header.Get("Access-Control-Allow-Origin") }
	t.Run("EchoesAnAllowedOrigin", func(t *testing.T) {
		t.Parallel()
		for _, origin := range []string{"https://octostore.io", "http://localhost:3000"} {
			for _, method := range []string{http.MethodGet, http.MethodOptions} {
				r := s.do(call{method: method, path: "/health", header: []string{"Origin", origin}})
				if allowed(r) != origin || r.header.Get("Access-Control-Allow-Credentials") != "" {
					t.Errorf("%s from %s: %v", method, origin, r.header)
				}
			}
		}
	})
	t.Run("IgnoresAnyOther", func(t *testing.T) {
		t.Parallel()
		for _, origin := range []string{"https://octostore.io.evil.example", "https://OCTOSTORE.io", "https://octostore.io/", "null", "*"} {
			if r := s.do(call{method: http.MethodGet, path: "/health", header: []string{"Origin", origin}}); allowed(r) != "" {
				t.Errorf("%s is allowed", origin)
			}
		}
	})
	t.Run("AnswersEveryPreflight", func(t *testing.T) {
		t.Parallel()
		for _, path := range []string{"/elections", "/elections/x/campaign", "/nowhere", "/docs/", "/%2F%2F"} {
			r := s.do(call{method: http.MethodOptions, path: path, header: []string{
				"Origin", "https://octostore.io", "Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", "x-anything",
			}})
			r.want(t, http.StatusOK, "")
			h := strings.ToLower(r.header.Get("Access-Control-Allow-Headers"))
			for _, name := range []string{
				"authorization", "content-type", "x-admin-key", "x-octostore-admin-key",
				"idempotency-key", "last-event-id", "prefer", "traceparent",
			} {
				if !strings.Contains(h, name) {
					t.Errorf("%s: %s is not allowed: %s", path, name, h)
				}
			}
			if r.header.Get("Access-Control-Allow-Methods") != "GET, POST, PUT, DELETE" || r.header.Get("Access-Control-Max-Age") != "600" {
				t.Errorf("%s: %v", path, r.header)
			}
		}
	})
	t.Run("AnswersThePreflightOfTheWholeServer", func(t *testing.T) {
		t.Parallel()
		r := s.raw("OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n")
		if r.StatusCode != http.StatusOK || !api.ValidRequestID(r.Header.Get("X-Request-Id")) {
			t.Fatalf("%d %v", r.StatusCode, r.Header)
		}
	})
	t.Run("ExposesWhatScriptsNeed", func(t *testing.T) {
		t.Parallel()
		h := strings.ToLower(s.get("/health").header.Get("Access-Control-Expose-Headers"))
		for _, name := range []string{"retry-after", "x-request-id", "ratelimit", "ratelimit-policy"} {
			if !slices.Contains(strings.Split(h, ", "), name) {
				t.Errorf("%s is not exposed: %s", name, h)
			}
		}
	})
}

func TestUnknownPathsAndMethods(t *testing.T) {
	t.Parallel()
	s := start(t)
	for _, path := range []string{
		"/nowhere", "/elections/", "/elections/some-room/", "/elections/some-room/campaign/", "/elections/some-room/nothing",
		"//elections", "/ELECTIONS", "/health/", "/docs/", "/docs/assets/", "/docs/assets/..%2Fsecret", "/docs/assets/a/b",
		"/elections/../health", "/favicon.ico",
	} {
		s.do(call{method: http.MethodGet, path: path}).want(t, http.StatusNotFound, api.CodeNotFound)
	}
	// The fixed parts of a path have one spelling.
	if got := s.raw("POST /%65lections HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n").StatusCode; got != http.StatusNotFound {
		t.Errorf("an escaped route answers %d", got)
	}
	for path, want := range map[string]string{
		"/elections":                    "POST",
		"/elections/some-room/campaign": "POST",
		"/elections/some-room":          "GET, HEAD",
		"/health":                       "GET, HEAD",
	} {
		r := s.do(call{method: http.MethodPut, path: path})
		r.want(t, http.StatusMethodNotAllowed, api.CodeInvalidInput)
		allow := strings.Split(r.header.Get("Allow"), ", ")
		slices.Sort(allow)
		if got := strings.Join(allow, ", "); got != want {
			t.Errorf("PUT %s: Allow %q, want %q", path, got, want)
		}
	}
}

func TestHeadWorksWhereverGetDoes(t *testing.T) {
	t.Parallel()
	s := start(t)
	for _, operation := range s.api.Operations() {
		template, isGet := strings.CutPrefix(operation, "GET ")
		if !isGet || strings.HasSuffix(template, "/watch") { // a GET of a watch has no end
			continue
		}
		path := strings.NewReplacer("{election_id}", "one-of-many-rooms", "{asset}", "docs.js").Replace(template)
		get := s.get(path, "X-Admin-Key", adminKey)
		head := s.do(call{method: http.MethodHead, path: path, header: []string{"X-Admin-Key", adminKey}, valid: true})
		if head.status != get.status || len(head.body) != 0 || head.header.Get("Content-Type") != get.header.Get("Content-Type") {
			t.Errorf("HEAD %s: %d %v, GET: %d %v", path, head.status, head.header, get.status, get.header)
		}
	}
}

func TestOddTargetsAreNotFound(t *testing.T) {
	t.Parallel()
	s := start(t)
	for _, line := range []string{"CONNECT example.com:443", "GET *", "TRACE /nowhere", "GET http://elsewhere.example/nowhere", "GET /?"} {
		resp := s.raw(line + " HTTP/1.1\r\nHost: x\r\n\r\n")
		want := http.StatusNotFound
		if line == "GET /?" {
			want = http.StatusOK
		}
		if resp.StatusCode != want || !api.ValidRequestID(resp.Header.Get("X-Request-Id")) {
			t.Errorf("%s: %d %v", line, resp.StatusCode, resp.Header)
		}
	}
}

// What is not even HTTP is refused by net/http before a handler sees it.
func TestNetHTTPRefusesWhatIsNotHTTP(t *testing.T) {
	t.Parallel()
	s := start(t)
	for name, tc := range map[string]struct {
		request string
		status  int
	}{
		"BrokenEscape":   {"GET /elections/%zz HTTP/1.1\r\nHost: x\r\n\r\n", 400},
		"LargeHeader":    {"GET /health HTTP/1.1\r\nHost: x\r\nX-Large: " + strings.Repeat("x", 32<<10) + "\r\n\r\n", 431},
		"TwoLengths":     {"POST /elections HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab", 400},
		"LengthAndChunk": {"POST /elections HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: gzip\r\n\r\n", 501},
		"NoHost":         {"GET /health HTTP/1.1\r\n\r\n", 400},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := s.raw(tc.request).StatusCode; got != tc.status {
				t.Fatalf("status %d, want %d", got, tc.status)
			}
		})
	}
}
