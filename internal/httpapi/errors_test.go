package httpapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/octostore/octostore/api"
	"github.com/octostore/octostore/elections"
	"github.com/octostore/octostore/lease"
)

func TestEveryCodeHasItsStatus(t *testing.T) {
	t.Parallel()
	want := map[api.Code]int{
		api.CodeAuthenticationRequired: 401, api.CodeAuthenticationFailed: 401, api.CodeForbidden: 403, api.CodeLockLimitExceeded: 403,
		api.CodeInvalidInput: 400, api.CodeInvalidTTL: 400, api.CodeInvalidLockName: 400, api.CodeNotFound: 404, api.CodeSessionExpired: 410,
		api.CodeLeaseNotCurrent: 404, api.CodeConflict: 409, api.CodeCapacityExceeded: 409, api.CodeRateLimited: 429, api.CodeQuotaExceeded: 429,
		api.CodeUpstreamUnavailable: 502, api.CodeUnavailable: 503, api.CodeOutcomeUnknown: 503, api.CodeInternalError: 500,
	}
	for _, code := range api.Codes() {
		kind, ok := failureTable[code]
		if !ok || kind.status != want[code] || kind.details == "" {
			t.Errorf("%s: %+v, want status %d", code, kind, want[code])
		}
	}
	if len(failureTable) != len(want) {
		t.Errorf("%d codes in the table, %d exist", len(failureTable), len(want))
	}
}

func TestClassify(t *testing.T) {
	t.Parallel()
	later := func(err error) error { return &lease.Retry{Err: err, After: 7 * time.Second} }
	for name, tc := range map[string]struct {
		err   error
		code  api.Code
		retry time.Duration
	}{
		"Unavailable":             {lease.ErrUnavailable, api.CodeUnavailable, time.Second},
		"UnavailableWithAHint":    {later(lease.ErrUnavailable), api.CodeUnavailable, 7 * time.Second},
		"OutcomeUnknown":          {later(lease.ErrOutcomeUnknown), api.CodeOutcomeUnknown, 7 * time.Second},
		"UnknownGoesFirst":        {errors.Join(lease.ErrUnavailable, lease.ErrOutcomeUnknown), api.CodeOutcomeUnknown, time.Second},
		"UnknownKey":              {fmt.Errorf("row: %w", lease.ErrUnknownKey), api.CodeUnavailable, time.Second},
		"TooManyWaiters":          {lease.ErrTooManyWaiters, api.CodeRateLimited, time.Second},
		"NotCurrent":              {elections.ErrNotCurrent, api.CodeLeaseNotCurrent, 0},
		"Conflict":                {elections.ErrConflict, api.CodeConflict, 0},
		"Capacity":                {elections.ErrCapacity, api.CodeCapacityExceeded, 30 * time.Second},
		"AContextThatIsNotTheirs": {context.DeadlineExceeded, api.CodeUnavailable, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := classify(tc.err)
			if f == nil || f.code != tc.code || f.retry != tc.retry {
				t.Fatalf("%+v, want %s after %v", f, tc.code, tc.retry)
			}
			if f.status != 0 && f.status != http.StatusTooManyRequests {
				t.Fatalf("status %d is not the table's", f.status)
			}
		})
	}
	if f := classify(errors.New("disk on fire")); f != nil {
		t.Fatalf("an unforeseen error became %+v", f)
	}
}
