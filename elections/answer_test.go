package elections_test

import (
	"context"
	"errors"
	"io"
	"sync"
	"testing"
	"time"

	"github.com/octostore/octostore/elections"
	"github.com/octostore/octostore/lease"
)

// stalled returns a service over a store whose first answer to the verb takes
// as long as given to arrive.
func (p *polls) stalled(verb string, by time.Duration) *elections.Service {
	var once sync.Once
	return p.over(&tap{Store: p.store, after: func(v string) {
		if v == verb {
			once.Do(func() { time.Sleep(by) })
		}
	}})
}

// No answer carries a lease that is over when the answer is given.
func TestAnswerThatCameTooLate(t *testing.T) {
	t.Parallel()

	t.Run("ToACampaignIsDecidedAnew", func(t *testing.T) {
		bubble(t, func(t *testing.T, p *polls) {
			res, err := p.stalled("acquire", deadline).Campaign(context.Background(), p.candidacy("anna"))
			if err != nil || res.Won == nil {
				t.Fatalf("%+v, %v", res, err)
			}
			if res.Over(p.clock.Now()) || res.RetryAfter != deadline {
				t.Errorf("%v remain", res.RetryAfter)
			}
			p.leads(res)
			if _, err := p.renew(res, 0); err != nil {
				t.Errorf("its token does not renew: %v", err)
			}
			if n := p.news.count(lease.Acquired, room); n != 2 {
				t.Errorf("%d grants, want the one that ran out and the one that was answered", n)
			}
		})
	})

	t.Run("ToACampaignIsGivenWhileTheLeaseLives", func(t *testing.T) {
		bubble(t, func(t *testing.T, p *polls) {
			res, err := p.stalled("acquire", deadline-1).Campaign(context.Background(), p.candidacy("anna"))
			if err != nil || res.Won == nil || p.news.count(lease.Acquired, room) != 1 {
				t.Fatalf("%+v, %v", res, err)
			}
			p.leads(res)
		})
	})

	t.Run("ToACampaignMayMakeItAFollower", func(t *testing.T) {
		bubble(t, func(t *testing.T, p *polls) {
			var group sync.WaitGroup
			defer group.Wait()
			group.Go(func() {
				time.Sleep(deadline)
				p.wins("ben")
			})
			res, err := p.stalled("acquire", deadline+time.Second).Campaign(context.Background(), p.candidacy("anna"))
			if err != nil || res.Won != nil || res.Leader.Candidate != "ben" {
				t.Errorf("%+v, %v", res, err)
			}
		})
	})

	t.Run("ToACampaignWaitsOnForWhatIsLeftOfItsWait", func(t *testing.T) {
		bubble(t, func(t *testing.T, p *polls) {
			var group sync.WaitGroup
			defer group.Wait()
			group.Go(func() {
				time.Sleep(deadline)
				ben := p.wins("ben", forTTL(time.Hour))
				time.Sleep(11 * time.Second)
				p.resigns(ben)
			})
			// 31 s are gone when it is decided anew, of 45; Ben resigns after 41.
			c := p.candidacy("anna", waiting(45*time.Second))
			res, err := p.stalled("acquire", deadline+time.Second).Campaign(context.Background(), c)
			if err != nil || res.Won == nil {
				t.Fatalf("%+v, %v", res, err)
			}
			if want := (deadline + 11*time.Second).Truncate(time.Millisecond); res.Won.Waited != want {
				t.Errorf("waited %v, want %v", res.Won.Waited, want)
			}
			p.leads(res)
		})
	})

	t.Run("ToACampaignDoesNotWaitLongerThanAsked", func(t *testing.T) {
		bubble(t, func(t *testing.T, p *polls) {
			var group sync.WaitGroup
			defer group.Wait()
			group.Go(func() {
				time.Sleep(deadline)
				p.wins("ben", forTTL(time.Hour))
			})
			c := p.candidacy("anna", waiting(35*time.Second))
			res, err := p.stalled("acquire", deadline+time.Second).Campaign(context.Background(), c)
			if err != nil || res.Won != nil {
				t.Fatalf("%+v, %v", res, err)
			}
			if after := p.clock.Now().At.Sub(c.Received); after != 35*time.Second {
				t.Errorf("answered after %v", after)
			}
		})
	})

	t.Run("ToAKeyedCampaignIsAConflict", func(t *testing.T) {
		bubble(t, func(t *testing.T, p *polls) {
			// Its lease has ended, and a key never gets a second one.
			res, err := p.stalled("acquire", deadline).Campaign(context.Background(), p.candidacy("anna", withKey(secret)))
			if !errors.Is(err, elections.ErrConflict) {
				t.Errorf("%+v, %v", res, err)
			}
			p.vacant()
		})
	})

	t.Run("ToACampaignDrawsANewNonce", func(t *testing.T) {
		bubble(t, func(t *testing.T, p *polls) {
			var first lease.Nonce
			var once sync.Once
			s := p.over(&tap{Store: p.store, after: func(string) {
				once.Do(func() {
					read, err := p.store.Read(context.Background(), lease.ElectionKey(room))
					if err != nil {
						t.Error(err)
					}
					first = read.Record.Lease.Nonce
					time.Sleep(deadline)
				})
			}})
			if _, err := s.Campaign(context.Background(), p.candidacy("anna")); err != nil {
				t.Fatal(err)
			}
			read, err := p.store.Read(context.Background(), lease.ElectionKey(room))
			if err != nil || read.Record.Lease.Nonce == first {
				t.Errorf("the same nonce again, %v", err)
			}
		})
	})

	t.Run("ToACampaignFailsWithoutANewNonce", func(t *testing.T) {
		bubble(t, func(t *testing.T, p *polls) {
			once := &io.LimitedReader{R: zeros{}, N: 16}
			tapped := &tap{Store: p.store}
			tapped.after = func(string) {
				if tapped.queued.Load() > 1 {
					t.Error("decided anew without a new nonce")
					return
				}
				time.Sleep(deadline)
			}
			s := elections.New(elections.Config{Store: tapped, Keys: p.keys, Random: once})
			if res, err := s.Campaign(context.Background(), p.candidacy("anna")); !errors.Is(err, io.EOF) || res.Won != nil {
				t.Errorf("%+v, %v", res, err)
			}
			p.vacant()
		})
	})

	t.Run("ToARenewalIsNotCurrent", func(t *testing.T) {
		bubble(t, func(t *testing.T, p *polls) {
			won := p.wins("anna")
			if res, err := p.stalled("renew", deadline).Renew(context.Background(), room, p.token(won), 0); !errors.Is(err, elections.ErrNotCurrent) {
				t.Errorf("%+v, %v", res, err)
			}
			if _, err := p.stalled("renew", time.Hour).Renew(context.Background(), room, p.token(won), 0); !errors.Is(err, elections.ErrNotCurrent) {
				t.Errorf("%v", err)
			}
		})
	})

	t.Run("ToARenewalIsGivenWhileTheLeaseLives", func(t *testing.T) {
		bubble(t, func(t *testing.T, p *polls) {
			won := p.wins("anna")
			if _, err := p.stalled("renew", deadline-1).Renew(context.Background(), room, p.token(won), 0); err != nil {
				t.Errorf("%v", err)
			}
		})
	})

	t.Run("ToAResignationStands", func(t *testing.T) {
		bubble(t, func(t *testing.T, p *polls) {
			won := p.wins("anna")
			if term, err := p.stalled("release", time.Hour).Resign(context.Background(), room, p.token(won)); err != nil || term != won.Leader.Term {
				t.Errorf("%d, %v", term, err)
			}
		})
	})
}

