package simulation

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/octostore/octostore/lease"
	"github.com/octostore/octostore/store/sqlite"
)

// Config says what to live through.
type Config struct {
	Seed    uint64
	For     time.Duration // of the world's time
	Dir     string        // an empty directory for the database; best in memory
	Clients int           // 0 for 12
	// OneLife leaves out what ends the process, so that what it forgets to give
	// back adds up.
	OneLife bool
}

// Report is what a run was like.
type Report struct {
	Seed   uint64
	Hash   string         // of all events and answers
	Lines  int            // how many those were
	Counts map[string]int // how often each fault and outcome was seen
	// Heap is the live heap in bytes each time that all was quiet.
	Heap   []uint64
	MaxDB  int64         // greatest size of the main file in bytes
	MaxLog int64         // greatest size of its log
	MaxLag time.Duration // from a deadline to its being noticed while nothing kept the committer from it
}

// world is a run.
type world struct {
	Config
	rng     *rand.Rand
	clock   *clock
	journal *journal
	witness *witness
	report  Report

	store   *sqlite.Store
	path    string
	opened  int
	clients []*client
	calls   []*call // open ones, in the order in which they were sent
	sent    int
	grants  []grant
	later   []*call // to be sent once all answers are taken

	stepDue   time.Duration // when the committer is to run, never if there is no reason
	stepAt    time.Duration // when it last took a group
	jitter    time.Duration // how late it wakes up
	nextHouse time.Duration
	nextFault time.Duration
	nextQuiet time.Duration
	faults    faults
	err       error // the first thing that was wrong
}

const never = time.Duration(1<<63 - 1)

// Run lives through a history and returns what it was like, or what was wrong
// with it. Call it in a testing/synctest bubble.
func Run(c Config) (Report, error) {
	if c.Clients == 0 {
		c.Clients = 12
	}
	w := &world{
		Config: c, rng: rand.New(rand.NewPCG(c.Seed, 0x9e3779b97f4a7c15)), //nolint:gosec // a history, not a secret
		clock: &clock{start: time.Now()}, journal: newJournal(), stepDue: never,
		report:    Report{Seed: c.Seed, Counts: make(map[string]int)},
		nextFault: time.Minute, nextQuiet: 30 * time.Minute,
	}
	w.clock.reboot(time.Minute)
	w.witness = newWitness(w.clock)
	w.faults.retry = -1
	w.path = filepath.Join(c.Dir, "0", "octostore.db")
	for i := range c.Clients {
		w.clients = append(w.clients, &client{id: i, at: w.upTo(10 * time.Second)})
	}
	w.open(opening{})
	w.live()
	w.quiet()
	if w.store != nil {
		w.faults.dead, w.stepAt = w.err != nil, w.clock.now()
		w.check(w.store.Close())
	}
	w.report.Counts["cleaned up"] = w.witness.cleaned
	w.report.Hash, w.report.Lines, w.report.MaxLag = w.journal.sum(), w.journal.n, w.witness.maxLag
	if w.err != nil {
		return w.report, fmt.Errorf("seed %d: %w\nthe last of the history:\n%s", c.Seed, w.err, w.journal.tail())
	}
	return w.report, nil
}

// live is the loop: time goes from one thing to do to the next.
func (w *world) live() {
	still := 0
	for w.err == nil && w.clock.now() < w.For {
		if d := w.next() - w.clock.now(); d > 0 {
			time.Sleep(d)
			still = 0
		} else if still++; still > 10_000 {
			w.wrong("time stands still")
		}
		now := w.clock.now()
		w.house(now)
		if now >= w.nextFault {
			w.fault(now)
		}
		w.act(now)
		w.commitDue()
		if w.err == nil && w.clock.now() >= w.nextQuiet {
			w.quiet()
			w.nextQuiet = w.clock.now() + 30*time.Minute + w.upTo(2*time.Hour)
		}
	}
}

// next is when there is next something to do.
func (w *world) next() time.Duration {
	at := min(w.nextFault, w.nextQuiet, w.commitAt())
	if w.faults.low || w.faults.gate {
		at = min(at, max(w.nextHouse, w.faults.paused))
	}
	for _, c := range w.clients {
		at = min(at, c.at)
	}
	for _, c := range w.calls {
		at = min(at, c.timer, c.hangUp)
	}
	return at
}

// commitAt is when the committer is to run next.
func (w *world) commitAt() time.Duration {
	at := w.stepDue
	if d := w.witness.nextDeadline(w.stepAt); d >= 0 {
		at = min(at, max(d+w.jitter, w.faults.retry))
	}
	if w.faults.retry > w.stepAt {
		at = min(at, w.faults.retry)
	}
	return max(at, w.faults.paused)
}

