package lease_test

// This file is the rules of a name once more, as the wire contract words them
// and not as the kernel computes them: plain numbers and slices, one name,
// time in nanoseconds that never stops or steps, not even while the server is
// down. It knows nothing of the package that it judges.

// book is the life of one name.
type book struct {
	reigns   []reign // every reign there ever was, also those that the server has forgotten
	leading  int     // index of the reign that goes on, -1 for none
	lastOver int     // index of the last one that ended, -1 if none is remembered
	cooling  int64   // nobody is granted the name before
	lastTerm int64   // of the row, 0 for a row that is not there
	floor    int64   // highest term of a row that was cleaned up
	revision int64   // of the row, 0 for a row that is not there
	jump     bool    // the clock was lost since the last revision
	news     []bulletin
}

// reign is one lease, from its grant to its end.
type reign struct {
	secret       int
	term         int64
	ttl          int64
	deadline     int64
	delay        int64
	key, params  string // of the idempotency key, "" without one
	session      int    // 0 without one
	label        string
	metadata     string
	endedBy      string // "" while it goes on
	ended        int64
	delayThatRan int64
}

// bulletin is what watchers are told.
type bulletin struct {
	what             string // acquired, renewed, released, expired
	why              string // release, expiry, session expired, session deleted, force; "" unless a reign ended
	at               int64
	revision, before int64
	term             int64
	secretOver       int // of the reign that ended, 0 if none did
}

const (
	nanosPerSecond = 1_000_000_000
	leastGuard     = 50_000_000
)

// deadline is "decision instant + TTL + guard, where guard = max(50 ms, TTL/1000)".
func deadline(decided, ttl int64) int64 {
	guard := ttl / 1000
	if guard < leastGuard {
		guard = leastGuard
	}
	return decided + ttl + guard
}

func newBook() *book { return &book{leading: -1, lastOver: -1} }

// current is the reign that goes on, nil for none.
func (b *book) current() *reign {
	if b.leading < 0 {
		return nil
	}
	return &b.reigns[b.leading]
}

// remembered is the last reign that ended, nil if it is not remembered.
func (b *book) remembered() *reign {
	if b.lastOver < 0 {
		return nil
	}
	return &b.reigns[b.lastOver]
}

// tell gives a transition its revision: "by one while the row lives; a new row,
// or the first transition after a restore or reboot, starts at max(last + 1,
// Unix microseconds)".
func (b *book) tell(n bulletin, wall int64) {
	n.before = b.revision
	b.revision++
	if (n.before == 0 || b.jump) && wall > b.revision {
		b.revision = wall
	}
	b.jump = false
	n.revision = b.revision
	b.news = append(b.news, n)
}

// finish ends the reign that goes on, as of the instant at.
func (b *book) finish(at int64, why string, delay, wall int64) {
	r := b.current()
	r.endedBy, r.ended, r.delayThatRan = why, at, delay
	b.lastOver, b.leading = b.leading, -1
	b.cooling = 0
	if delay > 0 {
		b.cooling = at + delay
	}
	what := "released"
	if why == "expiry" {
		what = "expired"
	}
	b.tell(bulletin{what: what, why: why, at: at, term: r.term, secretOver: r.secret}, wall)
}

// pass lets time do what it does: "from the deadline on it is over in every
// answer", and the lock-delay counts "from the deadline, never from when a
// sweep notices".
func (b *book) pass(now, wall int64) {
	if r := b.current(); r != nil && now >= r.deadline {
		b.finish(r.deadline, "expiry", r.delay, wall)
	}
}

// wish is an acquire as its caller means it.
type wish struct {
	secret      int // of the reign, if one begins
	ttl, delay  int64
	key, params string
	session     int
	label       string
	metadata    string
	proof       *proof
	relabel     bool  // with proof: label was given
	redescribe  bool  // with proof: metadata was given
	crowd       int64 // live leases of other names in the scope
	limit       int64 // 0 for none
}

// proof is a lease id that somebody shows.
type proof struct {
	secret int
	term   int64
}

func (p proof) of(r *reign) bool { return r != nil && r.secret == p.secret && r.term == p.term }

// acquire follows "Who is the holder" and "Idempotency-Key".
func (b *book) acquire(now, wall int64, w wish) string {
	b.pass(now, wall)
	r := b.current()
	if w.proof != nil {
		// "a stale lease_id is 404, never a new grant"
		if !w.proof.of(r) {
			return "not_current"
		}
		if w.relabel {
			r.label = w.label
		}
		if w.redescribe {
			r.metadata = w.metadata
		}
		return b.confirm(now, wall, w.ttl)
	}
	if w.key != "" {
		if r != nil && r.key == w.key {
			if r.params != w.params {
				return "conflict"
			}
			return b.confirm(now, wall, w.ttl)
		}
		// "After the lease ended: 409 conflict while the row remembers it"
		if over := b.remembered(); over != nil && over.key == w.key {
			return "conflict"
		}
	}
	if r != nil {
		if w.session != 0 && r.session == w.session {
			return b.confirm(now, wall, w.ttl)
		}
		return "taken"
	}
	if now < b.cooling {
		return "delayed"
	}
	if w.limit > 0 && w.crowd >= w.limit {
		return "full"
	}
	term := b.lastTerm + 1
	if b.floor+1 > term {
		term = b.floor + 1
	}
	if wall > term {
		term = wall
	}
	b.reigns = append(b.reigns, reign{
		secret: w.secret, term: term, ttl: w.ttl, deadline: deadline(now, w.ttl), delay: w.delay,
		key: w.key, params: w.params, session: w.session, label: w.label, metadata: w.metadata,
	})
	b.leading, b.lastTerm, b.cooling = len(b.reigns)-1, term, 0
	b.tell(bulletin{what: "acquired", at: now, term: term}, wall)
	return "granted"
}

