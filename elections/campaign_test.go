package elections_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"io"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/octostore/octostore/elections"
	"github.com/octostore/octostore/lease"
)

func TestCampaign(t *testing.T) {
	t.Parallel()

	t.Run("TellsTheWinnerItsTerm", func(t *testing.T) {
		bubble(t, func(t *testing.T, p *polls) {
			now := p.clock.Now()
			res := p.wins("anna", described("on host 1"))
			want := elections.Leader{Candidate: "anna", Metadata: "on host 1", Described: true, Term: lease.Term(now.Wall), ExpiresAt: now.Wall.Add(ttl)}
			if *res.Leader != want {
				t.Errorf("leader %+v, want %+v", *res.Leader, want)
			}
			if res.Room != room || res.RetryAfter != deadline || res.Revision != int64(now.Wall) || res.Waiters != 0 {
				t.Errorf("standing %+v", res.Standing)
			}
			if won := res.Won; len(won.Token) != 43 || won.TTL != ttl || won.RenewAfter != ttl/2 || won.Waited != 0 {
				t.Errorf("won %+v", won)
			}
		})
	})

	t.Run("TellsOthersWhoLeadsAndNoToken", func(t *testing.T) {
		bubble(t, func(t *testing.T, p *polls) {
			won := p.wins("anna", described("on host 1"))
			time.Sleep(10 * time.Second)
			res := p.follows("ben", described("on host 2"))
			if *res.Leader != *won.Leader || res.RetryAfter != deadline-10*time.Second || res.Revision != won.Revision {
				t.Errorf("standing %+v, leader %+v", res.Standing, *res.Leader)
			}
		})
	})

	t.Run("ChangesNothingForAFollower", func(t *testing.T) {
		bubble(t, func(t *testing.T, p *polls) {
			p.wins("anna")
			before := p.status()
			for range 5 {
				p.follows("ben", forTTL(300*time.Second), described("x"))
			}
			if after := p.status(); after.Revision != before.Revision || *after.Leader != *before.Leader || after.RetryAfter != before.RetryAfter {
				t.Errorf("%+v became %+v", before, after)
			}
		})
	})

	t.Run("RaisesTheTermAfterAResignation", func(t *testing.T) {
		bubble(t, func(t *testing.T, p *polls) {
			var last lease.Term
			for range 10 { // all within one instant of the wall clock
				res := p.wins("anna")
				if res.Leader.Term <= last {
					t.Fatalf("term %d after %d", res.Leader.Term, last)
				}
				last = res.Leader.Term
				p.resigns(res)
			}
		})
	})

	t.Run("RaisesTheTermAfterAnExpiry", func(t *testing.T) {
		bubble(t, func(t *testing.T, p *polls) {
			first := p.wins("anna")
			time.Sleep(deadline - 1)
			p.follows("ben")
			time.Sleep(time.Nanosecond)
			second := p.wins("ben")
			if second.Leader.Term <= first.Leader.Term || second.Won.Token == first.Won.Token {
				t.Errorf("term %d after %d", second.Leader.Term, first.Leader.Term)
			}
		})
	})

	t.Run("TellsEmptyMetadataFromNone", func(t *testing.T) {
		bubble(t, func(t *testing.T, p *polls) {
			if res := p.wins("anna", described("")); !res.Leader.Described || !p.status().Leader.Described {
				t.Error("empty metadata is gone")
			}
			if res := p.wins("anna", inRoom("lobby-0002")); res.Leader.Described || p.status("lobby-0002").Leader.Described {
				t.Error("metadata came from nowhere")
			}
		})
	})

	t.Run("KeepsRoomsApart", func(t *testing.T) {
		bubble(t, func(t *testing.T, p *polls) {
			a, b := p.wins("anna", inRoom("lobby-000a")), p.wins("anna", inRoom("lobby-000b"))
			p.resigns(a)
			p.leads(b)
			if a.Won.Token == b.Won.Token {
				t.Error("one token leads two rooms")
			}
		})
	})

	t.Run("PassesOnWhatTheStoreCanNotDo", func(t *testing.T) {
		bubble(t, func(t *testing.T, p *polls) {
			res := p.wins("anna")
			ctx, cancel := context.WithCancel(context.Background())
			cancel()
			if _, err := p.Campaign(ctx, p.candidacy("ben", waiting(time.Second))); !errors.Is(err, context.Canceled) {
				t.Errorf("campaign of one who left: %v", err)
			}
			p.store.Drain()
			if _, err := p.Campaign(context.Background(), p.candidacy("ben", inRoom("lobby-0002"))); !errors.Is(err, lease.ErrUnavailable) {
				t.Errorf("campaign while draining: %v", err)
			}
			p.leads(res)
		})
	})
}

