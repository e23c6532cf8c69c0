package rawhttp

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// scripted serves one connection: it reads a request of the given length, then
// writes the pieces one after another, each in a write of its own.
func scripted(t *testing.T, request int, pieces ...string) *Conn {
	t.Helper()
	client, server := net.Pipe()
	t.Cleanup(func() { client.Close(); server.Close() })
	go func() {
		if _, err := io.ReadFull(server, make([]byte, request)); err != nil {
			return
		}
		for _, p := range pieces {
			if _, err := io.WriteString(server, p); err != nil {
				return
			}
		}
		server.Close()
	}()
	return &Conn{conn: client, buf: make([]byte, 0, 16)}
}

func TestDo(t *testing.T) {
	t.Parallel()
	request := NewRequest("POST", "h", "/x", "{}").Bytes()
	for name, c := range map[string]struct {
		pieces []string
		status int
		body   string
		err    error
	}{
		"ReadsAnswer":              {pieces: []string{"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"}, status: 200, body: "hello"},
		"ReadsEmptyBody":           {pieces: []string{"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"}, status: 404},
		"ReadsAnswerInPieces":      {pieces: []string{"HT", "TP/1.1 20", "1 Created\r\nX: y\r\ncontent-LENGTH:2 \r\n", "\r", "\n", "h", "i"}, status: 201, body: "hi"},
		"GrowsItsBuffer":           {pieces: []string{"HTTP/1.1 200 OK\r\nContent-Length: 9000\r\n\r\n" + strings.Repeat("a", 9000)}, status: 200, body: strings.Repeat("a", 9000)},
		"IsNotFooledByOtherFields": {pieces: []string{"HTTP/1.1 200 OK\r\nX-Content-Length: 1\r\nVary: Content-Length: 3\r\nContent-Length: 2\r\n\r\nhi"}, status: 200, body: "hi"},
		"RefusesChunked":           {pieces: []string{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"}, err: errNoLength},
		"RefusesBadLength":         {pieces: []string{"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n"}, err: errNoLength},
		"RefusesHugeLength":        {pieces: []string{"HTTP/1.1 200 OK\r\nContent-Length: 9999999\r\n\r\n"}, err: errNoLength},
		"RefusesOtherProtocol":     {pieces: []string{"SSH-2.0-OpenSSH_9.2\r\n"}, err: errNoAnswer},
		"RefusesBadStatus":         {pieces: []string{"HTTP/1.1 2x0 OK\r\nContent-Length: 0\r\n\r\n"}, err: errNoAnswer},
		"RefusesSurplusBytes":      {pieces: []string{"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nab"}, err: errTooMuch},
		"TellsCutHead":             {pieces: []string{"HTTP/1.1 200 OK\r\n"}, err: io.EOF},
		"TellsCutBody":             {pieces: []string{"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel"}, err: io.EOF},
		"RefusesEndlessHead":       {pieces: []string{"HTTP/1.1 200 OK\r\nX: " + strings.Repeat("a", 2<<20)}, err: errTooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := scripted(t, len(request), c.pieces...).Do(request)
			if !errors.Is(err, c.err) {
				t.Fatalf("error %v, want %v", err, c.err)
			}
			if got.Status != c.status || string(got.Body) != c.body {
				t.Errorf("status %d, body %.40q; want %d, %.40q", got.Status, got.Body, c.status, c.body)
			}
		})
	}
}

// TestServer talks to net/http's server, which is what the measured ones are
// made of.
func TestServer(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || (r.Method == http.MethodPost) != (r.Header.Get("Content-Type") == "application/json") {
			w.WriteHeader(http.StatusBadRequest)
		}
		_, _ = io.WriteString(w, r.Method+" "+r.URL.Path+" "+string(body)) //nolint:gosec // G705: no browser reads it
	}))
	t.Cleanup(server.Close)
	addr := strings.TrimPrefix(server.URL, "http://")
	conn, err := Dial(t.Context(), addr, time.Now().Add(30*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })

	post := NewRequest("POST", addr, "/rooms/0000/campaign", `{"id":"????"}`)
	room, id := post.Place("0000"), post.Place("????")
	for _, c := range []struct{ room, id string }{{"0001", "a..b"}, {"9999", "1234"}} {
		copy(room, c.room)
		copy(id, c.id)
		got, err := conn.Do(post.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		if want := "POST /rooms/" + c.room + `/campaign {"id":"` + c.id + `"}`; got.Status != 200 || string(got.Body) != want {
			t.Errorf("status %d, body %q; want 200, %q", got.Status, got.Body, want)
		}
	}
	got, err := conn.Do(NewRequest("GET", addr, "/x", "").Bytes())
	if err != nil || got.Status != 200 || string(got.Body) != "GET /x " {
		t.Errorf("status %d, body %q, error %v", got.Status, got.Body, err)
	}
}

