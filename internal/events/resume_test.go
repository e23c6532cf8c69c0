package events

import (
	"context"
	"math"
	"strconv"
	"testing"

	"github.com/octostore/octostore/lease"
)

func TestResume(t *testing.T) {
	t.Parallel()

	// A name with five events, all of them kept because someone watches.
	history := func(t *testing.T, o Options) (*book, []lease.Event) {
		t.Helper()
		b := newBook(t, o)
		takeState(t, b.watch(t, room(1), ""), 0)
		var evs []lease.Event
		for _, step := range []func(lease.Key) []lease.Event{b.grant, b.renew, b.release, b.grant, b.expire} {
			evs = append(evs, step(room(1))...)
		}
		b.publish(evs)
		return b, evs
	}

	t.Run("ReplaysWhatWasMissed", func(t *testing.T) {
		t.Parallel()
		b, evs := history(t, Options{Buffer: 1}) // a replay is not a lag
		for i := range evs {
			s := b.watch(t, room(1), id(evs[i].Previous))
			for _, ev := range evs[i:] {
				takeEvent(t, s, ev)
			}
			takeNothing(t, s)
		}
		if b.reads != 1 {
			t.Errorf("present state read %d times, want 1: for the first stream only", b.reads)
		}
	})

	t.Run("GoesOnAfterReplay", func(t *testing.T) {
		t.Parallel()
		b, evs := history(t, Options{})
		s := b.watch(t, room(1), id(evs[3].Revision))
		takeEvent(t, s, evs[4])
		granted := b.grant(room(1))
		b.publish(granted)
		takeEvent(t, s, granted[0])
	})

	t.Run("RepeatsStateUnderSameIDIfNothingWasMissed", func(t *testing.T) {
		t.Parallel()
		b, evs := history(t, Options{})
		last := evs[len(evs)-1].Revision
		s := b.watch(t, room(1), id(last))
		takeState(t, s, last)
		takeNothing(t, s)
	})

	t.Run("KnowsAfterRestartThatNothingWasMissed", func(t *testing.T) {
		t.Parallel()
		b := newBook(t, Options{})
		granted := b.grant(room(1))
		s := b.watch(t, room(1), id(granted[0].Revision))
		takeState(t, s, granted[0].Revision)
		renewed := b.renew(room(1))
		b.publish(renewed)
		takeEvent(t, s, renewed[0])
	})

	t.Run("KnowsThatUnusedNameIsUnused", func(t *testing.T) {
		t.Parallel()
		b := newBook(t, Options{})
		s := b.watch(t, room(1), "0")
		takeState(t, s, 0)
	})

	t.Run("TellsGapIfHistoryIsGone", func(t *testing.T) {
		t.Parallel()
		b := newBook(t, Options{})
		granted, renewed := b.grant(room(1)), b.renew(room(1))
		s := b.watch(t, room(1), id(granted[0].Revision))
		takeGap(t, s)
		takeState(t, s, renewed[0].Revision)
	})

	t.Run("TellsGapIfIDIsOlderThanHistory", func(t *testing.T) {
		t.Parallel()
		b, evs := history(t, Options{History: 3, Dropped: func(n int) { t.Errorf("%d events dropped, but nobody lagged", n) }})
		for i, ev := range evs {
			s := b.watch(t, room(1), id(ev.Previous))
			if i < 2 {
				takeGap(t, s)
				takeState(t, s, evs[4].Revision)
				continue
			}
			for _, ev := range evs[i:] {
				takeEvent(t, s, ev)
			}
		}
	})

	t.Run("TellsGapIfIDIsBetweenRevisions", func(t *testing.T) {
		t.Parallel()
		b, evs := history(t, Options{})
		s := b.watch(t, room(1), id(evs[0].Revision-1)) // the first revision of a row is a jump
		takeGap(t, s)
		takeState(t, s, evs[4].Revision)
	})

	t.Run("TellsGapIfHistoryIsTornAfterID", func(t *testing.T) {
		t.Parallel()
		b, evs := history(t, Options{})
		b.grant(room(1)) // never published
		b.publish(b.renew(room(1)))
		s := b.watch(t, room(1), id(evs[3].Revision))
		takeEvent(t, s, evs[4])
		takeGap(t, s)
		takeState(t, s, b.read(room(1)).Record.Revision)
	})

	t.Run("TellsGapIfHistoryIsCutDuringReplay", func(t *testing.T) {
		t.Parallel()
		b, evs := history(t, Options{History: 5})
		s := b.watch(t, room(1), id(evs[0].Revision))
		takeEvent(t, s, evs[1])
		b.publish(b.grant(room(1)), b.renew(room(1)), b.renew(room(1)))
		takeGap(t, s)
		takeState(t, s, b.read(room(1)).Record.Revision)
		takeNothing(t, s)
	})

	for name, resume := range map[string]string{
		"Garbage": "abc", "Space": " 1", "Plus": "+1", "Negative": "-1", "LeadingZero": "01", "Hex": "0x1", "Float": "1.0",
		"TooLarge": "9223372036854775808", "TooLong": "11111111111111111111", "Future": id(math.MaxInt64), "Newline": "1\n",
	} {
		t.Run("TellsGapFor"+name, func(t *testing.T) {
			t.Parallel()
			b, evs := history(t, Options{})
			s := b.watch(t, room(1), resume)
			takeGap(t, s)
			takeState(t, s, evs[4].Revision)
			granted := b.grant(room(1))
			b.publish(granted)
			takeEvent(t, s, granted[0])
		})
	}

	t.Run("FutureIDHidesNoEvent", func(t *testing.T) {
		t.Parallel()
		b, evs := history(t, Options{Dropped: func(n int) { t.Errorf("%d events dropped, but nobody lagged", n) }})
		s := b.watch(t, room(1), id(evs[4].Revision+5))
		b.publish(b.grant(room(1)), b.renew(room(1))) // both are below that id
		takeGap(t, s)
		takeState(t, s, evs[4].Revision+2)

		s = b.watch(t, room(1), id(evs[4].Revision+3))
		b.renew(room(1))
		b.renew(room(1))            // neither is published
		b.publish(b.renew(room(1))) // is above that id, but does not follow it
		takeGap(t, s)
		takeState(t, s, evs[4].Revision+5)
		renewed := b.renew(room(1))
		b.publish(renewed)
		takeEvent(t, s, renewed[0])
	})

	t.Run("FutureIDThatComesTrueIsBelieved", func(t *testing.T) {
		t.Parallel()
		b, evs := history(t, Options{})
		s := b.watch(t, room(1), id(evs[4].Revision+2)) // as told by a store that is ahead of this hub
		b.publish(b.grant(room(1)), b.renew(room(1)))
		takeState(t, s, evs[4].Revision+2)
		takeNothing(t, s)
	})

	t.Run("ReplaysWhatIsPublishedWhileStateIsRead", func(t *testing.T) {
		t.Parallel()
		b := newBook(t, Options{})
		granted := b.grant(room(1))
		renewed := b.renew(room(1)) // committed; published only while the state is read
		s, err := b.hub.Watch(context.Background(), room(1), id(granted[0].Revision), func(context.Context) (lease.Reading, error) {
			b.publish(renewed)
			return b.read(room(1)), nil
		})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		takeEvent(t, s, renewed[0])
		takeNothing(t, s)
	})

	t.Run("ReplaysWhatIsPublishedBeforeStateIsRead", func(t *testing.T) {
		t.Parallel()
		b := newBook(t, Options{})
		granted := b.grant(room(1))
		s := b.watch(t, room(1), id(granted[0].Revision))
		renewed, released := b.renew(room(1)), b.release(room(1))
		b.publish(renewed, released)
		takeEvent(t, s, renewed[0])
		takeEvent(t, s, released[0])
		if b.reads != 0 {
			t.Errorf("present state read %d times", b.reads)
		}
	})

	t.Run("PassesOverItsOwnIDPublishedLate", func(t *testing.T) {
		t.Parallel()
		b := newBook(t, Options{})
		granted := b.grant(room(1)) // the reader saw this as a state, before it was published
		s := b.watch(t, room(1), id(granted[0].Revision))
		renewed := b.renew(room(1))
		b.publish(granted, renewed)
		takeEvent(t, s, renewed[0])
	})

	t.Run("TakesBackReplayThatWasCut", func(t *testing.T) {
		t.Parallel()
		b := newBook(t, Options{History: 1})
		granted := b.grant(room(1))
		s := b.watch(t, room(1), id(granted[0].Revision))
		b.publish(b.renew(room(1)), b.renew(room(1)))
		takeGap(t, s)
		takeState(t, s, b.read(room(1)).Record.Revision)
	})
}

func TestParseRevision(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]int64{"0": 0, "1": 1, "10": 10, "1764500000000000": 1764500000000000, "9223372036854775807": math.MaxInt64} {
		if got, ok := parseRevision(s); !ok || got != want {
			t.Errorf("parseRevision(%q) = %d, %v; want %d", s, got, ok, want)
		}
	}
	for _, s := range []string{"", "00", "01", "+1", "-0", "-1", "1 ", "1_0", "٣", "9223372036854775808", "18446744073709551616"} {
		if got, ok := parseRevision(s); ok {
			t.Errorf("parseRevision(%q) = %d, want a refusal", s, got)
		}
	}
}

// An id is read exactly if it is how a revision is written.
func FuzzParseRevision(f *testing.F) {
	for _, s := range []string{"", "0", "7", "00", "+1", "-1", "9223372036854775807", "9223372036854775808", "1e3", "\x00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		n, err := strconv.ParseInt(s, 10, 64)
		want := err == nil && n >= 0 && strconv.FormatInt(n, 10) == s
		got, ok := parseRevision(s)
		if ok != want || ok && got != n {
			t.Errorf("parseRevision(%q) = %d, %v; want %d, %v", s, got, ok, n, want)
		}
	})
}
