package lease_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/octostore/octostore/lease"
)

// seconds are the TTLs that callers ask for.
var seconds = []int64{1, 2, 5, 30, 60, 61, 300, 3600}

// draft is what the body of an acquire says.
type draft struct {
	ttl, delay      int64
	label, metadata string
	session         int
	key             byte // 0 without an idempotency key
}

// draft is a new request of one of several callers, or one that is sent again.
func (w *world) draft() draft {
	if len(w.keyed) > 0 && w.chance(20) {
		d := w.keyed[len(w.keyed)-1]
		if w.chance(30) {
			d = w.keyed[w.rng.IntN(len(w.keyed))]
		}
		if w.chance(20) {
			d.ttl = seconds[w.rng.IntN(len(seconds))] * nanosPerSecond
		}
		return d
	}
	d := draft{
		ttl: seconds[w.rng.IntN(len(seconds))] * nanosPerSecond, delay: pick[int64](w, 0, 0, 0, 1, 10, 30) * nanosPerSecond,
		metadata: pick(w, "", "m", "n"), label: pick(w, "", "a", "b", "c", "d"),
	}
	if slot := w.rng.IntN(2 * len(w.workers)); slot < len(w.workers) {
		d.session = w.workers[slot].id
	}
	if w.chance(30) {
		d.key = byte('1' + w.rng.IntN(6))
		w.keyed = append(w.keyed, d)
	}
	return d
}

// forms are the digests of a draft under every server key there was.
func (w *world) forms(d draft) (forms lease.Repeatable) {
	for epoch := w.epoch; epoch >= 0; epoch-- {
		form := lease.Idempotency{Key: lease.Digest{byte(epoch), d.key}, Params: lease.Digest{byte(epoch)}}
		binary.BigEndian.PutUint16(form.Params[1:], uint16(d.ttl/nanosPerSecond))
		binary.BigEndian.PutUint16(form.Params[3:], uint16(d.delay/nanosPerSecond))
		binary.BigEndian.PutUint32(form.Params[5:], uint32(d.session))
		copy(form.Params[9:], d.label+"/"+d.metadata)
		forms = append(forms, form)
	}
	return forms
}

// present tells whether the session of a draft lives, and settles it: a store
// looks at the session before it looks at the name.
func (w *world) present(now lease.Now, d draft) (bool, error) {
	if d.session == 0 {
		return true, nil
	}
	for slot := range w.workers {
		if w.workers[slot].id == d.session {
			err := w.settleSession(now, slot)
			return w.workers[slot].endedBy == "", err
		}
	}
	return false, nil
}

// acquire is a campaign or an acquire.
func (w *world) acquire(now lease.Now, sent int64) error {
	w.serial++
	d := w.draft()
	if ok, err := w.present(now, d); !ok || err != nil {
		return err
	}
	wish := wish{
		secret: w.serial, ttl: d.ttl, delay: d.delay, label: d.label, metadata: d.metadata, session: d.session,
		crowd: w.rng.Int64N(5), limit: pick[int64](w, 0, 0, 3),
	}
	req := lease.Acquire{
		TTL: time.Duration(d.ttl), Nonce: secretNonce(w.serial), Label: d.label, Labelled: d.label != "",
		Metadata: d.metadata, Described: d.metadata != "", Limit: wish.limit,
	}
	if d.session != 0 || d.delay != 0 || w.chance(50) {
		req.Bound = &lease.Binding{Principal: "team", LockDelay: time.Duration(d.delay)}
		if d.session != 0 {
			req.Bound.Session = sessionDigest(d.session)
		}
	}
	if d.key != 0 {
		wish.key, wish.params = string(d.key), fmt.Sprint(d)
		req.Idem = w.forms(d)
	}
	if w.chance(12) {
		p := w.someProof()
		ref := p.ref()
		wish.proof, req.Proof = &p, &ref
		wish.relabel, wish.redescribe = req.Labelled, req.Described
	}

	g := lease.Ground{Now: now, Floor: w.floor, Live: wish.crowd}
	if w.rec.Held {
		g.Live++
	}
	before := w.book.current()
	var end, cooled int64
	if before != nil {
		end = before.deadline
	}
	cooled = w.book.cooling
	want := w.book.acquire(w.now, int64(now.Wall), wish)
	next, out, events := w.rec.Acquire(g, req)
	if err := w.took("acquire", want, now, next, out, events); err != nil {
		return err
	}
	switch want {
	case "granted":
		w.proofs = append(w.proofs, proof{secretOf(next.Lease.Nonce), int64(next.Term)})
		if cooled == w.now {
			w.tally["grant at the very end of a delay"]++
		}
		if end == w.now {
			w.tally["grant at the very deadline"]++
		}
	case "confirmed":
		switch {
		case wish.proof != nil:
			w.tally["acquire confirmed by proof"]++
		case wish.key != "" && wish.key == w.book.current().key:
			w.tally["acquire confirmed by key"]++
		default:
			w.tally["acquire confirmed by session"]++
		}
		if w.book.current().deadline == end {
			w.tally["confirmation that moved nothing"]++
		}
	default:
		return nil
	}
	return w.mayCountOn(next, sent, wish.ttl, false)
}

