package httpapi

import (
	"context"
	"errors"
	"net/http"
	"strconv"

	"github.com/octostore/octostore/api"
	"github.com/octostore/octostore/elections"
	"github.com/octostore/octostore/internal/events"
	"github.com/octostore/octostore/lease"
	"github.com/octostore/octostore/ratelimit"
)

// electionKind labels the metrics of election watches.
const electionKind = "election"

// watchElection answers GET /elections/{election_id}/watch.
func (a *API) watchElection(x *exchange) {
	if !x.ignoreBody() {
		return
	}
	room, ok := x.room()
	if !ok {
		return
	}
	if x.r.Method == http.MethodHead {
		// What a GET would begin with; nothing is watched and no place is taken.
		setStreamHeaders(x.w.Header())
		x.WriteHeader(http.StatusOK)
		x.complete = true
		return
	}
	release, err := a.streams.slots.Acquire(x.client.Key)
	if err != nil {
		x.fail(streamRefusal(err))
		return
	}
	defer release()
	key := lease.ElectionKey(room)
	s, err := a.streams.hub.Watch(x.ctx, key, x.r.Header.Get(api.HeaderLastEventID),
		func(ctx context.Context) (lease.Reading, error) { return a.records.Read(ctx, key) })
	if err != nil {
		a.failWatch(x, err)
		return
	}
	defer s.Close()

	// The first frame is looked for before anything is written: a store that can
	// not be read is an ordinary 503 then, and not a stream that breaks off.
	first, ok, err := s.TryNext(x.ctx)
	if err != nil {
		a.failWatch(x, err)
		return
	}
	a.stream(x, electionKind, s, encodeElection, first, ok)
}

// streamRefusal tells why there is no place for one more stream.
func streamRefusal(err error) *failure {
	if errors.Is(err, ratelimit.ErrClientFull) {
		return &failure{code: api.CodeRateLimited, retry: retryFullStreams, details: "Too many watch streams from this client."}
	}
	return &failure{code: api.CodeRateLimited, retry: retrySoon, details: "Too many watch streams are open."}
}

// failWatch answers a watch that could not begin.
func (a *API) failWatch(x *exchange, err error) {
	switch {
	case errors.Is(err, events.ErrFull):
		x.fail(&failure{code: api.CodeCapacityExceeded, retry: retrySoon, details: "Too many names are being watched."})
	case errors.Is(err, events.ErrClosed):
		x.fail(&failure{code: api.CodeUnavailable, retry: retrySoon, details: "The server is shutting down."})
	default:
		x.failWith(err)
	}
}

// encodeElection makes the text of a state frame. It depends on the frame alone:
// all streams of a room share the result.
func encodeElection(f events.Frame) []byte {
	st := elections.StandingOf(f.Record, f.At)
	b := append(make([]byte, 0, 384), "event: "+api.EventState+"\nretry:1000\nid: "...)
	b = strconv.AppendInt(b, f.Revision, 10)
	b = append(b, "\ndata: "...)
	b = appendState(b, &st)
	return append(b, "\n\n"...)
}
