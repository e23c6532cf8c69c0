package httpapi

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/octostore/octostore/auth"
	"github.com/octostore/octostore/elections"
	"github.com/octostore/octostore/internal/events"
	"github.com/octostore/octostore/internal/telemetry"
	"github.com/octostore/octostore/lease"
	"github.com/octostore/octostore/ratelimit"
)

// bubbleRecords are records on the clock of a synctest bubble.
type bubbleRecords struct {
	mu     sync.Mutex
	names  map[lease.Key]lease.Record
	broken bool
}

func (b *bubbleRecords) breakDown() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.broken = true
}

func (b *bubbleRecords) Now() lease.Now {
	now := time.Now()
	return lease.Now{At: lease.Instant(now.UnixNano()), Wall: lease.WallOf(now)}
}

func (b *bubbleRecords) Read(_ context.Context, key lease.Key) (lease.Reading, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.broken {
		return lease.Reading{}, lease.ErrUnavailable
	}
	r, ok := b.names[key]
	if !ok {
		r = lease.Record{Key: key}
	}
	return lease.Reading{Record: r, At: b.Now()}, nil
}

// renew grants or renews a name and returns what is to be published.
func (b *bubbleRecords) renew(key lease.Key) []lease.Event {
	b.mu.Lock()
	defer b.mu.Unlock()
	r, ok := b.names[key]
	if !ok {
		r = lease.Record{Key: key}
	}
	var evs []lease.Event
	if r.Held {
		r, _, evs = r.Renew(b.Now(), r.Ref(), 0)
	} else {
		r, _, evs = r.Acquire(lease.Ground{Now: b.Now()}, lease.Acquire{TTL: 300 * time.Second, Label: "a"})
	}
	b.names[key] = r
	return evs
}

type noStorage struct{}

func (noStorage) Journal() string  { return "wal" }
func (noStorage) SizeBytes() int64 { return -1 }

// newBare builds an API without a store.
func newBare(t *testing.T, change func(*Config)) (*API, *bubbleRecords, *events.Hub) {
	t.Helper()
	tel, err := telemetry.Start(context.Background(), telemetry.Config{
		Getenv: func(string) string { return "" }, LogWriter: io.Discard, Routes: Routes(),
	})
	if err != nil {
		t.Fatal(err)
	}
	credentials, err := auth.NewCredentials(auth.StaticTokens{}, auth.Secret{}, func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	records := &bubbleRecords{names: make(map[lease.Key]lease.Record)}
	hub := events.New(events.Options{Dropped: tel.Metrics().EventsDropped})
	c := Config{
		Elections: elections.New(elections.Config{}), Records: records, Events: hub, PublicElections: true,
		Admission: ratelimit.NewAdmission(1000), Waiters: ratelimit.NewSlots(1, 1), Streams: ratelimit.NewSlots(8, 8),
		Credentials: credentials, Storage: noStorage{}, Counters: func() Counters { return Counters{} }, Telemetry: tel,
	}
	if change != nil {
		change(&c)
	}
	a, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return a, records, hub
}

// pipeWriter is a connection whose client drains when the test says so.
type pipeWriter struct {
	mu       sync.Mutex
	header   http.Header
	status   int
	text     strings.Builder
	flushed  int
	blocked  bool
	deadline time.Time
}

func (p *pipeWriter) Header() http.Header { return p.header }

func (p *pipeWriter) WriteHeader(status int) { p.status = status }

func (p *pipeWriter) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.Write(b)
}

// FlushError blocks like a socket whose buffer is full, until its deadline.
func (p *pipeWriter) FlushError() error {
	p.mu.Lock()
	wait, blocked := time.Until(p.deadline), p.blocked
	p.flushed++
	p.mu.Unlock()
	if !blocked {
		return nil
	}
	time.Sleep(wait)
	return os.ErrDeadlineExceeded
}

func (p *pipeWriter) SetWriteDeadline(t time.Time) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.deadline = t
	return nil
}

func (p *pipeWriter) block() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.blocked = true
}

func (p *pipeWriter) read() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.String()
}

