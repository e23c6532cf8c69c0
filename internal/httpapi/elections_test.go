package httpapi_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/octostore/octostore/api"
)

func TestElection(t *testing.T) {
	t.Parallel()
	s := start(t)

	t.Run("IsWonRenewedAndResigned", func(t *testing.T) {
		t.Parallel()
		room := s.room()
		won := s.post(room+"/campaign", `{"candidate_id":"worker-a","ttl_seconds":30,"metadata":"host=\"eu\"\n\u00e9"}`)
		won.want(t, http.StatusOK, "")
		token := won.text(t, "leader_token")
		leader, _ := won.field(t, "leader").(map[string]any)
		if won.text(t, "status") != "leader" || len(token) != 43 || leader["metadata"] != "host=\"eu\"\né" {
			t.Fatalf("campaign: %s", won.body)
		}
		if won.number(t, "renew_after_ms") != 15_000 || won.number(t, "waited_ms") != 0 {
			t.Fatalf("guidance: %s", won.body)
		}
		renewed := s.post(room+"/renew", `{"leader_token":"`+token+`","ttl_seconds":60}`)
		renewed.want(t, http.StatusOK, "")
		if renewed.text(t, "leader_token") != token || renewed.number(t, "renew_after_ms") != 30_000 {
			t.Fatalf("renew: %s", renewed.body)
		}
		if renewed.field(t, "waited_ms") != nil {
			t.Fatal("a renewal waits for nobody")
		}
		kept := s.post(room+"/renew", `{"leader_token":"`+token+`"}`)
		if kept.number(t, "renew_after_ms") != 30_000 {
			t.Fatalf("a renewal without ttl_seconds keeps the lease's own: %s", kept.body)
		}
		term := leader["term"]
		resigned := s.post(room+"/resign", `{"leader_token":"`+token+`","ttl_seconds":30}`)
		resigned.want(t, http.StatusOK, "")
		if resigned.field(t, "previous_term") != term {
			t.Fatalf("resign: %s", resigned.body)
		}
		again := s.post(room+"/resign", `{"leader_token":"`+token+`"}`)
		if string(again.body) != string(resigned.body) {
			t.Fatalf("a repeated resignation differs: %s", again.body)
		}
		s.post(room+"/renew", `{"leader_token":"`+token+`"}`).want(t, http.StatusNotFound, api.CodeLeaseNotCurrent)

		next := s.post(room+"/campaign", `{"candidate_id":"worker-b"}`)
		after, _ := next.field(t, "leader").(map[string]any)
		if after["term"].(float64) <= term.(float64) {
			t.Fatalf("the term did not rise: %v then %v", term, after["term"])
		}
		if _, has := after["metadata"]; has {
			t.Fatal("metadata of a candidate that gave none")
		}
		// The old token touches nobody while another leads.
		s.post(room+"/renew", `{"leader_token":"`+token+`"}`).want(t, http.StatusNotFound, api.CodeLeaseNotCurrent)
		s.post(room+"/resign", `{"leader_token":"`+token+`"}`).want(t, http.StatusOK, "") // the last lease that ended
		if got := s.get(room).text(t, "status"); got != "leader" {
			t.Fatalf("status %q", got)
		}
	})

	t.Run("TellsFollowersWhoLeadsAndWhenToComeBack", func(t *testing.T) {
		t.Parallel()
		room := s.room()
		s.lead(room, "worker-a")
		follower := s.post(room+"/campaign", `{"candidate_id":"worker-b"}`)
		follower.want(t, http.StatusOK, "")
		ms := follower.number(t, "retry_after_ms")
		if follower.text(t, "status") != "follower" || ms < 29_000 || ms > 30_050 {
			t.Fatalf("campaign: %s", follower.body)
		}
		if got, want := follower.header.Get("Retry-After"), fmt.Sprint(api.RetryAfterSeconds(int64(ms))); got != want {
			t.Fatalf("Retry-After %q, want %q", got, want)
		}
		if follower.header.Get("Cache-Control") == "no-store" || strings.Contains(string(follower.body), "token") {
			t.Fatal("a follower was told something that it must not")
		}
	})

	t.Run("StatusIsVacantLedAndVacantAgain", func(t *testing.T) {
		t.Parallel()
		room := s.room()
		vacant := s.get(room)
		if string(vacant.body) != fmt.Sprintf(`{"election_id":%q,"status":"vacant","retry_after_ms":0,"revision":0,"waiters":0}`,
			strings.TrimPrefix(room, "/elections/")) {
			t.Fatalf("unused: %s", vacant.body)
		}
		token := s.lead(room, "worker-a")
		led := s.get(room)
		if led.text(t, "status") != "leader" || led.number(t, "revision") == 0 {
			t.Fatalf("led: %s", led.body)
		}
		s.post(room+"/renew", `{"leader_token":"`+token+`"}`)
		if got := s.get(room).number(t, "revision"); got != led.number(t, "revision")+1 {
			t.Fatal("a renewal is a transition")
		}
		s.post(room+"/resign", `{"leader_token":"`+token+`"}`)
		if got := s.get(room); got.text(t, "status") != "vacant" || got.number(t, "revision") != led.number(t, "revision")+2 {
			t.Fatalf("resigned: %s", got.body)
		}
	})

	t.Run("EscapedRoomIsTheSameRoom", func(t *testing.T) {
		t.Parallel()
		s.lead("/elections/escaped-room", "worker-a")
		r := s.do(call{method: http.MethodGet, path: "/elections/%65scaped%2Droom"})
		if r.text(t, "status") != "leader" || r.text(t, "election_id") != "escaped-room" {
			t.Fatalf("%s", r.body)
		}
	})

	t.Run("HeadWorksWhereverGetDoes", func(t *testing.T) {
		t.Parallel()
		room := s.room()
		r := s.do(call{method: http.MethodHead, path: room, valid: true})
		r.want(t, http.StatusOK, "")
		if r.header.Get("Content-Type") != "application/json" || r.header.Get("Content-Length") == "0" {
			t.Fatalf("headers: %v", r.header)
		}
		watch := s.do(call{method: http.MethodHead, path: room + "/watch", valid: true})
		watch.want(t, http.StatusOK, "")
		if watch.header.Get("Content-Type") != "text/event-stream" {
			t.Fatalf("headers: %v", watch.header)
		}
	})
}

