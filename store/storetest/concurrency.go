package storetest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/octostore/octostore/lease"
	"github.com/octostore/octostore/store"
)

// Concurrency runs what must hold when many call at once.
func Concurrency(t *testing.T, factory Factory) {
	t.Helper()
	perform(t, factory, []chapter{
		{"History", []scenario{{"NeverHasTwoHoldersAndTermsRise", randomHistory}}},
		{"Crowd", crowdScenarios()},
		{"Lanes", laneScenarios()},
	})
}

func crowdScenarios() []scenario {
	return []scenario{
		{"HundredSendsOfOneKeyAreOneGrant", func(s *scene) {
			key := room("r")
			var sends []*call
			for i := range 100 {
				store, req := s.replica(i), s.ask(ttl, s.keyed("k", "p"))
				sends = append(sends, s.send(func(ctx context.Context) (lease.Outcome, error) {
					return store.Acquire(ctx, key, req, 0)
				}))
			}
			s.sameLease(sends, 1)
			acquired := 0
			for _, e := range s.Events.Of(key) {
				if e.Type == lease.Acquired {
					acquired++
				}
			}
			if acquired != 1 {
				s.Errorf("%d grants", acquired)
			}
		}},
		{"HundredSendsOfOneKeyWaitAtOnePlace", func(s *scene) {
			key := room("r")
			holder := s.take(key, time.Hour).Record
			var sends []*call
			for i := range 100 {
				store, req := s.replica(i), s.ask(ttl, s.keyed("k", "p"))
				sends = append(sends, s.send(func(ctx context.Context) (lease.Outcome, error) {
					return store.Acquire(ctx, key, req, time.Minute)
				}))
			}
			s.pending(sends...)
			s.waiters(key, 100)
			other := s.queueUp(key, time.Minute, ttl)
			s.release(key, holder.Ref())
			s.sameLease(sends, 100)
			s.pending(other)
			s.told(key, lease.Acquired, lease.WasReleased, lease.Acquired)
		}},
		{"EachReleaseIsFollowedByOneLeaderInOrderOfArrival", func(s *scene) {
			s.lineOf64(func(holder lease.Record) { s.want(lease.Released, s.release(holder.Key, holder.Ref())) })
		}},
		{"EachExpiryIsFollowedByOneLeaderInOrderOfArrival", func(s *scene) {
			s.lineOf64(func(holder lease.Record) { s.until(holder.Lease.Deadline) })
		}},
		{"HundredCampaignsAtOnceAreOneGrant", func(s *scene) {
			key := room("r")
			var sends []*call
			for i := range 100 {
				store, req := s.replica(i), s.ask(ttl)
				sends = append(sends, s.send(func(ctx context.Context) (lease.Outcome, error) {
					return store.Acquire(ctx, key, req, 0)
				}))
			}
			granted := 0
			for _, c := range sends {
				switch out, err := s.answer(c); {
				case err != nil:
					s.Fatal(err)
				case out.Verdict == lease.Granted:
					granted++
				default:
					s.want(lease.Taken, out)
				}
			}
			if granted != 1 {
				s.Errorf("%d were granted the name", granted)
			}
		}},
		{"ReleaseAroundTheDeadlineNeverTouchesTheSuccessor", func(s *scene) {
			key := room("r")
			granted, ended := 0, map[lease.Verdict]int{}
			for i := range 150 {
				first := s.take(key, time.Second).Record
				s.until(first.Lease.Deadline - lease.Instant(time.Duration(i%3)*tick))
				late := s.sendRelease(key, first.Ref())
				next := s.sendAcquire(key, 0, time.Minute)
				out, err := s.answer(late)
				if err != nil {
					s.Fatal(err)
				}
				ended[out.Verdict]++
				if out, err = s.answer(next); err != nil {
					s.Fatal(err)
				}
				if out.Verdict != lease.Granted {
					s.want(lease.Taken, out)
					continue
				}
				granted++
				s.unchanged(out.Record)
				s.release(key, out.Record.Ref())
			}
			if granted < 50 || ended[lease.Released] == 0 || ended[lease.NotCurrent] == 0 {
				s.Errorf("%d grants, releases %v: the race was not run", granted, ended)
			}
		}},
		{"QuotaIsNotOvershotByACrowd", func(s *scene) {
			var sends []*call
			for i := range 64 {
				sends = append(sends, s.sendAcquire(room(fmt.Sprint("r", i)), 0, ttl, limited(10)))
			}
			granted := 0
			for _, c := range sends {
				switch out, err := s.answer(c); {
				case err != nil:
					s.Fatal(err)
				case out.Verdict == lease.Granted:
					granted++
				default:
					s.want(lease.Full, out)
				}
			}
			if granted != 10 {
				s.Errorf("%d of 10 were granted", granted)
			}
		}},
	}
}

