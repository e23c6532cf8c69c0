package histories

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// serve answers on a loopback address until the test ends.
func serve(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "http://")
}

func connected(t *testing.T, address string) *wire {
	t.Helper()
	w, err := dial(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.close)
	return w
}

func TestWire(t *testing.T) {
	t.Parallel()

	t.Run("SendsAndReads", func(t *testing.T) {
		t.Parallel()
		w := connected(t, serve(t, func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			w.WriteHeader(http.StatusConflict)
			//nolint:gosec // G705: read by this test alone
			_, _ = io.WriteString(w, r.Method+" "+r.URL.Path+" "+r.Header.Get("Idempotency-Key")+" "+r.Header.Get("Content-Type")+" "+string(body))
		}))
		for range 2 { // on one connection
			before := Now()
			r := w.exchange(request{method: http.MethodPost, path: "/a/b", key: "k", body: []byte("{}"), patience: time.Minute})
			if r.fate != answered || r.status != http.StatusConflict || string(r.body) != "POST /a/b k application/json {}" {
				t.Fatalf("%+v %s", r, r.body)
			}
			if r.sent < before || r.received < r.sent || Now() < r.received || r.receivedWall < r.sentWall {
				t.Errorf("sent %d, received %d", r.sent, r.received)
			}
		}
	})

	t.Run("LosesAnswerOfBrokenConnection", func(t *testing.T) {
		t.Parallel()
		requests := 0
		address := serve(t, func(w http.ResponseWriter, r *http.Request) {
			requests++
			if requests == 1 {
				return
			}
			conn, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
			_ = conn.Close()
		})
		w := connected(t, address)
		q := request{method: http.MethodPost, path: "/", key: "repeatable", body: []byte("{}"), patience: time.Minute}
		if r := w.exchange(q); r.fate != answered {
			t.Fatalf("%+v", r)
		}
		if r := w.exchange(q); r.fate != lost {
			t.Fatalf("%+v", r)
		}
		if requests != 2 {
			t.Errorf("%d requests were made of 2", requests)
		}
	})

	t.Run("HangsUpAfterItsPatience", func(t *testing.T) {
		t.Parallel()
		silent, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer silent.Close()
		w := connected(t, silent.Addr().String())
		if r := w.exchange(request{method: http.MethodGet, path: "/", patience: time.Millisecond}); r.fate != hungUp || r.received.Sub(r.sent) < time.Millisecond {
			t.Fatalf("%+v", r)
		}
	})
}

func TestReadElection(t *testing.T) {
	t.Parallel()
	const leader = `"leader":{"candidate_id":"c1-1","term":7,"expires_at":"2026-01-02T03:04:05.678Z"}`
	for name, c := range map[string]struct {
		verb   Verb
		status int
		body   string
		want   Outcome
	}{
		"Leader":             {Campaign, 200, `{"election_id":"room-0000","status":"leader",` + leader + `,"leader_token":"t"}`, Won},
		"Follower":           {Campaign, 200, `{"election_id":"room-0000","status":"follower",` + leader + `}`, Following},
		"FollowerWithToken":  {Campaign, 200, `{"election_id":"room-0000","status":"follower",` + leader + `,"leader_token":"t"}`, Strange},
		"LeaderWithoutToken": {Campaign, 200, `{"election_id":"room-0000","status":"leader",` + leader + `}`, Strange},
		"Renewed":            {Renew, 200, `{"election_id":"room-0000","status":"leader",` + leader + `,"leader_token":"t"}`, Won},
		"RenewedAsFollower":  {Renew, 200, `{"election_id":"room-0000","status":"follower",` + leader + `}`, Strange},
		"Resigned":           {Resign, 200, `{"election_id":"room-0000","status":"vacant","previous_term":7}`, Resigned},
		"Led":                {Status, 200, `{"election_id":"room-0000","status":"leader",` + leader + `}`, Shown},
		"Vacant":             {Status, 200, `{"election_id":"room-0000","status":"vacant"}`, Shown},
		"VacantWithLeader":   {Status, 200, `{"election_id":"room-0000","status":"vacant",` + leader + `}`, Strange},
		"AnotherRoom":        {Status, 200, `{"election_id":"room-0001","status":"vacant"}`, Strange},
		"NotJSON":            {Status, 200, `ok`, Strange},
		"NotCurrent":         {Renew, 404, `{"code":"lease_not_current"}`, NotCurrent},
		"NotFound":           {Renew, 404, `{"code":"not_found"}`, Strange},
		"Conflict":           {Campaign, 409, `{"code":"conflict"}`, Conflict},
		"Full":               {Campaign, 409, `{"code":"capacity_exceeded"}`, Strange},
		"Unknown":            {Campaign, 503, `{"code":"outcome_unknown"}`, Unknown},
		"Unavailable":        {Campaign, 503, `{"code":"unavailable"}`, Refused},
		"Limited":            {Campaign, 429, `{"code":"rate_limited"}`, Refused},
		"Internal":           {Campaign, 500, `{"code":"internal_error"}`, Strange},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			call := Call{Name: "room-0000", Verb: c.verb}
			if readElection(&call, c.status, []byte(c.body)); call.Outcome != c.want {
				t.Errorf("read as %s (%s), want %s", call.Outcome, call.Answer.Code, c.want)
			}
			if c.want == Won && (call.Answer.Leader != ann || call.Answer.Term != 7 || call.Answer.Expires != 1767323045678 || call.Answer.Token != "t") {
				t.Errorf("%+v", call.Answer)
			}
		})
	}
}
