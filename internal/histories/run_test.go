package histories

import (
	"context"
	"errors"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
)

// puppet is a target of several replicas in this process that do nothing but say
// that they are there.
type puppet struct {
	addresses []string
	servers   []*http.Server
	listeners []net.Listener
	exited    []chan struct{}
	launches  []int
	kills     []int
	// launched is called in a goroutine after each launch with its number.
	launched func(p *puppet, replica, n int)

	mu sync.Mutex
}

func newPuppet(t *testing.T, replicas int, launched func(p *puppet, replica, n int)) *puppet {
	t.Helper()
	p := &puppet{
		servers: make([]*http.Server, replicas), listeners: make([]net.Listener, replicas), exited: make([]chan struct{}, replicas),
		launches: make([]int, replicas), kills: make([]int, replicas), launched: launched,
	}
	for range replicas {
		address, err := freeAddress()
		if err != nil {
			t.Fatal(err)
		}
		p.addresses = append(p.addresses, address)
	}
	t.Cleanup(func() {
		for i := range p.servers {
			p.end(i)
		}
	})
	return p
}

func (p *puppet) Addresses() []string { return p.addresses }

func (p *puppet) Launch(replica int) error {
	l, err := net.Listen("tcp", p.addresses[replica])
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	s := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })}
	p.servers[replica], p.listeners[replica], p.exited[replica] = s, l, make(chan struct{})
	p.launches[replica]++
	go func() { _ = s.Serve(l) }()
	if p.launched != nil {
		go p.launched(p, replica, p.launches[replica])
	}
	return nil
}

func (p *puppet) Ready(context.Context, int) (Instant, time.Duration, error) { return Now(), 0, nil }

// end is what a process that ends by itself does.
func (p *puppet) end(replica int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s := p.servers[replica]; s != nil {
		_ = p.listeners[replica].Close() // it may not be the server's yet
		_ = s.Close()
		close(p.exited[replica])
		p.servers[replica] = nil
	}
}

func (p *puppet) Kill(replica int) error {
	p.kills[replica]++
	p.end(replica)
	return nil
}

func (p *puppet) Stop(_ context.Context, replica int) error { p.end(replica); return nil }

func (p *puppet) Exited(replica int) <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.exited[replica]
}

func (p *puppet) Log(int) string { return "last words" }

// knocking is a kind whose clients do nothing but knock at every replica.
type knocking struct {
	play func(ctx context.Context, c *Client)
}

func (k knocking) Play(ctx context.Context, c *Client) {
	if k.play != nil {
		k.play(ctx, c)
		return
	}
	for c.Phase() != Settle && knock(ctx, c) && c.Pause(ctx, time.Millisecond) {
	}
}

func knock(ctx context.Context, c *Client) bool {
	for replica := range c.world.addresses {
		call := Call{Name: "door", Verb: Status, Replica: replica}
		if _, ok := c.exchange(ctx, &call, request{method: http.MethodGet, path: "/"}); !ok {
			return false
		}
		c.record(&call)
	}
	return true
}

func (knocking) Survey(ctx context.Context, c *Client)             { knock(ctx, c) }
func (knocking) Operations(*History, []Call) []porcupine.Operation { return nil }
func (knocking) Model() porcupine.Model                            { return Elections{}.Model() }
func (knocking) Facts(*History, []Call) []Problem                  { return nil }
func (knocking) Count(*History, []Call, *Tally)                    {}
func quick(kills int) Plan {
	return Plan{
		Seed: 1, Clients: 3, Names: 1, Hot: 1, Kills: kills, Limit: time.Minute,
		MinLife: time.Millisecond, MaxLife: 5 * time.Millisecond, EarlyKills: 3, Calm: time.Millisecond,
	}
}

func TestRun(t *testing.T) {
	t.Parallel()

	t.Run("KillsEveryReplicaAndKeepsTheirLives", func(t *testing.T) {
		t.Parallel()
		p := newPuppet(t, 3, nil)
		h, err := Run(t.Context(), quick(40), p, knocking{})
		if err != nil {
			t.Fatal(err)
		}
		if len(h.Accidents) > 0 {
			t.Errorf("accidents: %q", h.Accidents)
		}
		var kills, lives int
		for replica := range 3 {
			if p.kills[replica] < 2 {
				t.Errorf("replica %d was killed %d times", replica, p.kills[replica])
			}
			kills, lives = kills+p.kills[replica], lives+p.launches[replica]
		}
		// At the end each replica is stopped, started and killed once more.
		if kills != h.Kills+3 || h.Kills < 40 || len(h.Lives) != lives {
			t.Errorf("%d kills of %d, %d lives of %d", h.Kills, kills, len(h.Lives), lives)
		}
		ends := make(map[[2]int]Life)
		for _, l := range h.Lives {
			if l.Launched > l.Ending || l.Ending > l.Ended || l.Ready != 0 && (l.Ready < l.Launched || l.Ready > l.Ending) {
				t.Errorf("life %+v", l)
			}
			ends[[2]int{l.Replica, l.Number}] = l
		}
		for i := range h.Calls {
			c := &h.Calls[i]
			if l := ends[[2]int{c.Replica, c.Life}]; c.Sent < l.Ready || c.Sent > l.Ended || c.Received < c.Sent || c.Received > l.Ended {
				t.Errorf("%v is not in %+v", c, l)
			}
		}
		if !slices.IsSortedFunc(h.Calls, func(a, b Call) int { return int(a.Sent - b.Sent) }) || len(h.Calls) < 40 {
			t.Errorf("%d calls, or not in order", len(h.Calls))
		}
	})

	t.Run("ServerThatEndsByItselfIsAnAccident", func(t *testing.T) {
		t.Parallel()
		p := newPuppet(t, 1, func(p *puppet, replica, n int) {
			if n == 2 {
				p.end(replica)
			}
		})
		plan := quick(3)
		plan.EarlyKills = 0
		h, err := Run(t.Context(), plan, p, knocking{})
		if err != nil {
			t.Fatal(err)
		}
		if len(h.Accidents) != 1 || !strings.Contains(h.Accidents[0], "life 2 of replica 0 ended by itself") || !strings.Contains(h.Accidents[0], "last words") {
			t.Errorf("accidents: %q", h.Accidents)
		}
		if problems, _ := Check(h, knocking{}); len(problems) != 1 {
			t.Errorf("problems: %v", problems)
		}
	})

	t.Run("EndsWithItsContext", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(t.Context())
		calls := 0
		plan := quick(1_000_000)
		plan.Clients = 1
		_, err := Run(ctx, plan, newPuppet(t, 1, nil), knocking{func(ctx context.Context, c *Client) {
			for ; knock(ctx, c); calls++ {
				if calls == 10 {
					cancel()
				}
			}
		}})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})

	t.Run("SamePlanForTheSameSeed", func(t *testing.T) {
		t.Parallel()
		a, b := NewPlan(7, 1, 2, 3, time.Second), NewPlan(7, 1, 2, 3, time.Second)
		if a != b || a == NewPlan(8, 1, 2, 3, time.Second) {
			t.Errorf("%+v and %+v", a, b)
		}
		for seed := range uint64(1000) {
			if p := NewPlan(seed, 1, 2, 3, time.Second); p.Clients < 32 || p.Clients > 64 || p.Names < 64 || p.Names > 256 || p.Hot >= p.Names {
				t.Fatalf("seed %d: %+v", seed, p)
			}
		}
	})
}
