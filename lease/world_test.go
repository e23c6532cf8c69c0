package lease_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/octostore/octostore/lease"
)

// world is one name, its callers, and the clocks. Its own time never stops: the
// deciding clock begins anew with every boot, the wall clock steps.
type world struct {
	rng     *rand.Rand
	now     int64 // nanoseconds, never stops
	boot    int64 // when the deciding clock showed 0
	wallOff int64 // microseconds that the wall clock is off
	seen    int64 // of the last decision that was written

	rec      lease.Record
	floor    lease.Term
	sessions [3]lease.Session
	workers  [3]worker
	book     *book
	witness  *witness
	told     int // news of the book that were compared

	epoch  int // of the server key
	serial int
	proofs []proof // every one that was handed out
	keyed  []draft // every request with an idempotency key
	tally  map[string]int
	steps  []step
}

// step is one line of the trace.
type step struct {
	at     int64
	format string
	args   []any
}

func newWorld(rng *rand.Rand, tally map[string]int) *world {
	w := &world{
		rng: rng, tally: tally, rec: lease.Record{Key: lease.LockKey("acme", "deploy")},
		book: newBook(), witness: newWitness(),
	}
	w.now = rng.Int64N(1e15)
	w.boot = w.now - rng.Int64N(w.now+1)
	w.seen = w.now
	return w
}

// read is one reading of both clocks. The two are not read at the very same
// moment.
func (w *world) read() lease.Now {
	wall := 1_700_000_000_000_000 + w.now/1000 + w.wallOff + w.rng.Int64N(200)
	return lease.Now{At: lease.Instant(w.now - w.boot), Wall: lease.Wall(wall)}
}

// instant is a reading of the deciding clock of this boot in the world's time.
func (w *world) instant(i lease.Instant) int64 { return int64(i) + w.boot }

func (w *world) note(format string, args ...any) {
	w.steps = append(w.steps, step{w.now, format, args})
}

// tail is the end of the trace.
func (w *world) tail() string {
	var b strings.Builder
	for _, s := range w.steps[max(0, len(w.steps)-40):] {
		fmt.Fprintf(&b, "%d: %s\n", s.at, fmt.Sprintf(s.format, s.args...))
	}
	fmt.Fprintf(&b, "record: %+v\n", w.rec)
	return b.String()
}

// leap is how much time passes: none, little, much, or exactly to where
// something ends.
func (w *world) leap() int64 {
	switch w.rng.IntN(9) {
	case 0, 1, 2:
		ends := []int64{w.book.cooling}
		if r := w.book.current(); r != nil {
			ends = append(ends, r.deadline, r.deadline+r.delay)
		}
		for _, s := range w.workers {
			ends = append(ends, s.deadline)
		}
		return max(0, ends[w.rng.IntN(len(ends))]+w.rng.Int64N(3)-1-w.now)
	case 3:
		return w.rng.Int64N(2)
	case 4, 5:
		return w.rng.Int64N(int64(time.Millisecond))
	case 6, 7:
		return w.rng.Int64N(int64(3 * time.Second))
	}
	return w.rng.Int64N(int64(2 * time.Minute))
}

func (w *world) chance(percent int) bool { return w.rng.IntN(100) < percent }

func pick[T any](w *world, of ...T) T { return of[w.rng.IntN(len(of))] }

// play takes n steps and then waits until the name can be had again.
func (w *world) play(n int) error {
	for range n {
		if err := w.step(); err != nil {
			return err
		}
	}
	return w.come()
}

func (w *world) step() error {
	sent := w.now
	if w.chance(50) {
		w.now += w.leap()
	}
	now := w.read()
	if err := w.endBoundSession(now); err != nil {
		return err
	}
	switch k := w.rng.IntN(100); {
	case k < 34:
		return w.acquire(now, sent)
	case k < 50:
		return w.renew(now, sent)
	case k < 63:
		return w.release(now, true)
	case k < 67:
		return w.release(now, false)
	case k < 69:
		return w.force(now)
	case k < 84:
		return w.session(now)
	case k < 91:
		return w.sweep(now)
	case k < 94:
		w.wallOff += pick[int64](w, -1, 1) * pick[int64](w, 500, 999_000, 1_500_000, 3_600_000_000, 86_400_000_000)
		w.tally["wall clock step"]++
		w.note("wall clock off by %d us", w.wallOff)
	case k < 95:
		w.epoch = min(w.epoch+1, 4)
		w.tally["another server key"]++
	case k < 97:
		w.reboot()
	default:
		w.cleanUp(now)
	}
	return nil
}

// secretNonce and secretOf stand for the capability of a lease.
func secretNonce(secret int) (n lease.Nonce) {
	binary.BigEndian.PutUint64(n[:], uint64(secret))
	return n
}

func secretOf(n lease.Nonce) int { return int(binary.BigEndian.Uint64(n[:])) }

func sessionDigest(id int) (d lease.Digest) {
	binary.BigEndian.PutUint64(d[:], uint64(id))
	return d
}

// ref is a proof as the kernel takes it.
func (p proof) ref() lease.Ref {
	return lease.Ref{Term: lease.Term(p.term), Nonce: secretNonce(p.secret)}
}

