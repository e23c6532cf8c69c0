package elections_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/octostore/octostore/elections"
	"github.com/octostore/octostore/lease"
)

// line is a queue of candidates who wait for the usual room.
type line struct {
	p        *polls
	won      chan elections.Result
	group    sync.WaitGroup
	hangUps  []context.CancelFunc
	followed sync.Map // candidate -> time of the answer
}

// queue lets n candidates wait, one after the other.
func (p *polls) queue(n int, wait, ttl time.Duration) *line {
	l := &line{p: p, won: make(chan elections.Result, n)}
	for i := range n {
		ctx, hangUp := context.WithCancel(context.Background())
		l.hangUps = append(l.hangUps, hangUp)
		name := fmt.Sprintf("candidate-%02d", i)
		c := p.candidacy(name, waiting(wait), forTTL(ttl))
		l.group.Go(func() {
			res, err := p.Campaign(ctx, c)
			switch {
			case errors.Is(err, context.Canceled):
			case err != nil:
				p.t.Errorf("%s: %v", name, err)
			case res.Won != nil:
				l.won <- res
			default:
				l.followed.Store(name, p.clock.Now().At)
			}
		})
		synctest.Wait() // it stands in the queue before the next one comes
	}
	return l
}

// close waits for all who wait.
func (l *line) close() {
	for _, hangUp := range l.hangUps {
		hangUp()
	}
	l.group.Wait()
}

// next is the new leader, who must be the i-th in the queue and the only one.
func (l *line) next(i int) elections.Result {
	l.p.t.Helper()
	synctest.Wait()
	select {
	case res := <-l.won:
		if want := fmt.Sprintf("candidate-%02d", i); res.Leader.Candidate != want {
			l.p.t.Fatalf("%s leads, want %s", res.Leader.Candidate, want)
		}
		if len(l.won) != 0 {
			l.p.t.Fatalf("%d more lead", len(l.won))
		}
		l.p.leads(res)
		return res
	default:
		l.p.t.Fatalf("nobody leads; it was the turn of %d", i)
		return elections.Result{}
	}
}

