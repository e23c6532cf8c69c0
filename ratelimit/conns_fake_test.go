package ratelimit_test

import (
	"net"
	"net/http"
	"net/netip"
	"sync"
	"testing"

	"github.com/octostore/octostore/ratelimit"
)

// queue is a listener whose connections come from the test.
type queue struct {
	waiting chan net.Conn
	closed  chan struct{}
}

func newQueue() *queue {
	return &queue{waiting: make(chan net.Conn, 64), closed: make(chan struct{})}
}

func (q *queue) Accept() (net.Conn, error) {
	select { // what waits comes before the end
	case conn := <-q.waiting:
		return conn, nil
	default:
	}
	select {
	case conn := <-q.waiting:
		return conn, nil
	case <-q.closed:
		return nil, net.ErrClosed
	}
}

func (q *queue) Close() error   { close(q.closed); return nil }
func (q *queue) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4zero, Port: 3000} }

// dialled is the server's end of a connection from a made-up address. Read returns what the test puts into bytes.
type dialled struct {
	net.Conn
	remote net.Addr
	bytes  chan byte
	once   sync.Once
	closed chan struct{}
}

func from(address string) *dialled {
	return &dialled{
		remote: net.TCPAddrFromAddrPort(netip.MustParseAddrPort(address)),
		bytes:  make(chan byte, 16),
		closed: make(chan struct{}),
	}
}

func (d *dialled) RemoteAddr() net.Addr { return d.remote }

func (d *dialled) Read(b []byte) (int, error) {
	select { // what has arrived is read even when the connection is being closed: the race the tests are about
	case b[0] = <-d.bytes:
		return 1, nil
	default:
	}
	select {
	case b[0] = <-d.bytes:
		return 1, nil
	case <-d.closed:
		return 0, net.ErrClosed
	}
}

func (d *dialled) Close() error {
	d.once.Do(func() { close(d.closed) })
	return nil
}

func (d *dialled) isClosed() bool {
	select {
	case <-d.closed:
		return true
	default:
		return false
	}
}

// server is a Conns under test with what it reported.
type server struct {
	*ratelimit.Conns
	inner      *queue
	below      map[net.Addr]*dialled
	refusals   []ratelimit.Refusal
	idleClosed int
}

func newServer(limits ratelimit.ConnLimits) *server {
	s := &server{inner: newQueue(), below: map[net.Addr]*dialled{}}
	limits.OnRefuse = func(r ratelimit.Refusal) { s.refusals = append(s.refusals, r) }
	limits.OnIdleClose = func() { s.idleClosed++ }
	s.Conns = ratelimit.Listen(s.inner, limits)
	return s
}

// accept offers the connections in their order and returns those that were admitted. A last one from loopback, which no
// test here bounds, shows that all of them have been decided on.
func (s *server) accept(t *testing.T, offered ...*dialled) (admitted []net.Conn) {
	t.Helper()
	last := from("127.0.0.1:1")
	for _, d := range append(offered, last) {
		s.inner.waiting <- d
	}
	for {
		conn, err := s.Accept()
		if err != nil {
			t.Fatal(err)
		}
		if conn.RemoteAddr() == last.remote {
			_ = conn.Close()
			return admitted
		}
		admitted = append(admitted, conn)
	}
}

// fill opens n busy connections, all of which have to be admitted.
func (s *server) fill(t *testing.T, n int) (conns []net.Conn) {
	t.Helper()
	for range n {
		d := from("203.0.113.9:1")
		s.below[d.remote] = d
		s.inner.waiting <- d
		conn, err := s.Accept()
		if err != nil {
			t.Fatal(err)
		}
		if conn.RemoteAddr() != d.remote {
			t.Fatal("another connection was admitted")
		}
		conns = append(conns, conn)
	}
	return conns
}

// closed tells whether a connection that fill opened has been closed below Conns.
func (s *server) closed(conn net.Conn) bool { return s.below[conn.RemoteAddr()].isClosed() }

func (s *server) idle(conns ...net.Conn) {
	for _, conn := range conns {
		s.ConnState(conn, http.StateIdle)
	}
}

// layer stands for a TLS connection.
type layer struct{ net.Conn }

func (l layer) NetConn() net.Conn { return l.Conn }
