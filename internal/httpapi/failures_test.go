package httpapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/octostore/octostore/api"
	"github.com/octostore/octostore/elections"
	"github.com/octostore/octostore/lease"
)

// failingStore answers with an error, or panics, if it has one for the verb.
type failingStore struct {
	elections.Store
	fail func(verb string) error
}

func (f *failingStore) Read(ctx context.Context, key lease.Key) (lease.Reading, error) {
	if err := f.fail("read"); err != nil {
		return lease.Reading{}, err
	}
	return f.Store.Read(ctx, key)
}

func (f *failingStore) Acquire(ctx context.Context, key lease.Key, req lease.Acquire, wait time.Duration) (lease.Outcome, error) {
	if err := f.fail("acquire"); err != nil {
		return lease.Outcome{}, err
	}
	return f.Store.Acquire(ctx, key, req, wait)
}

func (f *failingStore) Renew(ctx context.Context, key lease.Key, ref lease.Ref, ttl time.Duration) (lease.Outcome, error) {
	if err := f.fail("renew"); err != nil {
		return lease.Outcome{}, err
	}
	return f.Store.Renew(ctx, key, ref, ttl)
}

func (f *failingStore) Release(ctx context.Context, key lease.Key, ref lease.Ref) (lease.Outcome, error) {
	if err := f.fail("release"); err != nil {
		return lease.Outcome{}, err
	}
	return f.Store.Release(ctx, key, ref)
}

func startFailing(t *testing.T, fail func(verb string) error) *server {
	t.Helper()
	return start(t, func(c *setup) {
		c.elections = func(real elections.Store) elections.Store { return &failingStore{Store: real, fail: fail} }
	})
}

// on fails one verb only.
func on(verb string, err error) func(string) error {
	return func(v string) error {
		if v == verb {
			return err
		}
		return nil
	}
}

func TestStoreFailures(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		err    error
		status int
		code   api.Code
		header string
	}{
		"Unavailable":    {&lease.Retry{Err: lease.ErrUnavailable, After: 2500 * time.Millisecond}, 503, api.CodeUnavailable, "3"},
		"OutcomeUnknown": {&lease.Retry{Err: lease.ErrOutcomeUnknown, After: time.Second}, 503, api.CodeOutcomeUnknown, "1"},
		"UnknownKey":     {lease.ErrUnknownKey, 503, api.CodeUnavailable, "1"},
		"HintIsBounded":  {&lease.Retry{Err: lease.ErrUnavailable, After: time.Hour}, 503, api.CodeUnavailable, "300"},
		"Unforeseen":     {errors.New("SELECT secret FROM /var/lib/octostore.db"), 500, api.CodeInternalError, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			verb := ""
			s := startFailing(t, func(v string) error {
				if v == verb {
					return tc.err
				}
				return nil
			})
			room := s.room()
			token := s.lead(room, "worker-a")
			check := func(failing string, r func() reply) {
				t.Helper()
				verb = failing
				got := r()
				verb = ""
				got.want(t, tc.status, tc.code)
				if got.header.Get("Retry-After") != tc.header || strings.Contains(string(got.body), "SELECT") {
					t.Fatalf("%s: %v %s", failing, got.header, got.body)
				}
			}
			other := s.room()
			check("acquire", func() reply { return s.post(other+"/campaign", `{"candidate_id":"b"}`) })
			check("renew", func() reply { return s.post(room+"/renew", `{"leader_token":"`+token+`"}`) })
			check("release", func() reply { return s.post(room+"/resign", `{"leader_token":"`+token+`"}`) })
			if tc.code != api.CodeOutcomeUnknown { // a read has no outcome
				check("read", func() reply { return s.get(room) })
			}
		})
	}
	t.Run("TooManyWaitersInTheRoom", func(t *testing.T) {
		t.Parallel()
		s := startFailing(t, on("acquire", lease.ErrTooManyWaiters))
		r := s.post(s.room()+"/campaign", `{"candidate_id":"b","wait_ms":1000}`)
		r.want(t, http.StatusTooManyRequests, api.CodeRateLimited)
		if r.number(t, "retry_after_ms") != 1000 {
			t.Fatalf("%s", r.body)
		}
	})
}

