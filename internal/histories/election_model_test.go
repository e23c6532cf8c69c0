package histories

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
)

// Each rule of the model has histories on both sides of it.
func TestModel(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		legal, illegal *History
	}{
		"OneLeaderAtATime": {
			legal:   tell(nil, wins(0, 10, ann, 100), resigns(20, 30, ann, 100), wins(40, 50, bob, 101)),
			illegal: tell(nil, wins(0, 10, ann, 100), wins(40, 50, bob, 101)),
		},
		"OneLeaderAtATimeThoughItsAnswerIsLost": {
			legal:   tell([]int{20}, campaigns(0, ann), shows(100, ann, 100, 5060, 7), follows(110, 120, bob, ann, 100, 5060)),
			illegal: tell([]int{20}, campaigns(0, ann), shows(100, ann, 100, 5060, 7), wins(110, 120, bob, 101)),
		},
		"TermRises": {
			legal:   tell(nil, wins(0, 10, ann, 100), resigns(20, 30, ann, 100), wins(40, 50, bob, 107)),
			illegal: tell(nil, wins(0, 10, ann, 100), resigns(20, 30, ann, 100), wins(40, 50, bob, 99)),
		},
		"TermIsNotRepeated": {
			legal:   tell([]int{35}, wins(0, 10, ann, 100), resigns(20, 30, ann, 100), wins(40, 50, bob, 101)),
			illegal: tell([]int{35}, wins(0, 10, ann, 100), resigns(20, 30, ann, 100), wins(40, 50, bob, 100)),
		},
		"TermOfALostGrantIsNotRepeated": {
			legal:   tell([]int{20}, campaigns(0, ann), shows(100, ann, 100, 5060, 7), wins(5100, 5110, bob, 101)),
			illegal: tell([]int{20}, campaigns(0, ann), shows(100, ann, 100, 5060, 7), wins(5100, 5110, bob, 100)),
		},
		"LeaseLastsToItsDeadline": {
			legal:   tell(nil, wins(0, 10, ann, 100), wins(5040, 5051, bob, 101)),
			illegal: tell(nil, wins(0, 10, ann, 100), wins(5030, 5049, bob, 101)),
		},
		"LeaseLastsFromTheEndOfItsWait": {
			legal:   tell(nil, wins(0, 1010, ann, 100).waits(2000, 1000).decided(1005), wins(6040, 6051, bob, 101)),
			illegal: tell(nil, wins(0, 1010, ann, 100).waits(2000, 1000).decided(1005), wins(6030, 6049, bob, 101)),
		},
		"LeaseEndsAtItsDeadline": {
			legal:   tell(nil, wins(0, 10, ann, 100).decided(8), shows(5057, ann, 100, 5058, 7)),
			illegal: tell(nil, wins(0, 10, ann, 100).decided(8), shows(5062, ann, 100, 5058, 7)),
		},
		"DeadlineIsTheSameAfterARestart": {
			legal:   tell([]int{1000}, wins(0, 10, ann, 100).decided(5), follows(1500, 1500, bob, ann, 100, 5055)),
			illegal: tell([]int{1000}, wins(0, 10, ann, 100).decided(5), follows(1500, 1500, bob, ann, 100, 6550)),
		},
		"RenewalExtends": {
			legal:   tell(nil, wins(0, 10, ann, 100), renews(3000, 3010, ann, 100), wins(8050, 8061, bob, 101)),
			illegal: tell(nil, wins(0, 10, ann, 100), renews(3000, 3010, ann, 100), wins(5061, 5070, bob, 101)),
		},
		"RenewalAfterTheDeadlineIsRefused": {
			legal:   tell(nil, wins(0, 10, ann, 100), renews(5070, 5080, ann, 100).isRefused(NotCurrent)),
			illegal: tell(nil, wins(0, 10, ann, 100), renews(5070, 5080, ann, 100)),
		},
		"RenewalBeforeTheDeadlineIsNotRefused": {
			legal:   tell(nil, wins(0, 10, ann, 100), renews(5040, 5049, ann, 100)),
			illegal: tell(nil, wins(0, 10, ann, 100), renews(5040, 5049, ann, 100).isRefused(NotCurrent)),
		},
		"RenewalTouchesNoSuccessor": {
			legal:   tell(nil, wins(0, 10, ann, 100), wins(5070, 5080, bob, 101), renews(5090, 5100, ann, 100).isRefused(NotCurrent)),
			illegal: tell(nil, wins(0, 10, ann, 100), wins(5070, 5080, bob, 101), renews(5090, 5100, ann, 100)),
		},
		"AcknowledgedGrantStays": {
			legal:   tell([]int{20}, wins(0, 10, ann, 100), shows(100, ann, 100, 5055, 7)),
			illegal: tell([]int{20}, wins(0, 10, ann, 100), vacancy(100, 0)),
		},
		"AcknowledgedRenewalStays": {
			legal:   tell([]int{3020}, wins(0, 10, ann, 100), renews(3000, 3010, ann, 100), shows(3100, ann, 100, 8055, 8)),
			illegal: tell([]int{3020}, wins(0, 10, ann, 100), renews(3000, 3010, ann, 100), shows(3100, ann, 100, 5055, 7)),
		},
		"AcknowledgedRenewalStaysThoughNobodyLooks": {
			legal:   tell([]int{3020}, wins(0, 10, ann, 100), renews(3000, 3010, ann, 100), renews(5070, 5080, ann, 100)),
			illegal: tell([]int{3020}, wins(0, 10, ann, 100), renews(3000, 3010, ann, 100), renews(5070, 5080, ann, 100).isRefused(NotCurrent)),
		},
		"AcknowledgedResignationStays": {
			legal:   tell([]int{40}, wins(0, 10, ann, 100), resigns(20, 30, ann, 100), vacancy(100, 8)),
			illegal: tell([]int{40}, wins(0, 10, ann, 100), resigns(20, 30, ann, 100), shows(100, ann, 100, 5055, 7)),
		},
		"LostRenewalHappensInItsLifeOrNever": {
			legal:   tell([]int{3020}, wins(0, 10, ann, 100), renews(3000, 3000, ann, 100).lost(), shows(3100, ann, 100, 8060, 8)),
			illegal: tell([]int{3020}, wins(0, 10, ann, 100), renews(3000, 3000, ann, 100).lost(), shows(3100, ann, 100, 5055, 7), shows(3200, ann, 100, 8060, 8)),
		},
		"LostResignationMayHaveHappened": {
			legal:   tell([]int{40}, wins(0, 10, ann, 100), resigns(20, 20, ann, 100).lost(), wins(100, 110, bob, 101)),
			illegal: tell([]int{40}, wins(0, 10, ann, 100), resigns(20, 20, ann, 100).lost(), shows(100, ann, 100, 5055, 7), wins(200, 210, bob, 101)),
		},
		"ResignationIsRepeated": {
			legal:   tell(nil, wins(0, 10, ann, 100), resigns(20, 30, ann, 100), wins(40, 50, bob, 101), resigns(60, 70, ann, 100), shows(80, bob, 101, 5095, 9)),
			illegal: tell(nil, wins(0, 10, ann, 100), resigns(20, 30, ann, 100), wins(40, 50, bob, 101), resigns(60, 70, ann, 100), vacancy(80, 10)),
		},
		"ResignationIsNotRepeatedOnceAnotherLeaseHasEnded": {
			legal:   tell(nil, wins(0, 10, ann, 100), resigns(20, 30, ann, 100), wins(40, 50, bob, 101), resigns(60, 70, bob, 101), resigns(80, 90, ann, 100).isRefused(NotCurrent)),
			illegal: tell(nil, wins(0, 10, ann, 100), resigns(20, 30, ann, 100), wins(40, 50, bob, 101), resigns(60, 70, bob, 101), resigns(80, 90, ann, 100)),
		},
		"StaleResignationAfterExpiryIsRefused": {
			legal:   tell(nil, wins(0, 10, ann, 100), resigns(5070, 5080, ann, 100).isRefused(NotCurrent)),
			illegal: tell(nil, wins(0, 10, ann, 100), resigns(5070, 5080, ann, 100)),
		},
		"StaleResignationTouchesNoSuccessor": {
			legal: tell(nil, wins(0, 10, ann, 100), wins(5070, 5080, bob, 101).decided(5075),
				resigns(5090, 5100, ann, 100).isRefused(NotCurrent), follows(5110, 5120, cat, bob, 101, 10125)),
			illegal: tell(nil, wins(0, 10, ann, 100), wins(5070, 5080, bob, 101).decided(5075),
				resigns(5090, 5100, ann, 100).isRefused(NotCurrent), wins(5110, 5120, cat, 102)),
		},
		"LostCampaignMayHaveLedUnseen": {
			// Only that ann led and is over explains that bob's resignation is forgotten.
			legal: tell([]int{140}, wins(0, 10, bob, 100), resigns(20, 30, bob, 100), campaigns(100, ann),
				resigns(5200, 5210, bob, 100).isRefused(NotCurrent)),
			illegal: tell([]int{140}, wins(0, 10, bob, 100), resigns(20, 30, bob, 100), campaigns(100, ann), vacancy(300, 8),
				resigns(5200, 5210, bob, 100).isRefused(NotCurrent)),
		},
		"RevisionCountsEveryTransition": {
			legal:   tell(nil, wins(0, 10, ann, 100), shows(20, ann, 100, 5055, 7), renews(30, 40, ann, 100), shows(50, ann, 100, 5085, 8)),
			illegal: tell(nil, wins(0, 10, ann, 100), shows(20, ann, 100, 5055, 7), renews(30, 40, ann, 100), shows(50, ann, 100, 5085, 9)),
		},
		"RevisionCountsAnExpiryOnceItIsRecorded": {
			legal:   tell(nil, wins(0, 10, ann, 100), shows(20, ann, 100, 5055, 7), vacancy(5070, 7), vacancy(5080, 8)),
			illegal: tell(nil, wins(0, 10, ann, 100), shows(20, ann, 100, 5055, 7), vacancy(5070, 8), vacancy(5080, 7)),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			judge(t, "legal", c.legal, porcupine.Ok)
			judge(t, "illegal", c.illegal, porcupine.Illegal)
		})
	}
}

