//go:build mutants

package store

import (
	"slices"
	"time"

	"github.com/octostore/octostore/lease"
)

func mutant(name string) bool { return lease.Mutant(name) }

// asksFor tells whether a newcomer for the name stands in the group.
func (g *group) asksFor(key lease.Key) bool {
	return slices.ContainsFunc(g.requests, func(r *request) bool { return r.verb == verbAcquire && r.key == key })
}

// tellEarly publishes what the group is only about to commit.
func (p *Pipeline) tellEarly(tx Tx) {
	if t, ok := tx.(*imageTx); ok && p.publish != nil && len(t.events) > 0 {
		p.publish.Publish(slices.Clone(t.events))
	}
}

// answerEarly answers everyone before the commit, whose failure then finds nobody
// left to tell.
func (p *Pipeline) answerEarly(g *group, committing time.Time) {
	p.succeed(g, Commit{}, committing)
	g.answers, g.taken = nil, nil
}
