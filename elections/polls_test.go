package elections_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/octostore/octostore/elections"
	"github.com/octostore/octostore/lease"
	"github.com/octostore/octostore/store"
	"github.com/octostore/octostore/store/sqlite"
)

// What most campaigns of the tests ask for, and when such a term is over.
const (
	room     = "lobby-0001"
	ttl      = 30 * time.Second
	deadline = ttl + lease.MinGuard
)

// polls is the service over a real store on a file, in the time of a bubble.
type polls struct {
	*elections.Service
	t     *testing.T
	clock *clock
	keys  *lease.Keyring
	store *sqlite.Store
	news  *news
	path  string
}

// clock is the clock of the bubble. The deciding clock counts from its start;
// the wall clock can be stepped.
type clock struct {
	start time.Time
	off   atomic.Int64 // nanoseconds that the wall clock is off
}

// Now implements lease.Clock.
func (c *clock) Now() lease.Now {
	now := time.Now()
	return lease.Now{At: lease.Instant(now.Sub(c.start)), Wall: lease.WallOf(now.Add(time.Duration(c.off.Load())))}
}

func (c *clock) step(d time.Duration) { c.off.Add(int64(d)) }

// news keeps what the store publishes.
type news struct {
	mu     sync.Mutex
	events []lease.Event
}

// Publish implements store.Publisher.
func (n *news) Publish(events []lease.Event) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.events = append(n.events, events...)
}

// count is how many events of the type there were in the room.
func (n *news) count(typ lease.Type, room string) (count int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, e := range n.events {
		if e.Type == typ && e.Record.Key.Name() == room {
			count++
		}
	}
	return count
}

// bubble runs f in a bubble of its own, with a service that has no limit.
func bubble(t *testing.T, f func(t *testing.T, p *polls)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := &polls{
			t: t, clock: &clock{start: time.Now()}, keys: keyring(t, 1), news: &news{},
			path: filepath.Join(t.TempDir(), "octostore.db"),
		}
		p.open()
		t.Cleanup(func() {
			if err := p.store.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
		})
		f(t, p)
	})
}

