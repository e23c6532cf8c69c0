package rawhttp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"time"
)

// What an answer can be refused for.
var (
	errNoAnswer = errors.New("rawhttp: not an HTTP/1.1 answer")
	errNoLength = errors.New("rawhttp: an answer without Content-Length")
	errTooMuch  = errors.New("rawhttp: more bytes than the answer has")
	errTooLarge = errors.New("rawhttp: an answer larger than the limit")
)

// maxAnswer bounds an answer, head and body, in bytes.
const maxAnswer = 1 << 20

// Conn is one persistent connection. It is not safe for concurrent use.
type Conn struct {
	conn net.Conn
	buf  []byte
}

// Answer is a response. Body is valid until the next call of Do.
type Answer struct {
	Status int
	Body   []byte
}

// Dial connects to host:port. Every call on the connection fails from the
// deadline on: one deadline for a whole run is cheaper than one a request.
func Dial(ctx context.Context, addr string, deadline time.Time) (*Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("rawhttp: %w", err)
	}
	if err := conn.SetDeadline(deadline); err != nil {
		return nil, errors.Join(fmt.Errorf("rawhttp: %w", err), conn.Close())
	}
	return &Conn{conn: conn, buf: make([]byte, 0, 4096)}, nil
}

// Close closes the connection.
func (c *Conn) Close() error { return c.conn.Close() }

// Do sends the bytes of a request and reads the answer to it.
func (c *Conn) Do(request []byte) (Answer, error) {
	if _, err := c.conn.Write(request); err != nil {
		return Answer{}, fmt.Errorf("rawhttp: send: %w", err)
	}
	c.buf = c.buf[:0]
	head, whole := frame{}, 0
	for {
		if len(c.buf) == cap(c.buf) {
			c.buf = append(c.buf, 0)[:len(c.buf)]
		}
		n, err := c.conn.Read(c.buf[len(c.buf):cap(c.buf)])
		c.buf = c.buf[:len(c.buf)+n]
		if err != nil {
			return Answer{}, fmt.Errorf("rawhttp: read an answer: %w (%d bytes came)", err, len(c.buf))
		}
		if whole == 0 {
			var ok bool
			if head, ok, err = parseHead(c.buf); err != nil {
				return Answer{}, fmt.Errorf("%w: %.200q", err, c.buf)
			} else if ok {
				whole = head.start + head.length
			}
		}
		switch {
		case whole > 0 && len(c.buf) == whole:
			return Answer{Status: head.status, Body: c.buf[head.start:]}, nil
		case whole > 0 && len(c.buf) > whole:
			return Answer{}, errTooMuch
		case len(c.buf) > maxAnswer:
			return Answer{}, errTooLarge
		}
	}
}

// frame is what the head of an answer says of its body.
type frame struct {
	status int
	start  int // offset of the body
	length int // of the body
}

var (
	headEnd    = []byte("\r\n\r\n")
	lengthName = []byte("\r\ncontent-length:")
)

// parseHead reads the head at the start of b. ok is false while it is not
// complete.
func parseHead(b []byte) (f frame, ok bool, err error) {
	const line = "HTTP/1.1 200" // the shortest first line that there is
	if len(b) < len(line) {
		return f, false, nil
	}
	if string(b[:9]) != line[:9] {
		return f, false, errNoAnswer
	}
	if f.status, ok = number(b[9:12]); !ok {
		return f, false, errNoAnswer
	}
	end := bytes.Index(b, headEnd)
	if end < 0 {
		return f, false, nil
	}
	f.start = end + len(headEnd)
	// The last two bytes of headEnd are not searched, the first two end the value.
	value, found := header(b[:end+2], lengthName)
	if !found {
		return f, false, errNoLength
	}
	if f.length, ok = number(value); !ok || f.length > maxAnswer {
		return f, false, errNoLength
	}
	return f, true, nil
}

// header finds the value of a field in a head whose lines all end in CR LF. name
// is in lower case, between the line break before it and its colon.
func header(head, name []byte) ([]byte, bool) {
	for i := 0; ; {
		next := bytes.Index(head[i:], name[:2])
		if next < 0 || len(head)-(i+next) < len(name) {
			return nil, false
		}
		i += next
		if equalFold(head[i:i+len(name)], name) {
			value := head[i+len(name):]
			value = value[:bytes.Index(value, name[:2])]
			return bytes.TrimSpace(value), true
		}
		i += 2
	}
}

// equalFold compares b with a lower-case text of the same length, in ASCII.
func equalFold(b, lower []byte) bool {
	for i, c := range lower {
		got := b[i]
		if 'A' <= got && got <= 'Z' {
			got += 'a' - 'A'
		}
		if got != c {
			return false
		}
	}
	return true
}

// number reads a decimal number of at most seven digits.
func number(b []byte) (int, bool) {
	if len(b) == 0 || len(b) > 7 {
		return 0, false
	}
	n := 0
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = 10*n + int(c-'0')
	}
	return n, true
}
