package elections_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/octostore/octostore/elections"
	"github.com/octostore/octostore/lease"
)

func TestRenew(t *testing.T) {
	t.Parallel()

	t.Run("KeepsTermTokenAndLeader", func(t *testing.T) {
		bubble(t, func(t *testing.T, p *polls) {
			won := p.wins("anna", described("on host 1"))
			time.Sleep(20 * time.Second)
			got, err := p.renew(won, 0)
			if err != nil {
				t.Fatal(err)
			}
			want := *won.Leader
			want.ExpiresAt = p.clock.Now().Wall.Add(ttl)
			if *got.Leader != want || got.Won.Token != won.Won.Token || got.Won.TTL != ttl || got.Won.RenewAfter != ttl/2 || got.Won.Waited != 0 {
				t.Errorf("%+v, %+v", *got.Leader, *got.Won)
			}
			if got.RetryAfter != deadline || got.Revision != won.Revision+1 {
				t.Errorf("%+v", got.Standing)
			}
			time.Sleep(deadline - 1)
			p.leads(won)
		})
	})

	t.Run("TakesALongerOrAShorterTTLAndKeepsIt", func(t *testing.T) {
		bubble(t, func(t *testing.T, p *polls) {
			won := p.wins("anna")
			for _, asked := range []time.Duration{60 * time.Second, 5 * time.Second, 0} {
				got, err := p.renew(won, asked)
				if asked == 0 {
					asked = 5 * time.Second
				}
				if err != nil || got.Won.TTL != asked || got.RetryAfter != asked+lease.Guard(asked) {
					t.Errorf("renewal by %v: %+v, %v", asked, got.Won, err)
				}
				time.Sleep(time.Second)
			}
		})
	})

	t.Run("WorksUpToTheLastNanosecond", func(t *testing.T) {
		bubble(t, func(t *testing.T, p *polls) {
			won := p.wins("anna")
			time.Sleep(deadline - 1)
			if _, err := p.renew(won, 0); err != nil {
				t.Errorf("%v", err)
			}
		})
	})

	t.Run("FailsAfterTheDeadlineThoughNobodyCame", func(t *testing.T) {
		bubble(t, func(t *testing.T, p *polls) {
			for _, late := range []time.Duration{0, 1, time.Millisecond, time.Minute} {
				won := p.wins("anna")
				time.Sleep(deadline + late)
				if _, err := p.renew(won, ttl); !errors.Is(err, elections.ErrNotCurrent) {
					t.Errorf("%v late: %v", late, err)
				}
				p.vacant()
				p.notCurrent(won)
			}
		})
	})

	t.Run("FailsAfterAnotherCameAndWent", func(t *testing.T) {
		bubble(t, func(t *testing.T, p *polls) {
			won := p.wins("anna")
			time.Sleep(deadline)
			p.resigns(p.wins("ben"))
			p.notCurrent(won)
			p.vacant()
		})
	})

	t.Run("FailsAfterItsOwnResignation", func(t *testing.T) {
		bubble(t, func(t *testing.T, p *polls) {
			won := p.wins("anna")
			p.resigns(won)
			if _, err := p.renew(won, 0); !errors.Is(err, elections.ErrNotCurrent) {
				t.Errorf("%v", err)
			}
			p.vacant()
		})
	})

	t.Run("PassesOnWhatTheStoreCanNotDo", func(t *testing.T) {
		bubble(t, func(t *testing.T, p *polls) {
			won := p.wins("anna")
			ctx, cancel := context.WithCancel(context.Background())
			cancel()
			if _, err := p.Renew(ctx, room, p.token(won), 0); !errors.Is(err, context.Canceled) {
				t.Errorf("renewal: %v", err)
			}
			if _, err := p.Resign(ctx, room, p.token(won)); !errors.Is(err, context.Canceled) {
				t.Errorf("resignation: %v", err)
			}
		})
	})
}

