package mutants

// mutant is a known-wrong rule and the tests that have to notice it.
type mutant struct {
	name   string
	caught []catch
}

// catch selects tests of a suite, as go test -run does. Each of a mutant's catches
// has to fail by itself; so a rule is shown to be held where the kernel states it
// and, where that is another question, by what was built from it.
type catch struct {
	suite suite
	tests string
}

// table lists the mutants; the list in the kernel says what each of them does. The
// first few are those that a short run tries. The patterns select few and quick
// tests, one scenario where there are many.
var table = []mutant{
	{"answer-before-fsync", []catch{
		{database, "TestFailure/NotApplied/GrantChangesNothingAndCanBeSentAgain"},
		{database, "TestEveryStepOfACommitMayFail/commit"},
	}},
	{"renew-after-expiry", []catch{
		{kernel, "TestRenewal"},
		{database, "TestConformance/Renew/FailsFromTheDeadlineOnThoughNobodyTookTheName"},
	}},
	{"newcomer-overtakes", []catch{
		{database, "TestConformance/HandOver/GoesToTheWaiterAndNotToANewcomerAtTheDeadline"},
	}},
	{"abandoned-request-decided", []catch{
		{database, "TestConcurrency$/Lanes/CallerWhoLeftBeforeTheDecisionLeavesNoTrace"},
	}},
	{"commit-error-ignored", []catch{
		{database, "TestFailure/Unknown/Grant"},
		{database, "TestEveryStepOfACommitMayFail/commit"},
	}},
	{"damaged-row-served", []catch{
		{database, "TestOpen$/RefusesADamagedRow|TestRowThatWasChangedInAnyColumnIsRefused"},
	}},
	{"deadline-without-guard", []catch{
		{kernel, "TestGuard|TestGrant"},
		{database, "TestConformance/Grant/LivesForTTLAndGuardFromTheDecision"},
		{elections, "TestStatus/IsVacantFromTheDeadlineOn"},
	}},
	{"delay-from-noticing", []catch{
		{kernel, "TestLockDelayHoldsForEveryone|TestExpiryIsToldAsOfTheDeadline"},
		{database, "TestConformance/LockDelay/CountsFromTheDeadlineThoughItIsNoticedLate"},
	}},
	{"delay-lost-on-restart", []catch{
		{database, "TestConformance/Restart/DelayGoesOn"},
	}},
	{"event-before-commit", []catch{
		{database, "TestFailure/NotApplied/GrantChangesNothingAndCanBeSentAgain"},
	}},
	{"expiry-forgets-the-delay", []catch{
		{kernel, "TestLockDelayHoldsForEveryone|TestEndOfALease"},
		{database, "TestConformance/LockDelay/CountsFromTheDeadline$"},
	}},
	{"fence-ignored", []catch{
		{database, "TestAServerThatWasReplacedIsFencedOff"},
	}},
	{"floor-not-raised", []catch{
		{pipeline, "TestImage/DropRaisesTheFloor"},
		{database, "TestConformance/Terms/RiseAcrossCleanUp"},
	}},
	{"full-ttl-after-restart", []catch{
		{database, "TestConformance/Restart/DeadlineIsTheSameToTheInstant"},
	}},
	{"give-back-forgotten", []catch{
		{database, "TestConformance/Release/GrantWhoseCallerLeftDuringTheCommitIsGivenBack"},
		{elections, "TestCallerThatLeavesDuringTheCommit"},
	}},
	{"idempotency-ignores-params", []catch{
		{kernel, "TestRepeatable|TestIdempotencyKey"},
		{database, "TestConformance/Idempotency/OtherParametersConflict"},
		{elections, "TestRepeatedCampaign"},
	}},
	{"key-revives-ended-lease", []catch{
		{kernel, "TestIdempotencyKey|TestEveryRequestInEveryState"},
		{database, "TestConformance/Idempotency/AfterTheLeaseEndedItConflictsAndNeverRevives"},
		{elections, "TestRepeatedCampaign/NeverRevivesALease"},
	}},
	{"one-lane", []catch{
		{database, "TestConcurrency$/Lanes/RenewalsAreAnsweredInAFloodOfCampaigns"},
	}},
	{"prefix-compare", []catch{
		{kernel, "TestCapabilityProvesOneLeaseOnly"},
	}},
	{"reboot-keeps-deadlines", []catch{
		{database, "TestConformance/Reboot/GivesEachLiveLeaseItsFullTTL"},
		{database, "TestOpenOnAnotherBoot"},
	}},
	{"release-ignores-term", []catch{
		{kernel, "TestRelease/NeedsTheExactLease"},
		{database, "TestConformance/Release/LateOne"},
	}},
	{"repeat-spends-a-new-term", []catch{
		{kernel, "TestConfirmation"},
		{database, "TestConformance/Idempotency/ManyRepeatsSpendNoTerm"},
	}},
	{"repeated-release-refused", []catch{
		{kernel, "TestRelease"},
		{database, "TestConformance/Release/RepeatedSucceeds"},
		{elections, "TestResign/Repeated"},
	}},
	{"serves-after-io-error", []catch{
		{database, "TestEveryStepOfACommitMayFail/commit/IOError"},
	}},
	{"session-half-released", []catch{
		{kernel, "TestSessionEndOf|TestEndOfALease"},
	}},
	{"swap-before-fsync", []catch{
		{pipeline, "TestImage/IsSwappedOnlyAfterTheWriterHasReturned"},
		{database, "TestConformance/Grant/NothingIsSeenBeforeItIsDurable"},
	}},
	{"sweep-only-expiry", []catch{
		{kernel, "TestRenewal|TestEveryRequestInEveryState|TestHistories"},
		{elections, "TestTermThatEndsBeforeTheDecision"},
	}},
	{"sync-normal", []catch{
		{database, "TestPragmas/AreThoseOfTheListOnEveryConnection"},
	}},
	{"term-from-wall-alone", []catch{
		{kernel, "TestTermOfAGrant"},
		{database, "TestConformance/Terms/AreOneMoreThanTheLastWhenTheWallClockWentBack"},
		{elections, "TestRestart/RaisesTermsThoughTheWallClockWentBack"},
	}},
	{"trust-whole-ttl", []catch{
		{kernel, "TestTrustWindow"},
	}},
	{"unknown-told-as-failure", []catch{
		{database, "TestFailure/Unknown/Grant"},
	}},
	{"waiter-unchecked-at-grant", []catch{
		{pipeline, "TestSuspendCountsAsTimeThatPassed"},
		{database, "TestConformance/HandOver/SkipsAWaiterThatHungUp"},
		{elections, "TestWaitingCandidates/WhoHungUpAreSkipped"},
	}},
	{"waiters-last-first", []catch{
		{database, "TestConformance/HandOver/GoesToTheWaiterAndNotToANewcomerOfTheSameGroup"},
		{elections, "TestWaitingCandidates/LeadInTheOrderInWhichTheyCame"},
	}},
	{"wall-clock-deadlines", []catch{
		{database, "TestConformance/WallClock"},
		{elections, "TestWallClockStep"},
	}},
}
