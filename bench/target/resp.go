package target

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"
)

// respConn is one connection to Redis in its own protocol, for requests whose
// bytes were made before, one answer at a time. It is as lean as rawhttp, for
// the same reason.
type respConn struct {
	conn net.Conn
	buf  []byte
}

var (
	errRESP      = errors.New("redis: an answer of unexpected form")
	errRESPError = errors.New("redis: refused")
)

func dialRESP(ctx context.Context, addr string, deadline time.Time) (*respConn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("redis: %w", err)
	}
	if err := conn.SetDeadline(deadline); err != nil {
		return nil, errors.Join(fmt.Errorf("redis: %w", err), conn.Close())
	}
	return &respConn{conn: conn, buf: make([]byte, 0, 512)}, nil
}

// Close closes the connection.
func (c *respConn) Close() error { return c.conn.Close() }

// respCommand makes the bytes of a command.
func respCommand(args ...string) []byte {
	b := fmt.Appendf(nil, "*%d\r\n", len(args))
	for _, a := range args {
		b = fmt.Appendf(b, "$%d\r\n%s\r\n", len(a), a)
	}
	return b
}

// do sends a command and returns its answer: the text of a simple or a bulk
// string, the digits of an integer, nil for null. It is valid until the next call.
// An error answer is errRESPError.
func (c *respConn) do(command []byte) ([]byte, error) {
	if _, err := c.conn.Write(command); err != nil {
		return nil, fmt.Errorf("redis: send: %w", err)
	}
	c.buf = c.buf[:0]
	for {
		if len(c.buf) == cap(c.buf) {
			c.buf = append(c.buf, 0)[:len(c.buf)]
		}
		n, err := c.conn.Read(c.buf[len(c.buf):cap(c.buf)])
		c.buf = c.buf[:len(c.buf)+n]
		if err != nil {
			return nil, fmt.Errorf("redis: read an answer: %w", err)
		}
		if value, whole, err := parseRESP(c.buf); whole || err != nil {
			return value, err
		}
	}
}

// parseRESP reads the one answer that b holds; whole is false while it is not
// complete.
func parseRESP(b []byte) (value []byte, whole bool, err error) {
	end := bytes.Index(b, []byte("\r\n"))
	if end < 0 {
		return nil, false, nil
	}
	if end == 0 {
		return nil, false, errRESP
	}
	line, rest := b[1:end], b[end+2:]
	switch b[0] {
	case '-':
		return nil, false, fmt.Errorf("%w: %s", errRESPError, line)
	case '+', ':':
		if len(rest) > 0 {
			return nil, false, errRESP
		}
		return line, true, nil
	case '$':
		length, err := strconv.Atoi(string(line))
		switch {
		case err != nil || length < -1 || (length == -1 && len(rest) > 0) || len(rest) > length+2 && length >= 0:
			return nil, false, errRESP
		case length == -1:
			return nil, true, nil
		case len(rest) < length+2:
			return nil, false, nil
		}
		return rest[:length], true, nil
	default:
		return nil, false, fmt.Errorf("%w: %.100q", errRESP, b)
	}
}
