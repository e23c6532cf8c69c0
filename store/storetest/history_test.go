package storetest

import (
	"strings"
	"testing"
	"time"

	"github.com/octostore/octostore/lease"
)

// story is a sound history of one name: granted, renewed, released with a
// delay, granted, expired, and granted once more on another boot.
func story() []life {
	key := lease.LockKey("acme", "l")
	bound := &lease.Binding{LockDelay: time.Second}
	at := func(s int) lease.Now {
		return lease.Now{At: lease.Instant(time.Duration(s) * time.Second), Wall: lease.Wall(1_700_000_000_000_000 + s*1_000_000)}
	}
	rec := lease.Record{Key: key}
	var events []lease.Event
	step := func(next lease.Record, _ lease.Outcome, evs []lease.Event) {
		rec = next
		events = append(events, evs...)
	}
	ask := func(nonce byte) lease.Acquire {
		return lease.Acquire{TTL: 10 * time.Second, Nonce: lease.Nonce{nonce}, Bound: bound}
	}
	step(rec.Acquire(lease.Ground{Now: at(1)}, ask(1)))
	step(rec.Renew(at(5), rec.Ref(), 0))
	step(rec.Release(at(6), rec.Ref()))
	step(rec.Acquire(lease.Ground{Now: at(7)}, ask(2)))
	next, evs := rec.Settle(at(20))
	step(next, lease.Outcome{}, evs)
	first := life{batches: []batch{{at: at(30), events: events}}}

	events = nil
	rec = rec.Reanchor(at(2), at(20).At)
	step(rec.Acquire(lease.Ground{Now: at(4)}, ask(3)))
	return []life{first, {after: Reboot, batches: []batch{{at: at(4), events: events}}}}
}

func TestHistoryAcceptsASoundStory(t *testing.T) {
	t.Parallel()
	lives := story()
	if n := len(lives[0].batches[0].events) + len(lives[1].batches[0].events); n != 6 {
		t.Fatalf("the story has %d events, want 6", n)
	}
	if got := checkHistory(lives); len(got) > 0 {
		t.Errorf("a sound history is refused: %q", got)
	}
}

func TestHistoryFinds(t *testing.T) {
	t.Parallel()
	const (
		granted = iota
		renewed
		released
		regranted
		expired
	)
	for name, c := range map[string]struct {
		spoil func(e []lease.Event) []lease.Event
		want  string
	}{
		"TwoHolders": {func(e []lease.Event) []lease.Event {
			e[regranted].Revision, e[regranted].Record.Revision, e[regranted].Previous = e[renewed].Revision+1, e[renewed].Revision+1, e[renewed].Revision
			return append(e[:released], e[regranted])
		}, "two holders"},
		"RepeatedTerm": {func(e []lease.Event) []lease.Event {
			e[regranted].Record.Term = e[granted].Record.Term
			return e
		}, "term is not above"},
		"TermBelowTheClock": {func(e []lease.Event) []lease.Event {
			e[granted].Record.Term = 7
			return e[:1]
		}, "below the wall clock"},
		"ShortenedDelay": {func(e []lease.Event) []lease.Event {
			e[released].Record.Free -= 1
			return e
		}, "lock-delay ends"},
		"GrantWithinADelay": {func(e []lease.Event) []lease.Event {
			e[regranted].At.At -= 1
			return e
		}, "the lock-delay ends"},
		"ShortLease": {func(e []lease.Event) []lease.Event {
			e[granted].Record.Lease.Deadline--
			return e
		}, "deadline is"},
		"WrongExpiry": {func(e []lease.Event) []lease.Event {
			e[granted].Record.Lease.Expires++
			return e
		}, "expires at"},
		"RenewalByAnother": {func(e []lease.Event) []lease.Event {
			e[renewed].Record.Lease.Nonce[3]++
			return e
		}, "the holder was"},
		"RenewalAfterTheDeadline": {func(e []lease.Event) []lease.Event {
			e[renewed].At.At = e[granted].Record.Lease.Deadline
			return e
		}, "revived"},
		"RenewalThatShortens": {func(e []lease.Event) []lease.Event {
			e[renewed].Record.Lease.Deadline--
			return e
		}, "after the renewal"},
		"EarlyExpiry": {func(e []lease.Event) []lease.Event {
			e[expired].At.At--
			return e
		}, "the deadline was"},
		"LateRelease": {func(e []lease.Event) []lease.Event {
			e[released].At.At += lease.Instant(time.Hour)
			return e
		}, "released at"},
		"LostEvent": {func(e []lease.Event) []lease.Event {
			return append(e[:renewed], e[released:]...)
		}, "was the last"},
		"RepeatedEvent": {func(e []lease.Event) []lease.Event {
			return append(e[:released], append([]lease.Event{e[renewed]}, e[released:]...)...)
		}, "revision is not above"},
		"JumpingRevision": {func(e []lease.Event) []lease.Event {
			e[renewed].Revision += 5
			e[renewed].Record.Revision += 5
			return e[:released]
		}, "revision jumped"},
		"FalseReason": {func(e []lease.Event) []lease.Event {
			e[expired].Reason = lease.ByRelease
			return e
		}, "reason"},
		"EventFromTheFuture": {func(e []lease.Event) []lease.Event {
			e[granted].At.At += lease.Instant(time.Hour)
			return e
		}, "before it happened"},
		"EndOfNothing": {func(e []lease.Event) []lease.Event {
			return e[released : released+1]
		}, "nothing was held"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			first := story()[0]
			first.batches[0].events = c.spoil(first.batches[0].events)
			got := strings.Join(checkHistory([]life{first}), "\n")
			if !strings.Contains(got, c.want) {
				t.Errorf("found %q, want something about %q", got, c.want)
			}
		})
	}
}

