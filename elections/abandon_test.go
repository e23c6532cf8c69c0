package elections_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/octostore/octostore/elections"
	"github.com/octostore/octostore/lease"
	"github.com/octostore/octostore/store/sqlite"
)

// A caller that is gone before a byte of its answer was written never heard of
// its grant.
func TestAbandon(t *testing.T) {
	t.Parallel()
	// The caller's context has ended, or else it would not be gone.
	gone, cancel := context.WithCancel(context.Background())
	cancel()

	t.Run("GivesBackAGrantWithoutAKey", func(t *testing.T) {
		bubble(t, func(t *testing.T, p *polls) {
			won := p.wins("anna")
			if err := p.Abandon(gone, won); err != nil {
				t.Fatal(err)
			}
			p.vacant()
			if _, err := p.renew(won, 0); !errors.Is(err, elections.ErrNotCurrent) {
				t.Errorf("renewal: %v", err)
			}
		})
	})

	t.Run("LetsTheNextWaiterFollow", func(t *testing.T) {
		bubble(t, func(t *testing.T, p *polls) {
			won := p.wins("anna")
			l := p.queue(2, time.Minute, ttl)
			defer l.close()
			if err := p.Abandon(gone, won); err != nil {
				t.Fatal(err)
			}
			l.next(0)
		})
	})

	t.Run("KeepsAGrantWithAKeyForTheRepeat", func(t *testing.T) {
		bubble(t, func(t *testing.T, p *polls) {
			won := p.wins("anna", withKey(secret))
			if err := p.Abandon(gone, won); err != nil {
				t.Fatal(err)
			}
			p.leads(won)
			if got := p.wins("anna", withKey(secret)); got.Leader.Term != won.Leader.Term {
				t.Errorf("term %d, was %d", got.Leader.Term, won.Leader.Term)
			}
		})
	})

	t.Run("KeepsWhatARepeatFound", func(t *testing.T) {
		bubble(t, func(t *testing.T, p *polls) {
			p.wins("anna", withKey(secret))
			repeat := p.wins("anna", withKey(secret))
			if err := p.Abandon(gone, repeat); err != nil {
				t.Fatal(err)
			}
			p.leads(repeat)
		})
	})

	t.Run("KeepsWhatARenewalExtended", func(t *testing.T) {
		bubble(t, func(t *testing.T, p *polls) {
			won := p.wins("anna")
			renewed, err := p.renew(won, 0)
			if err != nil {
				t.Fatal(err)
			}
			if err := p.Abandon(gone, renewed); err != nil {
				t.Fatal(err)
			}
			p.leads(won)
		})
	})

	t.Run("LeavesAFollowersRoomAlone", func(t *testing.T) {
		bubble(t, func(t *testing.T, p *polls) {
			won := p.wins("anna")
			if err := p.Abandon(gone, p.follows("ben")); err != nil {
				t.Fatal(err)
			}
			p.leads(won)
		})
	})

	t.Run("NeverTouchesASuccessor", func(t *testing.T) {
		bubble(t, func(t *testing.T, p *polls) {
			won := p.wins("anna")
			time.Sleep(deadline)
			next := p.wins("ben")
			if err := p.Abandon(gone, won); err != nil {
				t.Fatal(err)
			}
			p.leads(next)
		})
	})

	t.Run("TellsWhatTheStoreCanNotDo", func(t *testing.T) {
		bubble(t, func(t *testing.T, p *polls) {
			won := p.wins("anna")
			if err := p.store.Close(); err != nil {
				t.Fatal(err)
			}
			if err := p.Abandon(gone, won); !errors.Is(err, lease.ErrUnavailable) {
				t.Errorf("%v", err)
			}
			p.open()
			p.leads(won)
		})
	})
}

// The caller leaves while its grant is being made durable.
func TestCallerThatLeavesDuringTheCommit(t *testing.T) {
	t.Parallel()
	leaving := func(t *testing.T, p *polls, change ...func(*elections.Candidacy)) (elections.Result, error) {
		t.Helper()
		ctx, leave := context.WithCancel(context.Background())
		p.restart(0, func(o *sqlite.Options) {
			o.Failpoint = func(s sqlite.Stage) error {
				if s == sqlite.AtCommit {
					leave()
				}
				return nil
			}
		})
		return p.Campaign(ctx, p.candidacy("anna", change...))
	}

	t.Run("LosesAGrantWithoutAKey", func(t *testing.T) {
		bubble(t, func(t *testing.T, p *polls) {
			if res, err := leaving(t, p); !errors.Is(err, context.Canceled) || res.Won != nil {
				t.Errorf("%+v, %v", res, err)
			}
			synctest.Wait()
			p.vacant()
			if n := p.news.count(lease.Acquired, room); n != 1 {
				t.Errorf("%d grants: nothing was given back", n)
			}
		})
	})

	t.Run("KeepsAGrantWithAKey", func(t *testing.T) {
		bubble(t, func(t *testing.T, p *polls) {
			_, err := leaving(t, p, withKey(secret))
			if err != nil && !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
			term := p.status().Leader.Term
			if got := p.wins("anna", withKey(secret)); got.Leader.Term != term {
				t.Errorf("term %d, was %d", got.Leader.Term, term)
			}
		})
	})
}
