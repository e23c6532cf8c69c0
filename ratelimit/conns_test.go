package ratelimit_test

import (
	"errors"
	"net"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/octostore/octostore/ratelimit"
)

func TestConnectionsOfOneClient(t *testing.T) {
	t.Parallel()

	t.Run("AreBounded", func(t *testing.T) {
		t.Parallel()
		s := newServer(ratelimit.ConnLimits{PerClient: 2})
		third := from("203.0.113.9:3")
		got := s.accept(t, from("203.0.113.9:1"), from("203.0.113.9:2"), third, from("203.0.113.10:1"))
		if len(got) != 3 || !third.isClosed() {
			t.Errorf("%d admitted, third closed: %v", len(got), third.isClosed())
		}
		if diff := cmp.Diff([]ratelimit.Refusal{ratelimit.RefusedClient}, s.refusals); diff != "" {
			t.Errorf("refusals (-want +got):\n%s", diff)
		}
	})

	t.Run("GiveTheirPlaceBackOnce", func(t *testing.T) {
		t.Parallel()
		s := newServer(ratelimit.ConnLimits{PerClient: 2})
		got := s.accept(t, from("203.0.113.9:1"), from("203.0.113.9:2"))
		for range 3 {
			_ = got[0].Close()
		}
		if s.Open() != 1 {
			t.Errorf("%d open, want 1", s.Open())
		}
		if got := s.accept(t, from("203.0.113.9:3"), from("203.0.113.9:4")); len(got) != 1 {
			t.Errorf("%d admitted into one free place", len(got))
		}
	})

	t.Run("CountBy64AndUnwrapped", func(t *testing.T) {
		t.Parallel()
		s := newServer(ratelimit.ConnLimits{PerClient: 1})
		got := s.accept(t,
			from("[2001:db8::1]:1"), from("[2001:db8::2]:1"), from("[2001:db8:0:1::1]:1"),
			from("203.0.113.9:1"), from("[::ffff:203.0.113.9]:2"), from("[::ffff:203.0.113.10]:2"))
		if len(got) != 4 || len(s.refusals) != 2 {
			t.Errorf("%d admitted and %d refused, want 4 and 2", len(got), len(s.refusals))
		}
	})

	t.Run("OfProxiesAndLoopbackAreExempt", func(t *testing.T) {
		t.Parallel()
		s := newServer(ratelimit.ConnLimits{PerClient: 1, Proxies: mustProxies(t, "10.0.0.0/8")})
		got := s.accept(t,
			from("10.0.0.1:1"), from("10.0.0.1:2"), from("[::ffff:10.0.0.1]:3"),
			from("127.0.0.1:11"), from("127.0.0.1:12"), from("[::1]:13"), from("[::1]:14"))
		if len(got) != 7 {
			t.Errorf("%d admitted, want 7", len(got))
		}
	})

	t.Run("WithoutAnAddressAreOneClient", func(t *testing.T) {
		t.Parallel()
		s := newServer(ratelimit.ConnLimits{PerClient: 1})
		nameless := []*dialled{from("1.1.1.1:1"), from("1.1.1.1:1"), from("1.1.1.1:1")}
		nameless[0].remote, nameless[1].remote, nameless[2].remote = nil, &net.UnixAddr{Name: "@"}, (*net.TCPAddr)(nil)
		if got := s.accept(t, nameless...); len(got) != 1 || len(s.refusals) != 2 {
			t.Errorf("%d admitted and %d refused, want 1 and 2", len(got), len(s.refusals))
		}
	})

	t.Run("AreUnboundedWithoutALimit", func(t *testing.T) {
		t.Parallel()
		s := newServer(ratelimit.ConnLimits{})
		for range 50 {
			got := s.accept(t, from("203.0.113.9:1"))
			s.idle(got...)
		}
		if s.Open() != 50 || s.Idle() != 50 || s.idleClosed != 0 {
			t.Errorf("%d open, %d idle, %d closed", s.Open(), s.Idle(), s.idleClosed)
		}
	})
}

