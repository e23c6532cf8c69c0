package store

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/octostore/octostore/lease"
)

func TestDrain(t *testing.T) {
	t.Parallel()
	t.Run("AnswersWaitersRefusesNewcomersAndLetsHoldersGoOn", func(t *testing.T) {
		t.Parallel()
		inBubble(t, Options{}, func(r *rig) {
			rec := r.take("r")
			w := r.acquire("r", time.Minute)
			r.waits(w)
			r.Drain()
			r.gotError(w, lease.ErrUnavailable)
			if after := lease.RetryAfter(w.err, 0); after != time.Second {
				r.Errorf("retry after %v", after)
			}
			for _, wait := range []time.Duration{0, time.Minute} {
				r.gotError(r.acquire("free", wait), lease.ErrUnavailable)
			}
			r.got(r.acquire("r", 0), lease.Taken) // needs no decision
			r.got(r.send(func() (lease.Outcome, error) { return r.Renew(r.Context(), rec.Key, rec.Ref(), 0) }), lease.Confirmed)
			r.got(r.release(rec), lease.Released)
			r.witness.note(func() {
				if r.witness.waiters != 0 {
					r.Errorf("%d waiters are left", r.witness.waiters)
				}
			})
		})
	})
	t.Run("AnswersAWaiterThatStoodInALane", func(t *testing.T) {
		t.Parallel()
		inBubble(t, Options{}, func(r *rig) {
			r.take("r")
			release := r.writer.hold()
			r.acquire("other", 0)
			w := r.acquire("r", time.Minute)
			r.Drain()
			release(nil)
			r.gotError(w, lease.ErrUnavailable)
		})
	})
	t.Run("AnswersAWaiterThatWasChosenInAGroupThatThenFailed", func(t *testing.T) {
		t.Parallel()
		inBubble(t, Options{}, func(r *rig) {
			rec := r.take("r")
			w := r.acquire("r", time.Hour)
			release := r.writer.hold()
			ended := r.release(rec)
			r.Drain()
			r.waits(w)
			release(lease.ErrUnavailable)
			r.gotError(ended, lease.ErrUnavailable)
			r.gotError(w, lease.ErrUnavailable)
		})
	})
}

func TestClose(t *testing.T) {
	t.Parallel()
	inBubble(t, Options{}, func(r *rig) {
		rec := r.take("r")
		release := r.writer.hold()
		r.acquire("other", 0)
		renewal := r.send(func() (lease.Outcome, error) { return r.Renew(r.Context(), rec.Key, rec.Ref(), 0) })
		closing := make(chan struct{})
		go func() {
			defer close(closing)
			r.Close()
		}()
		r.waits(renewal)
		release(nil)
		r.got(renewal, lease.Confirmed) // what stood in a lane is answered
		<-closing
		r.gotError(r.release(rec), lease.ErrUnavailable)
		r.gotError(r.acquire("free", 0), lease.ErrUnavailable)
		r.Close() // once more does no harm
	})
}

func TestSuspendCountsAsTimeThatPassed(t *testing.T) {
	t.Parallel()
	inBubble(t, Options{}, func(r *rig) {
		rec := r.take("r")
		w := r.acquire("r", 30*time.Second)
		next := r.acquire("r", time.Hour+time.Minute)
		r.clock.slept.Add(int64(time.Hour)) // the timers do not know
		if read, err := r.Read(r.Context(), rec.Key); err != nil || read.Record.Live(read.At.At) {
			r.Errorf("a reader is shown a lease that is over: %v", err)
		}
		r.pass(pollEvery)
		r.got(next, lease.Granted)
		r.got(w, lease.Taken) // its wait was over before its turn came
		r.witness.note(func() {
			events := r.witness.events
			if len(events) != 3 || events[1].Type != lease.Expired || events[1].At.At != rec.Lease.Deadline {
				r.Errorf("told %+v", events)
			}
			if lag := r.witness.lag; len(lag) != 1 || lag[0] > time.Hour+pollEvery || lag[0] < time.Hour-time.Minute-lease.MinGuard {
				r.Errorf("lag %v", lag)
			}
		})
	})
}

