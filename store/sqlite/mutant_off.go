//go:build !mutants

package sqlite

import "github.com/octostore/octostore/lease"

// mutant is the constant false in a product, see the kernel's; so byTheWall is
// never called.
func mutant(string) bool { return false }

func byTheWall(c lease.Clock) lease.Clock { return c }
