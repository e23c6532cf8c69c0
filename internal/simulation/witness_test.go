package simulation

import (
	"testing"
	"time"

	"github.com/octostore/octostore/lease"
)

// told is a witness that was told of one reign: granted at 10 s for 30 s, with
// a lock-delay of 4 s.
func told(t *testing.T) (*witness, lease.Event) {
	t.Helper()
	w := newWitness(&clock{start: time.Now()})
	granted := lease.Event{
		Type: lease.Acquired, Revision: 7, At: lease.Now{At: lease.Instant(10 * time.Second)},
		Record: lease.Record{
			Key: lease.LockKey("default", "lock"), Term: 100, Held: true,
			Lease: lease.Lease{
				Nonce: lease.Nonce{1}, TTL: 30 * time.Second, Deadline: lease.Instant(40*time.Second + 50*time.Millisecond),
				Bound: &lease.Binding{LockDelay: 4 * time.Second},
			},
		},
	}
	if err := w.sees(granted, 10*time.Second); err != nil {
		t.Fatal(err)
	}
	return w, granted
}

// then is what follows the grant.
func then(granted lease.Event, typ lease.Type, at time.Duration) lease.Event {
	e := granted
	e.Type, e.Previous, e.Revision, e.At.At = typ, e.Revision, e.Revision+1, lease.Instant(at)
	switch was := granted.Record.Lease; typ {
	case lease.Acquired:
		e.Record.Term++
		e.Record.Lease.Nonce = lease.Nonce{2}
		e.Record.Lease.Deadline = lease.Instant(at + was.TTL + 50*time.Millisecond)
	case lease.Renewed:
		e.Record.Lease.Deadline = lease.Instant(at + was.TTL + 50*time.Millisecond)
	case lease.WasReleased, lease.Expired:
		e.Was = &was
		e.Record.Held, e.Record.Lease = false, lease.Lease{}
		e.Record.Last = &lease.Past{Ref: lease.Ref{Term: 100, Nonce: was.Nonce}, Delay: 4 * time.Second}
	}
	return e
}

// TestWitness: it objects to each thing that must not happen, and to nothing else.
func TestWitness(t *testing.T) {
	t.Parallel()
	const deadline = 40*time.Second + 50*time.Millisecond
	for name, c := range map[string]struct {
		before  func(*witness, lease.Event)
		typ     lease.Type
		at      time.Duration
		decided time.Duration // 0 for at
		change  func(*lease.Event)
		fine    bool
	}{
		"AllowsRenewal":             {typ: lease.Renewed, at: 40 * time.Second, fine: true},
		"AllowsExpiry":              {typ: lease.Expired, at: deadline, decided: deadline + 250*time.Millisecond, fine: true},
		"RefusesSecondLeader":       {typ: lease.Acquired, at: 20 * time.Second},
		"RefusesRenewalAtDeadline":  {typ: lease.Renewed, at: deadline},
		"RefusesRenewalOfAnother":   {typ: lease.Renewed, at: 20 * time.Second, change: func(e *lease.Event) { e.Record.Lease.Nonce[0] = 9 }},
		"RefusesShortDeadline":      {typ: lease.Renewed, at: 20 * time.Second, change: func(e *lease.Event) { e.Record.Lease.Deadline-- }},
		"RefusesLongDeadline":       {typ: lease.Renewed, at: 20 * time.Second, change: func(e *lease.Event) { e.Record.Lease.Deadline++ }},
		"RefusesEarlyExpiry":        {typ: lease.Expired, at: deadline - 1},
		"RefusesLateNotice":         {typ: lease.Expired, at: deadline, decided: deadline + 251*time.Millisecond},
		"RefusesReleaseUnasked":     {typ: lease.WasReleased, at: 20 * time.Second},
		"RefusesGap":                {typ: lease.Renewed, at: 20 * time.Second, change: func(e *lease.Event) { e.Previous++; e.Revision++ }},
		"RefusesRevisionThatStands": {typ: lease.Renewed, at: 20 * time.Second, change: func(e *lease.Event) { e.Revision-- }},
		"RefusesLostDelay":          {typ: lease.Expired, at: deadline, change: func(e *lease.Event) { e.Record.Last.Delay = 0 }},
		"AllowsReleaseAsked": {
			before: func(w *witness, e lease.Event) { w.lets(e.Record.Key, 100) },
			typ:    lease.WasReleased, at: 20 * time.Second, fine: true,
		},
		"RefusesExpiryBeforePromise": {
			before: func(w *witness, e lease.Event) {
				if err := w.believes(e.Record.Key, 100, 15*time.Second, 15*time.Second, 30*time.Second); err != nil {
					panic(err)
				}
			},
			typ: lease.Expired, at: deadline,
		},
		"AllowsGrantAfterDelay":  {before: expires, typ: lease.Acquired, at: deadline + 4*time.Second, fine: true},
		"RefusesGrantInDelay":    {before: expires, typ: lease.Acquired, at: deadline + 4*time.Second - 1},
		"RefusesTermThatRepeats": {before: expires, typ: lease.Acquired, at: time.Minute, change: func(e *lease.Event) { e.Record.Term-- }},
		"RefusesForgottenRowTooSoon": {
			before: expires, typ: lease.Acquired, at: deadline + keepsLock - 1,
			change: func(e *lease.Event) { e.Previous = 0 },
		},
		"AllowsForgottenRow": {
			before: expires, typ: lease.Acquired, at: deadline + keepsLock, fine: true,
			change: func(e *lease.Event) { e.Previous, e.Revision = 0, 1 },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, granted := told(t)
			e := then(granted, c.typ, c.at)
			if c.before != nil {
				c.before(w, granted)
				if e.Previous = w.of(granted.Record.Key).revision; e.Previous >= e.Revision {
					e.Revision = e.Previous + 1
				}
			}
			if c.change != nil {
				c.change(&e)
			}
			if err := w.sees(e, max(c.at, c.decided)); (err == nil) != c.fine {
				t.Errorf("it says %v", err)
			}
		})
	}
}

// expires lets the reign run out.
func expires(w *witness, granted lease.Event) {
	const deadline = 40*time.Second + 50*time.Millisecond
	if err := w.sees(then(granted, lease.Expired, deadline), deadline); err != nil {
		panic(err)
	}
}

// TestBelievers: two who both have reason to believe that they lead are noticed
// by their answers alone.
func TestBelievers(t *testing.T) {
	t.Parallel()
	w, granted := told(t)
	key := granted.Record.Key
	if err := w.believes(key, 100, 10*time.Second, 10*time.Second, 30*time.Second); err != nil {
		t.Fatal(err)
	}
	if err := w.believes(key, 101, 39*time.Second, 39*time.Second, 30*time.Second); err == nil {
		t.Error("it takes a second leader for granted")
	}
	w.lets(key, 100)
	if err := w.believes(key, 101, 39*time.Second, 39*time.Second, 30*time.Second); err != nil {
		t.Error(err)
	}
}
