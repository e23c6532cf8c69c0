package histories

import (
	"slices"
	"strings"
	"testing"
)

// Each fact has a history that breaks it and, where it could be read too strictly,
// one that does not.
func TestFacts(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		h    *History
		want []string // the beginnings of the problems, in any order
	}{
		"Honest": {
			h: tell([]int{5500}, wins(0, 10, ann, 100), renews(100, 110, ann, 100), follows(120, 130, bob, ann, 100, 5155),
				resigns(200, 210, ann, 100), resigns(220, 230, ann, 100), wins(240, 250, bob, 101), shows(260, bob, 101, 5295, 9),
				renews(270, 280, ann, 100).isRefused(NotCurrent), wins(5310, 5320, cat, 102).keyed(), wins(5330, 5330, cat, 102).keyed().lost(),
				wins(5600, 5610, cat, 102).keyed()),
		},
		"TermGivenTwice": {
			h:    tell(nil, wins(0, 10, ann, 100), resigns(20, 30, ann, 100), wins(40, 50, bob, 100)),
			want: []string{"term 100 belongs to c1-1 and to c2-1", "term 100 has two tokens", "an acknowledged resignation is gone"},
		},
		"TermWentBack": {
			h:    tell(nil, wins(0, 10, ann, 100), resigns(20, 30, ann, 100), wins(40, 50, bob, 99)),
			want: []string{"the term went back"},
		},
		"TermTogetherIsNotBack": {
			h: tell(nil, wins(0, 10, ann, 100), resigns(20, 30, ann, 100), follows(5, 50, cat, ann, 100, 5055), wins(30, 40, bob, 101)),
		},
		"TwoLeaders": {
			h:    tell(nil, wins(0, 10, ann, 100), wins(20, 30, bob, 101)),
			want: []string{"terms 100 and 101 are both in force", "term 100 was certainly in force"},
		},
		"LeaderAfterTheOtherOnesTTL": {
			h: tell(nil, wins(0, 10, ann, 100), wins(4995, 5001, bob, 101)),
		},
		"LeaderAfterALostResignation": {
			h: tell([]int{25}, wins(0, 10, ann, 100), resigns(20, 20, ann, 100).lost(), wins(40, 50, bob, 101)),
		},
		"GrantIsGone": {
			h:    tell([]int{20}, wins(0, 10, ann, 100), vacancy(100, 0)),
			want: []string{"term 100 was certainly in force"},
		},
		"RenewalIsGone": {
			h:    tell([]int{3020}, wins(0, 10, ann, 100), renews(3000, 3010, ann, 100), renews(7000, 7010, ann, 100).isRefused(NotCurrent)),
			want: []string{"term 100 was certainly in force"},
		},
		"RenewalIsGoneToAnother": {
			h:    tell([]int{3020}, wins(0, 10, ann, 100), renews(3000, 3010, ann, 100), wins(5070, 5080, bob, 101)),
			want: []string{"terms 100 and 101 are both in force", "term 100 was certainly in force"},
		},
		"GrantAfterAWaitIsGone": {
			h:    tell(nil, wins(0, 1010, ann, 100).waits(2000, 1000).decided(1005), wins(5500, 5510, bob, 101)),
			want: []string{"terms 100 and 101 are both in force", "term 100 was certainly in force"},
		},
		"WaitThatEndsInAnotherReign": {
			h:    tell(nil, follows(0, 601, bob, cat, 90, 5600).waits(600, 0), wins(10, 20, ann, 100)),
			want: []string{"term 100 was certainly in force"},
		},
		"WaitThatBeganInAnotherReign": {
			h: tell(nil, wins(0, 10, ann, 100), wins(20, 220, bob, 101).waits(600, 190).decided(215), resigns(200, 210, ann, 100)),
		},
		"ResignationIsGone": {
			h:    tell([]int{40}, wins(0, 10, ann, 100), resigns(20, 30, ann, 100), shows(100, ann, 100, 5055, 7)),
			want: []string{"an acknowledged resignation is gone"},
		},
		"ResignationOfAnother": {
			h: tell(nil, wins(0, 10, ann, 100), func() Call {
				c := resigns(20, 30, ann, 100)
				c.Answer.Term = 101
				return c
			}()),
			want: []string{"the resignation ended another term"},
		},
		"KeyFindsNothing": {
			h:    tell([]int{20}, wins(0, 10, bob, 99), campaigns(15, ann).keyed()),
			want: []string{"what became of it could not be found out by its key"},
		},
		"KeyFindsOut": {
			h: tell([]int{20}, wins(0, 10, bob, 99), campaigns(15, ann).keyed(), follows(100, 110, ann, bob, 99, 5055).keyed()),
		},
		"LeaderUnderAnothersName": {
			h: tell(nil, func() Call {
				c := wins(0, 10, ann, 100)
				c.Answer.Leader = bob
				return c
			}()),
			want: []string{"it is told that it leads under another's name"},
		},
		"WaitCutShort": {
			h:    tell(nil, wins(0, 10, ann, 100), follows(20, 500, bob, ann, 100, 5055).waits(600, 0)),
			want: []string{"the answer came before the wait was over"},
		},
		"WaitedLongerThanItTook": {
			h:    tell(nil, wins(0, 10, ann, 100).waits(100, 11)),
			want: []string{"waited_ms is more than the call took"},
		},
		"ExpiryOfAnotherInstant": {
			h:    tell(nil, wins(0, 10, ann, 100).decided(20), wins(6000, 6010, bob, 101).decided(5990)),
			want: []string{"the announced expiry is not in", "the announced expiry is not in"},
		},
		"StrangeAnswer": {
			h:    tell(nil, act(0, 10, Status, Strange)),
			want: []string{"an answer that has no place here"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found := Elections{}.Facts(c.h, c.h.Calls)
			for _, want := range c.want {
				i := slices.IndexFunc(found, func(p Problem) bool { return strings.HasPrefix(p.Text, want) })
				if i < 0 {
					t.Errorf("%q was not found", want)
					continue
				}
				found = slices.Delete(found, i, i+1)
			}
			for _, p := range found {
				t.Errorf("not expected: %v", p)
			}
		})
	}
}

