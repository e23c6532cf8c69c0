package httpapi

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/octostore/octostore/api"
	"github.com/octostore/octostore/elections"
	"github.com/octostore/octostore/internal/telemetry"
	"github.com/octostore/octostore/lease"
)

// failureKind is what all failures of one code have in common.
type failureKind struct {
	status  int
	details string // where nothing more can be said about the occurrence
}

// failureTable is the one place in which codes meet HTTP statuses. The label of a
// code is api.Code.Label. A 405, 413, 415 or 422 is an invalid_input with a
// status of its own.
var failureTable = map[api.Code]failureKind{
	api.CodeAuthenticationRequired: {http.StatusUnauthorized, "This route needs a credential."},
	api.CodeAuthenticationFailed:   {http.StatusUnauthorized, "The credential is not valid here."},
	api.CodeForbidden:              {http.StatusForbidden, "This is not allowed."},
	api.CodeLockLimitExceeded:      {http.StatusForbidden, "As many locks are held as may be."},
	api.CodeInvalidInput:           {http.StatusBadRequest, "The request is not valid."},
	api.CodeInvalidTTL:             {http.StatusBadRequest, "The time to live is out of range."},
	api.CodeInvalidLockName:        {http.StatusBadRequest, "The name is not valid."},
	api.CodeNotFound:               {http.StatusNotFound, "There is no such resource."},
	api.CodeSessionExpired:         {http.StatusGone, "The session has ended."},
	api.CodeLeaseNotCurrent:        {http.StatusNotFound, "The lease that leader_token names is over."},
	api.CodeConflict:               {http.StatusConflict, "The request contradicts an earlier one."},
	api.CodeCapacityExceeded:       {http.StatusConflict, "The server holds as much as it is configured for."},
	api.CodeRateLimited:            {http.StatusTooManyRequests, "Too many requests from this client."},
	api.CodeQuotaExceeded:          {http.StatusTooManyRequests, "The quota is used up."},
	api.CodeUpstreamUnavailable:    {http.StatusBadGateway, "A service that the server depends on did not answer."},
	api.CodeUnavailable:            {http.StatusServiceUnavailable, "The server can not take this now. Nothing was changed."},
	api.CodeOutcomeUnknown:         {http.StatusServiceUnavailable, "The change may or may not have been stored."},
	api.CodeInternalError:          {http.StatusInternalServerError, "The server could not process the request."},
}

// Retry hints where nobody knows better.
const (
	retrySoon        = time.Second
	retryCapacity    = 30 * time.Second
	retryFullStreams = 30 * time.Second
)

// failure is one refusal. Zero fields are filled from the table.
type failure struct {
	code    api.Code
	status  int
	details string // one sentence without a secret or the caller's own text
	retry   time.Duration
}

func invalid(details string) *failure {
	return &failure{code: api.CodeInvalidInput, details: details}
}

func unprocessable(details string) *failure {
	return &failure{code: api.CodeInvalidInput, status: http.StatusUnprocessableEntity, details: details}
}

// classify turns an error of a domain or a store into a failure, nil if nobody
// foresaw it.
func classify(err error) *failure {
	switch {
	// Before ErrUnavailable: an error that says both must not promise that nothing happened.
	case errors.Is(err, lease.ErrOutcomeUnknown):
		return &failure{code: api.CodeOutcomeUnknown, retry: lease.RetryAfter(err, retrySoon)}
	case errors.Is(err, lease.ErrUnavailable):
		return &failure{code: api.CodeUnavailable, retry: lease.RetryAfter(err, retrySoon)}
	case errors.Is(err, lease.ErrUnknownKey):
		return &failure{
			code: api.CodeUnavailable, retry: lease.RetryAfter(err, retrySoon),
			details: "The server lacks a key that it needs for this. Nothing was changed.",
		}
	case errors.Is(err, lease.ErrTooManyWaiters):
		return tooManyWaiters(lease.RetryAfter(err, retrySoon))
	case errors.Is(err, elections.ErrNotCurrent):
		return &failure{code: api.CodeLeaseNotCurrent}
	case errors.Is(err, elections.ErrConflict):
		return &failure{
			code:    api.CodeConflict,
			details: "This Idempotency-Key was used with other parameters, or the lease that it got has ended.",
		}
	case errors.Is(err, elections.ErrCapacity):
		return &failure{
			code: api.CodeCapacityExceeded, retry: lease.RetryAfter(err, retryCapacity),
			details: "The server holds as many live elections as it is configured for.",
		}
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		// A context ended before the request was decided, and it was not the
		// caller's, which is looked at before.
		return &failure{code: api.CodeUnavailable, retry: retrySoon}
	default:
		return nil
	}
}

func tooManyWaiters(retry time.Duration) *failure {
	return &failure{code: api.CodeRateLimited, retry: retry, details: "Too many requests wait already."}
}

// failWith answers with what an error of a domain means. The caller has checked
// nothing; a request whose context has ended is left without an answer.
func (x *exchange) failWith(err error) {
	if x.ctx.Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)) {
		x.leave()
		return
	}
	f := classify(err)
	if f == nil {
		x.api.log.LogAttrs(x.ctx, slog.LevelError, "request failed",
			slog.String("route", x.template), slog.String("error", telemetry.Clip(err.Error(), maxLoggedError)))
		f = &failure{code: api.CodeInternalError}
	}
	x.fail(f)
}

// maxLoggedError bounds the text of an unforeseen error in the log, in bytes.
const maxLoggedError = 1024

// fail answers with the standard error body.
func (x *exchange) fail(f *failure) {
	if x.status != 0 || x.complete {
		return
	}
	kind := failureTable[f.code]
	status, details := kind.status, kind.details
	if f.status != 0 {
		status = f.status
	}
	if f.details != "" {
		details = f.details
	}
	b := append(x.out[:0], `{"error":"`...)
	b = append(b, f.code.Label()...)
	b = append(b, `","code":"`...)
	b = append(b, f.code...)
	b = append(b, `","details":`...)
	b = appendString(b, details)
	b = append(b, `,"request_id":"`...)
	b = append(b, x.id...)
	b = append(b, '"')
	if f.code.CarriesRetryAfter() {
		ms := api.ClampRetryAfterMs(ceilMs(f.retry))
		x.w.Header()["Retry-After"] = []string{strconv.FormatInt(api.RetryAfterSeconds(ms), 10)}
		b = append(b, `,"retry_after_ms":`...)
		b = strconv.AppendInt(b, ms, 10)
	}
	x.out = append(b, '}')
	x.code = f.code
	x.send(status, contentJSON, x.out)
}
