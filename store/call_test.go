package store

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/octostore/octostore/lease"
)

// driven is a pipeline without a committer of its own, and what drives it.
type driven struct {
	*rig
	key lease.Key
}

// drive runs a test of calls that nobody waits for.
func drive(t *testing.T, test func(driven)) {
	t.Helper()
	t.Parallel()
	inBubble(t, Options{Manual: true}, func(r *rig) { test(driven{r, lease.ElectionKey("room")}) })
}

func (d driven) start(wait time.Duration) *Call {
	return d.StartAcquire(context.Background(), d.key, lease.Acquire{TTL: time.Minute}, wait)
}

// commit runs groups until there is nothing to do.
func (d driven) commit(calls ...*Call) {
	for d.Step(context.Background()) {
		for _, c := range calls {
			_, _, _ = c.Poll()
		}
	}
}

func (d driven) answeredAs(c *Call, want lease.Verdict) lease.Outcome {
	d.Helper()
	out, answered, err := c.Poll()
	if !answered || err != nil || out.Verdict != want {
		d.Fatalf("answered %v: %v, %v; want %v", answered, out.Verdict, err, want)
	}
	return out
}

func (d driven) open(c *Call) {
	d.Helper()
	if out, answered, err := c.Poll(); answered {
		d.Fatalf("answered %v, %v", out.Verdict, err)
	}
}

func TestCall(t *testing.T) {
	t.Parallel()
	t.Run("AnswersAfterStep", func(t *testing.T) {
		drive(t, func(d driven) {
			c := d.start(0)
			d.open(c)
			d.commit()
			rec := d.answeredAs(c, lease.Granted).Record
			d.answeredAs(c, lease.Granted) // and says so again
			renew := d.StartRenew(context.Background(), d.key, rec.Ref(), 0)
			d.commit()
			d.answeredAs(renew, lease.Confirmed)
			release := d.StartRelease(context.Background(), d.key, rec.Ref())
			d.commit()
			d.answeredAs(release, lease.Released)
			if n := d.Totals(); n != (Totals{Acquires: 1, Releases: 1}) {
				d.Errorf("counted %+v", n)
			}
		})
	})
	t.Run("FindsTheLeaseOfItsTwinAtTheEndOfTheWait", func(t *testing.T) {
		drive(t, func(d driven) {
			holder := d.start(0)
			d.commit()
			held := d.answeredAs(holder, lease.Granted).Record
			twin := func() *Call {
				return d.StartAcquire(context.Background(), d.key, lease.Acquire{
					TTL: time.Minute, Nonce: lease.Nonce{7}, Idem: lease.Repeatable{{Key: lease.Digest{1}, Params: lease.Digest{2}}},
				}, time.Second)
			}
			a, b := twin(), twin()
			d.commit()
			if !d.withdraw(a.request, false) { // a's wait ends, and before it is answered
				d.Fatal("a does not wait")
			}
			release := d.StartRelease(context.Background(), d.key, held.Ref()) // b gets the name
			d.commit()
			d.answeredAs(release, lease.Released)
			won := d.answeredAs(b, lease.Granted).Record
			a.take(answer{}, true)
			d.commit(a)
			if got := d.answeredAs(a, lease.Confirmed).Record; got.Ref() != won.Ref() {
				d.Errorf("a got %v, b got %v", got.Ref(), won.Ref())
			}
		})
	})
	t.Run("RefusesFromRecordWithoutStep", func(t *testing.T) {
		drive(t, func(d driven) {
			d.start(0)
			d.commit()
			d.answeredAs(d.start(0), lease.Taken)
		})
	})
	t.Run("WaitsAndIsHandedName", func(t *testing.T) {
		drive(t, func(d driven) {
			holder, waiter := d.start(0), d.start(time.Minute)
			d.commit()
			rec := d.answeredAs(holder, lease.Granted).Record
			d.open(waiter)
			d.StartRelease(context.Background(), d.key, rec.Ref())
			d.commit()
			if out := d.answeredAs(waiter, lease.Granted); !out.Waited {
				d.Error("it did not say that it waited")
			}
		})
	})
	t.Run("EndsWaitWithRefusal", func(t *testing.T) {
		drive(t, func(d driven) {
			d.start(0)
			waiter := d.start(time.Second)
			d.commit()
			waiter.EndWait()
			d.answeredAs(waiter, lease.Taken)
			waiter.EndWait() // which changes nothing any more
			d.answeredAs(waiter, lease.Taken)
		})
	})
	t.Run("LeavesQueue", func(t *testing.T) {
		drive(t, func(d driven) {
			d.start(0)
			waiter := d.start(time.Minute)
			d.commit()
			waiter.Leave()
			if _, answered, err := waiter.Poll(); !answered || !errors.Is(err, context.Canceled) {
				d.Fatalf("answered %v, %v", answered, err)
			}
			if n := d.waiting(d.key); n != 0 {
				d.Errorf("%d wait", n)
			}
		})
	})
	t.Run("GivesBackWhatNobodyHears", func(t *testing.T) {
		drive(t, func(d driven) {
			release := d.writer.hold()
			c := d.start(0)
			go d.Step(context.Background())
			synctest.Wait() // the group is being committed
			c.Leave()
			release(nil)
			synctest.Wait()
			d.open(c)
			d.commit(c)
			if _, answered, err := c.Poll(); !answered || !errors.Is(err, context.Canceled) {
				d.Fatalf("answered %v, %v", answered, err)
			}
			if read, err := d.Read(context.Background(), d.key); err != nil || read.Record.Held {
				d.Errorf("held %v, %v", read.Record.Held, err)
			}
		})
	})
	t.Run("IsRefusedByClosedPipeline", func(t *testing.T) {
		drive(t, func(d driven) {
			d.Close()
			for _, c := range []*Call{
				d.start(0), d.StartRenew(context.Background(), d.key, lease.Ref{}, 0), d.StartRelease(context.Background(), d.key, lease.Ref{}),
			} {
				if _, answered, err := c.Poll(); !answered || !errors.Is(err, lease.ErrUnavailable) {
					d.Errorf("answered %v, %v", answered, err)
				}
			}
		})
	})
}
