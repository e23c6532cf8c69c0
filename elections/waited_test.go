package elections_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/octostore/octostore/elections"
	"github.com/octostore/octostore/lease"
)

// A wait that ends in the very moment in which the room becomes free can be
// granted by the queue or by the last try. Either way the winner is told how
// long it stood there: its authority counts from the grant.
func TestAGrantAtTheEndOfTheWaitTellsTheWait(t *testing.T) {
	bubble(t, func(t *testing.T, p *polls) {
		const ttl = 10 * time.Second
		deadline := ttl + lease.Guard(ttl)
		grants := 0
		for i := range 50 {
			where := func(c *elections.Candidacy) { c.Room = fmt.Sprintf("edge-room-%02d", i) }
			p.wins("anna", where, forTTL(ttl))
			began := p.clock.Now().At
			c := p.candidacy("ben", where, waiting(deadline), forTTL(ttl))
			res, err := p.Campaign(context.Background(), c)
			if err != nil {
				t.Fatal(err)
			}
			if res.Won == nil {
				continue
			}
			grants++
			if took := p.clock.Now().At.Sub(began).Truncate(time.Millisecond); res.Won.Waited != took {
				t.Errorf("waited %v, was told %v", took, res.Won.Waited)
			}
		}
		if grants == 0 {
			t.Error("nobody was granted the room at the end of the wait")
		}
	})
}

// A keyed campaign on a room led under a server key that is not known here may
// be the leader's own repeat: it must not be told that another leads.
func TestAKeyedCampaignUnderAnUnknownServerKeyIsNotAFollower(t *testing.T) {
	bubble(t, func(t *testing.T, p *polls) {
		const secret = "0123456789abcdefghijkl"
		won := p.wins("anna", withKey(secret))
		old := p.Service
		p.Service = elections.New(elections.Config{Store: p.store, Keys: keyring(t, 2)})
		if res, err := p.Campaign(context.Background(), p.candidacy("anna", withKey(secret))); !errors.Is(err, lease.ErrUnknownKey) {
			t.Errorf("%+v, %v", res, err)
		}
		p.follows("ben") // without a key there is nothing to mistake
		p.Service = old
		p.leads(won)
	})
}
