// Package mutants shows that the tests of leases can fail. A binary that is built
// with the tag mutants follows one known-wrong rule, the one that its environment
// names; each of them has to be noticed by the suites that hold the right rule.
//
// It owns the table of who notices which mutant (table_test.go), the building of
// the suites under the tag and the running of them (suite_test.go), and the
// comparison of the table with the hooks in the source (hooks_test.go), all in
// test files. It does not own the mutants: their list stands in the kernel, behind
// the tag, and their hooks stand where the right rules are.
//
// Invariants:
//
//   - Every hook in the source is a mutant of the table and the other way round.
//   - A mutant counts as caught only by a test that failed by its own judgement: a
//     panic, a deadlock, a timeout and a suite in which nothing ran are failures of
//     this package.
//   - The very same tests pass, in the very same binaries, when no mutant is chosen.
//   - A name that is no mutant ends the binary at once, so that a misspelt one can
//     not pass for a mutant.
package mutants
