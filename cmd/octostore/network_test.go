package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// swallow is a proxy that passes requests on and drops every answer: it closes
// the connection at the first byte of it, so the server has done its work and
// the client knows nothing.
func swallow(t *testing.T, to string) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	t.Cleanup(func() { l.Close(); group.Wait() })
	group.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			group.Go(func() {
				defer client.Close()
				server, err := (&net.Dialer{}).DialContext(context.Background(), "tcp", to)
				if err != nil {
					return
				}
				defer server.Close()
				go func() { _, _ = io.Copy(server, client) }()
				_, _ = server.Read(make([]byte, 1))
			})
		}
	})
	return "http://" + l.Addr().String()
}

// The answer to a campaign is lost. The repeat with the same key finds the
// lease that the first call got; without a key the room is taken by nobody who
// could be asked.
func TestLostAnswerIsFoundByItsKey(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir())
	lossy := &process{t: t, URL: swallow(t, strings.TrimPrefix(p.URL, "http://"))}
	key := strings.Repeat("z", 32)
	body := `{"candidate_id":"a","ttl_seconds":60,"metadata":"run 7"}`
	if code, _, err := lossy.try("POST", "/elections/lost-answer/campaign", body, "Idempotency-Key", key); err == nil {
		t.Fatalf("the answer %d was not lost", code)
	}
	_, st := p.call("GET", "/elections/lost-answer", "")
	term := leaderOf(t, st)["term"]
	code, again := p.call("POST", "/elections/lost-answer/campaign", body, "Idempotency-Key", key)
	if code != http.StatusOK || again["status"] != "leader" || leaderOf(t, again)["term"] != term {
		t.Fatalf("the repeat: %d %v, the term is %v", code, again, term)
	}
	token := fmt.Sprintf(`{"leader_token":%q}`, again["leader_token"])
	if code, out := p.call("POST", "/elections/lost-answer/renew", token); code != http.StatusOK {
		t.Errorf("the found token: %d %v", code, out)
	}
	if code, out := p.call("POST", "/elections/lost-answer/campaign", strings.Replace(body, "run 7", "run 8", 1), "Idempotency-Key", key); code != http.StatusConflict || out["code"] != "conflict" {
		t.Errorf("the same key with other parameters: %d %v", code, out)
	}
	if _, _, err := lossy.try("POST", "/elections/lost-answer/resign", token); err == nil {
		t.Fatal("the answer was not lost")
	}
	if code, out := p.call("POST", "/elections/lost-answer/resign", token); code != http.StatusOK || out["previous_term"] != term {
		t.Errorf("the repeated resignation: %d %v", code, out)
	}
	if code, out := p.call("POST", "/elections/lost-answer/campaign", body, "Idempotency-Key", key); code != http.StatusConflict {
		t.Errorf("the key revived an ended lease: %d %v", code, out)
	}
}

// Hundreds of connections that send a byte now and then are cut off, and a
// leader behind the same address goes on meanwhile.
func TestSlowClientsAreCutOff(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir())
	_, won := campaign(p, "steady-room", "a", 5)
	token := fmt.Sprintf(`{"leader_token":%q,"ttl_seconds":5}`, won["leader_token"])
	const slow = 300
	cut := make(chan time.Duration, slow)
	for i := range slow {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(p.URL, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		// Half of them never end their headers, half never end their body.
		text := "GET /health HTTP/1.1\r\nHost: x\r\nX-Slow: "
		if i%2 == 1 {
			text = "POST /elections/steady-room/renew HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 60000\r\n\r\n{"
		}
		if _, err := io.WriteString(conn, text); err != nil {
			t.Fatal(err)
		}
		go func() {
			began := time.Now()
			tick := time.NewTicker(500 * time.Millisecond)
			defer tick.Stop()
			gone := make(chan struct{})
			go func() { _, _ = io.Copy(io.Discard, conn); close(gone) }()
			for {
				select {
				case <-gone:
					cut <- time.Since(began)
					return
				case <-tick.C:
					_, _ = io.WriteString(conn, "x")
				}
			}
		}()
	}
	worst := time.Duration(0)
	for n := 0; n < slow; {
		select {
		case d := <-cut:
			worst = max(worst, d)
			n++
		default:
			if code, body := p.call("POST", "/elections/steady-room/renew", token); code != http.StatusOK {
				t.Fatalf("the leader: %d %v", code, body)
			}
		}
	}
	if worst > 30*time.Second {
		t.Errorf("the last slow connection was cut off after %v", worst)
	}
}
