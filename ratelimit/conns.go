package ratelimit

import (
	"net"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
)

// Refusal says why a connection was closed right after it was accepted. The texts are fit for a metric label.
type Refusal string

// The reasons to refuse a connection.
const (
	RefusedClient Refusal = "client" // the client has as many connections as one client may
	RefusedTotal  Refusal = "total"  // the server has as many connections as it may, and no idle one to close
)

// ConnLimits says how many connections a listener keeps open. A number of zero or less is no bound.
type ConnLimits struct {
	// PerClient bounds the connections of one client, IPv6 counted by /64. Trusted proxies, which carry the requests of
	// many clients, and loopback are exempt.
	PerClient int

	// Total bounds all connections together, exempt ones included: each of them is a descriptor. See [DescriptorBudget].
	Total int

	// Proxies are the trusted proxies.
	Proxies Proxies

	// OnRefuse is called for each refused connection, OnIdleClose for each idle connection that was closed to make room.
	// Both are called by the accept loop or by a request's goroutine and must not block. Nil is allowed.
	OnRefuse    func(Refusal)
	OnIdleClose func()
}

// Conns is a [net.Listener] that bounds its connections. One that is over a bound is closed at once and Accept goes on
// with the next. Once more than nine tenths of the total are open, idle keep-alive connections are closed, those first
// that have been idle longest. For that the server has to report its states:
//
//	conns := ratelimit.Listen(listener, limits)
//	server.ConnState = conns.ConnState
//	err := server.Serve(conns)
//
// Accept never blocks in closing as long as the inner listener returns bare TCP connections, so TLS goes on top of Conns
// and not below.
//
// An idle connection stops being idle with the first byte of its next request, before net/http reports it as active. A
// connection is chosen and marked in one step; bytes that arrive after that are not handed to the server, so a request is
// either served on an open connection or not begun. One case can not be seen from here: a request that a pipelining or
// HTTP/2 client had sent before its last answer was complete, and that net/http has read but not begun. It meets a
// closed connection, as after any loss of the network.
type Conns struct {
	inner   net.Listener
	limits  ConnLimits
	crowded int // with more connections than this, idle ones are closed

	mu      sync.Mutex
	open    int
	clients tally[netip.Addr]
	idle    order[conn]
}

// Listen bounds the connections of inner.
func Listen(inner net.Listener, limits ConnLimits) *Conns {
	return &Conns{inner: inner, limits: limits, crowded: limits.Total - limits.Total/10}
}

// Accept waits for the next connection that is within the bounds. Its error is the inner listener's.
func (c *Conns) Accept() (net.Conn, error) {
	for {
		raw, err := c.inner.Accept()
		if err != nil {
			return nil, err // as it is: net/http compares it and asks for its Temporary method
		}
		if conn := c.admit(raw); conn != nil {
			return conn, nil
		}
	}
}

// Close closes the inner listener. Connections stay open.
func (c *Conns) Close() error {
	return c.inner.Close()
}

// Addr is the inner listener's address.
func (c *Conns) Addr() net.Addr { return c.inner.Addr() }

// Open returns how many connections are open now.
func (c *Conns) Open() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.open
}

// Idle returns how many of the open connections wait for their next request.
func (c *Conns) Idle() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.idle.length
}

// admit takes raw in, or closes it and returns nil.
func (c *Conns) admit(raw net.Conn) *conn {
	peer := peerAddr(raw)
	admitted := &conn{
		Conn:   raw,
		owner:  c,
		client: clientAddr(peer),
		exempt: peer.IsLoopback() || c.limits.Proxies.Trusts(peer),
	}
	refusal, crowd := c.enter(admitted)
	c.closeIdle(crowd)
	if refusal == "" {
		return admitted
	}
	_ = raw.Close() // nothing was written, so there is nothing that could be lost
	if c.limits.OnRefuse != nil {
		c.limits.OnRefuse(refusal)
	}
	return nil
}

// enter counts conn in unless a bound is reached, and chooses the idle connections that have to go.
func (c *Conns) enter(conn *conn) (refusal Refusal, crowd []*conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	counted := c.limits.PerClient > 0 && !conn.exempt
	if counted && c.clients.of(conn.client) >= c.limits.PerClient {
		return RefusedClient, nil
	}
	crowd = c.thinOut(1)
	if c.limits.Total > 0 && c.open >= c.limits.Total {
		return RefusedTotal, crowd
	}
	conn.counted = counted
	c.open++
	if counted {
		c.clients.add(conn.client)
	}
	return "", crowd
}