// mayCountOn tells the witness what a holder was told.
func (w *world) mayCountOn(next lease.Record, sent, ttl int64, shortens bool) error {
	if end := w.instant(next.Lease.Deadline); end < sent+ttl {
		return fmt.Errorf("a deadline of %d for a TTL of %d sent at %d", end, ttl, sent)
	}
	return w.witness.hears(secretOf(next.Lease.Nonce), sent, ttl, shortens)
}

func (w *world) renew(now lease.Now, sent int64) error {
	p := w.someProof()
	var ttl int64
	if w.chance(60) {
		ttl = seconds[w.rng.IntN(len(seconds))] * nanosPerSecond
	}
	var end int64
	if r := w.book.current(); r != nil {
		end = r.deadline
	}
	want := w.book.renew(w.now, int64(now.Wall), p, ttl)
	next, out, events := w.rec.Renew(now, p.ref(), time.Duration(ttl))
	if err := w.took("renew", want, now, next, out, events); err != nil || want != "confirmed" {
		return err
	}
	if ref := next.Ref(); ref != p.ref() {
		return errors.New("another lease was renewed than the one that was named")
	}
	if w.book.current().deadline < end {
		if ttl == 0 {
			return errors.New("a renewal without a TTL shortened")
		}
		w.tally["renewal that shortened"]++
	}
	return w.mayCountOn(next, sent, int64(next.Lease.TTL), ttl != 0)
}

func (w *world) release(now lease.Now, cool bool) error {
	p := w.someProof()
	want := w.book.release(w.now, int64(now.Wall), p, cool)
	what, do := "release", w.rec.Release
	if !cool {
		what, do = "give-back", w.rec.GiveBack
	}
	next, out, events := do(now, p.ref())
	if want == "repeated" && next.Held {
		w.tally["late release that met a successor"]++
	}
	return w.took(what, want, now, next, out, events)
}

func (w *world) force(now lease.Now) error {
	want := w.book.force(w.now, int64(now.Wall))
	next, out, events := w.rec.ForceRelease(now)
	return w.took("force", want, now, next, out, events)
}

// sweep is the server noticing what time has done, to some of it or to all.
func (w *world) sweep(now lease.Now) error {
	if w.chance(50) {
		for slot := range w.workers {
			if err := w.settleSession(now, slot); err != nil {
				return err
			}
		}
	}
	w.book.pass(w.now, int64(now.Wall))
	next, events := w.rec.Settle(now)
	w.note("sweep: %d events", len(events))
	return w.happened(next, events)
}

// endBoundSession is what a store owes the kernel: the session that the lease is
// bound to is looked at before the lease is.
func (w *world) endBoundSession(now lease.Now) error {
	for slot, s := range w.workers {
		if b := w.rec.Lease.Bound; s.id != 0 && w.rec.Held && b != nil && b.Session == sessionDigest(s.id) {
			return w.settleSession(now, slot)
		}
	}
	return nil
}

// settleSession records the expiry of a session, if it has expired, and ends its
// lease with it.
func (w *world) settleSession(now lease.Now, slot int) error {
	s := &w.workers[slot]
	if s.id == 0 {
		return nil
	}
	before := s.endedBy
	s.pass(w.now)
	next, ended := w.sessions[slot].Settle(now)
	if ended != (before != s.endedBy) {
		return fmt.Errorf("%w about the end of session %d: %t", errDisagree, s.id, ended)
	}
	w.sessions[slot] = next
	if !ended {
		return w.sameSession(slot)
	}
	return w.endWithSession(now, slot)
}

// endWithSession ends the lease with its session.
func (w *world) endWithSession(now lease.Now, slot int) error {
	s, k := &w.workers[slot], &w.sessions[slot]
	if err := w.sameSession(slot); err != nil {
		return err
	}
	want := w.book.sessionOver(w.now, int64(now.Wall), s.id, s.ended, s.endedBy)
	next, out, events := w.rec.EndWithSession(now, lease.Now{At: k.OverAt, Wall: k.OverWall}, k.ID, k.Reason)
	return w.took("session end", want, now, next, out, events)
}

