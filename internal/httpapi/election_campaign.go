package httpapi

import (
	"context"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/octostore/octostore/api"
	"github.com/octostore/octostore/elections"
	"github.com/octostore/octostore/internal/telemetry"
	"github.com/octostore/octostore/lease"
)

// answerGrace is how long after the end of a wait the answer may take to be
// written.
const answerGrace = 10 * time.Second

// maxDecisions is how often a request is decided whose outcome runs out before
// it can be written. A process that stands still that often serves nobody.
const maxDecisions = 8

// campaign answers POST /elections/{election_id}/campaign.
func (a *API) campaign(x *exchange) {
	received := a.records.Now().At
	var body [campaignCount]value
	if !x.decode(campaignMembers, body[:]) || !a.admit(x) {
		return
	}
	c, ok := x.candidacy(&body)
	if !ok {
		return
	}
	c.Received = received

	crowded := false
	if c.Wait > 0 {
		release, err := a.waiters.Acquire(x.client.Key)
		if err == nil {
			defer release()
			x.hold(c.Wait + answerGrace)
		} else {
			// As many requests of this client wait as may. One that need not wait is
			// served all the same.
			crowded = true
			c.Wait = 0
		}
	}
	a.decideCampaign(x, c, crowded)
}

// candidacy checks the request in the order of the wire contract: room,
// candidate, metadata, ttl, wait, key. It answers 400 and returns false where one
// of them is not valid.
func (x *exchange) candidacy(body *[campaignCount]value) (elections.Candidacy, bool) {
	var c elections.Candidacy
	var ok bool
	if c.Room, ok = x.room(); !ok {
		return c, false
	}
	c.Candidate = body[campaignCandidate].text
	if !api.ValidCandidateID(c.Candidate) {
		x.fail(invalid("candidate_id must be 1 to 64 characters of A-Z, a-z, 0-9 and . _ : @ -"))
		return c, false
	}
	c.Metadata, c.Described = body[campaignMetadata].text, body[campaignMetadata].given
	if !api.ValidMetadata(c.Metadata) {
		x.fail(invalid("metadata must be at most " + strconv.Itoa(api.MaxMetadataRunes) + " characters."))
		return c, false
	}
	if c.TTL, ok = x.ttl(&body[campaignTTL], api.DefaultElectionTTLSeconds*time.Second); !ok {
		return c, false
	}
	if !api.ValidWaitMs(body[campaignWait].number) {
		x.fail(invalid("wait_ms must be at most " + strconv.Itoa(api.MaxWaitMs) + "."))
		return c, false
	}
	c.Wait = time.Duration(body[campaignWait].number) * time.Millisecond
	switch keys := x.r.Header[api.HeaderIdempotencyKey]; {
	case len(keys) == 0:
	case len(keys) == 1 && api.ValidIdempotencyKey(keys[0]):
		c.IdempotencyKey = keys[0]
	default:
		x.fail(invalid("Idempotency-Key must be one header of 22 to 128 characters of A-Z, a-z, 0-9 and _ . : -"))
		return c, false
	}
	return c, true
}

// decideCampaign asks the domain and answers. crowded tells that the client may
// not have another request wait.
func (a *API) decideCampaign(x *exchange, c elections.Candidacy, crowded bool) {
	wait := c.Wait
	for range maxDecisions {
		res, err := a.elections.Campaign(x.ctx, c)
		if err != nil {
			x.failWith(err)
			return
		}
		if x.ctx.Err() != nil {
			a.abandon(x, res)
			return
		}
		now := a.records.Now()
		switch {
		case res.Won != nil && !res.Over(now):
			x.out = appendWon(x.out[:0], &res, true)
			x.sendCapability(x.out)
			return
		case res.Won == nil && crowded:
			x.fail(tooManyWaiters(retrySoon))
			return
		case res.Won == nil && res.Leader != nil && !a.outlived(&res.Standing):
			x.sendFollower(&res.Standing)
			return
		}
		// What was decided has run out before it could be written, because the
		// process stood still: decided anew, with what is left of the wait.
		c.Wait, c.Again = remaining(wait, c.Received, now), true
	}
	x.fail(&failure{code: api.CodeUnavailable, retry: retrySoon})
}

// remaining is what is left at now of a wait that began at the receipt.
func remaining(wait time.Duration, received lease.Instant, now lease.Now) time.Duration {
	return max(0, wait-now.At.Sub(received))
}

// sendFollower tells who leads.
func (x *exchange) sendFollower(st *elections.Standing) {
	seconds := api.RetryAfterSeconds(ceilMs(st.RetryAfter))
	x.w.Header()["Retry-After"] = []string{strconv.FormatInt(seconds, 10)}
	x.out = appendFollower(x.out[:0], st)
	x.send(http.StatusOK, contentJSON, x.out)
}

// abandon gives back what a caller won that has left before a byte of the answer
// was written, so that the next candidate need not wait for the deadline. A grant
// with an idempotency key stays: the domain knows.
func (a *API) abandon(x *exchange, res elections.Result) {
	x.leave()
	if err := a.elections.Abandon(context.WithoutCancel(x.ctx), res); err != nil {
		a.log.LogAttrs(x.ctx, slog.LevelWarn, "grant of a caller that left could not be given back; it ends at its deadline",
			slog.String("route", x.template), slog.String("error", telemetry.Clip(err.Error(), maxLoggedError)))
	}
}
