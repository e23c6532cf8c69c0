package elections_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/octostore/octostore/elections"
	"github.com/octostore/octostore/lease"
)

// secret is an idempotency key as a client draws it.
const secret = "V1StGXR8_Z5jdHi6B-myT0"

// The answer to a campaign can get lost. Sent again with the same idempotency
// key it finds the lease that the first one got.
func TestRepeatedCampaign(t *testing.T) {
	t.Parallel()

	t.Run("FindsItsLeaseAndRenewsIt", func(t *testing.T) {
		bubble(t, func(t *testing.T, p *polls) {
			lost := p.wins("anna", withKey(secret), described("m"))
			time.Sleep(10 * time.Second)
			got := p.wins("anna", withKey(secret), described("m"))
			if got.Won.Token != lost.Won.Token || got.Leader.Term != lost.Leader.Term || got.Won.TTL != ttl || got.Won.Waited != 0 {
				t.Errorf("%+v, %+v", *got.Leader, *got.Won)
			}
			if got.RetryAfter != deadline || got.Revision != lost.Revision+1 {
				t.Errorf("%+v", got.Standing)
			}
			if n := p.news.count(lease.Acquired, room); n != 1 {
				t.Errorf("%d grants", n)
			}
			time.Sleep(deadline - 1)
			p.leads(got)
		})
	})

	t.Run("WaitIsNoParameter", func(t *testing.T) {
		bubble(t, func(t *testing.T, p *polls) {
			lost := p.wins("anna", withKey(secret))
			if got := p.wins("anna", withKey(secret), waiting(time.Second)); got.Won.Token != lost.Won.Token {
				t.Errorf("%+v", got)
			}
		})
	})

	for name, change := range map[string]func(*elections.Candidacy){
		"WithAnotherTTL":      forTTL(ttl + time.Second),
		"WithOtherMetadata":   described("other"),
		"WithoutMetadata":     func(c *elections.Candidacy) { c.Metadata, c.Described = "", false },
		"WithEmptiedMetadata": described(""),
	} {
		t.Run(name+"IsAConflict", func(t *testing.T) {
			bubble(t, func(t *testing.T, p *polls) {
				won := p.wins("anna", withKey(secret), described("m"))
				before := p.status()
				res, err := p.Campaign(context.Background(), p.candidacy("anna", withKey(secret), described("m"), change))
				if !errors.Is(err, elections.ErrConflict) || res.Won != nil {
					t.Errorf("%+v, %v", res, err)
				}
				if after := p.status(); after.Revision != before.Revision || after.RetryAfter != before.RetryAfter {
					t.Errorf("%+v became %+v", before, after)
				}
				p.leads(won)
			})
		})
	}

	t.Run("TellsAnotherCandidateNothing", func(t *testing.T) {
		bubble(t, func(t *testing.T, p *polls) {
			p.wins("anna", withKey(secret))
			p.follows("ben", withKey(secret))
			p.follows("ben", withKey(secret), described("different")) // nor that the key is in use
		})
	})

	t.Run("IsANewRequestInAnotherRoom", func(t *testing.T) {
		bubble(t, func(t *testing.T, p *polls) {
			a := p.wins("anna", withKey(secret))
			b := p.wins("anna", withKey(secret), inRoom("lobby-0002"), forTTL(time.Minute))
			if a.Won.Token == b.Won.Token {
				t.Error("one token leads two rooms")
			}
			// Nor can a reader of the store tell that it is one key.
			if p.rememberedKey(a.Room) == p.rememberedKey(b.Room) {
				t.Error("one digest in two rows")
			}
		})
	})

	t.Run("TellsEmptyMetadataFromNone", func(t *testing.T) {
		bubble(t, func(t *testing.T, p *polls) {
			p.wins("anna", withKey(secret), described(""))
			if _, err := p.Campaign(context.Background(), p.candidacy("anna", withKey(secret))); !errors.Is(err, elections.ErrConflict) {
				t.Errorf("%v", err)
			}
		})
	})

	t.Run("NeverRevivesALease", func(t *testing.T) {
		for name, end := range map[string]func(*polls, elections.Result){
			"ThatExpired":      func(*polls, elections.Result) { time.Sleep(deadline) },
			"ThatJustExpired":  func(*polls, elections.Result) { time.Sleep(deadline + 1) },
			"ThatWasResigned":  func(p *polls, res elections.Result) { p.resigns(res) },
			"ThatHasFollowers": func(p *polls, _ elections.Result) { time.Sleep(deadline); p.wins("ben") },
		} {
			t.Run(name, func(t *testing.T) {
				bubble(t, func(t *testing.T, p *polls) {
					won := p.wins("anna", withKey(secret))
					end(p, won)
					synctest.Wait()
					before := p.status()
					for range 3 {
						if res, err := p.Campaign(context.Background(), p.candidacy("anna", withKey(secret))); !errors.Is(err, elections.ErrConflict) {
							t.Errorf("%+v, %v", res, err)
						}
					}
					if after := p.status(); after.Revision != before.Revision || (after.Leader == nil) != (before.Leader == nil) {
						t.Errorf("%+v became %+v", before, after)
					}
				})
			})
		}
	})

	t.Run("IsANewRequestOnceTheRowHasForgotten", func(t *testing.T) {
		bubble(t, func(t *testing.T, p *polls) {
			first := p.wins("anna", withKey(secret))
			p.resigns(first)
			p.resigns(p.wins("ben"))
			again := p.wins("anna", withKey(secret), described("and may say what it likes"))
			if again.Leader.Term <= first.Leader.Term || again.Won.Token == first.Won.Token {
				t.Errorf("term %d after %d", again.Leader.Term, first.Leader.Term)
			}
		})
	})

	t.Run("IsFoundAfterARestart", func(t *testing.T) {
		bubble(t, func(t *testing.T, p *polls) {
			lost := p.wins("anna", withKey(secret))
			p.crash(time.Second)
			if got := p.wins("anna", withKey(secret)); got.Won.Token != lost.Won.Token || got.Leader.Term != lost.Leader.Term {
				t.Errorf("%+v", got)
			}
		})
	})

	t.Run("IsFoundWhoeverOpenedTheConnection", func(t *testing.T) {
		bubble(t, func(t *testing.T, p *polls) {
			// The first caller is gone before the commit is: its grant stays.
			ctx, cancel := context.WithCancel(context.Background())
			tapped := &tap{Store: p.store, after: func(string) { cancel() }}
			lost, err := p.over(tapped).Campaign(ctx, p.candidacy("anna", withKey(secret)))
			if err != nil {
				t.Fatal(err)
			}
			if err := p.Abandon(context.Background(), lost); err != nil {
				t.Fatal(err)
			}
			if got := p.wins("anna", withKey(secret)); got.Leader.Term != lost.Leader.Term {
				t.Errorf("term %d, was %d", got.Leader.Term, lost.Leader.Term)
			}
		})
	})
}