// confirm is "a renewal with the request's ttl: deadline = max(present, now +
// ttl + guard)".
func (b *book) confirm(now, wall, ttl int64) string {
	r := b.current()
	if d := deadline(now, ttl); d > r.deadline {
		r.deadline, r.ttl = d, ttl
	}
	b.tell(bulletin{what: "renewed", at: now, term: r.term}, wall)
	return "confirmed"
}

// renew: without a ttl "keeps the lease's own TTL; a shorter one shortens".
func (b *book) renew(now, wall int64, p proof, ttl int64) string {
	b.pass(now, wall)
	r := b.current()
	if !p.of(r) {
		return "not_current"
	}
	if ttl != 0 {
		r.ttl = ttl
	}
	r.deadline = deadline(now, r.ttl)
	b.tell(bulletin{what: "renewed", at: now, term: r.term}, wall)
	return "confirmed"
}

// release: "a repeated release answers as the first did if the lease it names
// is the last that ended on this name and it ended by its own release".
func (b *book) release(now, wall int64, p proof, withDelay bool) string {
	b.pass(now, wall)
	if r := b.current(); p.of(r) {
		delay := r.delay
		if !withDelay {
			delay = 0
		}
		b.finish(now, "release", delay, wall)
		return "released"
	}
	if over := b.remembered(); p.of(over) && over.endedBy == "release" {
		return "repeated"
	}
	return "not_current"
}

// force: "404 when nothing is held; the delay runs as after a release".
func (b *book) force(now, wall int64) string {
	b.pass(now, wall)
	r := b.current()
	if r == nil {
		return "not_held"
	}
	b.finish(now, "force", r.delay, wall)
	return "released"
}

// sessionOver: a lock "is bound to that session and ends with it", unless its
// own deadline had come first.
func (b *book) sessionOver(now, wall int64, session int, over int64, why string) string {
	r := b.current()
	if r == nil || r.session != session {
		b.pass(now, wall)
		return "not_held"
	}
	if r.deadline <= over {
		b.pass(now, wall)
	} else {
		b.finish(over, why, r.delay, wall)
	}
	return "released"
}

// reboot: "each live lease gets its full TTL once more, never less"; what was
// over by the last instant that was seen stays over; "sessions and delays
// follow the same rule".
func (b *book) reboot(now, seen int64) {
	b.jump = true
	if r := b.current(); r != nil {
		if r.deadline <= seen {
			r.deadline = now
		} else {
			r.deadline = deadline(now, r.ttl)
		}
	} else if over := b.remembered(); over != nil && b.cooling > seen {
		b.cooling = now + over.delayThatRan
	} else {
		b.cooling = 0
	}
}

// cleanUp: with the row go "its history, the repeat's 200 and the key's
// memory"; the floor remembers its term.
func (b *book) cleanUp() {
	if b.lastTerm > b.floor {
		b.floor = b.lastTerm
	}
	b.lastOver, b.cooling, b.lastTerm, b.revision, b.jump = -1, 0, 0, 0, false
}

// worker is a session in the book: "Sessions have the same deadline rule, guard
// included."
type worker struct {
	id       int
	ttl      int64
	deadline int64
	endedBy  string // "", session expired, session deleted
	ended    int64
}

func openWorker(id int, now, ttl int64) worker {
	return worker{id: id, ttl: ttl, deadline: deadline(now, ttl)}
}

func (w *worker) pass(now int64) {
	if w.endedBy == "" && now >= w.deadline {
		w.endedBy, w.ended = "session expired", w.deadline
	}
}

// refusal is what an ended session answers: "410, then 404; a deleted one 404".
func (w *worker) refusal() string {
	if w.endedBy == "session deleted" {
		return "no_session"
	}
	return "session_ended"
}

func (w *worker) keepalive(now int64) string {
	if w.pass(now); w.endedBy != "" {
		return w.refusal()
	}
	w.deadline = deadline(now, w.ttl)
	return "confirmed"
}

func (w *worker) remove(now int64) string {
	if w.pass(now); w.endedBy != "" {
		return w.refusal()
	}
	w.endedBy, w.ended = "session deleted", now
	return "released"
}

func (w *worker) reboot(now, seen int64) {
	switch {
	case w.endedBy != "":
	case w.deadline <= seen:
		w.deadline = now
	default:
		w.deadline = deadline(now, w.ttl)
	}
}