// sameLease checks that all calls got one and the same lease, and how many of
// them were told that it began with them.
func (s *scene) sameLease(calls []*call, granted int) {
	s.Helper()
	refs := map[lease.Ref]bool{}
	began := 0
	for _, c := range calls {
		out, err := s.answer(c)
		if err != nil {
			s.Fatal(err)
		}
		if out.Verdict == lease.Granted {
			began++
		} else {
			s.want(lease.Confirmed, out)
		}
		refs[out.Record.Ref()] = true
	}
	if len(refs) != 1 || began != granted {
		s.Errorf("%d leases, of which %d calls were told that it began; want 1 and %d", len(refs), began, granted)
	}
}

// lineOf64 has 64 callers wait for one name and end each reign as told.
func (s *scene) lineOf64(end func(lease.Record)) {
	s.Helper()
	key := room("r")
	holder := s.take(key, ttl).Record
	var line []*call
	for i := range 64 {
		store, req := s.replica(i), s.ask(ttl)
		c := s.send(func(ctx context.Context) (lease.Outcome, error) { return store.Acquire(ctx, key, req, time.Hour) })
		s.pending(c)
		line = append(line, c)
	}
	s.waiters(key, len(line))
	for i, w := range line {
		s.pending(line[i:]...)
		// A crowd of newcomers meets the name at every change of hands.
		var newcomers []*call
		for range 8 {
			newcomers = append(newcomers, s.sendAcquire(key, 0, ttl, s.keyed(fmt.Sprint("newcomer ", i))))
		}
		end(holder)
		for _, c := range newcomers {
			s.answered(lease.Taken, c)
		}
		next := s.answered(lease.Granted, w).Record
		if next.Term <= holder.Term {
			s.Fatalf("term %d after %d", next.Term, holder.Term)
		}
		holder = next
	}
	s.waiters(key, 0)
}

