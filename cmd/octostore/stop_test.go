package main

import (
	"bufio"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestTermStopsGracefully(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir())
	campaign(p, "stop-room", "a", 60)

	// A stream and a waiter are open when the signal comes.
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.URL+"/elections/stop-room/watch", nil)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Body.Close()
	lines := bufio.NewScanner(stream.Body)
	if !lines.Scan() {
		t.Fatal("no first frame")
	}
	type reply struct {
		code int
		body map[string]any
		err  error
	}
	waiter := make(chan reply, 1)
	go func() {
		code, body, err := p.try("POST", "/elections/stop-room/campaign", `{"candidate_id":"b","wait_ms":60000}`)
		waiter <- reply{code, body, err}
	}()
	for {
		if _, st := p.call("GET", "/elections/stop-room", ""); st["waiters"] == 1.0 {
			break
		}
	}
	began := time.Now()
	if code := p.signal(syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d\n%s", code, p.Log())
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("stopping took %v", took)
	}
	r := <-waiter
	if r.err != nil || r.code != 503 || r.body["code"] != "unavailable" || r.body["retry_after_ms"] != 1000.0 {
		t.Errorf("the waiter got %d %v %v", r.code, r.body, r.err)
	}
	for lines.Scan() { // to its end: the server closed it
		if strings.Contains(lines.Text(), "panic") {
			t.Error(lines.Text())
		}
	}
}

// With a request that does not end, the first signal waits and the second does
// not.
func TestSecondSignalExitsAtOnce(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir(), "OCTOSTORE_SHUTDOWN_TIMEOUT_SECONDS=300")
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(p.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Write([]byte("POST /elections/slow-body-room/renew HTTP/1.1\r\nHost: x\r\n" +
		"Content-Type: application/json\r\nContent-Length: 10\r\n\r\n{")); err != nil {
		t.Fatal(err)
	}
	p.call("GET", "/livez", "")
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	p.until(p.Log, `"stopping"`)
	began := time.Now()
	p.signal(syscall.SIGTERM)
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("the second signal took %v", took)
	}
}