// zeros is a source that never ends.
type zeros struct{}

// Read implements io.Reader.
func (zeros) Read(b []byte) (int, error) {
	clear(b)
	return len(b), nil
}

// The term can end between the look at the committed record and the decision.
func TestTermThatEndsBeforeTheDecision(t *testing.T) {
	t.Parallel()
	for name, at := range map[string]struct {
		end  func(p *polls, won elections.Result)
		want error // of a resignation
	}{
		"ByExpiry":      {func(*polls, elections.Result) { time.Sleep(deadline) }, elections.ErrNotCurrent},
		"ByResignation": {func(p *polls, won elections.Result) { p.resigns(won) }, nil},
		"BySuccession": {func(p *polls, _ elections.Result) {
			time.Sleep(deadline)
			p.wins("ben")
		}, elections.ErrNotCurrent},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			t.Run("IsNotRenewed", func(t *testing.T) {
				bubble(t, func(t *testing.T, p *polls) {
					won := p.wins("anna")
					s := p.over(&late{Store: p.store, before: func() { at.end(p, won) }})
					if _, err := s.Renew(context.Background(), room, p.token(won), 0); !errors.Is(err, elections.ErrNotCurrent) {
						t.Errorf("%v", err)
					}
				})
			})
			t.Run("IsResignedOnlyIfItWas", func(t *testing.T) {
				bubble(t, func(t *testing.T, p *polls) {
					won := p.wins("anna")
					s := p.over(&late{Store: p.store, before: func() { at.end(p, won) }})
					if _, err := s.Resign(context.Background(), room, p.token(won)); !errors.Is(err, at.want) {
						t.Errorf("%v, want %v", err, at.want)
					}
					if at.want == nil {
						p.vacant()
					}
				})
			})
		})
	}
}

// late is a store in which something happens just before a decision.
type late struct {
	elections.Store
	before func()
}

// Renew implements elections.Store.
func (s *late) Renew(ctx context.Context, key lease.Key, ref lease.Ref, ttl time.Duration) (lease.Outcome, error) {
	s.before()
	return s.Store.Renew(ctx, key, ref, ttl)
}

// Release implements elections.Store.
func (s *late) Release(ctx context.Context, key lease.Key, ref lease.Ref) (lease.Outcome, error) {
	s.before()
	return s.Store.Release(ctx, key, ref)
}

func TestVerdictsThatNoCampaignCanHave(t *testing.T) {
	t.Parallel()
	for _, v := range []lease.Verdict{
		0, lease.NotCurrent, lease.Released, lease.Repeated, lease.NotHeld, lease.SessionEnded, lease.NoSession, lease.NoSession + 1,
	} {
		t.Run(v.String(), func(t *testing.T) {
			bubble(t, func(t *testing.T, p *polls) {
				s := p.over(&tap{Store: p.store, answer: &lease.Outcome{Verdict: v}})
				if res, err := s.Campaign(context.Background(), p.candidacy("anna")); err == nil || res.Won != nil {
					t.Errorf("%+v, %v", res, err)
				}
			})
		})
	}
}