// rememberedKey is the digest of the idempotency key in the row of a room.
func (p *polls) rememberedKey(room string) lease.Digest {
	p.t.Helper()
	read, err := p.store.Read(context.Background(), lease.ElectionKey(room))
	if err != nil || read.Record.Lease.Idem == nil {
		p.t.Fatalf("no key in the row of %s, %v", room, err)
	}
	return read.Record.Lease.Idem.Key
}

func TestOneKeySentAHundredTimesAtOnce(t *testing.T) {
	t.Parallel()
	one := func(t *testing.T, p *polls, results []elections.Result, grants int) {
		t.Helper()
		for i, res := range results {
			if res.Won == nil || res.Won.Token != results[0].Won.Token || res.Leader.Term != results[0].Leader.Term {
				t.Fatalf("call %d got %+v", i, res)
			}
		}
		if n := p.news.count(lease.Acquired, room); n != grants {
			t.Errorf("%d grants, want %d", n, grants)
		}
		p.leads(results[0])
	}

	t.Run("IsGrantedOnce", func(t *testing.T) {
		bubble(t, func(t *testing.T, p *polls) {
			one(t, p, p.all(100, func(int) (elections.Result, error) {
				return p.Campaign(context.Background(), p.candidacy("anna", withKey(secret)))
			}), 1)
		})
	})

	t.Run("IsGrantedOnceToAllWhoWait", func(t *testing.T) {
		bubble(t, func(t *testing.T, p *polls) {
			leader := p.wins("ben")
			var group sync.WaitGroup
			group.Go(func() {
				time.Sleep(10*time.Second + 500*time.Microsecond)
				p.resigns(leader)
			})
			results := p.all(100, func(i int) (elections.Result, error) {
				time.Sleep(time.Duration(i) * 50 * time.Millisecond) // each comes later than the one before
				return p.Campaign(context.Background(), p.candidacy("anna", withKey(secret), waiting(20*time.Second)))
			})
			group.Wait()
			one(t, p, results, 2)
			for i, res := range results {
				// Each connection is told its own wait, rounded down.
				if want := 10*time.Second - time.Duration(i)*50*time.Millisecond; res.Won.Waited != want {
					t.Errorf("call %d waited %v, want %v", i, res.Won.Waited, want)
				}
			}
		})
	})

	t.Run("ConflictsWithADifferentOneThatWaits", func(t *testing.T) {
		bubble(t, func(t *testing.T, p *polls) {
			leader := p.wins("ben")
			var group sync.WaitGroup
			group.Go(func() { p.wins("anna", withKey(secret), waiting(10*time.Second)) })
			time.Sleep(time.Second)
			if _, err := p.Campaign(context.Background(), p.candidacy("anna", withKey(secret), described("x"), waiting(10*time.Second))); !errors.Is(err, elections.ErrConflict) {
				t.Errorf("%v", err)
			}
			p.resigns(leader)
			group.Wait()
		})
	})

	t.Run("KeepsItsPlaceWhileOneConnectionIsOpen", func(t *testing.T) {
		bubble(t, func(t *testing.T, p *polls) {
			leader := p.wins("ben")
			ctx, hangUp := context.WithCancel(context.Background())
			var group sync.WaitGroup
			group.Go(func() {
				if _, err := p.Campaign(ctx, p.candidacy("anna", withKey(secret), waiting(20*time.Second))); !errors.Is(err, context.Canceled) {
					t.Errorf("the first connection: %v", err)
				}
			})
			synctest.Wait()
			group.Go(func() { p.follows("anna", withKey(secret), waiting(time.Second)) })
			synctest.Wait()
			group.Go(func() {
				if res := p.wins("anna", withKey(secret), waiting(20*time.Second)); res.Won.Waited != 5*time.Second {
					t.Errorf("waited %v", res.Won.Waited)
				}
			})
			synctest.Wait()
			group.Go(func() { p.follows("cleo", waiting(6*time.Second)) }) // came after anna
			synctest.Wait()
			if st := p.status(); st.Waiters != 4 {
				t.Errorf("%d wait, want 4", st.Waiters)
			}
			hangUp()
			time.Sleep(2 * time.Second)
			if st := p.status(); st.Waiters != 2 {
				t.Errorf("%d wait, want 2", st.Waiters)
			}
			time.Sleep(3 * time.Second)
			p.resigns(leader)
			group.Wait()
		})
	})
}
