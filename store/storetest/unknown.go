package storetest

import (
	"errors"
	"time"

	"github.com/octostore/octostore/lease"
)

// A commit of which nobody can say whether it happened: it is never called a
// failure, nothing more is served, and the next start finds either what was
// before or what was to be, whole.
func unknownScenarios(fault Fault) []scenario {
	scenarios := []scenario{
		{"Grant", func(s *scene) {
			key := room("r")
			s.Fail(fault)
			s.unknown(s.sendAcquire(key, 0, time.Hour, s.keyed("k", "p")))
			s.stopped(key, lease.Ref{})
			s.told(key) // nobody hears of what may not have happened
			s.Reopen(Crash, time.Second)
			rec := s.read(key).Record
			if rec.Held != (fault == UnknownApplied) {
				s.Fatalf("after the restart: %+v", rec)
			}
			out := s.acquire(key, time.Hour, s.keyed("k", "p"))
			if fault == UnknownApplied {
				s.want(lease.Confirmed, out)
				if out.Record.Ref() != rec.Ref() {
					s.Error("the repeat found another lease")
				}
			} else {
				s.want(lease.Granted, out)
			}
			if out.Record.Term < rec.Term || !out.Record.Held {
				s.Errorf("after the repeat: %+v", out.Record)
			}
		}},
		{"Renewal", func(s *scene) {
			key := room("r")
			rec := s.take(key, 30*time.Second).Record
			s.Advance(10 * time.Second)
			s.Fail(fault)
			s.unknown(s.sendRenew(key, rec.Ref(), 0))
			s.stopped(key, rec.Ref())
			s.told(key, lease.Acquired)
			at := s.now().At
			s.Reopen(Crash, time.Second)
			after := s.read(key).Record
			want := rec.Lease.Deadline
			if fault == UnknownApplied {
				want = at.Add(guarded(30 * time.Second))
			}
			if after.Lease.Deadline != want || after.Ref() != rec.Ref() {
				s.Errorf("after the restart the deadline is %v, want %v", after.Lease.Deadline, want)
			}
			if fault == UnknownNotApplied {
				s.unchanged(rec)
			}
			s.want(lease.Confirmed, s.renew(key, rec.Ref(), 0))
		}},
		{"Release", func(s *scene) {
			key := lock("l")
			rec := s.take(key, time.Hour, delayed(30*time.Second)).Record
			s.Fail(fault)
			s.unknown(s.sendRelease(key, rec.Ref()))
			s.stopped(key, rec.Ref())
			s.told(key, lease.Acquired)
			s.Reopen(Crash, time.Second)
			if fault == UnknownApplied {
				s.want(lease.Repeated, s.release(key, rec.Ref()))
				s.want(lease.Delayed, s.acquire(key, ttl))
			} else {
				s.unchanged(rec)
				s.want(lease.Released, s.release(key, rec.Ref()))
			}
		}},
		{"HandOver", func(s *scene) {
			key := room("r")
			holder := s.take(key, time.Hour).Record
			chosen := s.queueUp(key, time.Minute, time.Hour, s.keyed("k"))
			waits := s.queueUp(key, 2*time.Second, time.Hour)
			s.Fail(fault)
			s.unknown(s.sendRelease(key, holder.Ref()))
			s.unknown(chosen)
			s.Advance(3 * time.Second)
			s.refused(waits) // it was told of nothing, so nothing is unknown to it
			s.Reopen(Crash, time.Second)
			if fault == UnknownNotApplied {
				s.unchanged(holder)
				return
			}
			out := s.want(lease.Confirmed, s.acquire(key, time.Hour, s.keyed("k")))
			if out.Record.Term <= holder.Term {
				s.Errorf("term %d after %d", out.Record.Term, holder.Term)
			}
			s.want(lease.Repeated, s.release(key, holder.Ref()))
		}},
		{"Group", func(s *scene) {
			a := s.take(room("a"), time.Hour).Record
			b := s.take(room("b"), time.Hour).Record
			c := s.take(room("c"), time.Hour).Record
			release := s.hold()
			changes := []*call{
				s.sendRenew(a.Key, a.Ref(), 2*time.Hour), s.sendRelease(b.Key, b.Ref()), s.sendAcquire(room("d"), 0, time.Hour),
			}
			refusals := []*call{
				s.sendRenew(c.Key, lease.Ref{}, 0), s.sendAcquire(c.Key, 0, ttl, s.keyed("k")),
			}
			s.pending(changes...)
			s.pending(refusals...)
			s.Fail(fault)
			release()
			for _, call := range changes {
				s.unknown(call)
			}
			for _, call := range refusals {
				s.refused(call)
			}
			s.Reopen(Crash, time.Second)
			applied := 0
			if s.read(a.Key).Record.Lease.TTL == 2*time.Hour {
				applied++
			}
			if !s.read(b.Key).Record.Held {
				applied++
			}
			if s.read(room("d")).Record.Held {
				applied++
			}
			if want := map[Fault]int{UnknownApplied: 3}[fault]; applied != want {
				s.Errorf("%d of 3 changes of one group are there, want %d", applied, want)
			}
			s.unchanged(c)
		}},
		{"Expiry", func(s *scene) {
			key := room("r")
			rec := s.take(key, ttl).Record
			s.Fail(fault)
			s.until(rec.Lease.Deadline)
			s.stopped(key, rec.Ref())
			s.Reopen(Crash, time.Second)
			s.Advance(prompt)
			if s.read(key).Record.Held {
				s.Error("held after its deadline")
			}
			s.want(lease.NotCurrent, s.renew(key, rec.Ref(), 0))
			if next := s.take(key, ttl).Record; next.Term <= rec.Term {
				s.Errorf("term %d after %d", next.Term, rec.Term)
			}
		}},
		{"TermsDoNotRepeat", func(s *scene) {
			key := room("r")
			s.StepWall(-day) // so that terms go up by one
			rec := s.take(key, time.Hour).Record
			s.StepWall(-day)
			s.release(key, rec.Ref())
			s.Fail(fault)
			s.unknown(s.sendAcquire(key, 0, time.Hour))
			s.Reopen(Crash, time.Second)
			found := s.read(key).Record
			if found.Held {
				s.force(key)
			}
			next := s.take(key, time.Hour).Record
			if next.Term <= rec.Term || (found.Held && next.Term <= found.Term) {
				s.Errorf("term %d after %d, and %d of which nobody knew", next.Term, rec.Term, found.Term)
			}
		}},
		{"CrashInTheMiddle", func(s *scene) {
			a, b := s.take(room("a"), time.Hour).Record, s.take(lock("b"), time.Hour).Record
			if fault == UnknownApplied {
				// The commit was done, and the crash came before anybody was told.
				s.Fail(fault)
			} else {
				s.Hold()
			}
			s.sendRelease(b.Key, b.Ref())
			s.Settle()
			s.Reopen(Crash, time.Second)
			s.unchanged(a)
			if fault == UnknownNotApplied {
				s.unchanged(b)
				s.want(lease.Released, s.release(b.Key, b.Ref()))
			} else {
				s.want(lease.Repeated, s.release(b.Key, b.Ref()))
			}
			if next := s.take(b.Key, ttl).Record; next.Term <= b.Term {
				s.Errorf("term %d after %d", next.Term, b.Term)
			}
		}},
		{"CleanStopAfterwards", func(s *scene) {
			key := room("r")
			rec := s.take(key, time.Hour).Record
			s.Fail(fault)
			s.unknown(s.sendRelease(key, rec.Ref()))
			s.Reopen(CleanStop, time.Second)
			if got, want := s.read(key).Record.Held, fault == UnknownNotApplied; got != want {
				s.Errorf("held %v, want %v", got, want)
			}
			s.take(room("serves"), ttl)
		}},
	}
	for i := range scenarios {
		scenarios[i].name = "Outcome" + fault.String()[len("Unknown"):] + "Of" + scenarios[i].name
	}
	return scenarios
}

