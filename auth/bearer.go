package auth

import (
	"errors"
	"strings"
)

// ErrNoBearer says that a request shows no bearer token: the header is missing,
// has another scheme, or has not the one form "Bearer TOKEN".
var ErrNoBearer = errors.New("auth: no bearer token")

// ErrManyAuthorizations says that a request has more than one Authorization line.
// Which of them counts would be a guess, and a proxy in front may guess otherwise.
var ErrManyAuthorizations = errors.New("auth: more than one Authorization header")

// bearerPrefix is the scheme with its one space. RFC 9110 calls schemes
// case-insensitive; the wire contract takes this spelling only.
const bearerPrefix = "Bearer "

// ParseBearer returns the token of one Authorization header value. The scheme is
// case-sensitive and exactly one space follows it. A space inside the token is
// kept: no static token has one, but an admin key may. The error is ErrNoBearer.
func ParseBearer(value string) (string, error) {
	token, ok := strings.CutPrefix(value, bearerPrefix)
	if !ok || token == "" || token[0] == ' ' || token[0] == '\t' {
		return "", ErrNoBearer
	}
	return token, nil
}

// ParseAuthorization returns the token of all Authorization lines of a request, as
// http.Header.Values gives them. The error is ErrNoBearer if there is none, and
// ErrManyAuthorizations if there are several, even equal ones.
func ParseAuthorization(lines []string) (string, error) {
	switch len(lines) {
	case 0:
		return "", ErrNoBearer
	case 1:
		return ParseBearer(lines[0])
	default:
		return "", ErrManyAuthorizations
	}
}
