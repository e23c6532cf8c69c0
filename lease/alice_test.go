package lease_test

import (
	"time"

	"github.com/octostore/octostore/lease"
)

// The tests of the transitions tell the story of one lock that Alice takes and
// somebody else wants. It begins at dawn; every other moment is counted from
// there.
var dawn = lease.Now{At: lease.Instant(90 * time.Minute), Wall: 1_700_000_000_000_000}

// after returns both clocks d after dawn.
func after(d time.Duration) lease.Now {
	return lease.Now{At: dawn.At.Add(d), Wall: dawn.Wall.Add(d)}
}

const (
	aliceTTL      = time.Minute
	aliceGuard    = 60 * time.Millisecond // a thousandth of the TTL
	aliceDeadline = aliceTTL + aliceGuard
	aliceDelay    = 10 * time.Second
)

var (
	aliceNonce   = lease.Nonce{'a', 'l', 'i', 'c', 'e'}
	bobNonce     = lease.Nonce{'b', 'o', 'b'}
	aliceSession = lease.Digest{'s'}
	aliceKey     = lease.Idempotency{Key: lease.Digest{'k'}, Params: lease.Digest{'p'}}
)

// aliceAcquires is the request that begins the story.
func aliceAcquires() lease.Acquire {
	return lease.Acquire{
		TTL: aliceTTL, Nonce: aliceNonce, KeyID: 7,
		Idem:  lease.Repeatable{aliceKey},
		Label: "alice", Labelled: true, Metadata: "on host 1", Described: true,
		Bound: &lease.Binding{Principal: "team", Session: aliceSession, Ephemeral: true, LockDelay: aliceDelay},
	}
}

// bobAcquires is a request of somebody who has nothing to do with Alice, and
// asks for nothing but the name.
func bobAcquires() lease.Acquire {
	return lease.Acquire{TTL: aliceTTL, Nonce: bobNonce, KeyID: 7, Label: "bob", Labelled: true}
}

// ground is a decision at now with room in the scope.
func ground(now lease.Now) lease.Ground { return lease.Ground{Now: now} }

// unused is a name that nobody has had.
func unused() lease.Record { return lease.Record{Key: lease.LockKey("acme", "deploy")} }

// held is the name in Alice's hands since dawn.
func held() lease.Record {
	r, _, _ := unused().Acquire(ground(dawn), aliceAcquires())
	return r
}

// aliceRef names Alice's lease.
func aliceRef() lease.Ref {
	r := held()
	return r.Ref()
}

// first drops what a transition returns beside the record.
func first(r lease.Record, _ lease.Outcome, _ []lease.Event) lease.Record { return r }

// released is the name that Alice has given up half a minute after dawn.
func released() lease.Record { return first(held().Release(after(30*time.Second), aliceRef())) }

// succeeded is the name that Bob has since 40 s after dawn, once Alice's
// lock-delay was over.
func succeeded() lease.Record {
	return first(released().Acquire(ground(after(40*time.Second)), bobAcquires()))
}
