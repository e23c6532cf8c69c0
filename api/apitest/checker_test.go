package apitest_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/octostore/octostore/api/apitest"
)

const (
	room      = "kQ2mE0m8b0x4r3Zt7uYw1aBcDeFgHiJk"
	token     = "Zm9vYmFyYmF6cXV4Zm9vYmFyYmF6cXV4Zm9vYmFyYmE"
	requestID = "req_0123456789abcdef0123456789abcdef"

	leader   = `{"candidate_id":"worker-a","term":1767225600123456,"expires_at":"2026-01-01T00:00:30.123Z"}`
	granted  = `{"status":"leader","election_id":"` + room + `","leader":` + leader + `,"leader_token":"` + token + `","renew_after_ms":15000,"waited_ms":0}`
	renewed  = `{"status":"leader","election_id":"` + room + `","leader":` + leader + `,"leader_token":"` + token + `","renew_after_ms":15000}`
	followed = `{"status":"follower","election_id":"` + room + `","leader":` + leader + `,"retry_after_ms":12345}`
	vacant   = `{"election_id":"` + room + `","status":"vacant","retry_after_ms":0,"revision":3,"waiters":0}`
	health   = `{"status":"ok","storage":"wal","db_size_bytes":1}`
)

// recorder stands in for the test that a Checker would fail.
type recorder struct {
	testing.TB
	failures []string
}

func (r *recorder) Helper() {}

func (r *recorder) Errorf(format string, args ...any) {
	r.failures = append(r.failures, fmt.Sprintf(format, args...))
}

// exchange is one request and its answer.
type exchange struct {
	method, path string
	header       map[string]string
	body         string

	status   int
	answered map[string]string
	answer   string
}

func (e exchange) build() (*http.Request, *http.Response) {
	req := httptest.NewRequest(e.method, "http://localhost:3000"+e.path, strings.NewReader(e.body))
	if e.body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for name, value := range e.header {
		req.Header.Set(name, value)
	}
	resp := &http.Response{StatusCode: e.status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(""))}
	resp.Header.Set("X-Request-Id", requestID)
	if e.answer != "" {
		resp.Header.Set("Content-Type", "application/json; charset=utf-8")
	}
	for name, value := range e.answered {
		if value == "" {
			resp.Header.Del(name)
		} else {
			resp.Header.Set(name, value)
		}
	}
	return req, resp
}

func campaign(status int, answer string, answered map[string]string) exchange {
	return exchange{
		method: http.MethodPost, path: "/elections/" + room + "/campaign", body: `{"candidate_id":"worker-a"}`,
		status: status, answer: answer, answered: answered,
	}
}

func get(path string, status int, answer string, answered map[string]string) exchange {
	return exchange{method: http.MethodGet, path: path, status: status, answer: answer, answered: answered}
}

func failure(code, label, rest string) string {
	return `{"error":"` + label + `","code":"` + code + `","details":"because","request_id":"` + requestID + `"` + rest + `}`
}

func noStore() map[string]string { return map[string]string{"Cache-Control": "no-store"} }