// The name of a candidate is a label. Two processes on hosts of one name, or on
// one host, are two candidates.
func TestEqualNamesAreTwoCandidates(t *testing.T) {
	t.Parallel()

	t.Run("OneLeadsAndTheOtherGetsNoToken", func(t *testing.T) {
		bubble(t, func(t *testing.T, p *polls) {
			won := p.wins("host-1", described("the same"))
			for range 3 {
				p.follows("host-1", described("the same"))
			}
			p.leads(won)
		})
	})

	t.Run("OneOfManyAtOnceLeads", func(t *testing.T) {
		bubble(t, func(t *testing.T, p *polls) {
			results := p.all(50, func(int) (elections.Result, error) {
				return p.Campaign(context.Background(), p.candidacy("host-1"))
			})
			leaders := 0
			for _, res := range results {
				if res.Won != nil {
					leaders++
					p.leads(res)
				}
			}
			if leaders != 1 || p.news.count(lease.Acquired, room) != 1 {
				t.Errorf("%d leaders, %d grants", leaders, p.news.count(lease.Acquired, room))
			}
		})
	})

	t.Run("TheNameAloneNeitherRenewsNorResigns", func(t *testing.T) {
		bubble(t, func(t *testing.T, p *polls) {
			won := p.wins("host-1")
			for _, guess := range [][]byte{[]byte("host-1"), []byte(room), nil} {
				var token lease.Capability
				copy(token[:], guess)
				if _, err := p.Renew(context.Background(), room, token, 0); !errors.Is(err, elections.ErrNotCurrent) {
					t.Errorf("renewal with %q: %v", guess, err)
				}
				if _, err := p.Resign(context.Background(), room, token); !errors.Is(err, elections.ErrNotCurrent) {
					t.Errorf("resignation with %q: %v", guess, err)
				}
			}
			p.leads(won)
		})
	})
}

// all calls f n times at once and returns what each call returned. No call may
// fail.
func (p *polls) all(n int, f func(i int) (elections.Result, error)) []elections.Result {
	p.t.Helper()
	results := make([]elections.Result, n)
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() {
			var err error
			if results[i], err = f(i); err != nil {
				p.t.Errorf("call %d: %v", i, err)
			}
		})
	}
	group.Wait()
	return results
}

func TestStatus(t *testing.T) {
	t.Parallel()

	t.Run("OfARoomThatNobodyUsedIsVacant", func(t *testing.T) {
		bubble(t, func(t *testing.T, p *polls) {
			if st := p.status(); st.Room != room || st.Leader != nil || st.RetryAfter != 0 || st.Revision != 0 || st.Waiters != 0 {
				t.Errorf("%+v", st)
			}
		})
	})

	t.Run("SeesWhatWasAnswered", func(t *testing.T) {
		bubble(t, func(t *testing.T, p *polls) {
			res := p.wins("anna")
			p.leads(res)
			p.resigns(res)
			p.vacant()
		})
	})

	t.Run("IsVacantFromTheDeadlineOn", func(t *testing.T) {
		bubble(t, func(t *testing.T, p *polls) {
			res := p.wins("anna")
			time.Sleep(deadline - 1)
			p.leads(res)
			if st := p.status(); st.RetryAfter != 1 {
				t.Errorf("%v remain, want 1ns", st.RetryAfter)
			}
			time.Sleep(time.Nanosecond)
			p.vacant()
		})
	})

	t.Run("FailsWithTheStore", func(t *testing.T) {
		bubble(t, func(t *testing.T, p *polls) {
			s := p.over(brokenReads{p.store})
			if _, err := s.Status(context.Background(), room); !errors.Is(err, lease.ErrUnavailable) {
				t.Errorf("status: %v", err)
			}
			if _, err := s.Renew(context.Background(), room, lease.Capability{}, 0); !errors.Is(err, lease.ErrUnavailable) {
				t.Errorf("renewal: %v", err)
			}
			if _, err := s.Resign(context.Background(), room, lease.Capability{}); !errors.Is(err, lease.ErrUnavailable) {
				t.Errorf("resignation: %v", err)
			}
		})
	})
}

// brokenReads is a store that can not be read.
type brokenReads struct{ elections.Store }

// Read implements elections.Store.
func (brokenReads) Read(context.Context, lease.Key) (lease.Reading, error) {
	return lease.Reading{}, lease.ErrUnavailable
}

func TestStandingOfARecord(t *testing.T) {
	t.Parallel()
	now := lease.Now{At: 5, Wall: 1_700_000_000_000_000}
	rec, _, _ := lease.Record{Key: lease.ElectionKey(room)}.Acquire(lease.Ground{Now: now}, lease.Acquire{TTL: ttl, Label: "anna"})
	st := elections.StandingOf(rec, now)
	if st.Room != room || st.Leader.Candidate != "anna" || st.Leader.Term != rec.Term || st.Revision != rec.Revision || st.RetryAfter != deadline || st.At != now {
		t.Errorf("%+v", st)
	}
	now.At = now.At.Add(deadline)
	if st := elections.StandingOf(rec, now); st.Leader != nil || st.RetryAfter != 0 {
		t.Errorf("after the deadline %+v", st)
	}
}

