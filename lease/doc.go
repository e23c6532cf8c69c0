// Package lease is the kernel of OctoStore: what a lease is, and every rule by
// which one begins, goes on and ends.
//
// It owns the record of a name, the transitions on it (acquire, renew,
// release, force-release, expiry, session end, lock-delay), the life of a
// session, how a term is drawn, how a capability is derived from the server
// key, and how long a client may trust a lease without hearing back.
//
// It does not own time, storage, randomness or transport. A transition is a
// pure function of the present record, the instant at which it is decided and
// the request; nonces and instants come in as arguments. Every store runs
// these functions inside its transactions, so two stores cannot disagree, and
// a test can run a million histories in a second. Only the standard library
// is imported.
//
// Invariants, each of which the tests of this package show:
//
//   - A name has at most one live lease at any instant of the deciding clock.
//   - The term of a name rises with every grant, for ever.
//   - A lease that ended never lives again; a late call never touches a
//     successor, because calls name the exact lease they are about.
//   - A lease is over from its deadline on, whether or not anyone noticed.
//   - A lock-delay counts from the release or from the deadline, and holds for
//     everyone.
//   - The revision of a name rises with every transition.
package lease