func TestModelOfKeys(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		legal, illegal *History
	}{
		"RepeatFindsTheLease": {
			legal:   tell([]int{20}, campaigns(0, ann).keyed(), shows(100, ann, 100, 5060, 7), wins(200, 210, ann, 100).keyed()),
			illegal: tell([]int{20}, campaigns(0, ann).keyed(), shows(100, ann, 100, 5060, 7), wins(200, 210, ann, 101).keyed()),
		},
		"RepeatOfWhatNeverHappenedIsNew": {
			legal:   tell([]int{20}, campaigns(0, ann).keyed(), vacancy(100, 0), wins(200, 210, ann, 100).keyed(), shows(220, ann, 100, 5255, 7)),
			illegal: tell([]int{20}, wins(0, 10, ann, 100).keyed(), vacancy(100, 0), wins(200, 210, ann, 101).keyed()),
		},
		"RepeatRenews": {
			legal:   tell(nil, wins(0, 10, ann, 100).keyed(), wins(3000, 3010, ann, 100).keyed(), wins(8040, 8051, bob, 101)),
			illegal: tell(nil, wins(0, 10, ann, 100).keyed(), wins(3000, 3010, ann, 100).keyed(), wins(5070, 5080, bob, 101)),
		},
		"RepeatIsNoFollowerOfItself": {
			legal:   tell(nil, wins(0, 10, ann, 100).keyed().decided(5), follows(100, 110, bob, ann, 100, 5055).keyed()),
			illegal: tell(nil, wins(0, 10, ann, 100).keyed().decided(5), follows(100, 110, ann, ann, 100, 5055).keyed()),
		},
		"KeyOfAnEndedLeaseIsUsedUp": {
			legal:   tell(nil, wins(0, 10, ann, 100).keyed(), resigns(20, 30, ann, 100), wins(40, 50, ann, 0).keyed().isRefused(Conflict)),
			illegal: tell(nil, wins(0, 10, ann, 100).keyed(), resigns(20, 30, ann, 100), wins(40, 50, ann, 101).keyed()),
		},
		"KeyNeverRevives": {
			legal:   tell(nil, wins(0, 10, ann, 100).keyed(), wins(5070, 5080, ann, 0).keyed().isRefused(Conflict)),
			illegal: tell(nil, wins(0, 10, ann, 100).keyed(), wins(5070, 5080, ann, 100).keyed()),
		},
		"KeyIsUsedUpByALeaseOnly": {
			legal:   tell([]int{20}, campaigns(0, ann).keyed(), wins(5100, 5110, ann, 0).keyed().isRefused(Conflict)),
			illegal: tell([]int{20}, campaigns(0, ann).keyed(), wins(4900, 4910, ann, 0).keyed().isRefused(Conflict)),
		},
		"KeyIsForgottenWithTheNextLease": {
			legal: tell(nil, wins(0, 10, ann, 100).keyed(), resigns(20, 30, ann, 100), wins(40, 50, bob, 101), resigns(60, 70, bob, 101),
				wins(80, 90, ann, 102).keyed()),
			illegal: tell(nil, wins(0, 10, ann, 100).keyed(), resigns(20, 30, ann, 100), wins(40, 50, bob, 101), resigns(60, 70, bob, 101),
				wins(80, 90, ann, 0).keyed().isRefused(Conflict)),
		},
		"JoinedRepeatsShareOneGrant": {
			legal: tell(nil, wins(0, 10, ann, 100), shows(15, ann, 100, 5055, 7),
				wins(20, 110, bob, 101).keyed().waits(500, 85).decided(105), wins(50, 110, bob, 101).keyed().waits(900, 55).decided(105),
				resigns(100, 110, ann, 100), shows(120, bob, 101, 5155, 9)),
			illegal: tell(nil, wins(0, 10, ann, 100), shows(15, ann, 100, 5055, 7),
				wins(20, 110, bob, 101).keyed().waits(500, 85).decided(105), wins(50, 110, bob, 102).keyed().waits(900, 55).decided(105),
				resigns(100, 110, ann, 100), shows(120, bob, 101, 5155, 9)),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			judge(t, "legal", c.legal, porcupine.Ok)
			judge(t, "illegal", c.illegal, porcupine.Illegal)
		})
	}
}