func TestCapacity(t *testing.T) {
	t.Parallel()
	limited := func(t *testing.T, f func(p *polls, full func(room string) bool)) {
		t.Helper()
		bubble(t, func(t *testing.T, p *polls) {
			p.Service = elections.New(elections.Config{Store: p.store, Keys: p.keys, MaxRooms: 2})
			f(p, func(room string) bool {
				t.Helper()
				res, err := p.Campaign(context.Background(), p.candidacy("cleo", inRoom(room)))
				if err != nil && !errors.Is(err, elections.ErrCapacity) {
					t.Fatal(err)
				}
				if err == nil && res.Won != nil {
					p.resigns(res)
				}
				return err != nil
			})
		})
	}

	t.Run("RefusesOneRoomMore", func(t *testing.T) {
		limited(t, func(p *polls, full func(string) bool) {
			p.wins("anna", inRoom("lobby-000a"))
			if full("lobby-000c") {
				p.t.Error("full with one room of two")
			}
			p.wins("anna", inRoom("lobby-000b"))
			if !full("lobby-000c") {
				p.t.Error("three rooms of two")
			}
		})
	})

	t.Run("NeverRefusesAnOccupiedRoom", func(t *testing.T) {
		limited(t, func(p *polls, full func(string) bool) {
			a := p.wins("anna", inRoom("lobby-000a"), withKey("0123456789abcdefghijkl"))
			p.wins("anna", inRoom("lobby-000b"))
			if full("lobby-000a") {
				p.t.Error("a follower is told that the server is full")
			}
			p.wins("anna", inRoom("lobby-000a"), withKey("0123456789abcdefghijkl"))
			if _, err := p.renew(a, 0); err != nil {
				p.t.Errorf("renewal: %v", err)
			}
		})
	})

	t.Run("HasRoomAgainAfterAResignation", func(t *testing.T) {
		limited(t, func(p *polls, full func(string) bool) {
			a := p.wins("anna", inRoom("lobby-000a"))
			p.wins("anna", inRoom("lobby-000b"))
			p.resigns(a)
			if full("lobby-000c") {
				p.t.Error("full with one room of two")
			}
		})
	})

	t.Run("HasRoomAgainAtTheDeadline", func(t *testing.T) {
		limited(t, func(p *polls, full func(string) bool) {
			p.wins("anna", inRoom("lobby-000a"))
			time.Sleep(time.Second)
			p.wins("anna", inRoom("lobby-000b"))
			time.Sleep(deadline - time.Second)
			if full("lobby-000c") || full("lobby-000a") {
				p.t.Error("full with one room of two")
			}
		})
	})

	t.Run("IsNotExceededByManyAtOnce", func(t *testing.T) {
		limited(t, func(p *polls, _ func(string) bool) {
			var mu sync.Mutex
			won, refused := 0, 0
			p.all(40, func(i int) (elections.Result, error) {
				res, err := p.Campaign(context.Background(), p.candidacy("anna", inRoom("lobby-100"+string(rune('A'+i)))))
				mu.Lock()
				defer mu.Unlock()
				if errors.Is(err, elections.ErrCapacity) {
					refused++
					return res, nil
				}
				won++
				return res, err
			})
			if won != 2 || refused != 38 {
				p.t.Errorf("%d won, %d refused", won, refused)
			}
		})
	})
}

func TestNewRoom(t *testing.T) {
	t.Parallel()

	t.Run("Is192RandomBits", func(t *testing.T) {
		t.Parallel()
		s := elections.New(elections.Config{})
		seen := make(map[string]bool)
		for range 1000 {
			id, err := s.NewRoom()
			if err != nil || len(id) != 32 || seen[id] {
				t.Fatalf("%q, %v", id, err)
			}
			if b, err := base64.RawURLEncoding.DecodeString(id); err != nil || len(b) != 24 {
				t.Fatalf("%q has %d bytes: %v", id, len(b), err)
			}
			seen[id] = true
		}
	})

	t.Run("TakesAllItsBitsFromTheSource", func(t *testing.T) {
		t.Parallel()
		s := elections.New(elections.Config{Random: bytes.NewReader(bytes.Repeat([]byte{0xff}, 24))})
		if id, err := s.NewRoom(); err != nil || id != "________________________________" {
			t.Errorf("%q, %v", id, err)
		}
	})

	t.Run("FailsWithoutRandomness", func(t *testing.T) {
		t.Parallel()
		for name, source := range map[string]io.Reader{
			"broken": iotest.ErrReader(errors.New("no entropy")), "short": bytes.NewReader(make([]byte, 23)),
		} {
			if id, err := elections.New(elections.Config{Random: source}).NewRoom(); err == nil || id != "" {
				t.Errorf("%s: %q, %v", name, id, err)
			}
		}
	})
}

func TestCampaignWithoutRandomnessGrantsNothing(t *testing.T) {
	bubble(t, func(t *testing.T, p *polls) {
		p.Service = elections.New(elections.Config{Store: p.store, Keys: p.keys, Random: bytes.NewReader(make([]byte, 15))})
		if _, err := p.Campaign(context.Background(), p.candidacy("anna")); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%v", err)
		}
		p.vacant()
	})
}
