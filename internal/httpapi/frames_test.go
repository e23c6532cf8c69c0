package httpapi_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/octostore/octostore/api"
)

// frame is one frame of a stream, or a comment.
type frame struct {
	event, id, retry, data string
	comment                string
	received               time.Time
}

func (f frame) state(t testing.TB) api.ElectionState {
	t.Helper()
	if f.event != api.EventState {
		t.Fatalf("frame %+v, want a state", f)
	}
	checker().CheckSchema(t, "ElectionState", []byte(f.data))
	var st api.ElectionState
	if err := json.Unmarshal([]byte(f.data), &st); err != nil {
		t.Fatal(err)
	}
	return st
}

// watch is an open stream.
type watch struct {
	t      *testing.T
	header http.Header
	frames chan frame // closed at the end of the stream
	err    error      // why it ended, nil for a clean end
	close  func()
}

// next returns the next frame that is no heartbeat.
func (w *watch) next() frame {
	w.t.Helper()
	for f := range w.timely() {
		if f.comment == "" {
			return f
		}
	}
	w.t.Fatalf("the stream ended: %v", w.err)
	return frame{}
}

func (w *watch) timely() <-chan frame {
	out := make(chan frame, 1)
	select {
	case f, ok := <-w.frames:
		if ok {
			out <- f
		}
	case <-time.After(20 * time.Second):
		w.t.Error("no frame in 20 s")
	}
	close(out)
	return out
}

// ended waits for the end of the stream and tells whether it was a clean one.
func (w *watch) ended() bool {
	w.t.Helper()
	for {
		select {
		case _, ok := <-w.frames:
			if !ok {
				return w.err == nil
			}
		case <-time.After(20 * time.Second):
			w.t.Fatal("the stream goes on")
		}
	}
}

func (s *server) watch(room string, header ...string) *watch {
	s.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+room+"/watch", nil)
	must(s.t, err)
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Add(header[i], header[i+1])
	}
	client := &http.Client{Transport: s.client.Transport} // without a timeout for the whole answer
	resp, err := client.Do(req)
	must(s.t, err)
	w := &watch{t: s.t, header: resp.Header, frames: make(chan frame, 1024), close: cancel}
	if resp.StatusCode != http.StatusOK {
		body, _ := io.ReadAll(resp.Body)
		cancel()
		s.t.Fatalf("watch: %d %s", resp.StatusCode, body)
	}
	checker().Check(s.t, req, nil, resp, nil)
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer close(w.frames)
		defer func() { _ = resp.Body.Close() }()
		w.err = readFrames(resp.Body, w.frames)
	}()
	s.t.Cleanup(func() { cancel(); <-done })
	return w
}

func readFrames(body io.Reader, frames chan<- frame) error {
	lines := bufio.NewScanner(body)
	var f frame
	for lines.Scan() {
		line := lines.Text()
		switch key, value, _ := strings.Cut(line, ":"); {
		case line == "":
			if f != (frame{}) {
				f.received = time.Now()
				frames <- f
			}
			f = frame{}
		case key == "":
			f.comment = strings.TrimSpace(value)
		case key == "event":
			f.event = strings.TrimPrefix(value, " ")
		case key == "id":
			f.id = strings.TrimPrefix(value, " ")
		case key == "retry":
			f.retry = value
		case key == "data":
			f.data += strings.TrimPrefix(value, " ")
		}
	}
	return lines.Err()
}