func TestCheckerAccepts(t *testing.T) {
	t.Parallel()
	c := apitest.New(t)
	retry := func(seconds string) map[string]string {
		return map[string]string{"Retry-After": seconds, "RateLimit": `"elections";r=0;t=12`, "RateLimit-Policy": `"elections";q=600;w=60`}
	}
	renewal := exchange{
		method: http.MethodPost, path: "/elections/" + room + "/renew", body: `{"leader_token":"` + token + `","ttl_seconds":null,"more":1}`,
		status: http.StatusOK, answer: renewed, answered: noStore(),
	}
	suffixed := campaign(http.StatusOK, followed, nil)
	suffixed.header = map[string]string{"Content-Type": "application/vnd.octostore+json; charset=utf-8"}
	keyed := campaign(http.StatusOK, granted, noStore())
	keyed.header = map[string]string{"Idempotency-Key": "7fPp2YkqT0mH9xWcVb4LsR3nDgUzJ6aE"}
	admin := get("/metrics", http.StatusOK, "octostore_leases_active 1\n", map[string]string{"Content-Type": "text/plain; version=0.0.4; charset=utf-8"})
	admin.header = map[string]string{"X-Admin-Key": "k"}

	for name, e := range map[string]exchange{
		"Created": {
			method: http.MethodPost, path: "/elections", status: http.StatusCreated,
			answer: `{"election_id":"` + room + `","campaign_path":"/elections/` + room + `/campaign","status_path":"/elections/` + room + `","watch_path":"/elections/` + room + `/watch"}`,
		},
		"Leader":         campaign(http.StatusOK, granted, noStore()),
		"LeaderByKey":    keyed,
		"Follower":       campaign(http.StatusOK, followed, nil),
		"JSONSuffix":     suffixed,
		"Renewed":        renewal,
		"Vacant":         get("/elections/"+room, http.StatusOK, vacant, nil),
		"EscapedRoom":    get("/elections/%6b"+room[1:], http.StatusOK, vacant, nil),
		"Limited":        campaign(http.StatusTooManyRequests, failure("rate_limited", "Rate limited", `,"retry_after_ms":12000`), retry("12")),
		"Capacity":       campaign(http.StatusConflict, failure("capacity_exceeded", "Capacity exceeded", `,"retry_after_ms":30000`), retry("30")),
		"KeyConflict":    campaign(http.StatusConflict, failure("conflict", "Conflict", ""), nil),
		"ShortHint":      campaign(http.StatusServiceUnavailable, failure("outcome_unknown", "Outcome unknown", `,"retry_after_ms":250`), retry("1")),
		"Health":         get("/health", http.StatusOK, health, nil),
		"HeadOfHealth":   {method: http.MethodHead, path: "/health", status: http.StatusOK},
		"Preflight":      {method: http.MethodOptions, path: "/anything", status: http.StatusOK},
		"Stream":         get("/elections/"+room+"/watch", http.StatusOK, "retry:1000\n\n", map[string]string{"Content-Type": "text/event-stream", "Cache-Control": "no-cache"}),
		"ReadyInText":    get("/readyz?verbose", http.StatusServiceUnavailable, "store: failed\n", map[string]string{"Content-Type": "text/plain; charset=utf-8"}),
		"Metrics":        admin,
		"NotModified":    get("/openapi.yaml", http.StatusNotModified, "", map[string]string{"ETag": `"a"`}),
		"Page":           get("/docs", http.StatusOK, "<!doctype html>", map[string]string{"Content-Type": "text/html; charset=utf-8", "Content-Security-Policy": "default-src 'none'; script-src 'self'"}),
		"AssetOfThePage": get("/docs/assets/docs.js", http.StatusOK, "1", map[string]string{"Content-Type": "text/javascript; charset=utf-8"}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			req, resp := e.build()
			c.Check(t, req, []byte(e.body), resp, []byte(e.answer))
		})
	}
}

