package httpapi_test

import (
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/octostore/octostore/api"
	"github.com/octostore/octostore/internal/httpapi"
	"github.com/octostore/octostore/lease"
)

// stalls stands still for half a minute right before the n-th reading of the
// clock, as a process does that is suspended between deciding and answering.
type stalls struct {
	httpapi.Records
	clock *movableClock
	n     atomic.Int64
}

func (p *stalls) Now() lease.Now {
	if p.n.Add(-1) == 0 {
		p.clock.advance(31 * time.Second)
	}
	return p.Records.Now()
}

// No answer carries, or tells of, a lease that is over when it is written.
func TestALeaseThatRanOutBeforeItsAnswerIsNotTold(t *testing.T) {
	t.Parallel()
	stalling := func(t *testing.T) (*server, *stalls) {
		t.Helper()
		p := new(stalls)
		s := start(t, func(c *setup) {
			c.records = func(real httpapi.Records) httpapi.Records { p.Records = real; return p }
		})
		p.clock = s.clock
		return s, p
	}
	t.Run("ACampaignIsDecidedAnew", func(t *testing.T) {
		t.Parallel()
		s, p := stalling(t)
		room := s.room()
		p.n.Store(2) // the first reading is the receipt
		r := s.post(room+"/campaign", `{"candidate_id":"a"}`)
		if r.text(t, "status") != api.StatusLeader {
			t.Fatalf("%s", r.body)
		}
		s.post(room+"/renew", `{"leader_token":"`+r.text(t, "leader_token")+`"}`).want(t, http.StatusOK, "")
	})
	t.Run("AFollowerIsDecidedAnew", func(t *testing.T) {
		t.Parallel()
		s, p := stalling(t)
		room := s.room()
		s.lead(room, "a")
		p.n.Store(2)
		if r := s.post(room+"/campaign", `{"candidate_id":"b"}`); r.text(t, "status") != api.StatusLeader {
			t.Fatalf("%s", r.body)
		}
	})
	t.Run("ARenewalIsOver", func(t *testing.T) {
		t.Parallel()
		s, p := stalling(t)
		room := s.room()
		token := s.lead(room, "a")
		p.n.Store(1)
		s.post(room+"/renew", `{"leader_token":"`+token+`"}`).want(t, http.StatusNotFound, api.CodeLeaseNotCurrent)
	})
	t.Run("AStatusIsReadAgain", func(t *testing.T) {
		t.Parallel()
		s, p := stalling(t)
		room := s.room()
		s.lead(room, "a")
		p.n.Store(1)
		if r := s.get(room); r.text(t, "status") != api.StatusVacant {
			t.Fatalf("%s", r.body)
		}
	})
}
