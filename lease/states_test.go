package lease_test

import (
	"strings"
	"testing"
	"time"

	"github.com/octostore/octostore/lease"
)

// verdicts says what becomes of every request in every state of a name: the
// verdict, then the events in order. All requests but the newcomer's are about
// Alice's lease.
//
// The columns: a newcomer acquires; Alice's request comes again; her
// idempotency key with other parameters; her capability as proof; her session
// as proof; a renewal; a release; a grant given back; a force-release; the end of
// her session; a sweep.
const verdicts = `
state            | newcomer               | repeat                 | altered          | proof               | session                | renew               | release             | give-back           | force               | session-end            | sweep
unused           | granted acquired       | granted acquired       | granted acquired | not_current         | granted acquired       | not_current         | not_current         | not_current         | not_held            | not_held               | -
held             | taken                  | confirmed renewed      | conflict         | confirmed renewed   | confirmed renewed      | confirmed renewed   | released released   | released released   | released released   | released released      | -
last-nanosecond  | taken                  | confirmed renewed      | conflict         | confirmed renewed   | confirmed renewed      | confirmed renewed   | released released   | released released   | released released   | released released      | -
at-deadline      | delayed expired        | conflict expired       | conflict expired | not_current expired | delayed expired        | not_current expired | not_current expired | not_current expired | not_held expired    | released expired       | - expired
overdue          | delayed expired        | conflict expired       | conflict expired | not_current expired | delayed expired        | not_current expired | not_current expired | not_current expired | not_held expired    | released expired       | - expired
overdue-rested   | granted expired acquired | conflict expired     | conflict expired | not_current expired | granted expired acquired | not_current expired | not_current expired | not_current expired | not_held expired  | released expired       | - expired
released-cooling | delayed                | conflict               | conflict         | not_current         | delayed                | not_current         | repeated            | repeated            | not_held            | not_held               | -
released         | granted acquired       | conflict               | conflict         | not_current         | granted acquired       | not_current         | repeated            | repeated            | not_held            | not_held               | -
given-back       | granted acquired       | conflict               | conflict         | not_current         | granted acquired       | not_current         | repeated            | repeated            | not_held            | not_held               | -
expired-cooling  | delayed                | conflict               | conflict         | not_current         | delayed                | not_current         | not_current         | not_current         | not_held            | not_held               | -
expired          | granted acquired       | conflict               | conflict         | not_current         | granted acquired       | not_current         | not_current         | not_current         | not_held            | not_held               | -
forced-cooling   | delayed                | conflict               | conflict         | not_current         | delayed                | not_current         | not_current         | not_current         | not_held            | not_held               | -
session-expired  | delayed                | conflict               | conflict         | not_current         | delayed                | not_current         | not_current         | not_current         | not_held            | not_held               | -
session-deleted  | delayed                | conflict               | conflict         | not_current         | delayed                | not_current         | not_current         | not_current         | not_held            | not_held               | -
succeeded        | taken                  | conflict               | conflict         | not_current         | taken                  | not_current         | repeated            | repeated            | released released   | not_held               | -
succeeded-over   | granted expired acquired | granted expired acquired | granted expired acquired | not_current expired | granted expired acquired | not_current expired | not_current expired | not_current expired | not_held expired | not_held expired | - expired
`

// state is a name and the moment at which it is asked about.
type state struct {
	record lease.Record
	now    lease.Now
}

func states() map[string]state {
	half := after(30 * time.Second)
	expired, _ := held().Settle(after(aliceDeadline + time.Second))
	bySession := func(reason lease.Reason) lease.Record {
		return first(held().EndWithSession(half, half, aliceSession, reason))
	}
	return map[string]state{
		"unused":           {unused(), dawn},
		"held":             {held(), half},
		"last-nanosecond":  {held(), after(aliceDeadline - 1)},
		"at-deadline":      {held(), after(aliceDeadline)},
		"overdue":          {held(), after(aliceDeadline + aliceDelay - 1)},
		"overdue-rested":   {held(), after(aliceDeadline + aliceDelay)},
		"released-cooling": {released(), after(30*time.Second + aliceDelay - 1)},
		"released":         {released(), after(30*time.Second + aliceDelay)},
		"given-back":       {first(held().GiveBack(half, aliceRef())), half},
		"expired-cooling":  {expired, after(aliceDeadline + aliceDelay - 1)},
		"expired":          {expired, after(aliceDeadline + aliceDelay)},
		"forced-cooling":   {first(held().ForceRelease(half)), after(30*time.Second + aliceDelay - 1)},
		"session-expired":  {bySession(lease.BySession), after(30*time.Second + aliceDelay - 1)},
		"session-deleted":  {bySession(lease.BySessionEnd), after(30*time.Second + aliceDelay - 1)},
		"succeeded":        {succeeded(), after(45 * time.Second)},
		"succeeded-over":   {succeeded(), after(40*time.Second + aliceDeadline)},
	}
}

type request func(lease.Record, lease.Now) (lease.Record, lease.Outcome, []lease.Event)

