package histories

import (
	"time"

	"github.com/anishathalye/porcupine"
)

// Model implements Kind. A state of the model is a set of states of a room, because
// nobody knows what became of a call without an answer.
func (Elections) Model() porcupine.Model {
	m := porcupine.NondeterministicModel{
		Init: func() []any { return []any{roomState{}} },
		Step: func(state, input, _ any) []any {
			var next []any
			for _, s := range input.(*step).after(state.(roomState)) {
				next = append(next, s)
			}
			return next
		},
		Hash: hashState,
		DescribeOperation: func(input, _ any) string {
			s := input.(*step)
			if s.call != nil {
				return s.call.String()
			}
			return [...]string{arrived: "arrived", left: "left", crashed: "crash"}[s.what] + " " + s.attempt.String()
		},
		DescribeState: func(state any) string { return state.(roomState).String() },
	}
	return m.ToModel()
}

// after returns the states that the step can lead to from s, none if an honest
// server in s could not have answered so.
func (t *step) after(s roomState) []roomState {
	if t.life < s.life {
		// Its server was gone by then: it never happened.
		if t.call == nil || t.call.Outcome.Uncertain() {
			return []roomState{s}
		}
		return nil
	}
	switch t.what {
	case arrived:
		s.await(t.attempt, t.from)
		for _, a := range t.others {
			s.await(a, t.from)
		}
		return []roomState{s}
	case left:
		s.leave(t.attempt)
		return []roomState{s}
	case crashed:
		return t.crash(s)
	case called:
	}
	// Whoever sees a change does so after it was decided.
	at := max(t.from, s.clock)
	if at > t.to {
		return nil
	}
	switch t.call.Verb {
	case Campaign:
		return t.campaigned(s, at)
	case Renew:
		return t.renewed(s, at)
	case Resign:
		return t.resigned(s, at)
	case Status:
		return t.shown(s, at)
	default:
		return nil
	}
}

// crash ends a life: its queue is gone, and what was not given back stays.
func (t *step) crash(s roomState) []roomState {
	s.life = t.life + 1
	clear(s.queue[:])
	next := []roomState{s}
	if s.loose != 0 && s.loose <= t.to {
		next = append(next, s.givenBack())
	}
	next[0].loose = 0
	return next
}

func (t *step) campaigned(s roomState, at Instant) []roomState {
	c := t.call
	switch c.Outcome {
	case Won:
		if c.Answer.Leader != t.attempt {
			return nil
		}
		next := append(t.confirmed(s, at, c.Answer.Term, c.Answer.Expires), t.granted(s, at, c.Answer.Term, c.Answer.Expires)...)
		return append(next, t.joined(s, at)...)
	case Lost, Unknown:
		next := append(t.confirmed(s, at, 0, 0), t.granted(s, at, 0, 0)...)
		return append(next, s)
	case Following:
		s.leave(t.attempt)
		s, ok := s.tells(at, t.to, &c.Answer)
		if !ok || s.holder.attempt == t.attempt || t.usedUp(&s) {
			return nil
		}
		return []roomState{s}
	case Conflict:
		return t.conflicted(s, at)
	case Resigned, Shown, NotCurrent, Refused, Strange:
	}
	return nil
}

// usedUp tells whether the room remembers the key as that of a lease that ended.
func (t *step) usedUp(s *roomState) bool {
	return t.call.Keyed && s.last.keyed && s.last.attempt == t.attempt
}

// confirmed returns the states in which the campaign found the lease that an
// earlier call of the same attempt got. Term 0 was not told.
func (t *step) confirmed(s roomState, at Instant, term, expires int64) []roomState {
	s, ok := s.live(at)
	if !ok || !t.call.Keyed || s.holder.attempt != t.attempt {
		return nil
	}
	if term != 0 {
		if s, ok = s.learn(term); !ok {
			return nil
		}
	}
	// It counts as a renewal that never shortens.
	soonest, latest := at.Add(span(t.call.TTL)), t.to.Add(span(t.call.TTL))
	var next []roomState
	if latest > s.holder.soonest {
		e := s
		e.extend(at, t.call.TTL, max(soonest, s.holder.soonest), latest, expires)
		next = append(next, e)
	}
	if soonest <= s.holder.latest && (expires == 0 || s.holder.expires == 0 || expires == s.holder.expires) {
		k := s
		if expires == 0 {
			expires = k.holder.expires
		}
		k.extend(at, k.holder.ttl, max(soonest, k.holder.soonest), k.holder.latest, expires)
		next = append(next, k)
	}
	return next
}

// joined returns the state if the campaign shared its place in the queue with an
// equal one: both were answered with one grant.
func (t *step) joined(s roomState, at Instant) []roomState {
	a := &t.call.Answer
	s, ok := s.live(at)
	if !ok || !t.call.Keyed || t.call.Wait == 0 || s.holder.attempt != t.attempt || s.holder.renewed {
		return nil
	}
	if s, ok = s.learn(a.Term); !ok || s.holder.expires != 0 && s.holder.expires != a.Expires {
		return nil
	}
	s.holder.expires = a.Expires
	return []roomState{s}
}

// extend sets the deadline anew.
func (s *roomState) extend(at Instant, ttl time.Duration, soonest, latest Instant, expires int64) {
	s.clock = at
	s.holder.ttl, s.holder.expires, s.holder.renewed = ttl, expires, true
	s.holder.soonest, s.holder.latest = soonest, latest
	s.bump()
}

