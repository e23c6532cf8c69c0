package main

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// nginx starts a real nginx in front of the server, with its default buffering
// and with compression on, and returns its address.
func nginx(t *testing.T, upstream, extra string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	conf := fmt.Sprintf(`
daemon off; master_process off; pid %[1]s/pid; error_log stderr;
events {}
http {
  access_log off;
  client_body_temp_path %[1]s/a; proxy_temp_path %[1]s/b; fastcgi_temp_path %[1]s/c; uwsgi_temp_path %[1]s/d; scgi_temp_path %[1]s/e;
  gzip on; gzip_min_length 1; gzip_proxied any;
  server { listen %[2]s; location / { proxy_pass %[3]s; %[4]s } }
}`, dir, addr, upstream, extra)
	path := filepath.Join(dir, "nginx.conf")
	if err := os.WriteFile(path, []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("nginx", "-c", path, "-p", dir)
	var said strings.Builder
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatalf("nginx is needed for this test: %v", err)
	}
	exited := make(chan struct{})
	go func() { _ = cmd.Wait(); close(exited) }()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		<-exited
	})
	for {
		select {
		case <-exited:
			t.Fatalf("nginx ended: %s", said.String())
		default:
		}
		if c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", addr); err == nil {
			c.Close()
			return "http://" + addr
		}
	}
}

// stream is a watch as a client sees it: the lines, as they arrive.
func stream(ctx context.Context, t *testing.T, url string) (http.Header, <-chan string) {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept-Encoding", "gzip")
	began := time.Now()
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took > 2*time.Second {
		t.Errorf("the headers took %v", took)
	}
	lines := make(chan string, 1000)
	go func() {
		defer resp.Body.Close()
		defer close(lines)
		for s := bufio.NewScanner(resp.Body); s.Scan(); {
			lines <- s.Text()
		}
	}()
	return resp.Header, lines
}

// A proxy with default buffering, compression and a short idle limit delivers
// events at once and keeps a silent stream.
func TestWatchArrivesThroughNginx(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir())
	front := nginx(t, p.URL, "proxy_read_timeout 20s;")
	ctx, cancel := context.WithCancel(t.Context())
	header, lines := stream(ctx, t, front+"/elections/proxied-room/watch")
	defer func() {
		cancel()
		for range lines { //nolint:revive // to its end, so that the reader is gone
		}
	}()
	if e := header.Get("Content-Encoding"); e != "" {
		t.Errorf("the stream is encoded with %q", e)
	}
	next := func(want string, within time.Duration) {
		t.Helper()
		late := time.After(within)
		for {
			select {
			case line, ok := <-lines:
				if !ok {
					t.Fatalf("the stream ended before %q", want)
				}
				if strings.Contains(line, want) {
					return
				}
			case <-late:
				t.Fatalf("no %q within %v", want, within)
			}
		}
	}
	next(`"status":"vacant"`, 2*time.Second)
	campaign(p, "proxied-room", "a", 60)
	next(`"candidate_id":"a"`, 2*time.Second)
	// Longer than the proxy's patience, with nothing but heartbeats.
	next(": keepalive", 25*time.Second)
	next(": keepalive", 25*time.Second)
	_, won := p.call("GET", "/elections/proxied-room", "")
	if won["status"] != "leader" {
		t.Fatalf("status %v", won)
	}
	campaign(p, "proxied-room", "b", 60) // a follower: no event
	p.call("POST", "/elections/proxied-room/campaign", `{"candidate_id":"b"}`)
	next(`"status":"vacant"`, 65*time.Second) // a's lease runs out, unrenewed
}

// Behind a proxy that is trusted, clients are told apart by what it says; a
// caller cannot choose its own address.
func TestClientsBehindNginxAreToldApart(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir(), "TRUSTED_PROXIES=127.0.0.1", "PUBLIC_ELECTION_REQUESTS_PER_MINUTE=5")
	front := nginx(t, p.URL, "proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;")
	via := &process{t: t, URL: front}
	limited := 0
	for i := range 10 {
		// nginx appends the peer it saw, 127.0.0.1, which is trusted itself; so the
		// next one to the left counts, and what is left of that does not.
		code, _ := via.call("POST", "/elections", "", "X-Forwarded-For", fmt.Sprintf("203.0.113.%d, 198.51.100.7", i))
		if code == http.StatusTooManyRequests {
			limited++
		}
	}
	if limited != 5 {
		t.Errorf("%d of 10 were limited, the budget is 5", limited)
	}
	if code, _ := via.call("POST", "/elections", "", "X-Forwarded-For", "198.51.100.8"); code != http.StatusCreated {
		t.Errorf("another client got %d", code)
	}
	if strings.Contains(p.until(p.Log, "198.51.100.8"), "203.0.113.") {
		t.Error("the log shows an address that a caller chose for itself")
	}
}