// unknown checks that a call was answered that nobody knows what came of it.
func (s *scene) unknown(c *call) {
	s.Helper()
	out, err := s.answer(c)
	if !errors.Is(err, lease.ErrOutcomeUnknown) || errors.Is(err, lease.ErrUnavailable) {
		s.Errorf("answered %q, %v; want %v", out.Verdict, err, lease.ErrOutcomeUnknown)
	} else if lease.RetryAfter(err, 0) <= 0 {
		s.Error("the answer says nothing about when to come again")
	}
}

// stopped checks that the store serves nothing more, and that it says so
// rather than anything about leases.
func (s *scene) stopped(key lease.Key, ref lease.Ref) {
	s.Helper()
	s.Settle()
	if !s.Failed() {
		s.Error("the store does not say that it has failed")
	}
	if read, err := s.Store.Read(s.ctx, key); !errors.Is(err, lease.ErrUnavailable) {
		s.Errorf("a read was answered %+v, %v", read, err)
	}
	s.refused(s.sendAcquire(room("next"), 0, ttl))
	s.refused(s.sendAcquire(key, time.Minute, ttl))
	s.refused(s.sendRenew(key, ref, 0))
	s.refused(s.sendRelease(key, ref))
	if err := s.Store.GiveBack(s.ctx, key, ref); !errors.Is(err, lease.ErrUnavailable) {
		s.Errorf("a give-back was answered %v", err)
	}
}
