package archtest

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestModule is the check of the real tree.
func TestModule(t *testing.T) {
	t.Parallel()
	loaded := load(t)
	// Were the tree empty, nothing in it could break a rule.
	if !slices.ContainsFunc(loaded.packages, func(p pkg) bool { return p.path == "internal/archtest" && len(p.files) > 1 }) {
		t.Fatalf("the loaded tree of %q does not have this package: %+v", loaded.module, loaded.packages)
	}
	for _, complaint := range check(loaded) {
		t.Error(complaint)
	}
}

// source makes a package of a made-up tree from Go text, file by file.
func source(t *testing.T, name string, files map[string]string) pkg {
	t.Helper()
	p := pkg{path: name}
	for _, fileName := range slices.Sorted(maps.Keys(files)) {
		parsed, err := parseFile(fileName, []byte(files[fileName]))
		if err != nil {
			t.Fatal(err)
		}
		p.files = append(p.files, parsed)
	}
	return p
}

// importing is the text of a file that imports these paths.
func importing(paths ...string) string {
	text := "package p\n"
	for _, p := range paths {
		text += "import _ " + `"` + p + `"` + "\n"
	}
	return text
}

const (
	doc    = "// Package p is documented.\npackage p\n"
	module = "example.org/m"
)

// TestCheck holds the check against trees that are made up for it.
func TestCheck(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		path  string
		files map[string]string
		want  []string
	}{
		"AllowsArrow": {
			path:  "elections",
			files: map[string]string{"a.go": importing(module+"/lease", module+"/internal/events")},
		},
		"AllowsCommandEverything": {
			path:  "cmd/octostore",
			files: map[string]string{"a.go": importing(module+"/store/sqlite", module+"/internal/httpapi", "github.com/spf13/cobra")},
		},
		"AllowsBootClock": {
			path:  "store/sqlite",
			files: map[string]string{"a.go": importing(module+"/internal/bootclock", "database/sql", "modernc.org/sqlite", "github.com/pressly/goose/v3")},
		},
		"AllowsTestsTheirStore": {
			path:  "elections",
			files: map[string]string{"a_test.go": importing(module+"/elections", module+"/store/sqlite", "github.com/getkin/kin-openapi/openapi3", "pgregory.net/rapid")},
		},
		"RefusesDomainThatImportsStore": {
			path:  "elections",
			files: map[string]string{"a.go": importing(module + "/store")},
			want:  []string{"elections/a.go imports store, and there is no arrow from elections to it"},
		},
		"RefusesDomainsThatImportEachOther": {
			path:  "locks",
			files: map[string]string{"a.go": importing(module + "/elections")},
			want:  []string{"locks/a.go imports elections, and there is no arrow from locks to it"},
		},
		"RefusesBackendsThatImportEachOther": {
			path:  "store/sqlite",
			files: map[string]string{"a.go": importing(module + "/store/postgres"), "a_test.go": importing(module + "/store/postgres")},
			want: []string{
				"store/sqlite/a.go imports store/postgres, and there is no arrow from store/sqlite to it",
				"store/sqlite/a_test.go imports store/postgres, and there is no arrow from store/sqlite to it",
			},
		},
		"RefusesClientThatImportsServer": {
			path:  "client",
			files: map[string]string{"a.go": importing(module+"/api", module+"/elections")},
			want:  []string{"client/a.go imports elections, and there is no arrow from client to it"},
		},
		"RefusesTestOfDomainThatImportsOtherDomain": {
			path:  "elections",
			files: map[string]string{"a_test.go": importing(module + "/locks")},
			want:  []string{"elections/a_test.go imports locks, and there is no arrow from elections to it"},
		},
		"RefusesKernelThatImportsAnything": {
			path:  "lease",
			files: map[string]string{"a.go": importing("crypto/hmac", "golang.org/x/crypto/hkdf", module+"/api")},
			want: []string{
				"lease/a.go imports golang.org/x/crypto/hkdf, and lease has to do with the standard library",
				"lease/a.go imports api, and there is no arrow from lease to it",
			},
		},
		"RefusesLibraryInEmbeddedClient": {
			path:  "client",
			files: map[string]string{"a.go": importing("golang.org/x/sys/unix", "github.com/cenkalti/backoff/v5")},
			want:  []string{"client/a.go imports github.com/cenkalti/backoff/v5, and client has to do with the standard library and golang.org/x/sys"},
		},
		"RefusesRouterOutsideHTTP": {
			path:  "elections",
			files: map[string]string{"a.go": importing("github.com/gin-gonic/gin/binding")},
			want:  []string{"elections/a.go imports github.com/gin-gonic/gin/binding; allowed in internal/httpapi: only the HTTP layer knows the router"},
		},
		"RefusesRouterInCommand": {
			path:  "cmd/octostore",
			files: map[string]string{"a.go": importing("github.com/gin-gonic/gin")},
			want:  []string{"cmd/octostore/a.go imports github.com/gin-gonic/gin; allowed in internal/httpapi: only the HTTP layer knows the router"},
		},
		"RefusesSQLOutsideItsStore": {
			path:  "store",
			files: map[string]string{"a.go": importing("database/sql", "database/sql/driver", "github.com/jackc/pgx/v5")},
			want: []string{
				"store/a.go imports database/sql; allowed in store/sqlite: SQL stays behind the store contract",
				"store/a.go imports database/sql/driver; allowed in store/sqlite: SQL stays behind the store contract",
				"store/a.go imports github.com/jackc/pgx/v5; allowed in store/postgres: SQL stays behind the store contract",
			},
		},
		"AllowsSpansAndRefusesSDKInHTTP": {
			path:  "internal/httpapi",
			files: map[string]string{"a.go": importing("go.opentelemetry.io/otel/trace", "go.opentelemetry.io/otel/codes", "go.opentelemetry.io/otel/sdk/trace", "go.opentelemetry.io/otel")},
			want: []string{
				"internal/httpapi/a.go imports go.opentelemetry.io/otel/sdk/trace; allowed in internal/telemetry: the SDK is set up in one place",
				"internal/httpapi/a.go imports go.opentelemetry.io/otel; allowed in internal/telemetry: the SDK is set up in one place",
			},
		},
		"RefusesSpansInDomain": {
			path:  "locks",
			files: map[string]string{"a.go": importing("go.opentelemetry.io/otel/trace")},
			want:  []string{"locks/a.go imports go.opentelemetry.io/otel/trace; allowed in internal/telemetry, internal/httpapi: spans are made where requests come in"},
		},
		"RefusesMetricsOutsideTelemetry": {
			path:  "ratelimit",
			files: map[string]string{"a.go": importing("github.com/prometheus/client_golang/prometheus")},
			want:  []string{"ratelimit/a.go imports github.com/prometheus/client_golang/prometheus; allowed in internal/telemetry: metrics are registered in one place"},
		},
		"RefusesTestLibraryWhileServing": {
			path:  "internal/httpapi",
			files: map[string]string{"a.go": importing("github.com/getkin/kin-openapi/openapi3", "testing")},
			want: []string{
				"internal/httpapi/a.go imports github.com/getkin/kin-openapi/openapi3; allowed in api/apitest: requests are checked against the document in tests, not while serving",
				"internal/httpapi/a.go imports testing; allowed in " + inWords(testSupport) + ": it belongs to tests",
			},
		},
		"RefusesTestSupportWhileServing": {
			path:  "cmd/octostore",
			files: map[string]string{"a.go": importing(module + "/store/storetest"), "a_test.go": importing(module + "/store/storetest")},
			want:  []string{"cmd/octostore/a.go imports store/storetest, which is for tests"},
		},
		"AllowsTestSupportTestLibraries": {
			path:  "store/storetest",
			files: map[string]string{"a.go": importing("testing", "pgregory.net/rapid", module+"/store")},
		},
		"RefusesCgo": {
			path:  "web",
			files: map[string]string{"a.go": importing("C")},
			want:  []string{"web/a.go imports C; allowed in tests only: the binary is built without cgo"},
		},
		"DoesNotTakeLongerNameForLibrary": {
			path:  "web",
			files: map[string]string{"a.go": importing("github.com/gin-gonic/ginger", "database/sqlite")},
		},
		"RefusesUnknownPackage": {
			path:  "util",
			files: map[string]string{"a.go": importing(module + "/lease")},
			want:  []string{"util is not in the table of arrows; say there whom it may import"},
		},
		"RefusesUnknownPackageBelowKnownOne": {
			path: "store/sqlite/rows",
			want: []string{"store/sqlite/rows is not in the table of arrows; say there whom it may import"},
		},
		"LooksAtFilesOfOtherSystems": {
			path:  "elections",
			files: map[string]string{"a_darwin.go": "//go:build darwin\n\n" + importing(module+"/store")},
			want:  []string{"elections/a_darwin.go imports store, and there is no arrow from elections to it"},
		},
		"RefusesClockInDomain": {
			path: "elections",
			files: map[string]string{"a.go": `package p
import "time"
var f = time.Now
func g(t time.Time) (time.Duration, time.Duration) { return time.Since(t), time.Until(t) }
`},
			want: []string{
				"elections/a.go:3 reads time.Now; the instant has to come from the caller",
				"elections/a.go:4 reads time.Since; the instant has to come from the caller",
				"elections/a.go:4 reads time.Until; the instant has to come from the caller",
			},
		},
		"RefusesClockUnderOtherName": {
			path:  "lease",
			files: map[string]string{"a.go": "package p\nimport clock \"time\"\nvar now = clock.Now()\n", "b.go": "package p\nimport . \"time\"\nvar then = Now()\n"},
			want: []string{
				"lease/a.go:3 reads time.Now; the instant has to come from the caller",
				"lease/b.go:1 has a dot import of time; the instant has to come from the caller",
			},
		},
		"AllowsClockInTestsAndElsewhere": {
			path:  "locks",
			files: map[string]string{"a_test.go": "package p\nimport \"time\"\nvar now = time.Now()\n", "b.go": "package p\ntype clock struct{}\nfunc (clock) Now() {}\nvar time clock\nfunc f() { time.Now() }\n"},
		},
		"AllowsClockInStore": {
			path:  "store",
			files: map[string]string{"a.go": "package p\nimport \"time\"\nvar now = time.Now()\n"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := map[string]string{"doc.go": doc}
			for fileName, text := range c.files {
				files[fileName] = text
			}
			got := check(tree{module: module, packages: []pkg{source(t, c.path, files)}})
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("complaints (-want +got):\n%s", diff)
			}
		})
	}
}

