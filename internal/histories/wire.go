package histories

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"time"
)

// The client of net/http is not used: it repeats a request by itself if its
// connection breaks and the request has an Idempotency-Key, and a history in which
// one call may be two proves nothing.

// callPatience is how long a call may take beyond its wait. Nothing in the program
// may hang for so long: a call that does is an accident.
const callPatience = 30 * time.Second

// fate is what became of an exchange.
type fate uint8

const (
	answered fate = iota + 1
	lost          // the connection broke
	hungUp        // the client's own patience ended
)

// request is one HTTP request.
type request struct {
	method, path string
	key          string // Idempotency-Key, "" for none
	body         []byte
	patience     time.Duration // after which the client hangs up
}

// reply is what came of a request.
type reply struct {
	fate                   fate
	sent, received         Instant // received: also when the loss was noticed
	sentWall, receivedWall int64
	status                 int
	body                   []byte
}

// wire is one connection, used by one goroutine.
type wire struct {
	raw    net.Conn
	reader *bufio.Reader
	out    []byte
}

func dial(ctx context.Context, address string) (*wire, error) {
	raw, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("histories: %w", err)
	}
	return &wire{raw: raw, reader: bufio.NewReader(raw)}, nil
}

func (w *wire) close() { _ = w.raw.Close() }

// exchange sends a request and reads its answer. After anything but answered the
// connection is of no use.
func (w *wire) exchange(q request) reply {
	w.out = append(w.out[:0], q.method+" "+q.path+" HTTP/1.1\r\nHost: histories\r\n"...)
	if q.key != "" {
		w.out = append(w.out, "Idempotency-Key: "+q.key+"\r\n"...)
	}
	if q.body != nil {
		w.out = append(w.out, "Content-Type: application/json\r\nContent-Length: "...)
		w.out = strconv.AppendInt(w.out, int64(len(q.body)), 10)
		w.out = append(w.out, "\r\n"...)
	}
	w.out = append(append(w.out, "\r\n"...), q.body...)

	var r reply
	_ = w.raw.SetDeadline(time.Now().Add(q.patience))
	r.sentWall, r.sent = time.Now().UnixMilli(), Now()
	_, err := w.raw.Write(w.out)
	if err == nil {
		r.status, r.body, err = w.read(q.method)
	}
	r.received, r.receivedWall = Now(), time.Now().UnixMilli()
	switch {
	case err == nil:
		r.fate = answered
	case errors.Is(err, os.ErrDeadlineExceeded):
		r.fate = hungUp
	default:
		r.fate = lost
	}
	return r
}

func (w *wire) read(method string) (int, []byte, error) {
	resp, err := http.ReadResponse(w.reader, &http.Request{Method: method})
	if err != nil {
		return 0, nil, err
	}
	body, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	return resp.StatusCode, body, err
}
