package ratelimit_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/octostore/octostore/ratelimit"
)

// keptAlive is a client that keeps its connection.
type keptAlive struct {
	net.Conn
	r *bufio.Reader
}

func (k *keptAlive) get(t *testing.T) error {
	t.Helper()
	if _, err := io.WriteString(k, "GET / HTTP/1.1\r\nHost: test\r\n\r\n"); err != nil {
		return err
	}
	resp, err := http.ReadResponse(k.r, nil)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, resp.Body)
	return errors.Join(err, resp.Body.Close())
}

func TestConnsBelowAnHTTPServer(t *testing.T) {
	t.Parallel()
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	refused := make(chan ratelimit.Refusal, 16)
	conns := ratelimit.Listen(inner, ratelimit.ConnLimits{
		PerClient: 1, // loopback is exempt
		Total:     10,
		OnRefuse:  func(r ratelimit.Refusal) { refused <- r },
	})
	idle := make(chan struct{}, 64)
	block := make(chan struct{})
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("/block", func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-block:
		case <-r.Context().Done():
		}
	})
	srv := &http.Server{
		Handler:           mux,
		ReadHeaderTimeout: 5 * time.Second,
		ConnState: func(conn net.Conn, state http.ConnState) {
			conns.ConnState(conn, state)
			if state == http.StateIdle {
				idle <- struct{}{}
			}
		},
	}
	done := make(chan error, 1)
	go func() { done <- srv.Serve(conns) }()
	t.Cleanup(func() {
		if err := srv.Close(); err != nil {
			t.Error(err)
		}
		if err := <-done; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
	dial := func() *keptAlive {
		conn, err := net.Dial("tcp", inner.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		return &keptAlive{conn, bufio.NewReader(conn)}
	}
	get := func(k *keptAlive) {
		t.Helper()
		if err := k.get(t); err != nil {
			t.Fatal(err)
		}
		<-idle
	}

	// Nine tenths: all of them are kept.
	clients := make([]*keptAlive, 9)
	for i := range clients {
		clients[i] = dial()
		get(clients[i])
	}
	get(clients[0]) // now 1 is the longest idle
	if conns.Open() != 9 || conns.Idle() != 9 {
		t.Fatalf("%d open, %d idle: want 9 of both", conns.Open(), conns.Idle())
	}

	// A newcomer makes the longest idle one go, and no other.
	get(dial())
	if _, err := clients[1].r.ReadByte(); !errors.Is(err, io.EOF) {
		t.Errorf("the longest idle connection: %v, want its end", err)
	}
	get(clients[0])
	get(clients[8])

	// Ten that are busy: the next is refused, and goes on being refused until one leaves.
	busy := make([]*keptAlive, 10)
	for i := range busy {
		busy[i] = dial()
		if _, err := io.WriteString(busy[i], "GET /block HTTP/1.1\r\nHost: test\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if _, err := dial().r.ReadByte(); err == nil {
			t.Error("the connection over the bound was answered")
		}
		if r := <-refused; r != ratelimit.RefusedTotal {
			t.Errorf("refused for %q, want %q", r, ratelimit.RefusedTotal)
		}
	}
	close(block)
	for i, k := range busy {
		resp, err := http.ReadResponse(k.r, nil)
		if err != nil {
			t.Fatalf("busy connection %d: %v", i, err)
		}
		_ = resp.Body.Close()
	}
}
