//go:build browser

package web_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/go-cmp/cmp"
	"github.com/octostore/octostore/web"
)

// TestDocsPageRendersOffline opens the reference in a real browser that can reach nothing
// but the test's own server, and uses it: every operation is shown, can be opened and
// tried, nothing is asked of another origin, and the content security policy is never violated.
func TestDocsPageRendersOffline(t *testing.T) {
	t.Parallel()
	document, err := os.ReadFile("../api/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	want := operationsOf(t, document)
	origin := startServer(t, document)

	t.Run("AtTheRoot", func(t *testing.T) {
		t.Parallel()
		tab := openTab(t)
		tab.navigate(origin + "/")
		tab.wantOperations(want)
		tab.wantQuiet(origin)
	})

	t.Run("AtDocs", func(t *testing.T) {
		t.Parallel()
		tab := openTab(t)
		tab.navigate(origin + "/docs")
		tab.wantOperations(want)
		tab.wantStyled()
		tab.openEverything()
		tab.tryCreate()
		tab.wantQuiet(origin)
	})
}

// wantOperations waits until the page shows as many operations as the document has, and
// compares them one by one.
func (tb *tab) wantOperations(want []string) {
	tb.t.Helper()
	tb.waitFor(fmt.Sprintf("document.querySelectorAll('.opblock').length >= %d", len(want)))
	var shown []string
	tb.evaluate(`[...document.querySelectorAll('.opblock-summary')].map(s =>
		s.querySelector('.opblock-summary-method').textContent + ' ' +
		s.querySelector('.opblock-summary-path').dataset.path)`, &shown)
	sort.Strings(shown)
	if diff := cmp.Diff(want, shown); diff != "" {
		tb.t.Errorf("operations (-document +page):\n%s", diff)
	}
}

// wantStyled looks at one effect of each of the two style sheets.
func (tb *tab) wantStyled() {
	tb.t.Helper()
	var radius, background string
	tb.evaluate("getComputedStyle(document.querySelector('.opblock')).borderRadius", &radius)
	tb.evaluate("getComputedStyle(document.body).backgroundColor", &background)
	if radius != "4px" || background != "rgb(250, 250, 250)" {
		tb.t.Errorf("border radius %q, background %q: a style sheet is missing", radius, background)
	}
}

// openEverything makes the page render parameters, examples, schemas and headers of all operations.
func (tb *tab) openEverything() {
	tb.t.Helper()
	tb.evaluate("document.querySelectorAll('.opblock:not(.is-open) .opblock-summary-control').forEach(b => b.click())", nil)
	tb.waitFor("document.querySelectorAll('.opblock.is-open .responses-wrapper').length === document.querySelectorAll('.opblock').length")
	tb.evaluate("document.querySelectorAll('section.models .model-box-control, section.models button').forEach(b => b.click())", nil)
}

// tryCreate sends a call from the page and waits for its answer to be shown.
func (tb *tab) tryCreate() {
	tb.t.Helper()
	const create = `document.querySelector('[id$="createElection"]')`
	tb.evaluate(create+".querySelector('.try-out__btn').click()", nil)
	tb.waitFor(create + ".querySelector('.execute') !== null")
	tb.evaluate(create+".querySelector('.execute').click()", nil)
	tb.waitFor(create + ".querySelector('.live-responses-table .response-col_status') !== null")
	var answered string
	tb.evaluate(create+".querySelector('.live-responses-table tbody .response-col_status').textContent", &answered)
	if !strings.HasPrefix(answered, "201") {
		tb.t.Errorf("the tried call shows %q, want 201", answered)
	}
	if requested, _, _ := tb.observed(); !slices.ContainsFunc(requested, func(url string) bool { return strings.HasSuffix(url, "/elections") }) {
		tb.t.Error("the tried call was not sent")
	}
}

// wantQuiet: no violation, error or exception, and no request to anywhere but origin. What
// arrived at the proxy is not looked at, because the housekeeping of the browser itself goes there too.
func (tb *tab) wantQuiet(origin string) {
	tb.t.Helper()
	requested, _, complaints := tb.observed()
	if len(complaints) != 0 {
		tb.t.Errorf("the browser complains:\n%s", strings.Join(complaints, "\n"))
	}
	for _, url := range requested {
		if !strings.HasPrefix(url, origin+"/") && !strings.HasPrefix(url, "data:") {
			tb.t.Errorf("the page asked for %s", url)
		}
	}
	for _, part := range []string{"/openapi.yaml", web.AssetsPath + "swagger-ui-bundle.js", web.AssetsPath + "docs.js", web.AssetsPath + "docs.css"} {
		if !slices.Contains(requested, origin+part) {
			tb.t.Errorf("the page did not ask for %s", part)
		}
	}
}

// TestBrowserSeesViolations is the control of the test above: a page that breaks the policy is
// caught, and one that calls another origin is seen and gets no further than the proxy.
func TestBrowserSeesViolations(t *testing.T) {
	t.Parallel()
	page := web.Page()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/free" { // the same, without a policy in the way
			w.Header().Set("Content-Type", "text/html")
			_, _ = w.Write([]byte(`<!doctype html><img src="http://elsewhere.example/free.png">`))
			return
		}
		policy := httptest.NewRecorder()
		page.ServeHTTP(policy, httptest.NewRequest(http.MethodHead, "/", nil))
		w.Header().Set("Content-Type", "text/html")
		w.Header().Set("Content-Security-Policy", policy.Header().Get("Content-Security-Policy"))
		_, _ = w.Write([]byte(`<!doctype html><style>p{color:red}</style><img src="http://elsewhere.example/bound.png"><p id="p" style="color:blue">`))
	}))
	t.Cleanup(server.Close)

	tab := openTab(t)
	tab.navigate(server.URL + "/bound")
	tab.waitFor("window.octostoreViolations.length >= 3")
	_, left, complaints := tab.observed()
	elsewhere := func(request string) bool { return strings.Contains(request, "elsewhere.example") }
	for _, directive := range []string{"style-src-elem", "style-src-attr", "img-src"} {
		if !slices.ContainsFunc(complaints, func(c string) bool { return strings.Contains(c, directive) }) {
			t.Errorf("no complaint about %s: %q", directive, complaints)
		}
	}
	if slices.ContainsFunc(left, elsewhere) {
		t.Errorf("the policy let the picture through: %q", left)
	}

	tab.navigate(server.URL + "/free")
	tab.waitFor("document.images.length === 1 && document.images[0].complete")
	requested, left, _ := tab.observed()
	if !slices.ContainsFunc(requested, elsewhere) || !slices.ContainsFunc(left, elsewhere) {
		t.Errorf("a call to another origin went unseen: requested %q, left %q", requested, left)
	}
}

func operationsOf(t *testing.T, document []byte) []string {
	t.Helper()
	parsed, err := openapi3.NewLoader().LoadFromData(document)
	if err != nil {
		t.Fatal(err)
	}
	var operations []string
	for path, item := range parsed.Paths.Map() {
		for method := range item.Operations() {
			operations = append(operations, method+" "+path)
		}
	}
	sort.Strings(operations)
	return operations
}

// startServer serves what the page needs, as the real server does, and one call to try.
func startServer(t *testing.T, document []byte) string {
	t.Helper()
	mux := http.NewServeMux()
	mux.Handle("GET /{$}", web.Page())
	mux.Handle("GET /docs", web.Page())
	mux.Handle("GET "+web.AssetsPath, web.Assets())
	mux.HandleFunc("GET /openapi.yaml", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/yaml")
		_, _ = w.Write(document)
	})
	mux.HandleFunc("POST /elections", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusCreated)
		_, _ = w.Write([]byte(`{"election_id":"kQ2mE0m8b0x4r3Zt7uYw1aBcDeFgHiJk"}`))
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL
}