// granted returns the states in which the campaign began a new lease. Term 0 was
// not told.
func (t *step) granted(s roomState, at Instant, term, expires int64) []roomState {
	var next []roomState
	for _, g := range s.free(t.to) {
		if t.usedUp(&g) || g.overtakes(t.attempt, t.call.Sent) || term != 0 && term <= g.top {
			continue
		}
		g.clock = max(g.clock, at)
		g.leave(t.attempt)
		g.led, g.loose = true, t.call.HungUp
		g.holder = tenure{
			attempt: t.attempt, keyed: t.call.Keyed, term: term, expires: expires, ttl: t.call.TTL,
			soonest: g.clock.Add(span(t.call.TTL)), latest: t.to.Add(span(t.call.TTL)),
		}
		g.top = max(g.top, term)
		if g.revision == 0 {
			g.revision = revisionUnknown
		}
		g.bump()
		next = append(next, g)
	}
	return next
}

// conflicted returns the states in which the key is that of the last lease that
// ended.
func (t *step) conflicted(s roomState, at Instant) []roomState {
	var next []roomState
	if l, ok := s.live(at); ok && t.usedUp(&l) {
		next = append(next, l)
	}
	for _, f := range s.free(t.to) {
		if t.usedUp(&f) {
			next = append(next, f)
		}
	}
	return next
}

func (t *step) renewed(s roomState, at Instant) []roomState {
	c := t.call
	switch c.Outcome {
	case Won:
		if c.Answer.Term != c.Term || c.Answer.Leader != t.attempt {
			return nil
		}
		return t.extended(s, at, c.Answer.Expires)
	case Lost, Unknown:
		return append(t.extended(s, at, 0), s)
	case NotCurrent:
		if !s.is(t.attempt, c.Term) {
			return []roomState{s}
		}
		next := t.past(s)
		for _, e := range t.extended(s, at, 0) {
			// It was renewed, and ran out before that could be answered.
			next = append(next, t.past(e)...)
		}
		return next
	case Following, Resigned, Shown, Conflict, Refused, Strange:
	}
	return nil
}

// extended returns the state after the renewal, if it can have happened.
func (t *step) extended(s roomState, at Instant, expires int64) []roomState {
	s, ok := t.mine(s, at)
	if !ok {
		return nil
	}
	ttl := t.call.TTL
	if ttl == 0 {
		ttl = s.holder.ttl
	}
	s.extend(at, ttl, at.Add(span(ttl)), t.to.Add(span(ttl)), expires)
	return []roomState{s}
}

// mine returns the state if the lease that the call names is in force.
func (t *step) mine(s roomState, at Instant) (roomState, bool) {
	s, ok := s.live(at)
	if !ok || !s.is(t.attempt, t.call.Term) {
		return s, false
	}
	return s.learn(t.call.Term)
}

// past returns the state in which the present lease is over by the end of the step.
// That changes nothing in itself: nobody need have recorded it.
func (t *step) past(s roomState) []roomState {
	if o, ok := s.over(t.to); ok {
		return []roomState{o}
	}
	return nil
}

func (t *step) resigned(s roomState, at Instant) []roomState {
	c := t.call
	switch c.Outcome {
	case Resigned:
		if c.Answer.Term != c.Term {
			return nil
		}
		return append(t.released(s, at), t.repeated(s, at)...)
	case Lost, Unknown:
		return append(t.released(s, at), s)
	case NotCurrent:
		switch {
		case s.is(t.attempt, c.Term):
			return t.past(s)
		case !s.remembers(c.Term):
			return []roomState{s}
		case s.led:
			// Only the end of its successor makes the room forget it.
			return s.free(t.to)
		}
	case Won, Following, Shown, Conflict, Refused, Strange:
	}
	return nil
}

// released returns the state after the resignation, if it can have happened.
func (t *step) released(s roomState, at Instant) []roomState {
	s, ok := t.mine(s, at)
	if !ok {
		return nil
	}
	s.clock = at
	return []roomState{s.ended(true)}
}

// repeated returns the state if the lease had ended by its own resignation, and
// none has ended since.
func (t *step) repeated(s roomState, at Instant) []roomState {
	if !s.remembers(t.call.Term) {
		return nil
	}
	if !s.led {
		return []roomState{s}
	}
	if l, ok := s.live(at); ok {
		return []roomState{l}
	}
	return nil
}

// remembers tells whether the last lease that ended had this term and was given up
// by its leader.
func (s *roomState) remembers(term int64) bool { return s.last.released && s.last.term == term }

func (t *step) shown(s roomState, at Instant) []roomState {
	a := &t.call.Answer
	if a.Leader != 0 {
		s, ok := s.tells(at, t.to, a)
		if !ok {
			return nil
		}
		return s.counted(a.Revision)
	}
	if a.Term != 0 {
		return nil
	}
	var next []roomState
	for _, o := range t.past(s) { // over, and not recorded yet
		next = append(next, o.counted(a.Revision)...)
	}
	for _, f := range s.free(t.to) {
		next = append(next, f.counted(a.Revision)...)
	}
	return next
}

// counted returns the state if it can have this revision.
func (s roomState) counted(revision int64) []roomState {
	if s.revision == revisionUnknown && revision > 0 {
		s.revision = revision
	}
	if s.revision != revision {
		return nil
	}
	return []roomState{s}
}
