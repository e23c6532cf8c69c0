package api

// Code is the stable name of a failure: the `code` of the standard error body.
//
// The set is closed. A client may switch over it; whoever meets a value that is
// not in [Codes] talks to a newer server and goes by the HTTP status alone.
type Code string

const (
	// CodeAuthenticationRequired (401): the request carries no credential where one is needed.
	CodeAuthenticationRequired Code = "authentication_required"
	// CodeAuthenticationFailed (401): a credential was sent, and it is unknown, revoked or not valid here.
	CodeAuthenticationFailed Code = "authentication_failed"
	// CodeForbidden (403): the caller is known but may not do this, or the feature is switched off.
	CodeForbidden Code = "forbidden"
	// CodeLockLimitExceeded (403): the tenant or the session holds as many locks as it may.
	CodeLockLimitExceeded Code = "lock_limit_exceeded"
	// CodeInvalidInput (400, also 405, 413, 415, 422): the request itself is wrong; sending it again can not help.
	CodeInvalidInput Code = "invalid_input"
	// CodeInvalidTTL (400): the time to live lies outside its range.
	CodeInvalidTTL Code = "invalid_ttl"
	// CodeInvalidLockName (400): the name breaks the grammar of lock names.
	CodeInvalidLockName Code = "invalid_lock_name"
	// CodeNotFound (404): no such route or resource, or one that the caller may not know of.
	CodeNotFound Code = "not_found"
	// CodeSessionExpired (410): the session existed and has ended; it does not come back.
	CodeSessionExpired Code = "session_expired"
	// CodeLeaseNotCurrent (404): the lease that was named is over, whoever holds the name now. Its holder must stop.
	CodeLeaseNotCurrent Code = "lease_not_current"
	// CodeConflict (409): the request contradicts what is stored, for example an Idempotency-Key
	// that was used with other parameters or whose lease has ended.
	CodeConflict Code = "conflict"
	// CodeCapacityExceeded (409, with a retry hint): the server holds as many live rooms, or watched
	// names, as it is configured for.
	CodeCapacityExceeded Code = "capacity_exceeded"
	// CodeRateLimited (429, with a retry hint): this client spent its budget or has too many requests open.
	CodeRateLimited Code = "rate_limited"
	// CodeQuotaExceeded (429, with a retry hint): the tenant has as many sessions, waiters or streams as it may.
	CodeQuotaExceeded Code = "quota_exceeded"
	// CodeUpstreamUnavailable (502): a service that this server had to ask did not answer properly.
	CodeUpstreamUnavailable Code = "upstream_unavailable"
	// CodeUnavailable (503, with a retry hint): nothing was changed; the server can not take the request
	// right now (its store refuses writes, its queue is full, or it is shutting down).
	CodeUnavailable Code = "unavailable"
	// CodeOutcomeUnknown (503, with a retry hint): the change may or may not have become durable.
	// It is never a "no": repeat with the same Idempotency-Key, or read the state.
	CodeOutcomeUnknown Code = "outcome_unknown"
	// CodeInternalError (500): the server failed in a way that it did not foresee; its log has the text under the request id.
	CodeInternalError Code = "internal_error"
)

// Codes returns every code there is, in the order in which they are documented.
// The slice is the caller's own.
func Codes() []Code {
	return []Code{
		CodeAuthenticationRequired,
		CodeAuthenticationFailed,
		CodeForbidden,
		CodeLockLimitExceeded,
		CodeInvalidInput,
		CodeInvalidTTL,
		CodeInvalidLockName,
		CodeNotFound,
		CodeSessionExpired,
		CodeLeaseNotCurrent,
		CodeConflict,
		CodeCapacityExceeded,
		CodeRateLimited,
		CodeQuotaExceeded,
		CodeUpstreamUnavailable,
		CodeUnavailable,
		CodeOutcomeUnknown,
		CodeInternalError,
	}
}

// Known reports whether c belongs to the closed set.
func (c Code) Known() bool { return c.Label() != "" }

// CarriesRetryAfter reports whether an error body with this code always has
// retry_after_ms, and its answer a Retry-After header. No other code has either.
func (c Code) CarriesRetryAfter() bool {
	switch c {
	case CodeCapacityExceeded, CodeRateLimited, CodeQuotaExceeded, CodeUnavailable, CodeOutcomeUnknown:
		return true
	default:
		return false
	}
}

// Label is the short text for people that stands beside the code in the
// `error` field. It is the same for every occurrence of a code, so it can not
// leak anything about one. The label of an unknown code is "".
func (c Code) Label() string {
	switch c {
	case CodeAuthenticationRequired:
		return "Authentication required"
	case CodeAuthenticationFailed:
		return "Authentication failed"
	case CodeForbidden:
		return "Forbidden"
	case CodeLockLimitExceeded:
		return "Lock limit exceeded"
	case CodeInvalidInput:
		return "Invalid input"
	case CodeInvalidTTL:
		return "Invalid TTL"
	case CodeInvalidLockName:
		return "Invalid lock name"
	case CodeNotFound:
		return "Not found"
	case CodeSessionExpired:
		return "Session expired"
	case CodeLeaseNotCurrent:
		return "Lease not current"
	case CodeConflict:
		return "Conflict"
	case CodeCapacityExceeded:
		return "Capacity exceeded"
	case CodeRateLimited:
		return "Rate limited"
	case CodeQuotaExceeded:
		return "Quota exceeded"
	case CodeUpstreamUnavailable:
		return "Upstream unavailable"
	case CodeUnavailable:
		return "Temporarily unavailable"
	case CodeOutcomeUnknown:
		return "Outcome unknown"
	case CodeInternalError:
		return "Internal error"
	default:
		return ""
	}
}