func requests() map[string]request {
	acquire := func(change func(*lease.Acquire)) request {
		return func(r lease.Record, now lease.Now) (lease.Record, lease.Outcome, []lease.Event) {
			req := bobAcquires()
			change(&req)
			return r.Acquire(ground(now), req)
		}
	}
	ref := aliceRef()
	return map[string]request{
		"newcomer": acquire(func(*lease.Acquire) {}),
		"repeat":   acquire(func(a *lease.Acquire) { a.Idem = lease.Repeatable{aliceKey} }),
		"altered": acquire(func(a *lease.Acquire) {
			a.Idem = lease.Repeatable{{Key: aliceKey.Key, Params: lease.Digest{'q'}}}
		}),
		"proof":   acquire(func(a *lease.Acquire) { a.Proof = &ref }),
		"session": acquire(func(a *lease.Acquire) { a.Bound = &lease.Binding{Session: aliceSession} }),
		"renew": func(r lease.Record, now lease.Now) (lease.Record, lease.Outcome, []lease.Event) {
			return r.Renew(now, ref, 0)
		},
		"release": func(r lease.Record, now lease.Now) (lease.Record, lease.Outcome, []lease.Event) {
			return r.Release(now, ref)
		},
		"give-back": func(r lease.Record, now lease.Now) (lease.Record, lease.Outcome, []lease.Event) {
			return r.GiveBack(now, ref)
		},
		"force": func(r lease.Record, now lease.Now) (lease.Record, lease.Outcome, []lease.Event) {
			return r.ForceRelease(now)
		},
		"session-end": func(r lease.Record, now lease.Now) (lease.Record, lease.Outcome, []lease.Event) {
			return r.EndWithSession(now, now, aliceSession, lease.BySessionEnd)
		},
		"sweep": func(r lease.Record, now lease.Now) (lease.Record, lease.Outcome, []lease.Event) {
			next, events := r.Settle(now)
			return next, lease.Outcome{Record: next, At: now}, events
		},
	}
}

// eachCell calls f for every cell of the table of verdicts.
func eachCell(t *testing.T, f func(t *testing.T, s state, ask request, want []string)) {
	t.Helper()
	states, requests := states(), requests()
	lines := strings.Split(strings.TrimSpace(verdicts), "\n")
	columns := strings.Split(lines[0], "|")
	if len(lines)-1 != len(states) || len(columns)-1 != len(requests) {
		t.Fatalf("the table has %d states and %d requests, the test %d and %d", len(lines)-1, len(columns)-1, len(states), len(requests))
	}
	for _, line := range lines[1:] {
		cells := strings.Split(line, "|")
		if len(cells) != len(columns) {
			t.Fatalf("%d cells in %q", len(cells), line)
		}
		name := strings.TrimSpace(cells[0])
		s, ok := states[name]
		if !ok {
			t.Fatalf("no state %q", name)
		}
		for i, cell := range cells[1:] {
			column := strings.TrimSpace(columns[i+1])
			ask, ok := requests[column]
			if !ok {
				t.Fatalf("no request %q", column)
			}
			t.Run(name+"/"+column, func(t *testing.T) {
				t.Parallel()
				f(t, s, ask, strings.Fields(cell))
			})
		}
	}
}

func TestEveryRequestInEveryState(t *testing.T) {
	t.Parallel()
	eachCell(t, func(t *testing.T, s state, ask request, want []string) {
		before := s.record
		next, out, events := ask(before, s.now)

		got := "-"
		if out.Verdict != 0 {
			got = out.Verdict.String()
		}
		for _, e := range events {
			got += " " + e.Type.String()
		}
		if want := strings.Join(want, " "); got != want {
			t.Fatalf("got %q, want %q", got, want)
		}
		if out.At != s.now {
			t.Errorf("decided at %v, not now %v", out.At, s.now)
		}
		if !same(out.Record, next) {
			t.Errorf("the outcome tells of another record:\n%+v\n%+v", out.Record, next)
		}
		if len(events) == 0 && !same(before, next) {
			t.Errorf("the record changed without an event:\n%+v\n%+v", before, next)
		}
		if next.Live(s.now.At) != next.Held {
			t.Errorf("a lease that is over is still recorded: %+v", next)
		}
		checkChain(t, before, next, events)
	})
}

// checkChain checks that the events lead from one record to the other.
func checkChain(t *testing.T, before, next lease.Record, events []lease.Event) {
	t.Helper()
	revision := before.Revision
	for _, e := range events {
		if e.Previous != revision || e.Revision <= revision || e.Revision != e.Record.Revision {
			t.Errorf("%s: revision %d after %d (record %d), the one before was %d", e.Type, e.Revision, e.Previous, e.Record.Revision, revision)
		}
		if revision != 0 && e.Revision != revision+1 {
			t.Errorf("%s: revision %d does not follow %d", e.Type, e.Revision, revision)
		}
		revision = e.Revision
		ends := e.Type == lease.WasReleased || e.Type == lease.Expired
		if ends != (e.Was != nil) || ends != (e.Reason != 0) || ends == e.Record.Held {
			t.Errorf("%s: Was %v, reason %d, held %t", e.Type, e.Was, e.Reason, e.Record.Held)
		}
	}
	if len(events) > 0 && !same(events[len(events)-1].Record, next) {
		t.Errorf("the last event tells of another record:\n%+v\n%+v", events[len(events)-1].Record, next)
	}
}

// A record is a value: whoever reads the committed one while the next is being
// decided must not see it change.
func TestNoTransitionTouchesTheRecordItBeginsWith(t *testing.T) {
	t.Parallel()
	eachCell(t, func(t *testing.T, s state, ask request, _ []string) {
		before := deepCopy(s.record)
		ask(s.record, s.now)
		s.record.Reanchor(s.now, 0)
		if !same(before, s.record) {
			t.Errorf("changed from\n%+v\nto\n%+v", before, s.record)
		}
	})
}
