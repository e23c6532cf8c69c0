package elections_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/octostore/octostore/elections"
	"github.com/octostore/octostore/lease"
)

// A resignation at the very end of a term must never end the next one.
func TestLateResignationNeverUnseatsTheNext(t *testing.T) {
	bubble(t, func(t *testing.T, p *polls) {
		const (
			rooms  = 40
			rounds = 50
			short  = 5 * time.Second
		)
		moments := []time.Duration{-time.Millisecond, -1, 0, 1, time.Millisecond}
		var group sync.WaitGroup
		var mu sync.Mutex
		resigned, late, granted := 0, 0, 0
		for i := range rooms {
			group.Go(func() {
				name := fmt.Sprintf("lobby-%04d", i)
				for round := range rounds {
					anna, err := p.Campaign(context.Background(), p.candidacy("anna", inRoom(name), forTTL(short)))
					if err != nil || anna.Won == nil {
						t.Errorf("round %d: anna did not win: %+v, %v", round, anna.Standing, err)
						return
					}
					moment := moments[(i+round)%len(moments)]
					time.Sleep(short + lease.MinGuard + moment)

					var ben elections.Result
					var resignation, campaign error
					var both sync.WaitGroup
					both.Go(func() { _, resignation = p.resign(anna) })
					both.Go(func() {
						var wait time.Duration
						if round%2 == 0 {
							wait = 10 * time.Millisecond
						}
						ben, campaign = p.Campaign(context.Background(), p.candidacy("ben", inRoom(name), forTTL(short), waiting(wait)))
					})
					both.Wait()

					if campaign != nil || resignation != nil && !errors.Is(resignation, elections.ErrNotCurrent) {
						t.Errorf("round %d: %v, %v", round, resignation, campaign)
						return
					}
					if ben.Won != nil {
						p.leads(ben)
						// What comes even later finds the next term in place.
						if _, err := p.renew(anna, 0); !errors.Is(err, elections.ErrNotCurrent) {
							t.Errorf("round %d: a later renewal: %v", round, err)
						}
						if _, err := p.resign(anna); (err == nil) != (resignation == nil) {
							t.Errorf("round %d: a later resignation: %v, the first: %v", round, err, resignation)
						}
						p.leads(ben)
						p.resigns(ben)
					}
					mu.Lock()
					if resignation == nil {
						resigned++
					} else {
						late++
					}
					if ben.Won != nil {
						granted++
					}
					mu.Unlock()
					time.Sleep(50 * time.Millisecond) // whoever did not come to lead has left
				}
			})
		}
		group.Wait()
		if resigned == 0 || late == 0 || granted < rooms*rounds/2 {
			t.Errorf("%d resigned in time, %d late, %d were granted the room: this proves nothing", resigned, late, granted)
		}
	})
}

func TestExpiry(t *testing.T) {
	t.Parallel()

	t.Run("IsToldOnceAndInTime", func(t *testing.T) {
		bubble(t, func(t *testing.T, p *polls) {
			p.wins("anna")
			time.Sleep(deadline - 1)
			if n := p.news.count(lease.Expired, room); n != 0 {
				t.Fatalf("%d expiries before the deadline", n)
			}
			time.Sleep(250 * time.Millisecond)
			p.vacant()
			time.Sleep(time.Minute)
			if n := p.news.count(lease.Expired, room); n != 1 {
				t.Errorf("%d expiries", n)
			}
		})
	})

	t.Run("NeverShortensWhatTheLeaderCounts", func(t *testing.T) {
		bubble(t, func(t *testing.T, p *polls) {
			sent := p.clock.Now().At
			res := p.wins("anna", forTTL(5*time.Second))
			for range 100 {
				time.Sleep(lease.TrustedUntil(sent, 0, 5*time.Second).Sub(p.clock.Now().At))
				sent = p.clock.Now().At
				if _, err := p.renew(res, 0); err != nil {
					t.Fatal(err)
				}
			}
			p.leads(res)
		})
	})
}

// Steps of the wall clock are for display only.
func TestWallClockStep(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	for name, step := range map[string]time.Duration{
		"ADayAhead": day, "ADayBack": -day, "AnHourAhead": time.Hour, "AnHourBack": -time.Hour, "AHalfSecondBack": -500 * time.Millisecond,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			t.Run("MovesNoDeadline", func(t *testing.T) {
				bubble(t, func(t *testing.T, p *polls) {
					res := p.wins("anna")
					time.Sleep(time.Second)
					p.clock.step(step)
					if st := p.status(); st.RetryAfter != deadline-time.Second {
						t.Errorf("%v remain", st.RetryAfter)
					}
					time.Sleep(deadline - time.Second - 1)
					p.leads(res)
					p.follows("ben")
					time.Sleep(time.Nanosecond)
					p.vacant()
					p.notCurrent(res)
				})
			})

			t.Run("LeavesRenewalAlone", func(t *testing.T) {
				bubble(t, func(t *testing.T, p *polls) {
					res := p.wins("anna")
					time.Sleep(5 * time.Second)
					p.clock.step(step)
					p.follows("ben")
					got, err := p.renew(res, 0)
					if err != nil || got.Leader.Term != res.Leader.Term || got.RetryAfter != deadline {
						t.Fatalf("%+v, %v", got.Standing, err)
					}
					if want := p.clock.Now().Wall.Add(ttl); got.Leader.ExpiresAt != want {
						t.Errorf("expires at %v, want %v", got.Leader.ExpiresAt.Time(), want.Time())
					}
				})
			})

			t.Run("KeepsTermsAndRevisionsRising", func(t *testing.T) {
				bubble(t, func(t *testing.T, p *polls) {
					first := p.wins("anna")
					p.resigns(first)
					before := p.status().Revision
					p.clock.step(step)
					second := p.wins("ben")
					if second.Leader.Term <= first.Leader.Term || second.Revision != before+1 {
						t.Errorf("term %d after %d, revision %d after %d", second.Leader.Term, first.Leader.Term, second.Revision, before)
					}
				})
			})

			t.Run("ShowsNoNonsense", func(t *testing.T) {
				bubble(t, func(t *testing.T, p *polls) {
					res := p.wins("anna")
					p.clock.step(step)
					for range 40 {
						st := p.status()
						if st.RetryAfter < 0 || st.RetryAfter > deadline || (st.Leader == nil) != (st.RetryAfter == 0) {
							t.Fatalf("%v remain, leader %v", st.RetryAfter, st.Leader)
						}
						if st.Leader != nil {
							left := time.Duration(st.Leader.ExpiresAt-p.clock.Now().Wall) * time.Microsecond
							if off := left - (st.RetryAfter - lease.MinGuard); off > time.Second || off < -time.Second {
								t.Fatalf("expires in %v, %v remain", left, st.RetryAfter)
							}
						}
						time.Sleep(time.Second)
					}
					p.notCurrent(res)
				})
			})

			t.Run("MovesNoWait", func(t *testing.T) {
				bubble(t, func(t *testing.T, p *polls) {
					p.wins("anna")
					var group sync.WaitGroup
					defer group.Wait()
					group.Go(func() {
						start := p.clock.Now().At
						p.follows("ben", waiting(10*time.Second))
						if waited := p.clock.Now().At.Sub(start); waited != 10*time.Second {
							t.Errorf("waited %v", waited)
						}
					})
					time.Sleep(time.Second)
					p.clock.step(step)
				})
			})
		})
	}
}
