//go:build mutants

package lease

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// MutantVariable is the environment variable that names the one wrong rule which a
// binary built with the tag mutants follows. Unset or empty: none, and the binary
// behaves as the product does.
const MutantVariable = "OCTOSTORE_MUTANT"

// Mutants are the wrong rules that are known, wherever they are hooked in: each is
// a mistake that a lease service has been caught with, or that is easily made. The
// tests have to notice every one of them.
var Mutants = []string{
	"abandoned-request-decided",  // a request is decided though its caller left before
	"answer-before-fsync",        // callers are answered before the group is written
	"commit-error-ignored",       // a group that failed to commit is told as done
	"damaged-row-served",         // the checksum of a row is not looked at
	"deadline-without-guard",     // a lease ends exactly when it was announced to
	"delay-from-noticing",        // an expiry counts from when it was noticed
	"delay-lost-on-restart",      // a lock-delay lives in memory alone
	"event-before-commit",        // events are told before what they tell of is durable
	"expiry-forgets-the-delay",   // only a release starts a lock-delay
	"fence-ignored",              // a server writes on after another took the file over
	"floor-not-raised",           // clean-up forgets the terms of what it removes
	"full-ttl-after-restart",     // a restart on the same boot feeds every lease
	"give-back-forgotten",        // the grant of a caller who left stays
	"idempotency-ignores-params", // a key is a repeat whatever it comes with
	"key-revives-ended-lease",    // the key of an ended lease begins another
	"newcomer-overtakes",         // a free name goes to who asks now, not to who waited
	"one-lane",                   // those who hold stand in line with those who want to
	"prefix-compare",             // a capability is right if its beginning is
	"reboot-keeps-deadlines",     // deadlines of another boot are taken for this one's
	"release-ignores-term",       // a release ends whatever lease there is
	"renew-after-expiry",         // a renewal works until somebody takes the name
	"repeat-spends-a-new-term",   // a repeated request begins a new term
	"repeated-release-refused",   // the second release of one lease is told that it is over
	"serves-after-io-error",      // the store goes on when the disk can not be trusted
	"session-half-released",      // a lock outlives the session that it is bound to
	"swap-before-fsync",          // readers see a group before it is written
	"sweep-only-expiry",          // a lease is over only once a sweep has noticed
	"sync-normal",                // a commit does not wait for the disk
	"term-from-wall-alone",       // a term is the time, even if the clock went back
	"trust-whole-ttl",            // a holder acts until its TTL is over, with no time to stop
	"unknown-told-as-failure",    // a commit of unknown outcome is told as not done
	"waiter-unchecked-at-grant",  // a waiter is not looked at again when its turn comes
	"waiters-last-first",         // the last to queue is served first
	"wall-clock-deadlines",       // deadlines follow the wall clock
}

// chosen is read once, when the program starts, and a name that is not known ends
// it there: a misspelt one would otherwise pass for a mutant that nobody noticed.
var chosen = known(os.Getenv(MutantVariable))

func known(name string) string {
	if name != "" && !slices.Contains(Mutants, name) {
		panic(fmt.Sprintf("%s=%q is none of %s", MutantVariable, name, strings.Join(Mutants, ", ")))
	}
	return name
}

// Mutant tells whether the wrong rule of this name is in force. It panics if there
// is no such rule, so that a hook can not wait for a name that nobody can choose.
func Mutant(name string) bool { return chosen == known(name) }

func mutant(name string) bool { return Mutant(name) }

// revived takes back the expiry of the last lease, if that is the one that ref
// names and nobody came since.
func (r Record) revived(ref Ref, ttl time.Duration) Record {
	if !r.Held && r.Last != nil && r.Last.Ref == ref && r.Last.Reason == ByExpiry {
		r.Held = true
		r.Lease = Lease{Nonce: ref.Nonce, KeyID: r.Last.KeyID, TTL: max(ttl, time.Second)}
	}
	return r
}
