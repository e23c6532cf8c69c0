package httpapi_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/octostore/octostore/api"
	"github.com/octostore/octostore/ratelimit"
)

func TestAdmission(t *testing.T) {
	t.Parallel()
	t.Run("TellsTheBudgetOnEveryAnswer", func(t *testing.T) {
		t.Parallel()
		s := start(t, func(c *setup) { c.requests = 3 })
		room := "/elections/one-of-many-rooms"
		for i, r := range []reply{
			s.post("/elections", ""),
			s.post(room+"/campaign", `{"candidate_id":"a"}`),
			s.do(call{method: http.MethodPost, path: room + "/campaign", body: `{"candidate_id":"a","ttl_seconds":1}`}),
		} {
			if got := r.header.Get("RateLimit-Policy"); got != `"elections";q=3;w=60` {
				t.Fatalf("answer %d: policy %q", i, got)
			}
			if got := r.header.Get("RateLimit"); !strings.HasPrefix(got, fmt.Sprintf(`"elections";r=%d;t=`, 2-i)) {
				t.Fatalf("answer %d: state %q", i, got)
			}
			if r.header.Get("Retry-After") != "" {
				t.Fatalf("answer %d: a hint to wait", i)
			}
		}
		r := s.post("/elections", "")
		r.want(t, http.StatusTooManyRequests, api.CodeRateLimited)
		seconds := r.header.Get("Retry-After")
		if got := r.header.Get("RateLimit"); got != `"elections";r=0;t=`+seconds {
			t.Fatalf("state %q, Retry-After %q", got, seconds)
		}
		if got := fmt.Sprint(r.number(t, "retry_after_ms") / 1000); got != seconds {
			t.Fatalf("retry_after_ms tells %s s, Retry-After %s", got, seconds)
		}
	})

	// Whoever leads is not unseated by a spent budget, its own or another's.
	t.Run("NeverConcernsWhoLeads", func(t *testing.T) {
		t.Parallel()
		s := start(t, func(c *setup) { c.requests = 2 })
		room := s.room()
		token := s.lead(room, "worker-a")
		for range 10 {
			s.post(room+"/campaign", `{"candidate_id":"b"}`).want(t, http.StatusTooManyRequests, api.CodeRateLimited)
			s.post(room+"/renew", `{"leader_token":"`+token+`"}`).want(t, http.StatusOK, "")
			s.get(room).want(t, http.StatusOK, "")
		}
		s.watch(room).next()
		s.post(room+"/resign", `{"leader_token":"`+token+`"}`).want(t, http.StatusOK, "")
	})
}

// budgetClient tells how the server names a client: the log line of its request.
func (s *server) loggedClient(r reply) string {
	s.t.Helper()
	id := r.header.Get("X-Request-Id")
	for range 1000 {
		for _, line := range s.logged("request") {
			if line["request_id"] == id {
				client, _ := line["client"].(string)
				return client
			}
		}
	}
	s.t.Fatalf("no log line for %s", id)
	return ""
}

