// Package auth answers one question: whose request is this?
//
// It owns principals (who a credential stands for), the static tokens of the
// configuration with their grammar and their file rules, the admin key, the
// reading of an Authorization header, and the Secret type that keeps such values
// out of logs and error texts.
//
// It does not own what a principal may do (access lists, quotas and tenancy
// decide that), nor lease ids and leader tokens, which are capabilities of a lease
// and say nothing about the caller. It opens no socket and starts no goroutine.
//
// Invariants:
//
//   - A static token or the admin key is never stored. Credentials keeps keyed
//     digests under a key that lives as long as the process.
//   - A look-up does the same work for a known and an unknown token: one digest
//     and one constant-time comparison.
//   - No error, warning or formatted value of this package contains a token, a key
//     or any other text of a token list. Messages point at a source and a line.
//   - A set of tokens is replaced as a whole or not at all. A removed token is
//     dead for the first look-up that begins after the replacement.
package auth
