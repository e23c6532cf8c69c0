package httpapi

import (
	"net/http"
	"strconv"
	"time"

	"github.com/octostore/octostore/api"
	"github.com/octostore/octostore/elections"
	"github.com/octostore/octostore/lease"
)

const paramElection = "election_id"

// electionGroup is the name under which the election routes are summed up in the
// JSON form of /metrics.
const electionGroup = "election"

// mountElections adds the routes of the anonymous product. With public elections
// switched off each of them answers 403 before it looks at anything.
func (a *API) mountElections(add func(route)) {
	for _, r := range []route{
		{method: http.MethodPost, template: "/elections", handle: a.createElection},
		{method: http.MethodPost, template: "/elections/{election_id}/campaign", handle: a.campaign},
		{method: http.MethodPost, template: "/elections/{election_id}/renew", handle: a.renewElection},
		{method: http.MethodPost, template: "/elections/{election_id}/resign", handle: a.resignElection},
		{method: http.MethodGet, template: "/elections/{election_id}", handle: a.electionStatus},
		{method: http.MethodGet, template: "/elections/{election_id}/watch", handle: a.watchElection},
	} {
		r.group = electionGroup
		if !a.publicElections {
			r.handle = electionsDisabled
		}
		add(r)
	}
}

func electionsDisabled(x *exchange) {
	x.fail(&failure{code: api.CodeForbidden, details: "Public elections are switched off on this server."})
}

// The members of the request bodies, in the order of their constants.
var (
	campaignMembers = []member{
		campaignCandidate: {name: "candidate_id", kind: textKind, required: true},
		campaignTTL:       {name: "ttl_seconds", kind: uint32Kind},
		campaignMetadata:  {name: "metadata", kind: textKind},
		campaignWait:      {name: "wait_ms", kind: uint32Kind},
	}
	renewMembers = []member{
		renewToken: {name: "leader_token", kind: textKind, required: true},
		renewTTL:   {name: "ttl_seconds", kind: uint32Kind},
	}
	resignMembers = []member{
		resignToken: {name: "leader_token", kind: textKind, required: true},
	}
)

const (
	campaignCandidate = iota
	campaignTTL
	campaignMetadata
	campaignWait
	campaignCount
)

const (
	renewToken = iota
	renewTTL
	renewCount
)

const (
	resignToken = iota
	resignCount
)

// createElection answers POST /elections.
func (a *API) createElection(x *exchange) {
	if !x.ignoreBody() || !a.admit(x) {
		return
	}
	room, err := a.elections.NewRoom()
	if err != nil {
		x.failWith(err)
		return
	}
	path := "/elections/" + room
	b := append(x.out[:0], `{"election_id":`...)
	b = appendString(b, room)
	b = append(b, `,"campaign_path":`...)
	b = appendString(b, path+"/campaign")
	b = append(b, `,"status_path":`...)
	b = appendString(b, path)
	b = append(b, `,"watch_path":`...)
	b = appendString(b, path+"/watch")
	x.out = append(b, '}')
	x.send(http.StatusCreated, contentJSON, x.out)
}

// admit takes one request off the client's budget, which creating rooms and
// campaigning share. The state of the budget is told on every answer from here
// on. It answers 429 and returns false if nothing is left.
func (a *API) admit(x *exchange) bool {
	d := a.admission.Allow(x.ctx, x.client.Key)
	a.admission.SetHeaders(x.w.Header(), d)
	if !d.Allowed {
		x.fail(&failure{code: api.CodeRateLimited, retry: time.Duration(d.RetryAfter()) * time.Second})
	}
	return d.Allowed
}

// room returns the room of the path, or answers 400.
func (x *exchange) room() (string, bool) {
	room := x.param(paramElection)
	if !api.ValidElectionID(room) {
		x.fail(invalid("election_id must be 8 to 64 characters of A-Z, a-z, 0-9, _ and -."))
		return "", false
	}
	return room, true
}

// ttl returns a time to live in seconds as a duration, or answers 400.
func (x *exchange) ttl(v *value, absent time.Duration) (time.Duration, bool) {
	if !v.given {
		return absent, true
	}
	if !api.ValidElectionTTL(v.number) {
		x.fail(&failure{code: api.CodeInvalidTTL, details: "ttl_seconds must be between " +
			strconv.Itoa(api.MinElectionTTLSeconds) + " and " + strconv.Itoa(api.MaxElectionTTLSeconds) + "."})
		return 0, false
	}
	return time.Duration(v.number) * time.Second, true
}

// token returns a leader token as the capability that it spells, or answers 400.
func (x *exchange) token(v *value) (lease.Capability, bool) {
	c, err := lease.ParseCapability(v.text)
	if err != nil {
		x.fail(invalid("leader_token is not a leader token."))
		return lease.Capability{}, false
	}
	return c, true
}

// renewElection answers POST /elections/{election_id}/renew.
func (a *API) renewElection(x *exchange) {
	var body [renewCount]value
	if !x.decode(renewMembers, body[:]) {
		return
	}
	room, ok := x.room()
	if !ok {
		return
	}
	token, ok := x.token(&body[renewToken])
	if !ok {
		return
	}
	ttl, ok := x.ttl(&body[renewTTL], 0) // absent: the lease's own goes on
	if !ok {
		return
	}
	res, err := a.elections.Renew(x.ctx, room, token, ttl)
	if err == nil && res.Over(a.records.Now()) {
		// It was confirmed and has run out since, because the process stood still.
		err = elections.ErrNotCurrent
	}
	if err != nil {
		x.failWith(err)
		return
	}
	x.out = appendWon(x.out[:0], &res, false)
	x.sendCapability(x.out)
}

// sendCapability answers with a body that holds a secret.
func (x *exchange) sendCapability(body []byte) {
	x.w.Header()["Cache-Control"] = noStore
	x.send(http.StatusOK, contentJSON, body)
}

// resignElection answers POST /elections/{election_id}/resign.
func (a *API) resignElection(x *exchange) {
	var body [resignCount]value
	if !x.decode(resignMembers, body[:]) {
		return
	}
	room, ok := x.room()
	if !ok {
		return
	}
	token, ok := x.token(&body[resignToken])
	if !ok {
		return
	}
	term, err := a.elections.Resign(x.ctx, room, token)
	if err != nil {
		x.failWith(err)
		return
	}
	x.out = appendResigned(x.out[:0], room, term)
	x.send(http.StatusOK, contentJSON, x.out)
}

// electionStatus answers GET /elections/{election_id}.
func (a *API) electionStatus(x *exchange) {
	if !x.ignoreBody() {
		return
	}
	room, ok := x.room()
	if !ok {
		return
	}
	for range maxDecisions {
		st, err := a.elections.Status(x.ctx, room)
		if err != nil {
			x.failWith(err)
			return
		}
		if a.outlived(&st) {
			continue
		}
		x.out = appendStatus(x.out[:0], &st)
		x.send(http.StatusOK, contentJSON, x.out)
		return
	}
	x.fail(&failure{code: api.CodeUnavailable, retry: retrySoon})
}

// outlived tells whether the leader that st tells of is over by now: between the
// reading and the writing the process may have stood still for any time.
func (a *API) outlived(st *elections.Standing) bool {
	return st.Leader != nil && a.records.Now().At >= st.At.At.Add(st.RetryAfter)
}