func TestResign(t *testing.T) {
	t.Parallel()

	t.Run("FreesTheRoomAtOnce", func(t *testing.T) {
		bubble(t, func(t *testing.T, p *polls) {
			won := p.wins("anna")
			p.resigns(won)
			p.vacant()
			if next := p.wins("ben"); next.Leader.Term <= won.Leader.Term {
				t.Errorf("term %d after %d", next.Leader.Term, won.Leader.Term)
			}
		})
	})

	t.Run("RepeatedSucceedsAsTheFirstDidAndChangesNothing", func(t *testing.T) {
		bubble(t, func(t *testing.T, p *polls) {
			won := p.wins("anna")
			p.resigns(won)
			revision := p.status().Revision
			for range 3 {
				time.Sleep(time.Second)
				p.resigns(won)
			}
			if got := p.status().Revision; got != revision || p.news.count(lease.WasReleased, room) != 1 {
				t.Errorf("revision %d, was %d; %d events", got, revision, p.news.count(lease.WasReleased, room))
			}
		})
	})

	t.Run("RepeatedWhileAnotherLeadsTouchesNothing", func(t *testing.T) {
		bubble(t, func(t *testing.T, p *polls) {
			won := p.wins("anna")
			p.resigns(won)
			next := p.wins("ben")
			before := p.status()
			p.resigns(won)
			p.leads(next)
			if after := p.status(); after.Revision != before.Revision || after.RetryAfter != before.RetryAfter {
				t.Errorf("%+v became %+v", before, after)
			}
		})
	})

	t.Run("RepeatedOnceAnotherTermHasEndedIsNotCurrent", func(t *testing.T) {
		bubble(t, func(t *testing.T, p *polls) {
			won := p.wins("anna")
			p.resigns(won)
			p.resigns(p.wins("ben"))
			p.notCurrent(won)
		})
	})

	t.Run("AfterAnExpiryIsNotCurrent", func(t *testing.T) {
		bubble(t, func(t *testing.T, p *polls) {
			won := p.wins("anna")
			time.Sleep(deadline)
			p.notCurrent(won)
		})
	})
}

