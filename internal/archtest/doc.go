// Package archtest holds the project to its own shape: who may import whom, which
// package alone knows which library, and who may read a clock.
//
// It owns the rules as data (rules_test.go), the reading of the source tree
// (source_test.go) and the comparison of the two (check_test.go), all in test
// files: there is nothing to link into a program. docs/ARCHITECTURE.md explains the
// rules; a new arrow is a change of both in one commit.
//
// It does not own style (golangci-lint does) nor what the packages do (their own
// tests do). It looks at direct imports only, which is enough: a package can not
// reach by a detour what every step of the detour is forbidden.
//
// Invariants:
//
//   - Every package of the module is in the table; a new one fails until it is.
//   - Files of every operating system and build tag are looked at, not only those
//     that the present machine builds.
//   - The check is itself checked against a made-up tree that breaks every rule.
package archtest
