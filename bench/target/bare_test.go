package target

import (
	"bytes"
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/octostore/octostore/api"

	"github.com/octostore/octostore/bench/load"
	"github.com/octostore/octostore/bench/rawhttp"
)

// TestBareAnswers holds the constants against the wire types: the bare handler has
// to send what the server sends, or it is no measure of it.
func TestBareAnswers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text string
		into any
	}{
		"Campaign": {bareWon, new(api.LeaderResponse)},
		"Renew":    {bareRenewed, new(api.LeaderResponse)},
		"Resign":   {bareResigned, new(api.ResignResponse)},
		"Status":   {bareStatus, new(api.ElectionStatus)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := json.NewDecoder(strings.NewReader(c.text))
			d.DisallowUnknownFields()
			if err := d.Decode(c.into); err != nil {
				t.Fatal(err)
			}
			again, err := json.Marshal(c.into)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(members(t, again), members(t, []byte(c.text))); diff != "" {
				t.Errorf("members (-wire type +constant):\n%s", diff)
			}
		})
	}
}

func members(t *testing.T, text []byte) map[string]any {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var m map[string]any
	if err := d.Decode(&m); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return m
}

// TestBareServes runs the workloads of the clients against the handler.
func TestBareServes(t *testing.T) {
	t.Parallel()
	for _, body := range []Body{Decoded, Discarded} {
		web := httptest.NewServer(bareHandler(body))
		t.Cleanup(web.Close)
		server := &httpServer{addr: strings.TrimPrefix(web.URL, "http://")}
		for _, w := range Workloads() {
			t.Run(string(body)+"/"+string(w), func(t *testing.T) {
				t.Parallel()
				clients := make([]load.Client, 3)
				for i := range clients {
					c, err := server.Join(t.Context(), Seat{Workload: w, Index: i})
					if err != nil {
						t.Fatal(err)
					}
					t.Cleanup(func() { c.Close() })
					clients[i] = c
				}
				res, err := load.Run(t.Context(), clients, load.Plan{Measure: 30 * time.Millisecond})
				if err != nil {
					t.Fatal(err)
				}
				if res.Cycles == 0 {
					t.Error("no cycle was made")
				}
			})
		}
	}
}

func TestBareTakesBody(t *testing.T) {
	t.Parallel()
	for body, want := range map[Body]int{Decoded: 400, Discarded: 200} {
		t.Run(string(body), func(t *testing.T) {
			t.Parallel()
			web := httptest.NewServer(bareHandler(body))
			t.Cleanup(web.Close)
			server := &httpServer{addr: strings.TrimPrefix(web.URL, "http://")}
			conn, err := rawhttp.Dial(t.Context(), server.addr, time.Now().Add(time.Minute))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			answer, err := conn.Do(rawhttp.NewRequest("POST", server.addr, "/elections/x/resign", "no JSON").Bytes())
			if err != nil || answer.Status != want {
				t.Errorf("a body that is no JSON is answered %d, error %v; want %d", answer.Status, err, want)
			}
			if err := server.ready("/elections/x")(t.Context()); err != nil {
				t.Error(err)
			}
			if err := server.ready("/nowhere")(t.Context()); err == nil {
				t.Error("a path that is not there is ready")
			}
		})
	}
}