func TestNothingToDoMeansNoWork(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &counting{Image: NewImage(ImageOptions{Clock: &suspendable{zero: time.Now()}, Writer: &memory{}})}
		p := New(Options{Backend: b})
		defer p.Close()
		synctest.Wait()
		before := b.gathers.Load()
		<-time.After(24 * time.Hour)
		if n := b.gathers.Load() - before; n != 0 {
			t.Errorf("woke up %d times in a day without anybody calling", n)
		}
		if _, err := p.Acquire(t.Context(), lease.ElectionKey("r"), lease.Acquire{TTL: time.Hour}, 0); err != nil {
			t.Fatal(err)
		}
		before = b.gathers.Load()
		<-time.After(time.Minute)
		if n := b.gathers.Load() - before; n > int64(time.Minute/pollEvery)+1 {
			t.Errorf("woke up %d times in a minute", n)
		}
	})
}

// counting counts how often a group is gathered.
type counting struct {
	*Image
	gathers atomic.Int64
}

// Due implements Backend.
func (c *counting) Due(now lease.Now, limit int) []lease.Key {
	c.gathers.Add(1)
	return c.Image.Due(now, limit)
}

func TestFailedExpiryIsNotTriedWithoutPause(t *testing.T) {
	t.Parallel()
	inBubble(t, Options{}, func(r *rig) {
		rec := r.take("r")
		gate := make(chan error)
		r.writer.mu.Lock()
		r.writer.gate = gate
		r.writer.mu.Unlock()
		begun := time.Now()
		for range 5 {
			gate <- lease.ErrUnavailable
		}
		tries := time.Since(begun) - rec.Lease.TTL - lease.MinGuard
		if tries < 4*retryDue || tries > 4*(retryDue+pollEvery) {
			r.Errorf("5 tries took %v", tries)
		}
		r.writer.mu.Lock()
		r.writer.gate = nil
		r.writer.mu.Unlock()
		r.pass(time.Second)
		r.witness.note(func() {
			if n := len(r.witness.events); n != 2 {
				r.Errorf("%d events", n)
			}
			if n := len(r.witness.failed); n != 5 {
				r.Errorf("%d failures were counted", n)
			}
		})
	})
}

func TestLinger(t *testing.T) {
	t.Parallel()
	t.Run("NeverDelaysALoneClient", func(t *testing.T) {
		t.Parallel()
		inBubble(t, Options{Linger: time.Millisecond}, func(r *rig) {
			rec := r.take("r")
			begun := time.Now()
			for range 50 {
				r.got(r.send(func() (lease.Outcome, error) { return r.Renew(r.Context(), rec.Key, rec.Ref(), 0) }), lease.Confirmed)
			}
			if took := time.Since(begun); took != 0 {
				r.Errorf("50 renewals took %v of waiting", took)
			}
		})
	})
	t.Run("IsAtMostAMillisecond", func(t *testing.T) {
		t.Parallel()
		inBubble(t, Options{Linger: time.Hour}, func(r *rig) {
			release := r.writer.hold()
			r.acquire("held", 0)
			var calls []*result
			for i := range 4 * busyGroup {
				calls = append(calls, r.acquire(fmt.Sprint("r", i), 0))
			}
			release(nil)
			synctest.Wait() // a large group was committed: now it lingers
			late := r.acquire("late", 0)
			r.waits(late)
			r.pass(time.Millisecond)
			r.got(late, lease.Granted)
			for _, c := range calls {
				r.got(c, lease.Granted)
			}
		})
	})
}

func TestWaitersInAllAreBounded(t *testing.T) {
	t.Parallel()
	inBubble(t, Options{}, func(r *rig) {
		r.mu.Lock()
		r.waiters.limit = 2
		r.mu.Unlock()
		for i := range 3 {
			r.take(fmt.Sprint("r", i))
		}
		a := r.acquire("r0", 30*time.Second)
		b := r.acquire("r1", 30*time.Second)
		r.gotError(r.acquire("r2", 30*time.Second), lease.ErrTooManyWaiters)
		r.waits(a)
		r.waits(b)
		r.pass(30 * time.Second)
		r.got(a, lease.Taken)
		r.got(b, lease.Taken)
		r.waits(r.acquire("r2", time.Second))
		r.pass(time.Second)
	})
}