func TestClientIdentity(t *testing.T) {
	t.Parallel()
	t.Run("HeadersOfStrangersChangeNothing", func(t *testing.T) {
		t.Parallel()
		s := start(t, func(c *setup) { c.requests = 100 })
		for i := range 101 {
			address := fmt.Sprintf("198.51.100.%d", i)
			r := s.do(call{method: http.MethodPost, path: "/elections", header: []string{
				"X-Forwarded-For", address, "X-Real-IP", address, "CF-Connecting-IP", address, "Forwarded", "for=" + address,
			}})
			want, code := http.StatusCreated, api.Code("")
			if i == 100 {
				want, code = http.StatusTooManyRequests, api.CodeRateLimited
			}
			r.want(t, want, code)
		}
		warnings := 0
		for _, line := range strings.Split(s.logText(), "\n") {
			if strings.Contains(line, "TRUSTED_PROXIES") {
				warnings++
			}
		}
		if warnings != 1 {
			t.Fatalf("%d warnings, want one", warnings)
		}
		if strings.Contains(s.logText(), "198.51.100.") {
			t.Fatal("the log shows an address that somebody made up")
		}
	})
	t.Run("TrustedProxyNamesItsClient", func(t *testing.T) {
		t.Parallel()
		proxies, err := ratelimit.ParseProxies("127.0.0.1")
		must(t, err)
		s := start(t, func(c *setup) { c.Proxies, c.requests = proxies, 2 })
		for name, tc := range map[string]struct {
			lines []string
			want  string
		}{
			"Rightmost":    {[]string{"6.6.6.6, 192.168.1.50"}, "192.168.1.50"},
			"SeveralLines": {[]string{"6.6.6.6", "192.168.1.51, 127.0.0.1"}, "192.168.1.51"},
			"Garbage":      {[]string{"6.6.6.6, unknown"}, "127.0.0.1"},
			"IPv6WithPort": {[]string{"[2001:db8:1:2:3::9]:443"}, "2001:db8:1:2::/64"},
			"None":         {nil, "127.0.0.1"},
		} {
			var header []string
			for _, line := range tc.lines {
				header = append(header, "X-Forwarded-For", line)
			}
			r := s.do(call{method: http.MethodGet, path: "/elections/one-of-many-rooms", header: header})
			if got := s.loggedClient(r); got != tc.want {
				t.Errorf("%s: the log shows %q, want %q", name, got, tc.want)
			}
		}
		campaign := func(client string) reply {
			t.Helper()
			return s.do(call{method: http.MethodPost, path: "/elections", header: []string{"X-Forwarded-For", client}})
		}
		campaign("192.0.2.1").want(t, http.StatusCreated, "")
		campaign("6.6.6.6, 192.0.2.1").want(t, http.StatusCreated, "")
		campaign("192.0.2.1").want(t, http.StatusTooManyRequests, api.CodeRateLimited)
		campaign("192.0.2.1, 192.0.2.2").want(t, http.StatusCreated, "")
	})
}

// One room's candidates may come at any rate: another room's leader renews on.
func TestAFloodDisturbsNoOtherRoom(t *testing.T) {
	t.Parallel()
	s := start(t, func(c *setup) { c.requests = 20 })
	room := s.room()
	token := s.lead(room, "worker-a")
	stop, flooded := make(chan struct{}), make(chan int)
	for range 4 {
		go func() {
			sent := 0
			for {
				select {
				case <-stop:
					flooded <- sent
					return
				default:
				}
				s.do(call{method: http.MethodPost, path: "/elections/the-flooded-room/campaign", body: `{"candidate_id":"f"}`})
				sent++
			}
		}()
	}
	total := 0
	for range 50 {
		s.post(room+"/renew", `{"leader_token":"`+token+`","ttl_seconds":5}`).want(t, http.StatusOK, "")
		s.get(room).want(t, http.StatusOK, "")
	}
	close(stop)
	for range 4 {
		total += <-flooded
	}
	if total < 20 {
		t.Fatalf("the flood was %d requests, which disturbs nobody", total)
	}
	s.post(room+"/resign", `{"leader_token":"`+token+`"}`).want(t, http.StatusOK, "")
}

// Whoever comes back when it was told to is served.
func TestTheAnnouncedRetrySucceeds(t *testing.T) {
	t.Parallel()
	s := start(t, func(c *setup) { c.window = time.Second; c.requests = 1 })
	s.post("/elections", "").want(t, http.StatusCreated, "")
	r := s.post("/elections", "")
	r.want(t, http.StatusTooManyRequests, api.CodeRateLimited)
	timer := time.NewTimer(time.Duration(r.number(t, "retry_after_ms")) * time.Millisecond)
	defer timer.Stop()
	<-timer.C // the announced wait itself is what is tested
	s.post("/elections", "").want(t, http.StatusCreated, "")
}
