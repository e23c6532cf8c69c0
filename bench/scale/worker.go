package scale

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/octostore/octostore/lease"
	"github.com/octostore/octostore/store/sqlite"

	"github.com/octostore/octostore/bench/load"
)

const (
	callers        = 256
	namesPerCaller = 16
	// linger is the server's own setting.
	linger = time.Millisecond
	// ttl outlives every run, so that no room that is led expires during one.
	ttl = 24 * time.Hour
	// databaseName is the file in a worker's folder.
	databaseName = "octostore.db"
)

// order is what a worker is told, one JSON object a line.
type order struct {
	Warm    time.Duration `json:"warm"`
	Measure time.Duration `json:"measure"`
}

// filled is a worker's first line.
type filled struct {
	Rate        float64 `json:"rooms_per_second"`
	HeapPerRoom float64 `json:"heap_bytes_per_room"` // strings included
	Strings     float64 `json:"string_bytes_per_room"`
	ResidentMB  float64 `json:"resident_mb"`
}

// measured is a worker's answer to an order.
type measured struct {
	Rate float64 `json:"cycles_per_second"`
}

// Work is a worker: it leads the rooms in a new database in dir, tells so, and
// then carries out one order after another until there are no more. Who wants the
// database as a crash leaves it kills the worker.
func Work(ctx context.Context, dir string, rooms int, orders io.Reader, answers io.Writer) (err error) {
	s, err := sqlite.Open(ctx, filepath.Join(dir, databaseName), sqlite.Options{Linger: linger})
	if err != nil {
		return fmt.Errorf("scale: %w", err)
	}
	defer func() { err = errors.Join(err, s.Close()) }() //nolint:contextcheck // closing has to work after the end of ctx
	w, err := newWorker(s)
	if err != nil {
		return err
	}
	out := json.NewEncoder(answers)
	told, err := w.fill(ctx, rooms)
	if err != nil {
		return err
	}
	if err := out.Encode(told); err != nil {
		return fmt.Errorf("scale: answer: %w", err)
	}
	lines := bufio.NewScanner(orders)
	for lines.Scan() {
		var o order
		if err := json.Unmarshal(lines.Bytes(), &o); err != nil {
			return fmt.Errorf("scale: order: %w", err)
		}
		res, err := load.Run(ctx, w.clients, load.Plan{Warm: o.Warm, Measure: o.Measure})
		if err != nil {
			return err
		}
		if err := out.Encode(measured{res.Rate()}); err != nil {
			return fmt.Errorf("scale: answer: %w", err)
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("scale: orders: %w", err)
	}
	return nil
}

type worker struct {
	store   *sqlite.Store
	key     lease.KeyID
	clients []load.Client
}

func newWorker(s *sqlite.Store) (*worker, error) {
	secret, err := s.ServerKey()
	if err != nil {
		return nil, fmt.Errorf("scale: %w", err)
	}
	ring, err := lease.NewKeyring(secret)
	if err != nil {
		return nil, fmt.Errorf("scale: %w", err)
	}
	w := &worker{store: s, key: ring.Current()}
	for i := range callers {
		c := &cycler{store: s, request: w.request(i)}
		for j := range c.names {
			c.names[j] = lease.ElectionKey(fmt.Sprintf("free-%027d", i*namesPerCaller+j))
		}
		w.clients = append(w.clients, c)
	}
	return w, nil
}

// request is a campaign of the n-th candidate. Its label is a text of its own, as
// it is in a server that read it from a request.
func (w *worker) request(n int) lease.Acquire {
	return lease.Acquire{TTL: ttl, KeyID: w.key, Label: fmt.Sprintf("candidate-%010d", n), Labelled: true}
}

// draw makes a nonce. Nobody guesses at a store that only measures.
func draw(n *lease.Nonce) {
	binary.LittleEndian.PutUint64(n[:8], rand.Uint64()) //nolint:gosec // G404: see above
	binary.LittleEndian.PutUint64(n[8:], rand.Uint64()) //nolint:gosec // G404: see above
}

var errRefused = errors.New("scale: the store refused")

// fill leads the rooms and measures what they take. Their ids are as long as
// those that the server draws.
func (w *worker) fill(ctx context.Context, rooms int) (filled, error) {
	before := liveHeap()
	began := time.Now()
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	var next, texts atomic.Int64
	var all sync.WaitGroup
	for range callers {
		all.Go(func() {
			for ctx.Err() == nil {
				n := int(next.Add(1)) - 1
				if n >= rooms {
					return
				}
				room, request := fmt.Sprintf("led-%028d", n), w.request(n)
				draw(&request.Nonce)
				texts.Add(int64(len(room) + len(request.Label)))
				out, err := w.store.Acquire(ctx, lease.ElectionKey(room), request, 0)
				if err == nil && out.Verdict != lease.Granted {
					err = fmt.Errorf("%w: %s", errRefused, out.Verdict)
				}
				if err != nil {
					fail(err)
					return
				}
			}
		})
	}
	all.Wait()
	if err := context.Cause(ctx); err != nil {
		return filled{}, err
	}
	took := time.Since(began)
	told := filled{Rate: float64(rooms) / took.Seconds()}
	if rooms > 0 {
		told.HeapPerRoom = (liveHeap() - before) / float64(rooms)
		told.Strings = float64(texts.Load()) / float64(rooms)
	}
	var err error
	told.ResidentMB, err = residentMB()
	return told, err
}

// liveHeap is what the heap holds after a collection. The second one frees what
// the first had to keep: emptied pools and finalized objects.
func liveHeap() float64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}

// residentMB is the memory of this process that is in RAM.
func residentMB() (float64, error) {
	b, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0, fmt.Errorf("scale: %w", err)
	}
	fields := strings.Fields(string(b))
	if len(fields) < 2 {
		return 0, fmt.Errorf("scale: statm says %q", b)
	}
	pages, err := strconv.ParseFloat(fields[1], 64)
	if err != nil {
		return 0, fmt.Errorf("scale: statm: %w", err)
	}
	return pages * float64(os.Getpagesize()) / 1e6, nil
}

// cycler leads rooms of its own and gives them up again.
type cycler struct {
	store   *sqlite.Store
	names   [namesPerCaller]lease.Key
	request lease.Acquire
	n       int
}

// Cycle implements [load.Client].
func (c *cycler) Cycle(*load.Gate) error {
	name := c.names[c.n]
	c.n = (c.n + 1) % len(c.names)
	draw(&c.request.Nonce)
	ctx := context.Background()
	out, err := c.store.Acquire(ctx, name, c.request, 0)
	if err != nil {
		return err
	}
	if out.Verdict != lease.Granted {
		return fmt.Errorf("%w: %s", errRefused, out.Verdict)
	}
	if out, err = c.store.Release(ctx, name, out.Record.Ref()); err != nil {
		return err
	}
	if out.Verdict != lease.Released {
		return fmt.Errorf("%w: %s", errRefused, out.Verdict)
	}
	return nil
}