// someProof is the newest that was handed out, an older one, or a wrong one.
func (w *world) someProof() proof {
	if len(w.proofs) == 0 {
		return proof{secret: 1 << 40, term: 1}
	}
	p := w.proofs[len(w.proofs)-1]
	switch k := w.rng.IntN(20); {
	case k < 7:
		p = w.proofs[w.rng.IntN(len(w.proofs))]
	case k == 7:
		p.term += pick[int64](w, -1, 1)
	case k == 8:
		p.secret++
	}
	if r := w.book.current(); !p.of(r) {
		w.tally["late call"]++
		if r != nil {
			w.tally["late call that met a successor"]++
		}
	}
	return p
}

// errDisagree is the kernel and the book being of two minds.
var errDisagree = errors.New("kernel and book disagree")

// took compares what the kernel did with the book, shows it to the witness, and
// makes it the present.
func (w *world) took(what, want string, now lease.Now, next lease.Record, out lease.Outcome, events []lease.Event) error {
	got := out.Verdict.String()
	w.note("%s: %s, %d events", what, got, len(events))
	w.tally[what+" "+got]++
	if got != want {
		return fmt.Errorf("%w about the %s: %s, %s", errDisagree, what, got, want)
	}
	if out.At != now || out.Record != next {
		return fmt.Errorf("the outcome of the %s is of another moment", what)
	}
	if len(events) > 1 {
		w.tally["two transitions in one decision"]++
	}
	return w.happened(next, events)
}

// happened compares events and record.
func (w *world) happened(next lease.Record, events []lease.Event) error {
	news := w.book.news[w.told:]
	w.told = len(w.book.news)
	if len(news) != len(events) {
		return fmt.Errorf("%w about %d events: the book has %d", errDisagree, len(events), len(news))
	}
	for i, e := range events {
		at := w.instant(e.At.At)
		got := bulletin{
			what: e.Type.String(), why: reasons[e.Reason], at: at, revision: e.Revision, before: e.Previous, term: int64(e.Record.Term),
		}
		if e.Was != nil {
			got.secretOver = secretOf(e.Was.Nonce)
			w.tally["end by "+got.why]++
		}
		if got != news[i] {
			return fmt.Errorf("%w about an event:\n%+v\n%+v", errDisagree, got, news[i])
		}
		if err := w.witness.sees(e, at, w.now); err != nil {
			return err
		}
	}
	if len(events) > 0 {
		w.seen = w.now
	}
	w.rec = next
	return w.agree()
}

var reasons = map[lease.Reason]string{
	0: "", lease.ByRelease: "release", lease.ByExpiry: "expiry", lease.ByForce: "force",
	lease.BySession: "session expired", lease.BySessionEnd: "session deleted",
}

// view is what both sides know of the name.
type view struct {
	held           bool
	term, revision int64
	deadline, ttl  int64
	secret         int
	session        lease.Digest
	delay          int64
	label          string
	metadata       string
	cooling        int64
	lastSecret     int
	lastWhy        string
}

// agree compares the record with the book.
func (w *world) agree() error {
	r := &w.rec
	got := view{held: r.Held, term: int64(r.Term), revision: r.Revision}
	if r.Held {
		got.deadline, got.ttl = w.instant(r.Lease.Deadline), int64(r.Lease.TTL)
		got.secret, got.label, got.metadata = secretOf(r.Lease.Nonce), r.Lease.Label, r.Lease.Metadata
		if b := r.Lease.Bound; b != nil {
			got.session, got.delay = b.Session, int64(b.LockDelay)
		}
	} else if r.Cooling(lease.Instant(w.now - w.boot)) {
		got.cooling = w.instant(r.Free)
	}
	if r.Last != nil {
		got.lastSecret, got.lastWhy = secretOf(r.Last.Nonce), reasons[r.Last.Reason]
	}
	want := view{term: w.book.lastTerm, revision: w.book.revision}
	if l := w.book.current(); l != nil {
		want.held, want.deadline, want.ttl, want.secret = true, l.deadline, l.ttl, l.secret
		want.label, want.metadata, want.delay = l.label, l.metadata, l.delay
		if l.session != 0 {
			want.session = sessionDigest(l.session)
		}
	} else if w.now < w.book.cooling {
		want.cooling = w.book.cooling
	}
	if over := w.book.remembered(); over != nil {
		want.lastSecret, want.lastWhy = over.secret, over.endedBy
	}
	if got != want {
		return fmt.Errorf("%w about the record:\n%+v\n%+v", errDisagree, got, want)
	}
	return w.shows()
}

// shows checks what is displayed of a live lease.
func (w *world) shows() error {
	now := w.read()
	if !w.rec.Live(now.At) {
		return nil
	}
	ttl := int64(w.rec.Lease.TTL)
	end := w.instant(w.rec.Lease.Deadline)
	if left := int64(w.rec.Remaining(now.At)); left <= 0 || left != end-w.now || left > deadline(0, ttl) {
		return fmt.Errorf("%d remain of a lease of %d", left, ttl)
	}
	ideal := int64(now.Wall) + (end-(deadline(0, ttl)-ttl)-w.now)/1000
	if off := int64(w.rec.ExpiresAt(now)) - ideal; off > 1_000_001 || off < -1_000_001 {
		return fmt.Errorf("the announced expiry is off by %d us", off)
	}
	return nil
}
