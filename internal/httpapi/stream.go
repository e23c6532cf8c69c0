package httpapi

import (
	"errors"
	"net/http"
	"os"
	"time"

	"github.com/octostore/octostore/api"
	"github.com/octostore/octostore/internal/events"
	"github.com/octostore/octostore/internal/telemetry"
	"github.com/octostore/octostore/ratelimit"
)

// Bounds of a stream's writing.
const (
	// drainTimeout is how long a client may take to make room for what is written.
	drainTimeout = 10 * time.Second
	// batchBytes is how much is collected before it is written, where a reader has
	// much to catch up with.
	batchBytes = 32 << 10
)

// The frames that are the same for every stream.
const (
	frameHeartbeat = ": keepalive\n\n"
	frameGap       = "event: " + api.EventGap + "\nretry:1000\ndata: {}\n\n"
	frameReconnect = "event: " + api.EventReconnect + "\nretry:1000\ndata: {}\n\n"
)

// ending is why a stream ended, as metrics tell it.
type ending string

const (
	endedByClient   ending = "client"
	endedByAge      ending = "age"
	endedByShutdown ending = "shutdown"
	endedBySlowness ending = "slow"
	endedByFailure  ending = "failure"
)

// streams is what event streams share.
type streams struct {
	hub       *events.Hub
	slots     *ratelimit.Slots
	metrics   *telemetry.Metrics
	lifetime  time.Duration
	heartbeat time.Duration
}

// setStreamHeaders announces a stream. Nothing on the way may collect, keep or
// compress it.
func setStreamHeaders(h http.Header) {
	h["Content-Type"] = contentEvents
	h["Cache-Control"] = noCache
	h["X-Accel-Buffering"] = noBuffering
}

// stream writes the frames of s until one side ends it. first is its first frame,
// if some tells that there is one.
func (a *API) stream(
	x *exchange, kind string, s *events.Stream, encode func(events.Frame) []byte, first events.Frame, some bool,
) {
	w := streamWriter{x: x, control: http.NewResponseController(x.w), encode: encode}
	x.long = true
	setStreamHeaders(x.w.Header())
	x.WriteHeader(http.StatusOK)

	a.streams.metrics.StreamOpened(kind)
	why := endedByClient
	defer func() { a.streams.metrics.StreamClosed(kind, string(why)) }()
	if some {
		w.add(first)
	}
	why = a.streams.run(&w, s, a.closing)
	x.complete = true
}

// run is the life of a stream after its headers.
func (t *streams) run(w *streamWriter, s *events.Stream, closing <-chan struct{}) ending {
	heartbeat := time.NewTicker(t.heartbeat)
	defer heartbeat.Stop()
	age := time.NewTimer(t.lifetime)
	defer age.Stop()
	ctx := w.x.ctx
	over := w.drain(s)
	for {
		if why := w.flush(over); why != "" {
			return why
		}
		select {
		case <-ctx.Done():
			return endedByClient
		case <-closing:
			over = endedByShutdown
		case <-age.C:
			over = endedByAge
		case <-heartbeat.C:
			w.addText(frameHeartbeat)
		case <-s.Ready():
			over = w.drain(s)
		}
	}
}

// streamWriter collects frames and writes them to the connection.
type streamWriter struct {
	x       *exchange
	control *http.ResponseController
	encode  func(events.Frame) []byte
	begun   bool
}

func (w *streamWriter) addText(text string) { w.x.out = append(w.x.out, text...) }

func (w *streamWriter) add(f events.Frame) {
	if f.Gap {
		w.addText(frameGap)
		return
	}
	w.x.out = append(w.x.out, f.Encode(w.encode)...)
}

// drain collects what s has, up to a batch. It returns why the stream is over, ""
// if it is not.
func (w *streamWriter) drain(s *events.Stream) ending {
	for len(w.x.out) < batchBytes {
		f, ok, err := s.TryNext(w.x.ctx)
		switch {
		case err != nil && w.x.ctx.Err() != nil:
			return endedByClient
		case errors.Is(err, events.ErrClosed):
			return endedByShutdown
		case err != nil:
			// The present state can not be read. Whoever comes back is told so by a
			// status, which a stream that has begun does not have any more.
			return endedByFailure
		case !ok:
			return ""
		}
		w.add(f)
	}
	return ""
}

// flush writes what was collected, and behind it the closing frame if the stream
// is over. The first call also sends the headers. It returns why the stream is
// over, "" if it is not.
func (w *streamWriter) flush(over ending) ending {
	switch over {
	case endedByClient:
		return over
	case "":
		if w.begun && len(w.x.out) == 0 {
			return ""
		}
	default:
		w.addText(frameReconnect)
	}
	w.begun = true
	if err := w.write(); errors.Is(err, os.ErrDeadlineExceeded) {
		return endedBySlowness
	} else if err != nil {
		return endedByClient
	}
	return over
}

// write hands everything to the connection, and waits for at most drainTimeout
// until there is room for it.
func (w *streamWriter) write() error {
	if err := w.control.SetWriteDeadline(time.Now().Add(drainTimeout)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err //nolint:wrapcheck // only compared
	}
	_, err := w.x.Write(w.x.out)
	w.x.out = w.x.out[:0]
	if err != nil {
		return err
	}
	return w.control.Flush() //nolint:wrapcheck // only compared
}
