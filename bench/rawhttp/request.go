package rawhttp

import (
	"bytes"
	"fmt"
)

// Request is the bytes of a request, with places that are written over before it
// is sent. A place keeps its length, so the length of the body never changes.
type Request struct {
	bytes []byte
}

// NewRequest makes a request. An empty body sends none and no type.
func NewRequest(method, host, path, body string) *Request {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: %s\r\n", method, path, host)
	if body != "" {
		fmt.Fprintf(&b, "Content-Type: application/json\r\nContent-Length: %d\r\n", len(body))
	}
	fmt.Fprintf(&b, "\r\n%s", body)
	return &Request{b.Bytes()}
}

// Bytes is the request as it is sent.
func (r *Request) Bytes() []byte { return r.bytes }

// Place returns the part of the request where the text stands, to be written
// over. It panics unless the text stands there exactly once.
func (r *Request) Place(text string) []byte {
	if n := bytes.Count(r.bytes, []byte(text)); n != 1 {
		panic(fmt.Sprintf("rawhttp: %q stands %d times in a request, not once", text, n))
	}
	i := bytes.Index(r.bytes, []byte(text))
	return r.bytes[i : i+len(text) : i+len(text)]
}
