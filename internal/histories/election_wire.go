package histories

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"github.com/octostore/octostore/api"
)

// candidacy is one attempt to lead a room.
type candidacy struct {
	attempt Attempt
	room    string
	key     string // Idempotency-Key, "" for none
	ttl     time.Duration
	wait    time.Duration
}

// reign is a lease as its leader knows it.
type reign struct {
	candidacy
	term  int64
	token string
}

// campaign asks to lead. hasty is how long the client stays on the line, 0 for as
// long as it takes.
func campaign(ctx context.Context, c *Client, a *candidacy, hasty time.Duration) (Call, bool) {
	body := []byte(`{"candidate_id":"` + a.attempt.String() + `","ttl_seconds":`)
	body = strconv.AppendInt(body, int64(a.ttl/time.Second), 10)
	if a.wait > 0 {
		body = append(body, `,"wait_ms":`...)
		body = strconv.AppendInt(body, a.wait.Milliseconds(), 10)
	}
	body = append(body, '}')
	call := Call{Name: a.room, Verb: Campaign, Attempt: a.attempt, Keyed: a.key != "", TTL: a.ttl, Wait: a.wait}
	return electionCall(ctx, c, call, request{
		method: http.MethodPost, path: "/elections/" + a.room + "/campaign", key: a.key, body: body, patience: hasty,
	})
}

// renew extends a lease by ttl, 0 for its own.
func renew(ctx context.Context, c *Client, r *reign, ttl time.Duration) (Call, bool) {
	body := []byte(`{"leader_token":"` + r.token + `"`)
	if ttl > 0 {
		body = append(body, `,"ttl_seconds":`...)
		body = strconv.AppendInt(body, int64(ttl/time.Second), 10)
	}
	body = append(body, '}')
	call := Call{Name: r.room, Verb: Renew, Attempt: r.attempt, TTL: ttl, Term: r.term, Token: r.token}
	return electionCall(ctx, c, call, request{method: http.MethodPost, path: "/elections/" + r.room + "/renew", body: body})
}

// resign ends a lease.
func resign(ctx context.Context, c *Client, r *reign) (Call, bool) {
	call := Call{Name: r.room, Verb: Resign, Attempt: r.attempt, Term: r.term, Token: r.token}
	return electionCall(ctx, c, call, request{
		method: http.MethodPost, path: "/elections/" + r.room + "/resign", body: []byte(`{"leader_token":"` + r.token + `"}`),
	})
}

// status reads a room.
func status(ctx context.Context, c *Client, room string) (Call, bool) {
	return electionCall(ctx, c, Call{Name: room, Verb: Status}, request{method: http.MethodGet, path: "/elections/" + room})
}

// electionCall sends a request of the election routes and records what came of it.
func electionCall(ctx context.Context, c *Client, call Call, q request) (Call, bool) {
	r, sent := c.exchange(ctx, &call, q)
	if !sent {
		return call, false
	}
	if r.fate == answered {
		readElection(&call, r.status, r.body)
	}
	c.record(&call)
	return call, true
}

// electionAnswer has the members of every answer of the election routes.
type electionAnswer struct {
	Status       string      `json:"status"`
	ElectionID   string      `json:"election_id"`
	Leader       *api.Leader `json:"leader"`
	LeaderToken  string      `json:"leader_token"`
	WaitedMs     int64       `json:"waited_ms"`
	RetryAfterMs int64       `json:"retry_after_ms"`
	Revision     int64       `json:"revision"`
	Waiters      int         `json:"waiters"`
	PreviousTerm int64       `json:"previous_term"`
	Code         api.Code    `json:"code"`
}

// readElection fills in outcome and answer.
func readElection(call *Call, httpStatus int, body []byte) {
	call.Outcome = Strange
	call.Answer = Answer{HTTP: httpStatus}
	a := &call.Answer
	var in electionAnswer
	if err := json.Unmarshal(body, &in); err != nil {
		a.Code = "not JSON: " + err.Error()
		return
	}
	a.Code = string(in.Code)
	if httpStatus != http.StatusOK {
		call.Outcome = refusal(httpStatus, in.Code)
		return
	}
	if in.ElectionID != call.Name {
		a.Code = "answer about the room " + in.ElectionID
		return
	}
	if in.Leader != nil {
		a.Leader, a.Term = ParseAttempt(in.Leader.CandidateID), in.Leader.Term
		a.Expires = time.Time(in.Leader.ExpiresAt).UnixMilli()
	}
	a.Token, a.Waited = in.LeaderToken, time.Duration(in.WaitedMs)*time.Millisecond
	a.Retry = time.Duration(in.RetryAfterMs) * time.Millisecond
	switch {
	case (call.Verb == Campaign || call.Verb == Renew) && in.Status == api.StatusLeader && in.Leader != nil && in.LeaderToken != "":
		call.Outcome = Won
	case call.Verb == Campaign && in.Status == api.StatusFollower && in.Leader != nil && in.LeaderToken == "":
		call.Outcome = Following
	case call.Verb == Resign && in.Status == api.StatusVacant && in.Leader == nil:
		call.Outcome = Resigned
		a.Term = in.PreviousTerm
	case call.Verb == Status && (in.Status == api.StatusLeader) == (in.Leader != nil) && in.LeaderToken == "":
		call.Outcome = Shown
		a.Revision, a.Waiters = in.Revision, in.Waiters
	}
}

// refusal tells what a refusing answer says of the call.
func refusal(httpStatus int, code api.Code) Outcome {
	switch {
	case httpStatus == http.StatusNotFound && code == api.CodeLeaseNotCurrent:
		return NotCurrent
	case httpStatus == http.StatusConflict && code == api.CodeConflict:
		return Conflict
	case httpStatus == http.StatusServiceUnavailable && code == api.CodeOutcomeUnknown:
		return Unknown
	case httpStatus == http.StatusServiceUnavailable && code == api.CodeUnavailable,
		httpStatus == http.StatusTooManyRequests && code == api.CodeRateLimited:
		return Refused
	default:
		return Strange
	}
}