func (w *world) commitDue() {
	if w.err == nil && w.clock.now() >= w.commitAt() {
		w.commit()
	}
}

// commit lets the committer run until it has nothing left to do.
func (w *world) commit() {
	w.stepDue, w.jitter = never, w.upTo(100*time.Millisecond)
	for range 64 {
		w.faults.failed = false
		clear(w.witness.denied)
		w.stepAt = w.clock.now()
		did := w.store.Step(context.Background())
		w.poll()
		if w.faults.broken != nil {
			w.reopen()
			return
		}
		if w.faults.failed {
			w.stepDue = w.clock.now() + 10*time.Millisecond
			return
		}
		if w.err != nil || !did && !w.owed() {
			return
		}
	}
	w.wrong("the committer does not come to an end")
}

// owed tells whether a call is open that does not wait for a name.
func (w *world) owed() bool {
	for _, c := range w.calls {
		if c.waitEnd == never {
			return true
		}
	}
	return false
}

// house looks after the file, once a second.
func (w *world) house(now time.Duration) {
	if now < w.nextHouse || w.faults.paused > now {
		return
	}
	w.nextHouse = now + time.Second
	if w.store.Housekeep(); !w.faults.low {
		w.faults.gate = false
	}
	if info, err := os.Stat(w.path); err == nil {
		w.report.MaxDB = max(w.report.MaxDB, info.Size())
	}
	if info, err := os.Stat(w.path + "-wal"); err == nil {
		w.report.MaxLog = max(w.report.MaxLog, info.Size())
	}
}

// Publish implements store.Publisher: the witness sees what happened.
func (w *world) Publish(events []lease.Event) {
	if w.faults.dead {
		return
	}
	for i, e := range events {
		w.log("%s %s term %d revision %d", e.Type, e.Record.Key.Name(), e.Record.Term, e.Revision)
		w.count("event " + e.Type.String())
		if err := w.witness.sees(e, w.stepAt); err != nil {
			w.wrong("%s %s: %w", e.Record.Key.Kind(), e.Record.Key.Name(), err)
		}
		if e.Type == lease.Acquired {
			w.granted(e)
			if slices.ContainsFunc(events[:i], func(o lease.Event) bool { return o.Record.Key == e.Record.Key && o.Was != nil }) {
				w.witness.of(e.Record.Key).handed = e.Record.Term
			}
		}
	}
}

// looks compares a name, or all of them, with what the witness knows.
func (w *world) looks(names ...*reign) {
	for _, n := range names {
		read, err := w.store.Read(context.Background(), n.key)
		if err == nil {
			err = w.witness.finds(n, read.Record, w.clock.now())
		}
		if err != nil {
			w.wrong("%s: %w", n.key.Name(), err)
		}
	}
}

// weigh measures the heap when all is quiet.
func (w *world) weigh() {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	w.report.Heap = append(w.report.Heap, m.HeapAlloc)
}

func (w *world) wrong(format string, args ...any) {
	if w.err == nil {
		w.err = fmt.Errorf("at %v: "+format, append([]any{w.clock.now()}, args...)...)
	}
}

func (w *world) check(err error) {
	if err != nil {
		w.wrong("%w", err)
	}
}

func (w *world) log(format string, args ...any) { w.journal.write(w.clock.now(), format, args...) }

func (w *world) count(what string) { w.report.Counts[what]++ }

// chance is true in one of n cases.
func (w *world) chance(n int) bool { return w.rng.IntN(n) == 0 }

// upTo is any time up to d, in whole milliseconds.
func (w *world) upTo(d time.Duration) time.Duration {
	return time.Duration(w.rng.Int64N(int64(d/time.Millisecond)+1)) * time.Millisecond
}

// Missing returns which of the kinds were never seen.
func (r Report) Missing(kinds ...string) (missing []string) {
	for _, k := range kinds {
		if r.Counts[k] == 0 {
			missing = append(missing, k)
		}
	}
	return missing
}

// String lists the counts.
func (r Report) String() string {
	s := fmt.Sprintf("seed %d hash %s lines %d lag %v db %d log %d heap %d", r.Seed, r.Hash, r.Lines, r.MaxLag, r.MaxDB, r.MaxLog, r.Heap)
	for _, k := range slices.Sorted(maps.Keys(r.Counts)) {
		s += fmt.Sprintf("\n%8d %s", r.Counts[k], k)
	}
	return s
}