func TestWaitingCandidates(t *testing.T) {
	t.Parallel()
	const many = 64

	t.Run("LeadInTheOrderInWhichTheyCame", func(t *testing.T) {
		bubble(t, func(t *testing.T, p *polls) {
			leader := p.wins("anna", forTTL(time.Hour))
			l := p.queue(many, time.Minute, time.Hour)
			defer l.close()
			for i := range many {
				if st := p.status(); st.Waiters != many-i {
					t.Fatalf("%d wait, want %d", st.Waiters, many-i)
				}
				// Newcomers of the very same moment never overtake.
				var newcomers sync.WaitGroup
				for range 3 {
					newcomers.Go(func() { p.follows("newcomer") })
				}
				last := leader.Leader.Term
				p.resigns(leader)
				newcomers.Wait()
				leader = l.next(i)
				if leader.Leader.Term <= last {
					t.Fatalf("term %d after %d", leader.Leader.Term, last)
				}
			}
			p.resigns(leader)
			p.vacant()
		})
	})

	t.Run("FollowALeaderWhoExpires", func(t *testing.T) {
		bubble(t, func(t *testing.T, p *polls) {
			const short, over = 5 * time.Second, 5*time.Second + lease.MinGuard
			p.wins("anna", forTTL(short))
			l := p.queue(8, time.Minute, short)
			defer l.close()
			for i := range 8 {
				time.Sleep(over)
				res := l.next(i)
				if want := time.Duration(i+1) * over; res.Won.Waited != want {
					t.Errorf("%d waited %v, want %v", i, res.Won.Waited, want)
				}
				// The TTL counts from the grant, in full.
				if res.RetryAfter != over {
					t.Errorf("%d leads for %v", i, res.RetryAfter)
				}
			}
		})
	})

	t.Run("WhoHungUpAreSkipped", func(t *testing.T) {
		bubble(t, func(t *testing.T, p *polls) {
			leader := p.wins("anna", forTTL(time.Hour))
			l := p.queue(12, time.Minute, time.Hour)
			defer l.close()
			for i := 0; i < 12; i += 3 {
				// The one whose turn it is hangs up at the very moment, and so does the
				// one behind it.
				l.hangUps[i]()
				l.hangUps[i+1]()
				p.resigns(leader)
				leader = l.next(i + 2)
			}
			if n := p.news.count(lease.Acquired, room); n != 5 {
				t.Errorf("%d grants, want 5", n)
			}
		})
	})

	t.Run("AreAnsweredWhenTheirWaitIsOverAndLoseTheirPlace", func(t *testing.T) {
		bubble(t, func(t *testing.T, p *polls) {
			leader := p.wins("anna", forTTL(time.Hour))
			start := p.clock.Now().At
			l := p.queue(3, 10*time.Second, time.Hour)
			defer l.close()
			patient := p.queue(1, time.Minute, time.Hour)
			defer patient.close()
			time.Sleep(10 * time.Second)
			synctest.Wait()
			for i := range 3 {
				at, ok := l.followed.Load(fmt.Sprintf("candidate-%02d", i))
				if !ok || at.(lease.Instant).Sub(start) != 10*time.Second { //nolint:errcheck // stored above
					t.Errorf("%d was answered at %v", i, at)
				}
			}
			if st := p.status(); st.Waiters != 1 {
				t.Errorf("%d wait, want 1", st.Waiters)
			}
			p.resigns(leader)
			patient.next(0)
		})
	})

	t.Run("LeadAtOnceInAVacantRoom", func(t *testing.T) {
		bubble(t, func(t *testing.T, p *polls) {
			if res := p.wins("anna", waiting(time.Minute)); res.Won.Waited != 0 {
				t.Errorf("waited %v", res.Won.Waited)
			}
		})
	})

	t.Run("AreToldTheirWaitInWholeMillisecondsRoundedDown", func(t *testing.T) {
		bubble(t, func(t *testing.T, p *polls) {
			leader := p.wins("anna")
			l := p.queue(1, time.Minute, ttl)
			defer l.close()
			time.Sleep(1234*time.Millisecond + 999*time.Microsecond)
			p.resigns(leader)
			if res := l.next(0); res.Won.Waited != 1234*time.Millisecond {
				t.Errorf("waited %v", res.Won.Waited)
			}
		})
	})

	t.Run("CountFromTheReceiptOfTheRequest", func(t *testing.T) {
		bubble(t, func(t *testing.T, p *polls) {
			leader := p.wins("anna")
			c := p.candidacy("ben", waiting(time.Minute))
			time.Sleep(time.Second) // on the way from the socket to the service
			var group sync.WaitGroup
			group.Go(func() {
				res, err := p.Campaign(context.Background(), c)
				if err != nil || res.Won == nil || res.Won.Waited != 3*time.Second {
					t.Errorf("%+v, %v", res.Won, err)
				}
			})
			time.Sleep(2 * time.Second)
			p.resigns(leader)
			group.Wait()
		})
	})

	t.Run("MayAllHangUp", func(t *testing.T) {
		bubble(t, func(t *testing.T, p *polls) {
			leader := p.wins("anna")
			l := p.queue(5, time.Minute, ttl)
			l.close()
			if st := p.status(); st.Waiters != 0 {
				t.Errorf("%d wait", st.Waiters)
			}
			p.resigns(leader)
			p.vacant()
		})
	})

	t.Run("WhoWaitForARoomAreNoFollowersOfAnother", func(t *testing.T) {
		bubble(t, func(t *testing.T, p *polls) {
			p.wins("anna")
			l := p.queue(3, time.Minute, ttl)
			defer l.close()
			p.wins("ben", inRoom("lobby-0002"))
		})
	})
}