// keyring returns a ring of server keys, each made of one byte.
func keyring(t *testing.T, current byte, previous ...byte) *lease.Keyring {
	t.Helper()
	secret := func(b byte) []byte {
		key := make([]byte, lease.KeySize)
		key[0] = b
		return key
	}
	var older [][]byte
	for _, b := range previous {
		older = append(older, secret(b))
	}
	k, err := lease.NewKeyring(secret(current), older...)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// open opens the file and stands the service on it.
func (p *polls) open(change ...func(*sqlite.Options)) {
	p.t.Helper()
	o := sqlite.Options{Clock: p.clock, Publisher: p.news}
	for _, c := range change {
		c(&o)
	}
	s, err := sqlite.Open(context.Background(), p.path, o)
	if err != nil {
		p.t.Fatal(err)
	}
	p.store = s
	p.Service = p.over(s)
}

// over returns a service with the keys of p over another store.
func (p *polls) over(s elections.Store) *elections.Service {
	return elections.New(elections.Config{Store: s, Keys: p.keys})
}

// restart stops the server and starts it again.
func (p *polls) restart(down time.Duration, change ...func(*sqlite.Options)) {
	p.t.Helper()
	if err := p.store.Close(); err != nil {
		p.t.Fatal(err)
	}
	time.Sleep(down)
	p.open(change...)
}

// crash starts the server on what a kill would have left of the file: nothing
// is written or moved on the way out.
func (p *polls) crash(down time.Duration) {
	p.t.Helper()
	synctest.Wait()
	left := filepath.Join(p.t.TempDir(), filepath.Base(p.path))
	for _, suffix := range []string{"", "-wal"} {
		content, err := os.ReadFile(p.path + suffix)
		if err != nil {
			p.t.Fatal(err)
		}
		if err := os.WriteFile(left+suffix, content, 0o600); err != nil { //nolint:gosec // a copy inside the test's own directories
			p.t.Fatal(err)
		}
	}
	if err := p.store.Close(); err != nil {
		p.t.Fatal(err)
	}
	p.path = left
	time.Sleep(down)
	p.open()
}

// candidacy is a request that arrives now.
func (p *polls) candidacy(candidate string, change ...func(*elections.Candidacy)) elections.Candidacy {
	c := elections.Candidacy{Room: room, Candidate: candidate, TTL: ttl, Received: p.clock.Now().At}
	for _, f := range change {
		f(&c)
	}
	return c
}

func inRoom(room string) func(*elections.Candidacy) {
	return func(c *elections.Candidacy) { c.Room = room }
}

func forTTL(ttl time.Duration) func(*elections.Candidacy) {
	return func(c *elections.Candidacy) { c.TTL = ttl }
}

func waiting(d time.Duration) func(*elections.Candidacy) {
	return func(c *elections.Candidacy) { c.Wait = d }
}

func withKey(key string) func(*elections.Candidacy) {
	return func(c *elections.Candidacy) { c.IdempotencyKey = key }
}

func described(metadata string) func(*elections.Candidacy) {
	return func(c *elections.Candidacy) { c.Metadata, c.Described = metadata, true }
}

// wins campaigns and must win.
func (p *polls) wins(candidate string, change ...func(*elections.Candidacy)) elections.Result {
	p.t.Helper()
	res, err := p.Campaign(context.Background(), p.candidacy(candidate, change...))
	if err != nil || res.Won == nil {
		p.t.Fatalf("%s did not win: %+v, %v", candidate, res.Standing, err)
	}
	return res
}

// follows campaigns and must not win.
func (p *polls) follows(candidate string, change ...func(*elections.Candidacy)) elections.Result {
	p.t.Helper()
	res, err := p.Campaign(context.Background(), p.candidacy(candidate, change...))
	if err != nil || res.Won != nil {
		p.t.Fatalf("%s is no follower: %+v, %v", candidate, res, err)
	}
	return res
}

// status reads the room of the result, or the usual one.
func (p *polls) status(of ...string) elections.Standing {
	p.t.Helper()
	name := room
	if len(of) > 0 {
		name = of[0]
	}
	st, err := p.Status(context.Background(), name)
	if err != nil {
		p.t.Fatal(err)
	}
	return st
}

// leads checks that the term of the result is the one that goes on.
func (p *polls) leads(res elections.Result) {
	p.t.Helper()
	st := p.status(res.Room)
	if st.Leader == nil || st.Leader.Term != res.Leader.Term || st.Leader.Candidate != res.Leader.Candidate {
		p.t.Errorf("%+v leads %s, not term %d", st.Leader, res.Room, res.Leader.Term)
	}
}

// vacant checks that nobody leads the usual room.
func (p *polls) vacant() {
	p.t.Helper()
	if st := p.status(); st.Leader != nil || st.RetryAfter != 0 {
		p.t.Errorf("%+v leads, for %v", st.Leader, st.RetryAfter)
	}
}

// token is the secret of a result as the caller would show it.
func (p *polls) token(res elections.Result) lease.Capability {
	p.t.Helper()
	c, err := lease.ParseCapability(res.Won.Token)
	if err != nil {
		p.t.Fatal(err)
	}
	return c
}

func (p *polls) renew(res elections.Result, ttl time.Duration) (elections.Result, error) {
	p.t.Helper()
	return p.Renew(context.Background(), res.Room, p.token(res), ttl)
}

func (p *polls) resign(res elections.Result) (lease.Term, error) {
	p.t.Helper()
	return p.Resign(context.Background(), res.Room, p.token(res))
}

// resigns resigns and must succeed.
func (p *polls) resigns(res elections.Result) {
	p.t.Helper()
	if term, err := p.resign(res); err != nil || term != res.Leader.Term {
		p.t.Fatalf("resignation of term %d: %d, %v", res.Leader.Term, term, err)
	}
}

// notCurrent checks that neither a renewal nor a resignation under the token
// of the result does anything.
func (p *polls) notCurrent(res elections.Result) {
	p.t.Helper()
	synctest.Wait() // what time has done is recorded
	before := p.status(res.Room).Revision
	if _, err := p.renew(res, 0); !errors.Is(err, elections.ErrNotCurrent) {
		p.t.Errorf("renewal of term %d: %v", res.Leader.Term, err)
	}
	if _, err := p.resign(res); !errors.Is(err, elections.ErrNotCurrent) {
		p.t.Errorf("resignation of term %d: %v", res.Leader.Term, err)
	}
	if after := p.status(res.Room).Revision; after != before {
		p.t.Errorf("the refused calls moved the revision from %d to %d", before, after)
	}
}

// tap stands between the service and the store: it counts the calls that queue
// and can hold up an answer.
type tap struct {
	elections.Store
	queued atomic.Int64
	after  func(verb string) // called when the store has answered; may be nil
	answer *lease.Outcome    // told instead of what the store says; may be nil
}

func (s *tap) told(verb string, out lease.Outcome, err error) (lease.Outcome, error) {
	s.queued.Add(1)
	if s.after != nil {
		s.after(verb)
	}
	if s.answer != nil {
		return *s.answer, nil
	}
	return out, err
}

// Acquire implements elections.Store.
func (s *tap) Acquire(ctx context.Context, key lease.Key, req lease.Acquire, wait time.Duration) (lease.Outcome, error) {
	out, err := s.Store.Acquire(ctx, key, req, wait)
	return s.told("acquire", out, err)
}

// Renew implements elections.Store.
func (s *tap) Renew(ctx context.Context, key lease.Key, ref lease.Ref, ttl time.Duration) (lease.Outcome, error) {
	out, err := s.Store.Renew(ctx, key, ref, ttl)
	return s.told("renew", out, err)
}

// Release implements elections.Store.
func (s *tap) Release(ctx context.Context, key lease.Key, ref lease.Ref) (lease.Outcome, error) {
	out, err := s.Store.Release(ctx, key, ref)
	return s.told("release", out, err)
}

// GiveBack implements elections.Store.
func (s *tap) GiveBack(ctx context.Context, key lease.Key, ref lease.Ref) error {
	s.queued.Add(1)
	return s.Store.GiveBack(ctx, key, ref)
}

var (
	_ elections.Store = (*sqlite.Store)(nil)
	_ store.Publisher = (*news)(nil)
)
