package ratelimit

import (
	"net/http"
	"strconv"
	"time"
)

// The fields that announce a budget, as the IETF draft "RateLimit header fields for HTTP"
// (draft-ietf-httpapi-ratelimit-headers) defines them since its version 08.
const (
	HeaderPolicy = "RateLimit-Policy"
	HeaderState  = "RateLimit"
)

// Policy is the value of RateLimit-Policy: the quota q in requests and the window w in seconds, as in
//
//	"elections";q=600;w=60
func (a *Admission) Policy() string { return a.policy }

// State is the value of RateLimit after d: the requests r that are left and the seconds t until the window ends, rounded
// up and equal to Retry-After, as in
//
//	"elections";r=597;t=12
func (a *Admission) State(d Decision) string {
	return quotaValue(a.name, 'r', d.Remaining, 't', d.RetryAfter())
}

// SetHeaders sets both fields, which belong on successes and refusals alike. Retry-After, which belongs on refusals only,
// is left to whoever writes the error.
func (a *Admission) SetHeaders(h http.Header, d Decision) {
	h.Set(HeaderPolicy, a.Policy())
	h.Set(HeaderState, a.State(d))
}

func policyValue(name string, limit int64, window time.Duration) string {
	return quotaValue(name, 'q', limit, 'w', wholeSeconds(window))
}

func quotaValue(name string, quota byte, n int64, span byte, seconds int) string {
	var room [64]byte
	b := append(room[:0], '"')
	b = append(b, name...)
	b = append(b, '"', ';', quota, '=')
	b = strconv.AppendInt(b, n, 10)
	b = append(b, ';', span, '=')
	b = strconv.AppendInt(b, int64(seconds), 10)
	return string(b)
}