// thinOut picks idle connections, oldest first, until coming more connections would not crowd the server. They are
// marked and no longer counted; the caller closes them after it has let go of c.mu, which it holds now.
func (c *Conns) thinOut(coming int) (crowd []*conn) {
	for c.limits.Total > 0 && c.open+coming > c.crowded {
		oldest := c.idle.first()
		if oldest == nil {
			break
		}
		oldest.phase.Store(phaseEvicted)
		c.leave(oldest)
		crowd = append(crowd, oldest)
	}
	return crowd
}

// leave takes conn out of all counts, once. The caller holds c.mu.
func (c *Conns) leave(conn *conn) {
	if conn.gone {
		return
	}
	conn.gone = true
	if conn.place.listed() {
		c.idle.remove(&conn.place)
	}
	c.open--
	if conn.counted {
		c.clients.drop(conn.client)
	}
}

func (c *Conns) closeIdle(crowd []*conn) {
	for _, conn := range crowd {
		_ = conn.Conn.Close() // its last answer was flushed before it became idle
		if c.limits.OnIdleClose != nil {
			c.limits.OnIdleClose()
		}
	}
}

// ConnState is the hook for [http.Server.ConnState]. It ignores connections that did not come from this listener.
func (c *Conns) ConnState(nc net.Conn, state http.ConnState) {
	conn := c.own(nc)
	if conn == nil {
		return
	}
	switch state {
	case http.StateIdle:
		c.closeIdle(c.rest(conn))
	case http.StateActive, http.StateHijacked:
		if conn.phase.Load() == phaseIdle {
			c.wake(conn)
		}
	case http.StateNew, http.StateClosed:
		// A new connection has sent nothing yet and falls to the header timeout; a closed one has left in Close.
	}
}

// own finds the connection that this listener made below layers such as TLS.
func (c *Conns) own(nc net.Conn) *conn {
	for {
		switch layer := nc.(type) {
		case *conn:
			if layer.owner != c {
				return nil
			}
			return layer
		case interface{ NetConn() net.Conn }:
			nc = layer.NetConn()
		default:
			return nil
		}
	}
}

// rest makes conn the one that has been idle for the shortest time and returns those that have to go, which may include
// conn itself.
func (c *Conns) rest(conn *conn) (crowd []*conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if conn.gone || conn.place.listed() {
		return nil
	}
	conn.phase.Store(phaseIdle)
	c.idle.push(&conn.place, conn)
	return c.thinOut(0)
}

// wake makes conn busy again. It returns false if conn had been chosen to be closed before.
func (c *Conns) wake(conn *conn) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if conn.phase.Load() == phaseEvicted {
		return false
	}
	conn.phase.Store(phaseBusy)
	if conn.place.listed() {
		c.idle.remove(&conn.place)
	}
	return true
}

// The phases of a connection. They change under the owner's lock; the atomic lets a busy connection read without it.
const (
	phaseBusy    uint32 = iota // a request is being read or answered, or none has come yet
	phaseIdle                  // listed in the owner's idle
	phaseEvicted               // chosen to be closed, for good
)

// conn is one admitted connection.
type conn struct {
	net.Conn
	owner           *Conns
	client          netip.Addr
	exempt, counted bool // set before the connection is handed out
	phase           atomic.Uint32

	// guarded by owner.mu
	gone  bool
	place place[conn]
}

// Read notices the first byte of a request on an idle connection.
func (c *conn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 && c.phase.Load() != phaseBusy && !c.owner.wake(c) {
		return 0, net.ErrClosed
	}
	return n, err // as it is: net/http compares it
}

// Close closes the connection and gives its place back.
func (c *conn) Close() error {
	err := c.Conn.Close()
	c.owner.mu.Lock()
	defer c.owner.mu.Unlock()
	c.owner.leave(c)
	return err
}

// peerAddr returns the other end's address in the form of [Client.Addr], invalid if there is none.
func peerAddr(nc net.Conn) netip.Addr {
	switch remote := nc.RemoteAddr().(type) {
	case nil:
		return netip.Addr{}
	case *net.TCPAddr:
		return remote.AddrPort().Addr().Unmap().WithZone("")
	default:
		addr, _ := parsePeer(remote.String())
		return addr
	}
}