// A call whose token does not fit is refused from what is committed: only the
// leader can fill the lane that leaders use.
func TestATokenThatDoesNotFit(t *testing.T) {
	t.Parallel()
	for name, make := range map[string]func(p *polls, won elections.Result) lease.Capability{
		"IsZero": func(*polls, elections.Result) lease.Capability { return lease.Capability{} },
		"DiffersInItsLastBit": func(p *polls, won elections.Result) lease.Capability {
			token := p.token(won)
			token[lease.CapabilitySize-1] ^= 1
			return token
		},
		"IsOfAnotherRoom": func(p *polls, _ elections.Result) lease.Capability {
			return p.token(p.wins("anna", inRoom("lobby-0002")))
		},
		"IsOfTheSameTermUnderAnotherServerKey": func(p *polls, won elections.Result) lease.Capability {
			read, err := p.store.Read(context.Background(), lease.ElectionKey(room))
			if err != nil {
				p.t.Fatal(err)
			}
			foreign := keyring(p.t, 9)
			token, err := foreign.Capability(lease.ElectionKey(room), read.Record.Ref(), foreign.Current())
			if err != nil {
				p.t.Fatal(err)
			}
			return token
		},
		"IsOfALockOfTheSameName": func(p *polls, _ elections.Result) lease.Capability {
			read, err := p.store.Read(context.Background(), lease.ElectionKey(room))
			if err != nil {
				p.t.Fatal(err)
			}
			token, err := p.keys.Capability(lease.LockKey("", room), read.Record.Ref(), p.keys.Current())
			if err != nil {
				p.t.Fatal(err)
			}
			return token
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, p *polls) {
				won := p.wins("anna")
				token := make(p, won)
				before := p.status()
				tapped := &tap{Store: p.store}
				s := p.over(tapped)
				if _, err := s.Renew(context.Background(), room, token, ttl); !errors.Is(err, elections.ErrNotCurrent) {
					t.Errorf("renewal: %v", err)
				}
				if _, err := s.Resign(context.Background(), room, token); !errors.Is(err, elections.ErrNotCurrent) {
					t.Errorf("resignation: %v", err)
				}
				if n := tapped.queued.Load(); n != 0 {
					t.Errorf("%d calls queued", n)
				}
				if after := p.status(); after.Revision != before.Revision {
					t.Errorf("revision %d became %d", before.Revision, after.Revision)
				}
				p.leads(won)
			})
		})
	}

	t.Run("OfARoomThatNobodyUsedIsNotCurrent", func(t *testing.T) {
		bubble(t, func(t *testing.T, p *polls) {
			won := p.wins("anna", inRoom("lobby-0002"))
			tapped := &tap{Store: p.store}
			s := p.over(tapped)
			if _, err := s.Renew(context.Background(), room, p.token(won), 0); !errors.Is(err, elections.ErrNotCurrent) {
				t.Errorf("renewal: %v", err)
			}
			if _, err := s.Resign(context.Background(), room, p.token(won)); !errors.Is(err, elections.ErrNotCurrent) {
				t.Errorf("resignation: %v", err)
			}
			if n := tapped.queued.Load(); n != 0 {
				t.Errorf("%d calls queued", n)
			}
		})
	})

	t.Run("OfATermThatIsOverButNotYetRecordedAsSuch", func(t *testing.T) {
		bubble(t, func(t *testing.T, p *polls) {
			won := p.wins("anna")
			read, err := p.store.Read(context.Background(), lease.ElectionKey(room))
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(deadline)
			read.At = p.clock.Now()
			tapped := &tap{Store: overdueReads{p.store, read}}
			if _, err := p.over(tapped).Renew(context.Background(), room, p.token(won), 0); !errors.Is(err, elections.ErrNotCurrent) {
				t.Errorf("renewal: %v", err)
			}
			if n := tapped.queued.Load(); n != 0 {
				t.Errorf("%d calls queued", n)
			}
		})
	})

	t.Run("WhileAnotherLeadsTouchesNothing", func(t *testing.T) {
		bubble(t, func(t *testing.T, p *polls) {
			stale := p.wins("anna")
			time.Sleep(deadline)
			next := p.wins("ben")
			time.Sleep(time.Second)
			before := p.status()
			tapped := &tap{Store: p.store}
			s := p.over(tapped)
			for range 5 {
				if _, err := s.Renew(context.Background(), room, p.token(stale), 300*time.Second); !errors.Is(err, elections.ErrNotCurrent) {
					t.Errorf("renewal: %v", err)
				}
				if _, err := s.Resign(context.Background(), room, p.token(stale)); !errors.Is(err, elections.ErrNotCurrent) {
					t.Errorf("resignation: %v", err)
				}
			}
			if after := p.status(); after.Revision != before.Revision || *after.Leader != *before.Leader || after.RetryAfter != before.RetryAfter {
				t.Errorf("%+v became %+v", before, after)
			}
			if n := tapped.queued.Load(); n != 0 {
				t.Errorf("%d calls queued", n)
			}
			p.leads(next)
		})
	})

	t.Run("QueuesOnlyIfItDoes", func(t *testing.T) {
		bubble(t, func(t *testing.T, p *polls) {
			won := p.wins("anna")
			tapped := &tap{Store: p.store}
			s := p.over(tapped)
			if _, err := s.Renew(context.Background(), room, p.token(won), 0); err != nil || tapped.queued.Load() != 1 {
				t.Errorf("renewal: %d queued, %v", tapped.queued.Load(), err)
			}
			if _, err := s.Resign(context.Background(), room, p.token(won)); err != nil || tapped.queued.Load() != 2 {
				t.Errorf("resignation: %d queued, %v", tapped.queued.Load(), err)
			}
		})
	})
}

// overdueReads is a store that has not noticed yet what time has done.
type overdueReads struct {
	elections.Store
	read lease.Reading
}

// Read implements elections.Store.
func (s overdueReads) Read(context.Context, lease.Key) (lease.Reading, error) { return s.read, nil }