// TestCheckDoc: every package says what it is, in one place.
func TestCheckDoc(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		files map[string]string
		want  []string
	}{
		"AllowsDoc":             {files: map[string]string{"doc.go": doc, "a.go": "package p\n"}},
		"AllowsCommentOfTest":   {files: map[string]string{"doc.go": doc, "a_test.go": doc}},
		"RefusesMissingDoc":     {files: map[string]string{"a.go": "package p\n"}, want: []string{"web has no doc.go with a package comment"}},
		"RefusesDocElsewhere":   {files: map[string]string{"a.go": doc}, want: []string{"web/a.go has a package comment; it belongs into doc.go", "web has no doc.go with a package comment"}},
		"RefusesSecondComment":  {files: map[string]string{"doc.go": doc, "a.go": doc}, want: []string{"web/a.go has a package comment; it belongs into doc.go"}},
		"RefusesEmptyDoc":       {files: map[string]string{"doc.go": "package p\n"}, want: []string{"web has no doc.go with a package comment"}},
		"RefusesDetachedDoc":    {files: map[string]string{"doc.go": "// Package p is documented.\n\npackage p\n"}, want: []string{"web has no doc.go with a package comment"}},
		"RefusesDirectiveAsDoc": {files: map[string]string{"doc.go": "//go:build linux\n\npackage p\n"}, want: []string{"web has no doc.go with a package comment"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := check(tree{module: module, packages: []pkg{source(t, "web", c.files)}})
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("complaints (-want +got):\n%s", diff)
			}
		})
	}
}

// TestTables: what the tables name has to be a package, or they guard nothing.
func TestTables(t *testing.T) {
	t.Parallel()
	named := map[string][]string{"onlyLibraries": nil, "clockless": clockless, "testSupport": testSupport}
	for from, to := range arrows {
		named["arrows of "+from] = to
	}
	for from, to := range testArrows {
		named["testArrows"] = append(named["testArrows"], from)
		named["testArrows of "+from] = to
	}
	for from := range onlyLibraries {
		named["onlyLibraries"] = append(named["onlyLibraries"], from)
	}
	for _, h := range homes {
		named["home of "+h.library] = h.packages
	}
	for where, packages := range named {
		for _, name := range packages {
			if _, ok := arrows[name]; !ok && name != "*" {
				t.Errorf("%s: %q is not in the table of arrows", where, name)
			}
		}
	}
}