func TestAllConnections(t *testing.T) {
	t.Parallel()

	t.Run("AreBoundedForEveryone", func(t *testing.T) {
		t.Parallel()
		s := newServer(ratelimit.ConnLimits{Total: 10, Proxies: mustProxies(t, "10.0.0.0/8")})
		conns := s.fill(t, 10)
		over := []*dialled{from("203.0.113.9:1"), from("127.0.0.1:1"), from("10.0.0.1:1")}
		for _, d := range over {
			s.inner.waiting <- d
		}
		done := make(chan error, 1)
		go func() { _, err := s.Accept(); done <- err }()
		for _, d := range over {
			<-d.closed // each is closed at once although no connection ever leaves
		}
		if s.Open() != 10 {
			t.Errorf("%d open, want 10", s.Open())
		}
		_ = conns[0].Close()
		s.inner.waiting <- from("203.0.113.9:1")
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		want := []ratelimit.Refusal{ratelimit.RefusedTotal, ratelimit.RefusedTotal, ratelimit.RefusedTotal}
		if diff := cmp.Diff(want, s.refusals); diff != "" {
			t.Errorf("refusals (-want +got):\n%s", diff)
		}
	})

	t.Run("KeepIdleOnesUpToNineTenths", func(t *testing.T) {
		t.Parallel()
		s := newServer(ratelimit.ConnLimits{Total: 20})
		s.idle(s.fill(t, 18)...)
		if s.Open() != 18 || s.idleClosed != 0 {
			t.Errorf("%d open, %d closed: want 18 and none", s.Open(), s.idleClosed)
		}
	})

	t.Run("CloseTheLongestIdleBeyondNineTenths", func(t *testing.T) {
		t.Parallel()
		s := newServer(ratelimit.ConnLimits{Total: 20})
		conns := s.fill(t, 18)
		s.idle(conns[3], conns[1], conns[2])
		s.ConnState(conns[3], http.StateActive)
		s.ConnState(conns[3], http.StateIdle) // the latest again
		s.fill(t, 1)
		s.fill(t, 1)
		if s.Open() != 18 || s.idleClosed != 2 {
			t.Fatalf("%d open, %d closed: want 18 and 2", s.Open(), s.idleClosed)
		}
		for i, want := range map[int]bool{0: false, 1: true, 2: true, 3: false, 4: false} {
			if got := s.closed(conns[i]); got != want {
				t.Errorf("connection %d closed: %v, want %v", i, got, want)
			}
		}
	})

	t.Run("CloseIdleOnesWhenTheyBecomeIdleInACrowd", func(t *testing.T) {
		t.Parallel()
		s := newServer(ratelimit.ConnLimits{Total: 20})
		conns := s.fill(t, 20)
		s.idle(conns[:5]...)
		if s.Open() != 18 || s.Idle() != 3 || s.idleClosed != 2 {
			t.Errorf("%d open, %d idle, %d closed: want 18, 3 and 2", s.Open(), s.Idle(), s.idleClosed)
		}
		for i, want := range []bool{true, true, false, false, false} {
			if got := s.closed(conns[i]); got != want {
				t.Errorf("connection %d closed: %v, want %v", i, got, want)
			}
		}
	})

	t.Run("NeverCloseBusyOnes", func(t *testing.T) {
		t.Parallel()
		s := newServer(ratelimit.ConnLimits{Total: 10})
		conns := s.fill(t, 10)
		for _, conn := range conns[:5] {
			s.ConnState(conn, http.StateActive)
		}
		s.inner.waiting <- from("203.0.113.9:1")
		_ = s.inner.Close()
		for {
			if _, err := s.Accept(); err != nil {
				break
			}
		}
		for i, conn := range conns {
			if s.closed(conn) {
				t.Errorf("busy connection %d was closed", i)
			}
		}
		if s.idleClosed != 0 {
			t.Errorf("%d closed as idle", s.idleClosed)
		}
	})

	t.Run("FreeTheClientsPlaceToo", func(t *testing.T) {
		t.Parallel()
		s := newServer(ratelimit.ConnLimits{PerClient: 9, Total: 10})
		s.idle(s.fill(t, 9)...)
		s.inner.waiting <- from("203.0.113.77:1") // the tenth closes an idle one of the first client
		if _, err := s.Accept(); err != nil {
			t.Fatal(err)
		}
		s.fill(t, 1)
		if len(s.refusals) != 0 {
			t.Errorf("refusals %v", s.refusals)
		}
	})

	t.Run("ForgetIdleOnesThatWereClosed", func(t *testing.T) {
		t.Parallel()
		s := newServer(ratelimit.ConnLimits{Total: 100})
		conns := s.fill(t, 3)
		s.idle(conns...)
		for _, conn := range conns {
			_ = conn.Close()
			s.ConnState(conn, http.StateClosed)
			s.ConnState(conn, http.StateIdle) // too late to count
		}
		if s.Open() != 0 || s.Idle() != 0 {
			t.Errorf("%d open, %d idle", s.Open(), s.Idle())
		}
	})

	t.Run("KeepHijackedOnes", func(t *testing.T) {
		t.Parallel()
		s := newServer(ratelimit.ConnLimits{Total: 100})
		conns := s.fill(t, 1)
		s.idle(conns...)
		s.ConnState(conns[0], http.StateHijacked)
		if s.Open() != 1 || s.Idle() != 0 {
			t.Errorf("%d open, %d idle", s.Open(), s.Idle())
		}
	})

	t.Run("IgnoreStrangers", func(t *testing.T) {
		t.Parallel()
		s, other := newServer(ratelimit.ConnLimits{Total: 10}), newServer(ratelimit.ConnLimits{Total: 10})
		foreign := other.fill(t, 1)
		s.idle(from("203.0.113.9:1"), foreign[0])
		if s.Idle() != 0 || other.Idle() != 0 {
			t.Errorf("%d and %d idle", s.Idle(), other.Idle())
		}
	})

	t.Run("AreKnownBelowOtherLayers", func(t *testing.T) {
		t.Parallel()
		s := newServer(ratelimit.ConnLimits{Total: 10})
		s.idle(layer{s.fill(t, 1)[0]})
		if s.Idle() != 1 {
			t.Errorf("%d idle, want 1", s.Idle())
		}
	})
}

func TestListenerErrors(t *testing.T) {
	t.Parallel()
	s := newServer(ratelimit.ConnLimits{})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("accept after close: %v", err)
	}
	if s.Addr().String() != "0.0.0.0:3000" {
		t.Errorf("address %v", s.Addr())
	}
}

func TestDescriptorBudget(t *testing.T) {
	t.Parallel()
	const unlimited = ^uint64(0)
	for rlimit, want := range map[uint64][2]int{
		0: {1, 0}, 1: {1, 0}, 4: {3, 1}, 256: {192, 96}, 1024: {768, 384}, 65_536: {65_280, 32_640},
		1 << 20: {1<<20 - 256, 1<<19 - 128}, unlimited: {1 << 20, 1 << 19},
	} {
		connections, held := ratelimit.DescriptorBudget(rlimit)
		if got := [2]int{connections, held}; got != want {
			t.Errorf("%d descriptors: %v, want %v", rlimit, got, want)
		}
		if rlimit > 1 && (uint64(held) > rlimit/2 || uint64(connections) > rlimit) {
			t.Errorf("%d descriptors: %d connections and %d streams and waiters are too many", rlimit, connections, held)
		}
	}
}