func TestCheckerRefusesAnswers(t *testing.T) {
	t.Parallel()
	c := apitest.New(t)
	hint := map[string]string{"Retry-After": "12", "RateLimit": `"elections";r=0;t=12`, "RateLimit-Policy": `"elections";q=600;w=60`}
	limited := func(rest string) string { return failure("rate_limited", "Rate limited", rest) }

	for name, tc := range map[string]struct {
		exchange exchange
		says     string
	}{
		"UndocumentedStatus":    {campaign(http.StatusTeapot, failure("invalid_input", "Invalid input", ""), nil), "418"},
		"ExtraProperty":         {get("/health", http.StatusOK, `{"status":"ok","storage":"wal","db_size_bytes":1,"more":1}`, nil), "more"},
		"ExtraNestedProperty":   {campaign(http.StatusOK, strings.Replace(followed, `"term"`, `"epoch":1,"term"`, 1), nil), "epoch"},
		"MissingField":          {get("/health", http.StatusOK, `{"status":"ok","storage":"wal"}`, nil), "db_size_bytes"},
		"WrongType":             {get("/health", http.StatusOK, `{"status":"ok","storage":"wal","db_size_bytes":"1"}`, nil), "db_size_bytes"},
		"FractionForInteger":    {get("/elections/"+room, http.StatusOK, strings.Replace(vacant, `"waiters":0`, `"waiters":0.5`, 1), nil), "waiters"},
		"WrongConstant":         {get("/health", http.StatusOK, strings.Replace(health, "ok", "well", 1), nil), "status"},
		"MixOfTwoShapes":        {campaign(http.StatusOK, strings.Replace(granted, `"leader",`, `"follower",`, 1), noStore()), "leader_token"},
		"GrantWithoutWaitedMs":  {campaign(http.StatusOK, renewed, noStore()), "waited_ms"},
		"VacantWithLeader":      {get("/elections/"+room, http.StatusOK, strings.Replace(vacant, `"retry_after_ms"`, `"leader":`+leader+`,"retry_after_ms"`, 1), nil), "leader"},
		"TimeWithNineDigits":    {campaign(http.StatusOK, strings.Replace(followed, ".123Z", ".123456789Z", 1), nil), "expires_at"},
		"TimeWithOffset":        {campaign(http.StatusOK, strings.Replace(followed, ".123Z", ".123+00:00", 1), nil), "expires_at"},
		"CodeOfAnotherStatus":   {campaign(http.StatusBadRequest, failure("lease_not_current", "Lease not current", ""), nil), "code"},
		"NotJSON":               {get("/health", http.StatusOK, `{"status"`, nil), "decode"},
		"UndocumentedMediaType": {get("/health", http.StatusOK, health, map[string]string{"Content-Type": "text/plain"}), "text/plain"},
		"NoRequestID":           {get("/health", http.StatusOK, health, map[string]string{"X-Request-Id": ""}), "X-Request-Id"},
		"ForeignRequestID":      {get("/health", http.StatusInternalServerError, strings.Replace(failure("internal_error", "Internal error", ""), "req_0", "req_1", 1), nil), "differs"},
		"CacheableCapability":   {campaign(http.StatusOK, granted, nil), "no-store"},
		"HintWithoutHeader":     {campaign(http.StatusTooManyRequests, limited(`,"retry_after_ms":12000`), map[string]string{"RateLimit": hint["RateLimit"], "RateLimit-Policy": hint["RateLimit-Policy"]}), "Retry-After"},
		"HintOfAnotherSize":     {campaign(http.StatusTooManyRequests, limited(`,"retry_after_ms":11000`), hint), "Retry-After"},
		"HintOutOfRange":        {campaign(http.StatusTooManyRequests, limited(`,"retry_after_ms":300001`), hint), "300001"},
		"NoHint":                {campaign(http.StatusTooManyRequests, limited(""), hint), "retry_after_ms"},
		"HintWhereNoneBelongs":  {campaign(http.StatusConflict, failure("conflict", "Conflict", ""), map[string]string{"Retry-After": "1"}), "retry hint"},
		"LabelOfAnotherCode":    {campaign(http.StatusConflict, failure("conflict", "Forbidden", ""), nil), "Forbidden"},
		"BadRateLimitHeader":    {campaign(http.StatusTooManyRequests, limited(`,"retry_after_ms":12000`), map[string]string{"Retry-After": "12", "RateLimit": "limit=600"}), "RateLimit"},
		"BufferedStream":        {get("/elections/"+room+"/watch", http.StatusOK, ": x\n\n", map[string]string{"Content-Type": "text/event-stream"}), "Cache-Control"},
		"BodyOfHead":            {exchange{method: http.MethodHead, path: "/health", status: http.StatusOK, answer: health}, "bytes of body"},
		"StatusOfHead":          {exchange{method: http.MethodHead, path: "/health", status: http.StatusAccepted}, "202"},
		"NotModifiedWithoutID":  {get("/docs", http.StatusNotModified, "", map[string]string{"X-Request-Id": ""}), "X-Request-Id"},
		"UnknownPathAnswered":   {get("/nowhere", http.StatusOK, "{}", nil), "want 404"},
		"UnknownPathInText":     {get("/nowhere", http.StatusNotFound, "404 page not found", map[string]string{"Content-Type": "text/plain"}), "text/plain"},
		"UnknownPathOtherCode":  {get("/nowhere", http.StatusNotFound, failure("lease_not_current", "Lease not current", ""), nil), "not_found"},
		"WrongMethodNoAllow":    {exchange{method: http.MethodDelete, path: "/health", status: http.StatusMethodNotAllowed, answer: failure("invalid_input", "Invalid input", "")}, "Allow"},
		"PreflightRefused":      {exchange{method: http.MethodOptions, path: "/health", status: http.StatusNoContent}, "204"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			req, resp := tc.exchange.build()
			r := &recorder{TB: t}
			c.CheckResponse(r, req, resp, []byte(tc.exchange.answer))
			if len(r.failures) == 0 {
				t.Fatal("the answer was accepted")
			}
			if got := strings.Join(r.failures, "\n"); !strings.Contains(got, tc.says) {
				t.Errorf("the failure does not say %q:\n%s", tc.says, got)
			}
		})
	}
}