// A row under a server key that this process lacks can not be judged: neither
// true nor false may be said of a token.
func TestServerKeyOfTheRow(t *testing.T) {
	t.Parallel()
	withKeys := func(p *polls, keys *lease.Keyring) *elections.Service {
		return elections.New(elections.Config{Store: p.store, Keys: keys})
	}
	neither := func(p *polls, s *elections.Service, res elections.Result) {
		p.t.Helper()
		for name, token := range map[string]lease.Capability{"the right token": p.token(res), "a wrong token": {1}} {
			if _, err := s.Renew(context.Background(), room, token, 0); !errors.Is(err, lease.ErrUnknownKey) {
				p.t.Errorf("renewal with %s: %v", name, err)
			}
			if _, err := s.Resign(context.Background(), room, token); !errors.Is(err, lease.ErrUnknownKey) {
				p.t.Errorf("resignation with %s: %v", name, err)
			}
		}
	}

	t.Run("IsUnknownAfterItWasTakenAway", func(t *testing.T) {
		bubble(t, func(t *testing.T, p *polls) {
			won := p.wins("anna")
			neither(p, withKeys(p, keyring(t, 2)), won)
			p.leads(won)
			if _, err := p.renew(won, 0); err != nil {
				t.Errorf("under the right key: %v", err)
			}
		})
	})

	t.Run("IsUnknownAfterTheTermHasEnded", func(t *testing.T) {
		bubble(t, func(t *testing.T, p *polls) {
			won := p.wins("anna")
			p.resigns(won)
			s := withKeys(p, keyring(t, 2))
			if _, err := s.Resign(context.Background(), room, p.token(won)); !errors.Is(err, lease.ErrUnknownKey) {
				t.Errorf("repeated resignation: %v", err)
			}
			// Whatever the key: nobody leads, so there is nothing to renew.
			if _, err := s.Renew(context.Background(), room, p.token(won), 0); !errors.Is(err, elections.ErrNotCurrent) {
				t.Errorf("renewal: %v", err)
			}
		})
	})

	t.Run("OfTheLastTermDoesNotHideTheLeader", func(t *testing.T) {
		bubble(t, func(t *testing.T, p *polls) {
			old := p.wins("anna")
			p.resigns(old)
			s := withKeys(p, keyring(t, 2))
			res, err := s.Campaign(context.Background(), p.candidacy("ben"))
			if err != nil || res.Won == nil {
				t.Fatalf("%+v, %v", res, err)
			}
			if _, err := s.Renew(context.Background(), room, p.token(res), 0); err != nil {
				t.Errorf("the leader's renewal: %v", err)
			}
			if _, err := s.Resign(context.Background(), room, p.token(old)); !errors.Is(err, lease.ErrUnknownKey) {
				t.Errorf("the repeated resignation of the last: %v", err)
			}
			if _, err := s.Resign(context.Background(), room, p.token(res)); err != nil {
				t.Errorf("the leader's resignation: %v", err)
			}
		})
	})

	t.Run("IsNotNeededToFollow", func(t *testing.T) {
		bubble(t, func(t *testing.T, p *polls) {
			won := p.wins("anna")
			res, err := withKeys(p, keyring(t, 2)).Campaign(context.Background(), p.candidacy("ben"))
			if err != nil || res.Won != nil || res.Leader.Term != won.Leader.Term {
				t.Errorf("%+v, %v", res, err)
			}
		})
	})

	t.Run("IsUnknownToACampaignThatCanNotBeAnswered", func(t *testing.T) {
		bubble(t, func(t *testing.T, p *polls) {
			won := p.wins("anna")
			read, err := p.store.Read(context.Background(), lease.ElectionKey(room))
			if err != nil {
				t.Fatal(err)
			}
			s := elections.New(elections.Config{Keys: keyring(t, 2), Store: &tap{
				Store: p.store, answer: &lease.Outcome{Verdict: lease.Confirmed, Record: read.Record, At: read.At},
			}})
			if res, err := s.Campaign(context.Background(), p.candidacy("ben")); !errors.Is(err, lease.ErrUnknownKey) || res.Won != nil {
				t.Errorf("%+v, %v", res, err)
			}
			p.leads(won)
		})
	})

	t.Run("MayBeAPreviousOne", func(t *testing.T) {
		bubble(t, func(t *testing.T, p *polls) {
			const secret = "0123456789abcdefghijkl"
			won := p.wins("anna", withKey(secret))
			p.Service = withKeys(p, keyring(t, 2, 1))
			if got, err := p.renew(won, 0); err != nil || got.Won.Token != won.Won.Token {
				t.Errorf("renewal: %v", err)
			}
			if got := p.wins("anna", withKey(secret)); got.Won.Token != won.Won.Token || got.Leader.Term != won.Leader.Term {
				t.Errorf("repeated campaign: %+v", got)
			}
			p.resigns(won)
			next := p.wins("anna")
			p.Service = withKeys(p, keyring(t, 2))
			if _, err := p.renew(next, 0); err != nil {
				t.Errorf("a new term is not under the new key: %v", err)
			}
		})
	})
}
