package elections_test

import (
	"errors"
	"testing"
	"time"

	"github.com/octostore/octostore/elections"
	"github.com/octostore/octostore/lease"
)

// On the boot that it was stopped on a server goes on where it was: it neither
// gives a lease more time nor takes any away.
func TestRestart(t *testing.T) {
	t.Parallel()

	t.Run("EveryThreeSecondsDoesNotFeedALeaseThatNobodyRenews", func(t *testing.T) {
		bubble(t, func(t *testing.T, p *polls) {
			const short = 10 * time.Second
			won := p.wins("anna", forTTL(short))
			granted := p.clock.Now().At
			for range 10 { // a lease that restarts feed never ends
				for range 10 {
					time.Sleep(250 * time.Millisecond)
					res, err := p.Campaign(t.Context(), p.candidacy("ben"))
					if err != nil {
						t.Fatal(err)
					}
					if res.Won == nil {
						p.leads(won)
						continue
					}
					if after := p.clock.Now().At.Sub(granted); after < short+lease.MinGuard || after > 13*time.Second {
						t.Errorf("granted again after %v", after)
					}
					if res.Leader.Term <= won.Leader.Term {
						t.Errorf("term %d after %d", res.Leader.Term, won.Leader.Term)
					}
					return
				}
				p.crash(500 * time.Millisecond)
			}
			t.Errorf("not granted again after %v", p.clock.Now().At.Sub(granted))
		})
	})

	t.Run("KeepsLeaderTermTokenAndDeadline", func(t *testing.T) {
		bubble(t, func(t *testing.T, p *polls) {
			won := p.wins("anna", described("m"))
			before := p.status()
			time.Sleep(2 * time.Second)
			p.crash(time.Second)
			st := p.status()
			if *st.Leader != *before.Leader || st.Revision != before.Revision || st.RetryAfter != deadline-3*time.Second {
				t.Errorf("%+v became %+v", before, st)
			}
			time.Sleep(2 * time.Second)
			if got, err := p.renew(won, 0); err != nil || got.Won.Token != won.Won.Token || got.Leader.Term != won.Leader.Term || got.Revision != before.Revision+1 {
				t.Errorf("%+v, %v", got, err)
			}
			time.Sleep(deadline - 1)
			p.leads(won)
			time.Sleep(time.Nanosecond)
			p.vacant()
		})
	})

	t.Run("RefusesTheLateLeaderHoweverEarlyItCalls", func(t *testing.T) {
		bubble(t, func(t *testing.T, p *polls) {
			const short = 2 * time.Second
			var last lease.Term
			for i := range 50 {
				late := p.wins("anna", forTTL(short))
				if late.Leader.Term <= last {
					t.Fatalf("run %d: term %d after %d", i, late.Leader.Term, last)
				}
				p.crash(5 * time.Second)
				// The very first request, while the start records what the downtime ended.
				var err error
				if i%2 == 0 {
					_, err = p.renew(late, 0)
				} else {
					_, err = p.resign(late)
				}
				if !errors.Is(err, elections.ErrNotCurrent) {
					t.Fatalf("run %d: %v", i, err)
				}
				ben := p.wins("ben", forTTL(short))
				if last = ben.Leader.Term; last <= late.Leader.Term {
					t.Fatalf("run %d: term %d after %d", i, last, late.Leader.Term)
				}
				p.notCurrent(late)
				p.leads(ben)
				p.resigns(ben)
			}
		})
	})

	t.Run("AnnouncesWhatTheDowntimeEnded", func(t *testing.T) {
		bubble(t, func(t *testing.T, p *polls) {
			p.wins("anna")
			p.restart(time.Minute)
			time.Sleep(250 * time.Millisecond)
			if n := p.news.count(lease.Expired, room); n != 1 {
				t.Errorf("%d expiries", n)
			}
			p.vacant()
		})
	})

	t.Run("RemembersTheRepeatedResignation", func(t *testing.T) {
		bubble(t, func(t *testing.T, p *polls) {
			won := p.wins("anna")
			p.resigns(won)
			p.crash(time.Minute)
			p.resigns(won)
			p.vacant()
		})
	})

	t.Run("RaisesTermsThoughTheWallClockWentBack", func(t *testing.T) {
		bubble(t, func(t *testing.T, p *polls) {
			first := p.wins("anna")
			p.resigns(first)
			p.clock.step(-24 * time.Hour)
			p.restart(time.Second)
			if second := p.wins("ben"); second.Leader.Term <= first.Leader.Term {
				t.Errorf("term %d after %d", second.Leader.Term, first.Leader.Term)
			}
		})
	})

	t.Run("StepsOfTheWallClockWhileItIsDownMoveNoDeadline", func(t *testing.T) {
		for name, step := range map[string]time.Duration{"ADayAhead": 24 * time.Hour, "ADayBack": -24 * time.Hour} {
			t.Run(name, func(t *testing.T) {
				bubble(t, func(t *testing.T, p *polls) {
					won := p.wins("anna")
					p.clock.step(step)
					p.restart(time.Second)
					if st := p.status(); st.RetryAfter != deadline-time.Second {
						t.Errorf("%v remain", st.RetryAfter)
					}
					p.leads(won)
				})
			})
		}
	})
}