func laneScenarios() []scenario {
	return []scenario{
		{"RenewalsAreAnsweredInAFloodOfCampaigns", func(s *scene) {
			key := room("leader")
			rec := s.take(key, ttl).Record
			release := s.hold()
			for i := range 6 * store.GroupSize {
				s.sendAcquire(room(fmt.Sprint("flood-", i)), 0, ttl)
			}
			s.Settle()
			renewal := s.sendRenew(key, rec.Ref(), 0)
			s.pending(renewal)
			release()
			s.answered(lease.Confirmed, renewal)
			// At most one group of the flood may have gone before it.
			if n := s.before(func(e lease.Event) bool { return e.Type == lease.Renewed }); n > store.GroupSize {
				s.Errorf("%d campaigns were decided before the renewal that arrived behind them", n)
			}
		}},
		{"CampaignsGetTheirEighthInAFloodOfRenewals", func(s *scene) {
			key := room("leader")
			rec := s.take(key, time.Hour).Record
			release := s.hold()
			const flood = 6 * store.GroupSize
			for range flood {
				s.sendRenew(key, rec.Ref(), time.Hour)
			}
			s.Settle()
			const newcomers = 2 * store.GroupSize / store.SecondShare
			for i := range newcomers {
				s.sendAcquire(room(fmt.Sprint("r", i)), 0, time.Hour)
			}
			s.Settle()
			release()
			isGrant := func(e lease.Event) bool { return e.Type == lease.Acquired && e.Record.Key != key }
			if n := s.before(isGrant); n > store.GroupSize {
				s.Errorf("%d renewals were decided before the first campaign", n)
			}
			grants, events := 0, 0
			for _, b := range s.Events.present()[2:] { // after the leader and the commit that was held
				for _, e := range b.events {
					if events++; isGrant(e) {
						grants++
					}
					if share := events / store.SecondShare; events%store.GroupSize == 0 && grants < min(share, newcomers) {
						s.Errorf("%d of the first %d were campaigns, want %d", grants, events, share)
					}
				}
			}
			if grants != newcomers {
				s.Errorf("%d of %d campaigns were granted", grants, newcomers)
			}
		}},
		{"FullLaneRefusesAtOnceAndTheOtherIsNotTouched", func(s *scene) {
			key := room("leader")
			rec := s.take(key, time.Hour, s.keyed("k")).Record
			other := s.take(room("other"), time.Hour).Record
			release := s.hold()
			var campaigns []*call
			for range store.SecondLane { // repeats, which cost little to decide
				campaigns = append(campaigns, s.sendAcquire(key, 0, time.Hour, s.keyed("k")))
			}
			s.pending(campaigns...)
			s.refused(s.sendAcquire(room("one-more"), 0, ttl))
			renewal := s.sendRenew(key, rec.Ref(), 0)
			s.pending(renewal)

			var renewals []*call
			for range store.FirstLane - 1 {
				renewals = append(renewals, s.sendRenew(key, rec.Ref(), 0))
			}
			s.pending(renewals...)
			s.refused(s.sendRenew(other.Key, other.Ref(), 0))
			s.refused(s.sendRelease(other.Key, other.Ref()))
			release()
			s.answered(lease.Confirmed, renewal)
			for _, c := range append(campaigns, renewals...) {
				s.answered(lease.Confirmed, c)
			}
			s.unchanged(other)
			s.want(lease.Released, s.release(other.Key, other.Ref()))
			s.take(room("one-more"), ttl)
		}},
		{"RequestThatStoodTooLongIsDroppedUndecided", func(s *scene) {
			key := room("leader")
			rec := s.take(key, time.Hour).Record
			release := s.hold()
			campaign := s.sendAcquire(room("r"), 0, time.Hour)
			waiting := s.sendAcquire(key, time.Minute, time.Hour)
			renewal := s.sendRenew(key, rec.Ref(), time.Minute)
			ended := s.sendRelease(key, rec.Ref())
			s.pending(campaign, waiting, renewal, ended)
			s.Advance(store.MaxQueueTime)
			release()
			for _, c := range []*call{campaign, waiting, renewal, ended} {
				s.refused(c)
			}
			s.unchanged(rec)
			s.told(key, lease.Acquired)
			s.told(room("r"))
			s.waiters(key, 0)
		}},
		{"WaitForTheNameIsNoTimeInTheLane", func(s *scene) {
			key := room("r")
			holder := s.take(key, time.Hour).Record
			w := s.queueUp(key, time.Minute, ttl)
			s.Advance(3 * store.MaxQueueTime)
			s.pending(w)
			s.release(key, holder.Ref())
			s.answered(lease.Granted, w)
		}},
		{"CallerWhoLeftBeforeTheDecisionLeavesNoTrace", func(s *scene) {
			key, free, line := room("leader"), room("free"), room("line")
			rec := s.take(key, time.Hour).Record
			s.take(line, time.Hour)
			release := s.hold()
			calls := []*call{
				s.sendAcquire(free, 0, time.Hour),
				s.sendAcquire(free, time.Minute, time.Hour),
				s.sendAcquire(free, 0, time.Hour, s.keyed("k")),
				s.sendAcquire(line, time.Minute, time.Hour),
				s.sendRenew(key, rec.Ref(), time.Minute),
				s.sendRelease(key, rec.Ref()),
			}
			s.pending(calls...)
			for _, c := range calls {
				c.hangUp()
			}
			for _, c := range calls { // at once: nobody waits for the commit that is under way
				if _, err := s.answer(c); !errors.Is(err, context.Canceled) {
					s.Errorf("ended with %v", err)
				}
			}
			release()
			s.unchanged(rec)
			s.told(key, lease.Acquired)
			s.told(free)
			s.waiters(line, 0)
			s.take(free, ttl, s.keyed("k"))
		}},
		{"CallerWhoWasGoneFromTheStartLeavesNoTrace", func(s *scene) {
			gone, cancel := context.WithCancel(s.ctx)
			cancel()
			for _, wait := range []time.Duration{0, time.Minute} {
				if _, err := s.Store.Acquire(gone, room("r"), s.ask(ttl), wait); !errors.Is(err, context.Canceled) {
					s.Errorf("ended with %v", err)
				}
			}
			s.told(room("r"))
		}},
	}
}

// before is how many events of campaigns and renewals were published after the
// last commit was held and before the first that is looked for.
func (s *scene) before(found func(lease.Event) bool) int {
	s.Helper()
	s.Settle()
	n := 0
	for _, b := range s.Events.present()[2:] {
		for _, e := range b.events {
			if found(e) {
				return n
			}
			n++
		}
	}
	s.Fatal("no such event")
	return 0
}

// refused checks that a call was answered that nothing was changed and when
// to come again.
func (s *scene) refused(c *call) {
	s.Helper()
	if out, err := s.answer(c); !errors.Is(err, lease.ErrUnavailable) {
		s.Errorf("answered %q, %v; want %v", out.Verdict, err, lease.ErrUnavailable)
	} else if lease.RetryAfter(err, 0) <= 0 {
		s.Error("the refusal says nothing about when to come again")
	}
}
