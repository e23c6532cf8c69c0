package target

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/gin-gonic/gin"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	gin.SetMode(gin.TestMode)
	goleak.VerifyTestMain(m)
}

// rooms is a small server of elections that knows what it is told.
type rooms struct {
	mu     sync.Mutex
	tokens map[string]string // by room
	n      int
	seen   []string // requests, as method, path and body
	broken string   // sent instead of every answer, if it is not empty
	status int      // of the broken answer
}

func (s *rooms) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	raw, _ := io.ReadAll(r.Body)
	s.seen = append(s.seen, fmt.Sprintf("%s %s %s", r.Method, r.URL.Path, raw))
	if s.broken != "" {
		w.WriteHeader(s.status)
		_, _ = io.WriteString(w, s.broken)
		return
	}
	var body struct {
		Token string `json:"leader_token"`
	}
	_ = json.Unmarshal(raw, &body)
	room, verb, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/elections/"), "/")
	held := s.tokens[room]
	switch {
	case verb == "campaign" && held == "":
		s.n++
		s.tokens[room] = fmt.Sprintf("%043d", s.n)
		fmt.Fprintf(w, `{"status":"leader","leader_token":%q}`, s.tokens[room])
	case verb == "renew" && body.Token == held:
		fmt.Fprintf(w, `{"status":"leader","leader_token":%q}`, held)
	case verb == "resign" && body.Token == held:
		delete(s.tokens, room)
		_, _ = io.WriteString(w, `{"status":"vacant"}`)
	case verb == "" && held != "":
		_, _ = io.WriteString(w, `{"status":"leader"}`)
	default:
		_, _ = io.WriteString(w, `{"status":"follower"}`)
	}
}

// openRooms starts one, and a client at a seat of it.
func openRooms(t *testing.T, s *rooms, seat Seat) Client {
	t.Helper()
	s.tokens = make(map[string]string)
	web := httptest.NewServer(s)
	t.Cleanup(web.Close)
	c, err := (&httpServer{addr: strings.TrimPrefix(web.URL, "http://")}).Join(t.Context(), seat)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func TestHTTPClient(t *testing.T) {
	t.Parallel()

	t.Run("LeadsAndResignsItsOwnRooms", func(t *testing.T) {
		t.Parallel()
		s := new(rooms)
		c := openRooms(t, s, Seat{Workload: Cycle, Index: 2})
		for range NamesPerClient + 1 {
			if err := c.Cycle(nil); err != nil {
				t.Fatal(err)
			}
		}
		if s.n != NamesPerClient+1 || len(s.tokens) != 0 {
			t.Errorf("%d grants, still led: %v", s.n, s.tokens)
		}
		want := `POST /elections/bench-0000000032/campaign {"candidate_id":"client-00002","ttl_seconds":300}`
		if s.seen[0] != want || s.seen[2*NamesPerClient] != want {
			t.Errorf("the first request is %q, the one after all rooms %q; want %q", s.seen[0], s.seen[2*NamesPerClient], want)
		}
		if s.seen[2] == want {
			t.Error("the second cycle is on the same room")
		}
	})

	t.Run("WaitsForContendedRoom", func(t *testing.T) {
		t.Parallel()
		s := new(rooms)
		c := openRooms(t, s, Seat{Workload: Contended, Index: 5})
		if err := c.Cycle(nil); err != nil {
			t.Fatal(err)
		}
		want := `POST /elections/bench-0000000000/campaign {"candidate_id":"client-00005","ttl_seconds":300,"wait_ms":60000}`
		if s.seen[0] != want {
			t.Errorf("it sent %q, want %q", s.seen[0], want)
		}
	})

	t.Run("RenewsWhatItHolds", func(t *testing.T) {
		t.Parallel()
		s := new(rooms)
		c := openRooms(t, s, Seat{Workload: Renew, Index: 7})
		if err := c.Cycle(nil); err != nil {
			t.Fatal(err)
		}
		want := `POST /elections/bench-0000000007/renew {"leader_token":"` + s.tokens["bench-0000000007"] + `","ttl_seconds":300}`
		if len(s.seen) != 2 || s.seen[1] != want {
			t.Errorf("it sent %q, want %q last", s.seen, want)
		}
	})

	t.Run("MixesRequests", func(t *testing.T) {
		t.Parallel()
		for index := range len(mix) { // each begins at another place of the mix
			s := new(rooms)
			c := openRooms(t, s, Seat{Workload: Mixed, Index: index})
			s.seen = nil
			const turns = 4
			for range turns * len(mix) {
				if err := c.Cycle(nil); err != nil {
					t.Fatalf("client %d: %v", index, err)
				}
			}
			count := make(map[string]int)
			for _, request := range s.seen {
				for _, verb := range []string{"campaign", "renew", "resign"} {
					if strings.Contains(request, verb) {
						count[verb]++
					}
				}
			}
			if n := count["campaign"]; n != turns {
				t.Errorf("client %d: %d campaigns, want %d", index, n, turns)
			}
			// One that begins between the two renews instead of resigning once.
			if n := count["resign"]; n != turns && n != turns-1 {
				t.Errorf("client %d: %d resignations, want %d", index, n, turns)
			}
			if n := count["renew"] + count["resign"]; n != 17*turns {
				t.Errorf("client %d: %d renewals and resignations, want %d", index, n, 17*turns)
			}
			if len(s.seen) != turns*len(mix) {
				t.Errorf("client %d: %d requests, want %d", index, len(s.seen), turns*len(mix))
			}
		}
	})

	for name, c := range map[string]struct {
		status int
		text   string
	}{
		"RefusesFollower":  {200, `{"status":"follower","leader_token":"0000000000000000000000000000000000000000000"}`},
		"RefusesError":     {503, `{"status":"leader","leader_token":"0000000000000000000000000000000000000000000"}`},
		"RefusesNoToken":   {200, `{"status":"leader"}`},
		"RefusesOddToken":  {200, `{"status":"leader","leader_token":"short"}`},
		"RefusesOtherText": {200, `leader`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := openRooms(t, &rooms{broken: c.text, status: c.status}, Seat{Workload: Cycle})
			if err := client.Cycle(nil); err == nil {
				t.Error("the answer was taken for a grant")
			}
		})
	}

	t.Run("DoesNotJoinWhereItIsRefused", func(t *testing.T) {
		t.Parallel()
		web := httptest.NewServer(&rooms{broken: `{"status":"follower"}`, status: 200})
		t.Cleanup(web.Close)
		server := &httpServer{addr: strings.TrimPrefix(web.URL, "http://")}
		if c, err := server.Join(t.Context(), Seat{Workload: Renew}); err == nil {
			c.Close()
			t.Error("joined without a lease")
		}
	})
}

func TestMix(t *testing.T) {
	t.Parallel()
	var n [4]int
	for _, r := range mix {
		n[r]++
	}
	if want := [4]int{renewal: 16, query: 2, campaign: 1, resignation: 1}; n != want {
		t.Errorf("the mix is %v, want %v", n, want)
	}
}

func TestDigits(t *testing.T) {
	t.Parallel()
	for want, n := range map[string]int{"0000": 0, "0042": 42, "9999": 9999, "2345": 12345} {
		b := []byte("####")
		if digits(b, n); string(b) != want {
			t.Errorf("%d is written %q, want %q", n, b, want)
		}
	}
}