func TestHistoryKeepsTermsAcrossLives(t *testing.T) {
	t.Parallel()
	lives := story()
	e := &lives[1].batches[0].events[0]
	e.Record.Term = lives[0].batches[0].events[3].Record.Term
	if got := strings.Join(checkHistory(lives), "\n"); !strings.Contains(got, "term is not above") {
		t.Errorf("found %q", got)
	}
}

func TestHistoryForgivesWhatALostCommitTookAlong(t *testing.T) {
	t.Parallel()
	lives := story()
	events := lives[0].batches[0].events
	lost := []life{
		{batches: []batch{{at: lives[0].batches[0].at, events: events[:1]}}},
		{after: Crash, lost: true, batches: []batch{{at: lives[0].batches[0].at, events: events[2:]}}},
	}
	if got := checkHistory(lost); len(got) > 0 {
		t.Errorf("the renewal may have been lost: %q", got)
	}
	lost[1].lost = false
	if got := checkHistory(lost); len(got) == 0 {
		t.Error("an event was lost without a reason")
	}
}

func TestRecorderForgetsALifeThatIsOver(t *testing.T) {
	t.Parallel()
	InBubble(t, func(t *testing.T, b *Bubble) {
		r := NewRecorder()
		first := r.Begin(b.Clock(), 0, false)
		event := lease.Event{Record: lease.Record{Key: lease.ElectionKey("r")}}
		first.Publish([]lease.Event{event})
		second := r.Begin(b.Clock(), Crash, false)
		first.Publish([]lease.Event{event})
		second.Publish([]lease.Event{event, event})
		if n := len(r.Of(lease.ElectionKey("r"))); n != 3 {
			t.Errorf("%d events, want 3", n)
		}
		if n := len(r.Of(lease.ElectionKey("another"))); n != 0 {
			t.Errorf("%d events of a name that has none", n)
		}
	})
}

func TestBubbleMovesOneClockWithoutTheOther(t *testing.T) {
	t.Parallel()
	InBubble(t, func(t *testing.T, b *Bubble) {
		clock, start := b.Clock(), b.Clock().Now()
		b.StepWall(-day)
		if now := clock.Now(); now.At != start.At || now.Wall != start.Wall.Add(-day) {
			t.Errorf("a step of the wall clock moved %v to %v", start, now)
		}
		b.Advance(time.Hour)
		if now := clock.Now(); now.At != start.At.Add(time.Hour) || now.Wall != start.Wall.Add(time.Hour-day) {
			t.Errorf("an hour moved %v to %v", start, now)
		}
		boot := b.Boot()
		b.Reboot()
		if b.Boot().Same(boot) || b.Clock().Now().At >= start.At {
			t.Errorf("after a reboot: %v, %v", b.Boot(), b.Clock().Now())
		}
		if clock.Now().At != start.At.Add(time.Hour) {
			t.Error("a reboot moved the clock of a process that is gone")
		}
	})
}
