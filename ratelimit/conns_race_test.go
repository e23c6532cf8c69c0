package ratelimit_test

import (
	"errors"
	"net"
	"net/http"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/octostore/octostore/ratelimit"
)

func TestFirstByteAgainstClosing(t *testing.T) {
	t.Parallel()

	t.Run("FirstByteMakesItBusy", func(t *testing.T) {
		t.Parallel()
		s := newServer(ratelimit.ConnLimits{Total: 10})
		d := from("203.0.113.9:1")
		conn := s.accept(t, d)[0]
		s.idle(conn)
		d.bytes <- 'G'
		if n, err := conn.Read(make([]byte, 1)); n != 1 || err != nil {
			t.Fatalf("read %d, %v", n, err)
		}
		if s.Idle() != 0 {
			t.Errorf("%d idle while a request is being read", s.Idle())
		}
	})

	t.Run("BytesAfterTheChoiceAreNotHandedOut", func(t *testing.T) {
		t.Parallel()
		s := newServer(ratelimit.ConnLimits{Total: 1})
		d := from("203.0.113.9:1")
		s.inner.waiting <- d
		conn, err := s.Accept()
		if err != nil {
			t.Fatal(err)
		}
		s.idle(conn)
		s.inner.waiting <- from("203.0.113.10:1")
		if _, err := s.Accept(); err != nil {
			t.Fatal(err)
		}
		d.bytes <- 'G'
		if n, err := conn.Read(make([]byte, 1)); n != 0 || !errors.Is(err, net.ErrClosed) {
			t.Errorf("read %d, %v: want nothing and net.ErrClosed", n, err)
		}
		if s.Open() != 1 {
			t.Errorf("%d open, want 1", s.Open())
		}
	})

	t.Run("NoConnectionIsClosedWithinARequest", func(t *testing.T) {
		t.Parallel()
		const total, workers, rounds, requests = 3, 6, 200, 16
		inner := newQueue()
		_ = inner.Close() // Accept returns an error instead of waiting when the one offered was refused
		var closed, cut, served atomic.Int64
		conns := ratelimit.Listen(inner, ratelimit.ConnLimits{Total: total, OnIdleClose: func() { closed.Add(1) }})
		var accepting sync.Mutex
		dial := func() (*dialled, net.Conn) {
			d := from("203.0.113.9:1")
			for range requests {
				d.bytes <- 'G'
			}
			accepting.Lock()
			defer accepting.Unlock()
			inner.waiting <- d
			conn, err := conns.Accept()
			if err != nil {
				return nil, nil
			}
			return d, conn
		}
		var wg sync.WaitGroup
		for range workers {
			wg.Go(func() {
				for range rounds {
					d, conn := dial()
					if conn == nil {
						runtime.Gosched()
						continue
					}
					for range requests {
						if n, _ := conn.Read(make([]byte, 1)); n == 0 {
							cut.Add(1)
							break
						}
						conns.ConnState(conn, http.StateActive)
						runtime.Gosched()
						if d.isClosed() {
							t.Error("a connection was closed within a request")
						}
						served.Add(1)
						conns.ConnState(conn, http.StateIdle)
						runtime.Gosched()
					}
					_ = conn.Close()
					if n := conns.Open(); n > total {
						t.Errorf("%d open, want at most %d", n, total)
					}
				}
			})
		}
		wg.Wait()
		if conns.Open() != 0 || conns.Idle() != 0 {
			t.Errorf("%d open and %d idle at the end", conns.Open(), conns.Idle())
		}
		if closed.Load() == 0 || cut.Load() == 0 || served.Load() == 0 {
			t.Errorf("%d closed, %d cut, %d served: the race was never run", closed.Load(), cut.Load(), served.Load())
		}
	})
}