func TestObserverIsTold(t *testing.T) {
	t.Parallel()
	inBubble(t, Options{}, func(r *rig) {
		rec := r.take("r")
		w := r.acquire("r", time.Second)
		r.witness.note(func() {
			if r.witness.waiters != 1 {
				r.Errorf("%d waiters", r.witness.waiters)
			}
		})
		r.pass(time.Second)
		r.got(w, lease.Taken)
		r.witness.note(func() {
			if r.witness.waiters != 0 {
				r.Errorf("%d waiters", r.witness.waiters)
			}
		})
		release := r.writer.hold()
		ended := r.release(rec)
		release(lease.ErrUnavailable)
		r.gotError(ended, lease.ErrUnavailable)
		release = r.writer.hold()
		ended = r.release(rec)
		release(errors.New("nobody knows"))
		r.gotError(ended, lease.ErrOutcomeUnknown)
		r.pass(2 * time.Minute)
		r.witness.note(func() {
			want := map[string]int{
				"election acquire granted": 1, "election acquire taken": 1, "election release unavailable": 1, "election release outcome_unknown": 1,
			}
			for k, n := range want {
				if r.witness.outcomes[k] != n {
					r.Errorf("%q was counted %d times, want %d", k, r.witness.outcomes[k], n)
				}
			}
			if fmt.Sprint(r.witness.failed) != "[not_applied unknown]" {
				r.Errorf("failures %v", r.witness.failed)
			}
			if len(r.witness.lag) != 1 || r.witness.lag[0] > pollEvery {
				r.Errorf("lag %v", r.witness.lag)
			}
			if r.witness.groups != 2 {
				r.Errorf("%d groups, want the grant and the expiry", r.witness.groups)
			}
		})
		if got, want := r.Totals(), (Totals{Acquires: 1}); got != want {
			r.Errorf("totals %+v, want %+v", got, want)
		}
	})
}

func TestStallsAreTold(t *testing.T) {
	t.Parallel()
	inBubble(t, Options{}, func(r *rig) {
		r.take("warm")
		release := r.writer.hold()
		c := r.acquire("r", 0)
		r.pass(3 * time.Second)
		release(nil)
		r.got(c, lease.Granted)
		r.witness.note(func() {
			if got := r.witness.stalled; got < 2*time.Second || got > 4*time.Second {
				r.Errorf("a stall of 3 s was told as %v", got)
			}
		})
	})
}

func TestGiveBackFindsRoomInAFullLane(t *testing.T) {
	t.Parallel()
	inBubble(t, Options{}, func(r *rig) {
		rec := r.take("r")
		release := r.writer.hold()
		r.acquire("held", 0)
		r.mu.Lock()
		for range FirstLane {
			r.lanes[first].push(&request{state: gone})
		}
		r.mu.Unlock()
		r.gotError(r.release(rec), lease.ErrUnavailable)
		r.witness.note(func() {
			if r.witness.refused != 1 {
				r.Errorf("%d refusals were counted", r.witness.refused)
			}
		})
		back := r.send(func() (lease.Outcome, error) { return lease.Outcome{}, r.GiveBack(r.Context(), rec.Key, rec.Ref()) })
		release(nil)
		synctest.Wait()
		if !back.answered() || back.err != nil {
			r.Errorf("the give-back was answered %v: %v", back.answered(), back.err)
		}
	})
}

func TestSystemClockGoesForward(t *testing.T) {
	t.Parallel()
	var c SystemClock
	last := c.Now()
	for range 1000 {
		now := c.Now()
		if now.At < last.At {
			t.Fatalf("went from %v to %v", last.At, now.At)
		}
		last = now
	}
	if off := time.Since(last.Wall.Time()).Abs(); off > time.Minute {
		t.Errorf("the wall clock is off by %v", off)
	}
}