// sameSession compares a session with the book.
func (w *world) sameSession(slot int) error {
	s, k := &w.workers[slot], &w.sessions[slot]
	switch {
	case k.Over != (s.endedBy != ""), k.Over && reasons[k.Reason] != s.endedBy:
		return fmt.Errorf("%w about session %d: %+v, %+v", errDisagree, s.id, *k, *s)
	case k.Live(lease.Instant(w.now-w.boot)) != (s.endedBy == "" && w.now < s.deadline):
		return fmt.Errorf("%w about the life of session %d: %+v, %+v", errDisagree, s.id, *k, *s)
	case !k.Over && w.instant(k.Deadline) != s.deadline:
		return fmt.Errorf("%w about the deadline of session %d: %d, %d", errDisagree, s.id, w.instant(k.Deadline), s.deadline)
	}
	return nil
}

// session is a request about one of the sessions.
func (w *world) session(now lease.Now) error {
	slot := w.rng.IntN(len(w.workers))
	s := &w.workers[slot]
	if s.id == 0 || s.endedBy != "" && w.chance(70) {
		w.serial++
		ttl := pick[int64](w, 10, 60, 300) * nanosPerSecond
		w.workers[slot] = openWorker(w.serial, w.now, ttl)
		w.sessions[slot] = lease.Open(now, sessionDigest(w.serial), "acme", "team", time.Duration(ttl), nil)
		w.seen = w.now
		w.note("session %d opens", w.serial)
		return w.sameSession(slot)
	}
	before := s.endedBy
	what, want, do := "keepalive", "", w.sessions[slot].Keepalive
	if w.chance(25) {
		what, want, do = "delete", s.remove(w.now), w.sessions[slot].Delete
	} else {
		want = s.keepalive(w.now)
	}
	next, verdict := do(now)
	w.note("%s of session %d: %s", what, s.id, verdict)
	w.tally[what+" "+verdict.String()]++
	if verdict.String() != want {
		return fmt.Errorf("%w about the %s of session %d: %s, %s", errDisagree, what, s.id, verdict, want)
	}
	w.sessions[slot], w.seen = next, w.now
	if before != s.endedBy {
		return w.endWithSession(now, slot)
	}
	return w.sameSession(slot)
}

// reboot loses the clock: the server is down for a while that it can not know.
func (w *world) reboot() {
	crashed, seen := w.now, w.seen
	if w.chance(50) {
		seen += w.rng.Int64N(crashed - seen + 1)
	}
	stamp := lease.Instant(seen - w.boot)
	switch {
	case w.rec.Held && w.rec.Lease.Deadline <= stamp:
		w.tally["reboot while overdue"]++
	case w.rec.Held:
		w.tally["reboot while held"]++
	case w.rec.Free > stamp:
		w.tally["reboot while cooling"]++
	}
	w.now += w.leap()
	w.boot = w.now - w.rng.Int64N(min(w.now, nanosPerSecond)+1)
	now := w.read()
	w.note("reboot, down since %d, seen until %d", crashed, seen)
	w.rec = w.rec.Reanchor(now, stamp)
	w.book.reboot(w.now, seen)
	for slot := range w.workers {
		if s := &w.workers[slot]; s.id != 0 {
			s.reboot(w.now, seen)
			w.sessions[slot] = w.sessions[slot].Reanchor(now, stamp)
		}
	}
	w.seen = w.now
}

// cleanUp drops a row that is neither held nor cooling.
func (w *world) cleanUp(now lease.Now) {
	if w.rec.Held || w.rec.Cooling(now.At) || w.rec.Term == 0 {
		return
	}
	w.floor = max(w.floor, w.rec.Term)
	w.rec = lease.Record{Key: w.rec.Key}
	w.book.cleanUp()
	w.witness.forgets()
	w.tally["clean-up"]++
	w.note("clean-up, floor %d", w.floor)
}

// come waits for the name as somebody who has all the time it takes.
func (w *world) come() error {
	now := w.read()
	if free := w.rec.GrantableAt(); free > now.At {
		w.now = w.instant(free)
		now = w.read()
	}
	if err := w.endBoundSession(now); err != nil {
		return err
	}
	w.serial++
	wish := wish{secret: w.serial, ttl: nanosPerSecond}
	want := w.book.acquire(w.now, int64(now.Wall), wish)
	next, out, events := w.rec.Acquire(lease.Ground{Now: now, Floor: w.floor}, lease.Acquire{TTL: time.Second, Nonce: secretNonce(wish.secret)})
	if err := w.took("acquire", want, now, next, out, events); err != nil {
		return err
	}
	if want != "granted" {
		return fmt.Errorf("a name that nobody holds is never free: %s", want)
	}
	return nil
}
