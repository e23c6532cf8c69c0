package httpapi

import (
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"github.com/octostore/octostore/api"
)

// firstRead is the size of the first buffer for a body. Nearly every body fits.
const firstRead = 512

// decode reads the request's body as a JSON object with the given members. It
// answers the request itself and returns false if that fails: 415 for a body that
// is not declared as JSON, 413 for one that is too large, 400 for what is not
// JSON, 422 for JSON that does not fit.
func (x *exchange) decode(members []member, values []value) bool {
	f := x.refuseMediaType()
	if f == nil {
		f = x.readBody()
	}
	if f == nil {
		f = decodeObject(x.in, members, values)
	}
	if f != nil {
		x.fail(f)
		return false
	}
	return true
}

// ignoreBody reads and drops the body of a request that needs none. It answers
// with 413 and returns false if the body is larger than any may be.
func (x *exchange) ignoreBody() bool {
	if x.r.ContentLength == 0 {
		return true
	}
	if f := x.readBody(); f != nil {
		x.fail(f)
		return false
	}
	return true
}

// refuseMediaType checks what the body claims to be.
func (x *exchange) refuseMediaType() *failure {
	types := x.r.Header["Content-Type"]
	if len(types) == 1 && (types[0] == "application/json" || isJSON(types[0])) {
		if enc := x.r.Header["Content-Encoding"]; len(enc) == 0 || len(enc) == 1 && strings.EqualFold(enc[0], "identity") {
			return nil
		}
		return &failure{
			code: api.CodeInvalidInput, status: http.StatusUnsupportedMediaType,
			details: "The request body must not be compressed.",
		}
	}
	return &failure{
		code: api.CodeInvalidInput, status: http.StatusUnsupportedMediaType,
		details: "Content-Type must be application/json.",
	}
}

// isJSON tells whether a media type is application/json or built on it, with or
// without parameters.
func isJSON(contentType string) bool {
	mediaType, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		return false
	}
	subtype, ok := strings.CutPrefix(mediaType, "application/")
	return ok && (subtype == "json" || strings.HasSuffix(subtype, "+json") && len(subtype) > len("+json"))
}

// readBody reads the whole body into x.in. It always goes on to the end of what
// may be read: net/http watches for a caller that hangs up only from there on.
func (x *exchange) readBody() *failure {
	if x.r.ContentLength > api.MaxBodyBytes {
		return tooLarge()
	}
	b := x.in[:0]
	if cap(b) == 0 {
		b = make([]byte, 0, max(firstRead, x.r.ContentLength+1))
	}
	defer func() { x.in = b }()
	for {
		if len(b) == cap(b) {
			b = append(b, 0)[:len(b)]
		}
		n, err := x.r.Body.Read(b[len(b):min(cap(b), api.MaxBodyBytes+1)])
		b = b[:len(b)+n]
		switch {
		case len(b) > api.MaxBodyBytes:
			return tooLarge()
		case err == io.EOF: //nolint:errorlint // io.Reader returns it bare
			return nil
		case err != nil:
			// The caller broke off, was too slow, or sent broken chunks. The
			// connection is not in a state in which another request could follow.
			x.w.Header()["Connection"] = connectionClose
			return invalid("The request body could not be read to its end.")
		}
	}
}

func tooLarge() *failure {
	return &failure{
		code: api.CodeInvalidInput, status: http.StatusRequestEntityTooLarge,
		details: "The request body is larger than " + strconv.Itoa(api.MaxBodyBytes) + " bytes.",
	}
}
