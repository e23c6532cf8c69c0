package archtest

// Patterns name packages of the module. "cmd/*" is everything below cmd, "*" is
// every package.

// arrows lists for each package whom of ours it may import. A package that is not
// here may not exist.
var arrows = map[string][]string{
	"cmd/*": {"*"},

	"internal/httpapi":   {"api", "lease", "tenancy", "auth", "ratelimit", "elections", "locks", "webhooks", "internal/events", "internal/telemetry", "web"},
	"client":             {"api", "lease", "internal/bootclock"},
	"internal/supervise": {"lease", "internal/bootclock"},

	"store":           {"lease", "tenancy", "auth", "elections", "locks", "webhooks", "internal/bootclock"},
	"store/sqlite":    backend,
	"store/postgres":  backend,
	"store/storetest": backend,

	"elections":       {"lease", "internal/events"},
	"locks":           {"lease", "tenancy", "internal/events"},
	"webhooks":        {"tenancy", "internal/events"},
	"auth":            {"tenancy"},
	"internal/events": {"lease"},

	"lease":              nil,
	"api":                nil,
	"tenancy":            nil,
	"ratelimit":          nil,
	"internal/telemetry": nil,
	"web":                nil,
	"internal/bootclock": nil,
	"internal/archtest":  nil,
	"internal/mutants":   nil,

	"api/apitest": {"api"},

	"internal/histories":  {"api", "internal/bootclock"},
	"internal/simulation": {"lease", "store", "store/sqlite", "internal/bootclock"},
}

// testSupport are the packages that exist for tests of others. Only tests, and
// they themselves, may import them; so they may use what belongs to tests.
var testSupport = []string{"store/storetest", "api/apitest", "internal/simulation", "internal/histories"}

// backend is what a way of storing may know: the contract and whose records it keeps.
var backend = []string{"store", "tenancy", "auth", "elections", "locks", "webhooks", "lease", "internal/events", "internal/bootclock"}

// testArrows lists whom a package's tests may import beyond its arrows. Tests stand
// a service on a real store rather than on a double of one.
var testArrows = map[string][]string{
	"api":                {"api/apitest"},
	"internal/httpapi":   {"api/apitest", "store", "store/sqlite", "store/storetest", "client", "internal/bootclock"},
	"client":             {"api/apitest", "internal/httpapi", "elections", "locks", "auth", "tenancy", "ratelimit", "internal/events", "store", "store/sqlite"},
	"internal/supervise": {"client", "api"},
	"store":              {"store/sqlite", "store/storetest", "internal/events"},
	"store/sqlite":       {"store/storetest"},
	"store/postgres":     {"store/storetest"},
	"elections":          {"store", "store/sqlite"},
	"locks":              {"store", "store/sqlite"},
	"webhooks":           {"store", "store/sqlite"},
	"tenancy":            {"store", "store/sqlite"},
}

// home says which packages alone may import a library in files that are not tests.
type home struct {
	// library is an import path; paths below it are meant too.
	library  string
	packages []string
	why      string
}

// homes keeps each library behind one package, so that it can be replaced there and
// its traps are known there. The longest library that fits an import decides.
var homes = []home{
	{"github.com/gin-gonic/gin", []string{"internal/httpapi"}, "only the HTTP layer knows the router"},
	{"github.com/gin-contrib", []string{"internal/httpapi"}, "only the HTTP layer knows the router"},
	{"database/sql", []string{"store/sqlite"}, "SQL stays behind the store contract"},
	{"modernc.org/sqlite", []string{"store/sqlite"}, "SQL stays behind the store contract"},
	{"github.com/pressly/goose", []string{"store/sqlite"}, "migrations belong to the backend that they change"},
	{"github.com/jackc/pgx", []string{"store/postgres"}, "SQL stays behind the store contract"},
	{"go.opentelemetry.io", []string{"internal/telemetry"}, "the SDK is set up in one place"},
	{"go.opentelemetry.io/otel/trace", []string{"internal/telemetry", "internal/httpapi"}, "spans are made where requests come in"},
	{"go.opentelemetry.io/otel/attribute", []string{"internal/telemetry", "internal/httpapi"}, "spans are made where requests come in"},
	{"go.opentelemetry.io/otel/codes", []string{"internal/telemetry", "internal/httpapi"}, "spans are made where requests come in"},
	{"github.com/prometheus", []string{"internal/telemetry"}, "metrics are registered in one place"},
	{"github.com/ulule/limiter", []string{"ratelimit"}, "its own middleware and client address must not be used"},
	{"github.com/spf13", []string{"cmd/*"}, "only a command knows a command line"},
	{"github.com/getkin/kin-openapi", []string{"api/apitest"}, "requests are checked against the document in tests, not while serving"},
	{"github.com/google/go-cmp", testSupport, "it may panic, and belongs to tests"},
	{"pgregory.net/rapid", testSupport, "it belongs to tests"},
	{"github.com/anishathalye/porcupine", testSupport, "it belongs to tests"},
	{"go.uber.org/goleak", testSupport, "it belongs to tests"},
	{"testing", testSupport, "it belongs to tests"},
	{"C", nil, "the binary is built without cgo"},
}

// onlyLibraries lists, for packages that others embed or that everything stands
// on, all libraries beyond the standard one that they may use.
var onlyLibraries = map[string][]string{
	"lease":              {},
	"api":                {},
	"internal/bootclock": {"golang.org/x/sys"},
	"client":             {"golang.org/x/sys"},
	"internal/supervise": {"golang.org/x/sys"},
}

// clockless are the packages that get every instant from their caller, so that a
// test can move time and a step of the wall clock moves no deadline.
var clockless = []string{"lease", "elections", "locks"}