// openStream runs a watch inside the bubble and returns its connection, and a
// channel that is closed at its end.
func openStream(ctx context.Context, a *API) (*pipeWriter, <-chan struct{}) {
	w := &pipeWriter{header: make(http.Header)}
	done := make(chan struct{})
	r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/elections/a-room-of-its-own/watch", nil)
	go func() {
		defer close(done)
		a.ServeHTTP(w, r)
	}()
	synctest.Wait()
	return w, done
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func TestStream(t *testing.T) {
	t.Parallel()
	room := lease.ElectionKey("a-room-of-its-own")

	t.Run("SendsHeadersWithItsFirstFlush", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			a, _, hub := newBare(t, nil)
			defer hub.Close()
			w, done := openStream(t.Context(), a)
			if w.status != http.StatusOK || w.flushed != 1 || !strings.HasPrefix(w.read(), "event: state\nretry:1000\nid: 0\ndata: {") {
				t.Fatalf("status %d, %d flushes: %q", w.status, w.flushed, w.read())
			}
			a.BeginShutdown()
			<-done
		})
	})

	t.Run("HeartbeatsEvery15SecondsFor15Minutes", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			a, records, hub := newBare(t, nil)
			defer hub.Close()
			begin := time.Now()
			w, done := openStream(t.Context(), a)
			time.Sleep(3*time.Minute + time.Millisecond)
			if got := strings.Count(w.read(), frameHeartbeat); got != 12 {
				t.Fatalf("%d heartbeats in 3 minutes", got)
			}
			hub.Publish(records.renew(room))
			synctest.Wait()
			if got := strings.Count(w.read(), "event: state"); got != 2 {
				t.Fatalf("%d states", got)
			}
			<-done
			if age := time.Since(begin); age != DefaultWatchLifetime {
				t.Fatalf("it ended after %v", age)
			}
			if !strings.HasSuffix(w.read(), frameReconnect) {
				t.Fatal("it did not say that it ends on purpose")
			}
		})
	})

	t.Run("IsClosedIfTheClientDoesNotDrainFor10Seconds", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			a, records, hub := newBare(t, nil)
			defer hub.Close()
			w, done := openStream(t.Context(), a)
			w.block()
			begin := time.Now()
			hub.Publish(records.renew(room))
			<-done
			if took := time.Since(begin); took != drainTimeout {
				t.Fatalf("it was closed after %v", took)
			}
			if strings.Contains(w.read(), frameReconnect) {
				t.Fatal("a reader that is cut off was told of a planned end")
			}
		})
	})

	t.Run("TellsALaggingReaderOfTheGap", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			a, records, hub := newBare(t, nil)
			defer hub.Close()
			w, done := openStream(t.Context(), a)
			for range 40 { // in one go, so that the reader has no turn in between
				hub.Publish(records.renew(room))
			}
			synctest.Wait()
			text := w.read()
			if strings.Count(text, frameGap) == 0 && strings.Count(text, "event: state") != 41 {
				t.Fatalf("neither all frames nor a gap: %q", text)
			}
			if i := strings.LastIndex(text, frameGap); i >= 0 && !strings.HasPrefix(text[i+len(frameGap):], "event: state") {
				t.Fatalf("a gap without fresh state: %q", text[i:])
			}
			a.BeginShutdown()
			<-done
		})
	})

	t.Run("EndsWithItsClient", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			a, _, hub := newBare(t, nil)
			defer hub.Close()
			ctx, leave := context.WithCancel(t.Context())
			w, done := openStream(ctx, a)
			leave()
			<-done
			if strings.Contains(w.read(), frameReconnect) {
				t.Fatal("something was written to a client that has left")
			}
			if n := hub.Stats().Streams; n != 0 {
				t.Fatalf("%d streams are left", n)
			}
		})
	})

	t.Run("GivesItsPlaceBack", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			slots := ratelimit.NewSlots(8, 8)
			a, _, hub := newBare(t, func(c *Config) { c.Streams, c.WatchLifetime = slots, time.Second })
			defer hub.Close()
			_, done := openStream(t.Context(), a)
			if n := slots.InUse(); n != 1 || isClosed(done) {
				t.Fatalf("%d places are taken", n)
			}
			<-done
			if n := slots.InUse(); n != 0 {
				t.Fatalf("%d places are taken", n)
			}
		})
	})
}