func TestModelOfQueues(t *testing.T) {
	t.Parallel()
	leader, resignation := wins(0, 10, ann, 100).decided(5), resigns(200, 210, ann, 100)
	for name, c := range map[string]struct {
		legal, illegal *History
	}{
		"WaiterIsNotOvertakenByAWaiter": {
			legal: tell(nil, leader, shows(50, ann, 100, 5055, 7).counts(1), resignation,
				wins(20, 210, bob, 101).waits(900, 185).decided(206), follows(60, 561, cat, bob, 101, 5256).waits(500, 0)),
			illegal: tell(nil, leader, shows(50, ann, 100, 5055, 7).counts(1), resignation,
				wins(60, 210, cat, 101).waits(900, 145).decided(206), follows(20, 921, bob, cat, 101, 5256).waits(900, 0)),
		},
		"WaitersAreNotOrderedByWhatNobodyKnows": {
			// Nothing shows that bob had arrived when cat was sent.
			legal: tell(nil, leader, resignation,
				wins(60, 210, cat, 101).waits(900, 145).decided(206), follows(20, 921, bob, cat, 101, 5256).waits(900, 0)),
			illegal: tell(nil, leader, resignation,
				wins(60, 210, cat, 101).waits(900, 145).decided(206), wins(20, 210, bob, 101).waits(900, 185).decided(206)),
		},
		"WaiterIsNotOvertakenByANewcomer": {
			legal: tell(nil, leader, shows(50, ann, 100, 5055, 7).counts(1), resignation,
				wins(20, 210, bob, 101).waits(900, 185).decided(206), follows(215, 220, cat, bob, 101, 5256)),
			illegal: tell(nil, leader, shows(50, ann, 100, 5055, 7).counts(1), resignation,
				wins(215, 220, cat, 101), follows(20, 921, bob, cat, 101, 5267).waits(900, 0)),
		},
		"WaiterThatTimedOutLosesItsPlace": {
			legal: tell(nil, leader, shows(50, ann, 100, 5055, 7).counts(1), follows(20, 121, bob, ann, 100, 5055).waits(100, 0),
				resignation, wins(130, 210, cat, 101).waits(900, 75)),
			illegal: tell(nil, leader, shows(50, ann, 100, 5055, 7).counts(1), follows(20, 921, bob, cat, 101, 5255).waits(900, 0),
				resignation, wins(130, 210, cat, 101).waits(900, 75)),
		},
		"WaiterThatTimedOutMayBeToldLate": {
			legal: tell(nil, leader, shows(50, ann, 100, 5055, 7).counts(1), resignation,
				wins(60, 210, cat, 101).waits(900, 145).decided(206), follows(20, 215, bob, cat, 101, 5256).waits(180, 0)),
			illegal: tell(nil, leader, shows(50, ann, 100, 5055, 7).counts(1), resignation,
				wins(60, 210, cat, 101).waits(900, 145).decided(206), follows(20, 215, bob, cat, 101, 5256).waits(195, 0)),
		},
		"WaiterThatTimedOutMayComeAgain": {
			// At the end of its wait bob found the room free and was sent once more, after cat.
			legal: tell(nil, leader, shows(50, ann, 100, 5055, 7).counts(1), resignation,
				wins(60, 210, cat, 101).waits(900, 145).decided(206), resigns(220, 230, cat, 101), wins(20, 240, bob, 102).waits(180, 210).decided(235)),
			illegal: tell(nil, leader, shows(50, ann, 100, 5055, 7).counts(1), resignation,
				wins(60, 210, cat, 101).waits(900, 145).decided(206), resigns(220, 230, cat, 101), wins(20, 240, bob, 102).waits(900, 210).decided(235)),
		},
		"WaiterThatHungUpLosesItsPlace": {
			legal: tell(nil, leader, shows(50, ann, 100, 5055, 7).counts(1), campaigns(20, bob).waits(900, 0).hangsUp(100),
				resignation, wins(130, 210, cat, 101).waits(900, 75)),
			illegal: tell(nil, leader, shows(50, ann, 100, 5055, 7).counts(1), campaigns(20, bob).waits(900, 0).hangsUp(300),
				resignation, wins(130, 210, cat, 101).waits(900, 75)),
		},
		"QueueDoesNotOutliveItsServer": {
			legal: tell([]int{150}, leader, shows(50, ann, 100, 5055, 7).counts(1), campaigns(20, bob).waits(900, 0),
				resignation, wins(215, 220, cat, 101)),
			illegal: tell([]int{250}, leader, shows(50, ann, 100, 5055, 7).counts(1), campaigns(20, bob).waits(900, 0),
				resignation, wins(215, 220, cat, 101)),
		},
		"GrantOfOneWhoHungUpIsGivenBack": {
			legal: tell(nil, leader, campaigns(20, bob).waits(900, 0).hangsUp(205), resignation,
				shows(212, bob, 101, 5256, 9), wins(300, 310, cat, 102)),
			illegal: tell(nil, leader, wins(20, 211, bob, 101).waits(900, 185).decided(206), resignation,
				shows(212, bob, 101, 5256, 9), wins(300, 310, cat, 102)),
		},
		"GrantIsNotGivenBackByALaterServer": {
			legal: tell([]int{250}, leader, campaigns(20, bob).waits(900, 0).hangsUp(205), resignation,
				shows(300, bob, 101, 5256, 9), follows(310, 320, cat, bob, 101, 5256)),
			illegal: tell([]int{250}, leader, campaigns(20, bob).waits(900, 0).hangsUp(205), resignation,
				shows(300, bob, 101, 5256, 9), wins(310, 320, cat, 102)),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			judge(t, "legal", c.legal, porcupine.Ok)
			judge(t, "illegal", c.illegal, porcupine.Illegal)
		})
	}
}

// judge holds a history against the model.
func judge(t *testing.T, which string, h *History, want porcupine.CheckResult) {
	t.Helper()
	ops := Elections{}.Operations(h, h.Calls)
	if len(ops) == 0 {
		t.Fatalf("%d calls became no step", len(h.Calls))
	}
	p := checkModel(Elections{}.Model(), ops, time.Minute)
	switch {
	case want == porcupine.Ok && p != nil:
		t.Errorf("the %s history: %v", which, p)
	case want == porcupine.Illegal && (p == nil || !strings.HasPrefix(p.Text, "Illegal")):
		t.Errorf("the %s history was not found: %v", which, p)
	}
}

// What porcupine can not decide in time is a problem, not a success.
func TestUndecidedHistoryIsAProblem(t *testing.T) {
	t.Parallel()
	stuck := porcupine.Model{
		Init: func() any { return 0 },
		StepContext: func(ctx context.Context, _, _, _ any) (bool, any) {
			<-ctx.Done()
			return true, 0
		},
	}
	p := checkModel(stuck, []porcupine.Operation{{Call: 0, Return: 1}}, time.Millisecond)
	if p == nil || !strings.HasPrefix(p.Text, "Unknown") {
		t.Errorf("got %v", p)
	}
}