// A wall clock that is put right in the course of a run says nothing about leases.
func TestFactsForgiveTheWallClock(t *testing.T) {
	t.Parallel()
	h := tell(nil, wins(0, 10, ann, 100).decided(35), act(1000, 1000, Status, Refused))
	h.Calls[1].SentWall += 30
	if found := (Elections{}).Facts(h, h.Calls); len(found) > 0 {
		t.Errorf("%v", found)
	}
}

func TestTally(t *testing.T) {
	t.Parallel()
	found := wins(300, 310, ann, 100).keyed()
	found.Answer.Term = (wallAt + 5) * 1000
	calls := tell([]int{20, 1000},
		campaigns(10, ann).keyed(), found, resigns(320, 330, ann, found.Answer.Term), resigns(340, 350, ann, found.Answer.Term).isRefused(NotCurrent),
		wins(400, 410, bob, (wallAt+405)*1000), renews(420, 430, bob, (wallAt+405)*1000),
		follows(440, 501, cat, bob, (wallAt+405)*1000, 5475).waits(60, 0), campaigns(450, dan).waits(900, 0).hangsUp(470),
		wins(6000, 6010, cat, (wallAt+6005)*1000).waits(600, 7),
	)
	calls.Kills = 1
	tally := newTally(calls)
	Elections{}.Count(calls, calls.Calls, tally)
	want := Tally{
		Calls: 9, Lives: 3, Kills: 1, LostAnswers: 2, HungUp: 1, OpenKeys: 1, Recovered: 1, Grants: 3, Renewals: 1, Resignations: 1,
		Expiries: 1, Stale: 1, WaitsGranted: 1, WaitsOver: 1,
	}
	tally.Readiness, tally.Net = nil, nil
	if got := tally.String(); got != want.String() {
		t.Errorf("counted\n%s\nwant\n%s", got, want.String())
	}
	if missing := tally.Missing(); !slices.Equal(missing, []string{"proven places in a queue"}) {
		t.Errorf("missing %q", missing)
	}
	for wanted, n := range map[int]int{0: 12, 1: 14} {
		if all := (&Tally{Wanted: wanted}).Missing(); len(all) != n {
			t.Errorf("a run of nothing misses %d: %q", len(all), all)
		}
	}
	if tally.Wanted = 2; len(tally.Missing()) != 3 {
		t.Errorf("missing of 2 wanted, 1 recovered: %q", tally.Missing())
	}
}