// logText is the log so far, the lines that still wait for company included.
func (s *server) logText() string {
	s.telemetry.Flush()
	return s.logs.String()
}

// logged returns the lines of the log that have a message.
func (s *server) logged(message string) []map[string]any {
	s.t.Helper()
	var found []map[string]any
	for _, line := range bytes.Split([]byte(s.logText()), []byte("\n")) {
		var entry map[string]any
		if json.Unmarshal(line, &entry) == nil && entry["msg"] == message {
			found = append(found, entry)
		}
	}
	return found
}

func TestAnUnforeseenErrorIsInTheLogUnderTheRequestID(t *testing.T) {
	t.Parallel()
	s := startFailing(t, on("acquire", errors.New("disk on fire")))
	r := s.post(s.room()+"/campaign", `{"candidate_id":"b"}`)
	r.want(t, http.StatusInternalServerError, api.CodeInternalError)
	lines := s.logged("request failed")
	if len(lines) != 1 || lines[0]["error"] != "disk on fire" || lines[0]["request_id"] != r.header.Get("X-Request-Id") {
		t.Fatalf("log: %v", lines)
	}
}

func TestAPanicIsAnsweredCountedAndLogged(t *testing.T) {
	t.Parallel()
	const secret = "a-secret-that-was-panicked-with"
	s := startFailing(t, func(verb string) error {
		if verb == "acquire" {
			panic(errors.New(secret))
		}
		return nil
	})
	r := s.post(s.room()+"/campaign", `{"candidate_id":"b"}`)
	r.want(t, http.StatusInternalServerError, api.CodeInternalError)
	lines := s.logged("panic")
	if len(lines) != 1 || lines[0]["request_id"] != r.header.Get("X-Request-Id") {
		t.Fatalf("log: %v", lines)
	}
	if stack, _ := lines[0]["stack"].(string); !strings.Contains(stack, "failures_test.go") {
		t.Fatalf("the stack does not name the line: %q", stack)
	}
	if strings.Contains(s.logText(), secret) || strings.Contains(string(r.body), secret) {
		t.Fatal("what was panicked with was told")
	}
	if !strings.Contains(s.scrape(), "octostore_panics_recovered_total 1") {
		t.Fatal("it was not counted")
	}
	s.get("/health").want(t, http.StatusOK, "")
}

// A context that ends although the caller is still there must not look like an
// empty success.
func TestACutOffRequestIsNotAnEmptySuccess(t *testing.T) {
	t.Parallel()
	base, cut := context.WithCancel(context.Background())
	defer cut()
	s := start(t, func(c *setup) {
		c.elections = func(real elections.Store) elections.Store { return &cutOff{real, cut} }
		c.server = func(h *http.Server) { h.BaseContext = func(net.Listener) context.Context { return base } }
	})
	room := s.room()
	if r, err := s.try(context.Background(), call{method: http.MethodPost, path: room + "/campaign", body: `{"candidate_id":"b"}`}); err == nil {
		t.Fatalf("it was answered: %d %s", r.status, r.body)
	}
	s.scrapeUntil(`octostore_http_requests_total{code="",method="POST",route="/elections/{election_id}/campaign",status="499"} 1`)
}

// cutOff ends the context of every request and decides nothing.
type cutOff struct {
	elections.Store
	cut context.CancelFunc
}

func (c *cutOff) Acquire(ctx context.Context, _ lease.Key, _ lease.Acquire, _ time.Duration) (lease.Outcome, error) {
	c.cut()
	<-ctx.Done()
	return lease.Outcome{}, ctx.Err()
}