func TestDial(t *testing.T) {
	t.Parallel()
	t.Run("TellsThatNobodyListens", func(t *testing.T) {
		t.Parallel()
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		l.Close()
		if _, err := Dial(t.Context(), l.Addr().String(), time.Now().Add(time.Minute)); err == nil {
			t.Error("connected to a closed port")
		}
	})
	t.Run("FailsFromDeadlineOn", func(t *testing.T) {
		t.Parallel()
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		conn, err := Dial(context.Background(), l.Addr().String(), time.Now().Add(-time.Second))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		var late net.Error
		if _, err := conn.Do([]byte("x")); !errors.As(err, &late) || !late.Timeout() {
			t.Errorf("error %v, want a timeout", err)
		}
	})
}

func TestPlace(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{"PanicsWithoutText": "absent", "PanicsWithTextTwice": "twice"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			defer func() {
				if recover() == nil {
					t.Error("did not panic")
				}
			}()
			NewRequest("GET", "h", "/twice/twice", "").Place(text)
		})
	}
}

func TestField(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ body, want string }{
		"FindsFirst":         {`{"status":"leader","leader":{"candidate_id":"c"},"leader_token":"t0"}`, "leader"},
		"FindsLater":         {`{"election_id":"e","status":"vacant","x":1}`, "vacant"},
		"MissesOther":        {`{"statuses":"leader"}`, ""},
		"MissesNumber":       {`{"status":1}`, ""},
		"MissesUnterminated": {`{"status":"lea`, ""},
		"MissesInNothing":    {"", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := StringField("status").In([]byte(c.body)); string(got) != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// TestParsingDoesNotAllocate: the loop of a client must not feed the collector.
func TestParsingDoesNotAllocate(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, `{"status":"leader"}`)
	}))
	defer server.Close()
	addr := strings.TrimPrefix(server.URL, "http://")
	conn, err := Dial(t.Context(), addr, time.Now().Add(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	request := NewRequest("POST", addr, "/", "{}").Bytes()
	status := StringField("status")
	// The server in the same process allocates too, and its share can not be told
	// apart; parsing is what is held to none.
	answer, err := conn.Do(request)
	if err != nil || string(status.In(answer.Body)) != "leader" {
		t.Fatalf("answer %q, error %v", answer.Body, err)
	}
	head := append([]byte(nil), conn.buf...)
	if n := testing.AllocsPerRun(100, func() {
		if f, ok, err := parseHead(head); !ok || err != nil || f.length != 19 {
			t.Errorf("frame %+v, %v, %v", f, ok, err)
		}
		if status.In(head) == nil {
			t.Error("no status")
		}
	}); n != 0 {
		t.Errorf("%v allocations to read an answer", n)
	}
}

// FuzzParseHead: whatever a server sends, the frame is inside of what came.
func FuzzParseHead(f *testing.F) {
	f.Add([]byte("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"))
	f.Add([]byte("HTTP/1.1 200\r\n\r\n"))
	f.Add([]byte("HTTP/1.1 200 OK\r\ncontent-length:\r\n\r\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		frame, ok, err := parseHead(b)
		if ok && err != nil {
			t.Fatalf("a frame and the error %v", err)
		}
		if ok && (frame.start > len(b) || frame.length < 0 || frame.length > maxAnswer || frame.status < 0 || frame.status > 999) {
			t.Fatalf("frame %+v of %d bytes", frame, len(b))
		}
	})
}
