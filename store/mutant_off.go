//go:build !mutants

package store

import (
	"time"

	"github.com/octostore/octostore/lease"
)

// mutant is the constant false in a product, see the kernel's; so the steps of
// wrong rules that are below are never called.
func mutant(string) bool { return false }

func (*group) asksFor(lease.Key) bool { return false }

func (*Pipeline) tellEarly(Tx) {}

func (*Pipeline) answerEarly(*group, time.Time) {}