func TestCheckerRefusesRequests(t *testing.T) {
	t.Parallel()
	c := apitest.New(t)
	with := func(body string, header map[string]string) exchange {
		e := campaign(http.StatusOK, followed, nil)
		e.body, e.header = body, header
		return e
	}
	shortRoom := campaign(http.StatusOK, followed, nil)
	shortRoom.path = "/elections/short/campaign"
	anonymous := get("/metrics", http.StatusOK, "", map[string]string{"Content-Type": "text/plain"})

	for name, tc := range map[string]struct {
		exchange exchange
		says     string
	}{
		"NoBody":           {with("", nil), "required"},
		"MissingCandidate": {with(`{}`, nil), "candidate_id"},
		"WrongType":        {with(`{"candidate_id":7}`, nil), "candidate_id"},
		"TTLOutOfRange":    {with(`{"candidate_id":"a","ttl_seconds":301}`, nil), "ttl_seconds"},
		"ShortKey":         {with(`{"candidate_id":"a"}`, map[string]string{"Idempotency-Key": "short"}), "Idempotency-Key"},
		"NotDeclaredJSON":  {with(`{"candidate_id":"a"}`, map[string]string{"Content-Type": "text/plain"}), "Content-Type"},
		"RoomTooShort":     {shortRoom, "election_id"},
		"NoCredential":     {anonymous, "credential"},
		"UnknownPath":      {get("/nowhere", http.StatusNotFound, failure("not_found", "Not found", ""), nil), "no path"},
		"UnknownMethod": {exchange{
			method: http.MethodDelete, path: "/health", status: http.StatusMethodNotAllowed,
			answer: failure("invalid_input", "Invalid input", ""), answered: map[string]string{"Allow": "GET, HEAD"},
		}, "no DELETE"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			req, resp := tc.exchange.build()
			if tc.exchange.body == "" {
				req.Header.Set("Content-Type", "application/json")
			}
			// The answer alone is fine: only the request is at fault.
			c.CheckResponse(t, req, resp, []byte(tc.exchange.answer))
			r := &recorder{TB: t}
			c.Check(r, req, []byte(tc.exchange.body), resp, []byte(tc.exchange.answer))
			if len(r.failures) == 0 {
				t.Fatal("the request was accepted")
			}
			if got := strings.Join(r.failures, "\n"); !strings.Contains(got, tc.says) {
				t.Errorf("the failure does not say %q:\n%s", tc.says, got)
			}
		})
	}
}

func TestCheckerLeavesTheRequestAlone(t *testing.T) {
	t.Parallel()
	c := apitest.New(t)
	e := campaign(http.StatusOK, followed, nil)
	req, resp := e.build()
	c.Check(t, req, []byte(e.body), resp, []byte(e.answer))
	left, err := io.ReadAll(req.Body)
	if err != nil || string(left) != e.body {
		t.Errorf("the body now reads %q (%v), want %q", left, err, e.body)
	}
	if got := req.Header.Get("Content-Type"); got != "application/json" {
		t.Errorf("Content-Type is now %q", got)
	}
}

func TestCheckSchema(t *testing.T) {
	t.Parallel()
	c := apitest.New(t)
	state := `{"schema_version":1,"election_id":"` + room + `","status":"vacant","leader":null,"retry_after_ms":0,"observed_at":"2026-01-01T00:00:21.009Z","revision":3}`
	t.Run("AcceptsAVacancy", func(t *testing.T) {
		t.Parallel()
		c.CheckSchema(t, "ElectionState", []byte(state))
	})
	for name, tc := range map[string]struct{ schema, text string }{
		"RefusesAnAbsentLeader": {"ElectionState", strings.Replace(state, `"leader":null,`, "", 1)},
		"RefusesAnotherVersion": {"ElectionState", strings.Replace(state, `:1,`, `:2,`, 1)},
		"RefusesBrokenJSON":     {"ElectionState", state[1:]},
		"RefusesUnknownSchema":  {"NoSuchSchema", state},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := &recorder{TB: t}
			c.CheckSchema(r, tc.schema, []byte(tc.text))
			if len(r.failures) != 1 {
				t.Errorf("%d failures, want 1: %v", len(r.failures), r.failures)
			}
		})
	}
}

func TestOperations(t *testing.T) {
	t.Parallel()
	want := []string{
		"GET /",
		"GET /docs",
		"GET /docs/assets/{asset}",
		"GET /elections/{election_id}",
		"GET /elections/{election_id}/watch",
		"GET /health",
		"GET /livez",
		"GET /metrics",
		"GET /openapi.yaml",
		"GET /readyz",
		"GET /status",
		"POST /elections",
		"POST /elections/{election_id}/campaign",
		"POST /elections/{election_id}/renew",
		"POST /elections/{election_id}/resign",
	}
	if got := apitest.New(t).Operations(); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}