// A candidate id is a label. Whoever has the same one has nothing.
func TestCandidateIDProvesNothing(t *testing.T) {
	t.Parallel()
	s := start(t)
	room := s.room()
	body := `{"candidate_id":"host-1","metadata":"same"}`
	token := s.post(room+"/campaign", body, "Authorization", "Bearer "+staticToken).text(t, "leader_token")
	second := s.post(room+"/campaign", body, "Authorization", "Bearer "+staticToken)
	if second.text(t, "status") != "follower" || second.field(t, "leader_token") != nil {
		t.Fatalf("the second one reads %s", second.body)
	}
	wrong := strings.Repeat("A", 43)
	for name, body := range map[string]string{
		"without a token":    `{"candidate_id":"host-1"}`,
		"with the name":      `{"leader_token":"host-1"}`,
		"with another token": `{"leader_token":"` + wrong + `"}`,
	} {
		want, code := http.StatusNotFound, api.CodeLeaseNotCurrent
		switch name {
		case "without a token":
			want, code = http.StatusUnprocessableEntity, api.CodeInvalidInput
		case "with the name":
			want, code = http.StatusBadRequest, api.CodeInvalidInput
		}
		for _, verb := range []string{"/renew", "/resign"} {
			s.do(call{method: http.MethodPost, path: room + verb, body: body}).want(t, want, code)
		}
	}
	s.post(room+"/renew", `{"leader_token":"`+token+`"}`).want(t, http.StatusOK, "")
}

func TestExpiry(t *testing.T) {
	t.Parallel()
	s := start(t)
	room := s.room()
	won := s.post(room+"/campaign", `{"candidate_id":"worker-a","ttl_seconds":5}`)
	token := won.text(t, "leader_token")
	s.clock.advance(5*time.Second + 49*time.Millisecond - time.Second)
	if got := s.get(room).text(t, "status"); got != "leader" {
		t.Fatalf("before the deadline: %q", got)
	}
	s.clock.advance(time.Second + 2*time.Millisecond)
	if got := s.get(room); got.text(t, "status") != "vacant" || got.number(t, "retry_after_ms") != 0 {
		t.Fatalf("after the deadline: %s", got.body)
	}
	s.post(room+"/renew", `{"leader_token":"`+token+`"}`).want(t, http.StatusNotFound, api.CodeLeaseNotCurrent)
	s.post(room+"/resign", `{"leader_token":"`+token+`"}`).want(t, http.StatusNotFound, api.CodeLeaseNotCurrent)
	s.lead(room, "worker-b")
}

func TestPublicElectionsOff(t *testing.T) {
	t.Parallel()
	s := start(t, func(c *setup) { c.PublicElections = false; c.requests = 1 })
	for _, c := range []call{
		{method: http.MethodPost, path: "/elections"},
		{method: http.MethodPost, path: "/elections"}, // no budget is spent
		{method: http.MethodPost, path: "/elections/some-room/campaign", body: "not JSON"},
		{method: http.MethodPost, path: "/elections/some-room/renew", body: "{}"},
		{method: http.MethodPost, path: "/elections/some-room/resign", body: "{}"},
		{method: http.MethodGet, path: "/elections/some-room"},
		{method: http.MethodGet, path: "/elections/some-room/watch"},
		{method: http.MethodGet, path: "/elections/x"},
	} {
		s.do(c).want(t, http.StatusForbidden, api.CodeForbidden)
	}
	s.get("/health").want(t, http.StatusOK, "")
}

func TestRoomCapacity(t *testing.T) {
	t.Parallel()
	s := start(t, func(c *setup) { c.maxRooms = 1 })
	room := s.room()
	token := s.lead(room, "worker-a")
	other := s.room()
	full := s.post(other+"/campaign", `{"candidate_id":"worker-b"}`)
	full.want(t, http.StatusConflict, api.CodeCapacityExceeded)
	if full.header.Get("Retry-After") != "30" || full.number(t, "retry_after_ms") != 30_000 {
		t.Fatalf("hint: %v %s", full.header, full.body)
	}
	// A wait does not help, and an occupied room is never refused for capacity.
	s.post(other+"/campaign", `{"candidate_id":"worker-b","wait_ms":60000}`).want(t, http.StatusConflict, api.CodeCapacityExceeded)
	if got := s.post(room+"/campaign", `{"candidate_id":"worker-c"}`).text(t, "status"); got != "follower" {
		t.Fatalf("occupied room: %q", got)
	}
	s.post(room+"/resign", `{"leader_token":"`+token+`"}`).want(t, http.StatusOK, "")
	s.lead(other, "worker-b")
}
