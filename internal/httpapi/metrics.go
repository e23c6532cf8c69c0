package httpapi

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/octostore/octostore/api"
	"github.com/octostore/octostore/auth"
	"github.com/octostore/octostore/ratelimit"
)

// credentialBudget is how many requests a minute of one client may show a
// credential to an admin route. Right ones count too, because whether one is
// right is not looked at any more once the budget is spent: that is what makes
// guessing slow.
const credentialBudget = 120

// admin decides who may use the admin routes.
type admin struct {
	credentials Credentials
	attempts    *ratelimit.Admission
}

func newAdmin(c Credentials) admin {
	return admin{credentials: c, attempts: ratelimit.NewAdmission(credentialBudget, ratelimit.BudgetName("credentials"))}
}

// adminPrefix stands before the admin key in an Authorization header.
const adminPrefix = "admin:"

// authorize tells whether the request shows the admin key: in X-Admin-Key, in
// X-OctoStore-Admin-Key, or as "Authorization: Bearer admin:KEY". It answers the
// request and returns false if not: 401 without a credential or with one that
// nobody knows, 403 for a principal who is no admin. A server without an admin
// key answers in the same way; it has no admin, and does not tell so.
func (m *admin) authorize(x *exchange) bool {
	keys := make([]string, 0, 3)
	for _, name := range []string{api.HeaderAdminKey, api.HeaderOctoStoreAdminKey} {
		if v := x.r.Header[name]; len(v) == 1 {
			keys = append(keys, v[0])
		}
	}
	bearer, err := auth.ParseAuthorization(x.r.Header["Authorization"])
	if err != nil {
		bearer = ""
	} else if key, ok := strings.CutPrefix(bearer, adminPrefix); ok {
		keys = append(keys, key)
	}
	h := x.w.Header()
	if len(keys) == 0 && bearer == "" {
		h["Www-Authenticate"] = challenge
		x.fail(&failure{code: api.CodeAuthenticationRequired, details: "This route needs the admin key."})
		return false
	}
	if d := m.attempts.Allow(x.ctx, x.client.Key); !d.Allowed {
		x.fail(&failure{code: api.CodeRateLimited, retry: time.Duration(d.RetryAfter()) * time.Second})
		return false
	}
	for _, key := range keys {
		if m.credentials.CheckAdminKey(key) {
			return true
		}
	}
	if p, known := m.credentials.Lookup(bearer); known && bearer != "" {
		if p.Admin {
			return true
		}
		x.fail(&failure{code: api.CodeForbidden, details: "This route is for admins."})
		return false
	}
	h["Www-Authenticate"] = challengeInvalid
	x.fail(&failure{code: api.CodeAuthenticationFailed})
	return false
}

// metrics answers GET /metrics: the Prometheus text format, or the JSON of the
// first generation where Accept names application/json.
func (a *API) metrics(x *exchange) {
	if !a.system.admin.authorize(x) {
		return
	}
	select {
	case a.system.scrapes <- struct{}{}:
		defer func() { <-a.system.scrapes }()
	default:
		x.fail(&failure{code: api.CodeUnavailable, retry: retrySoon, details: "The metrics are being read too often at the same time."})
		return
	}
	x.w.Header()["Cache-Control"] = noStore
	if !namesJSON(x.r.Header["Accept"]) {
		a.telemetry.Metrics().Handler().ServeHTTP(x, x.r)
		return
	}
	n := a.system.counters()
	body, err := json.Marshal(a.telemetry.Metrics().LegacyJSON(
		time.Since(a.system.began), n.ActiveLocks, n.TotalUsers, n.TotalAcquires, n.TotalReleases))
	if err != nil {
		x.failWith(err)
		return
	}
	x.send(http.StatusOK, contentJSON, body)
}

// namesJSON tells whether an Accept header names application/json outright; a
// wildcard does not.
func namesJSON(accept []string) bool {
	for _, line := range accept {
		for entry := range strings.SplitSeq(line, ",") {
			mediaType, params, _ := strings.Cut(entry, ";")
			if strings.EqualFold(strings.TrimSpace(mediaType), "application/json") && !refused(params) {
				return true
			}
		}
	}
	return false
}

// refused tells whether the parameters of an Accept entry hold a quality of 0.
func refused(params string) bool {
	for p := range strings.SplitSeq(params, ";") {
		if q, ok := strings.CutPrefix(strings.ToLower(strings.TrimSpace(p)), "q="); ok {
			return strings.Trim(q, "0.") == ""
		}
	}
	return false
}
