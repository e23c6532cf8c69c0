package httpapi_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/octostore/octostore/api"
)

// numbers are what clients have sent for a duration. Only whole numbers that fit in
// 32 bits are numbers here; the rest never gets as far as a range.
var numbers = map[string]struct {
	literal string
	number  float64 // −1 where decoding refuses it
}{
	"Zero":           {"0", 0},
	"Negative":       {"-1", -1},
	"NegativeZero":   {"-0", -1},
	"Fraction":       {"0.5", -1},
	"WholeFraction":  {"30.0", -1},
	"Exponent":       {"3e1", -1},
	"TwoTo31":        {"2147483648", 2147483648},
	"TwoTo32":        {"4294967296", -1},
	"TwoTo53":        {"9007199254740992", -1},
	"TwoTo63Minus1":  {"9223372036854775807", -1},
	"BeyondFloat":    {"1e400", -1},
	"Text":           {`"30"`, -1},
	"True":           {"true", -1},
	"Array":          {"[]", -1},
	"Object":         {"{}", -1},
	"BelowTheLeast":  {"4", 4},
	"Least":          {"5", 5},
	"Most":           {"300", 300},
	"AboveTheMost":   {"301", 301},
	"LongestWait":    {"60000", 60000},
	"AboveTheLonges": {"60001", 60001},
}

func TestNumbersAreTakenAsDocumentedOrRefused(t *testing.T) {
	t.Parallel()
	s := start(t)
	for name, n := range numbers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ttlStatus, ttlCode := http.StatusBadRequest, api.CodeInvalidTTL
			waitStatus, waitCode := http.StatusOK, api.Code("")
			switch {
			case n.number < 0:
				ttlStatus, ttlCode = http.StatusUnprocessableEntity, api.CodeInvalidInput
				waitStatus, waitCode = ttlStatus, ttlCode
			case n.number >= 5 && n.number <= 300:
				ttlStatus, ttlCode = http.StatusOK, ""
			}
			if n.number > 60_000 {
				waitStatus, waitCode = http.StatusBadRequest, api.CodeInvalidInput
			}
			room := s.room()
			post := func(path, body string) reply {
				t.Helper()
				return s.do(call{method: http.MethodPost, path: path, body: body})
			}

			r := post(room+"/campaign", `{"candidate_id":"a","ttl_seconds":`+n.literal+`}`)
			r.want(t, ttlStatus, ttlCode)
			if ttlStatus == http.StatusOK && r.number(t, "renew_after_ms") != n.number*500 {
				t.Fatalf("ttl %v gives %s", n.number, r.body)
			}
			if got := s.get(room); ttlStatus != http.StatusOK && got.number(t, "revision") != 0 {
				t.Fatalf("a refused campaign left a trace: %s", got.body)
			}

			other := s.room()
			token := s.lead(other, "a")
			before := s.get(other).number(t, "revision")
			r = post(other+"/renew", `{"leader_token":"`+token+`","ttl_seconds":`+n.literal+`}`)
			r.want(t, ttlStatus, ttlCode)
			if ttlStatus == http.StatusOK && r.number(t, "renew_after_ms") != n.number*500 {
				t.Fatalf("ttl %v gives %s", n.number, r.body)
			}
			if got := s.get(other).number(t, "revision"); ttlStatus != http.StatusOK && got != before {
				t.Fatal("a refused renewal changed the lease")
			}

			third := s.room()
			post(third+"/campaign", `{"candidate_id":"a","wait_ms":`+n.literal+`}`).want(t, waitStatus, waitCode)
		})
	}
	t.Run("NullIsMissing", func(t *testing.T) {
		t.Parallel()
		room := s.room()
		r := s.post(room+"/campaign", `{"candidate_id":"a","ttl_seconds":null,"metadata":null,"wait_ms":null}`)
		if r.number(t, "renew_after_ms") != 15_000 {
			t.Fatalf("the default TTL is 30 s: %s", r.body)
		}
	})
}

func TestBodies(t *testing.T) {
	t.Parallel()
	s := start(t)
	const good = `{"candidate_id":"a"}`
	pad := func(n int) string { return good + strings.Repeat(" ", n-len(good)) }
	for name, tc := range map[string]struct {
		body        string
		contentType string
		status      int
	}{
		"TakesJSON":                {good, "application/json", 200},
		"TakesCharset":             {good, "application/json; charset=utf-8", 200},
		"TakesUpperCase":           {good, "Application/JSON", 200},
		"TakesStructuredSuffix":    {good, "application/vnd.acme+json", 200},
		"TakesUnknownKeys":         {`{"candidate_id":"a","x":{"y":[1,"z"]},"Candidate_ID":7}`, "application/json", 200},
		"TakesEscapedKeys":         {`{"candidate\u005fid":"a"}`, "application/json", 200},
		"TakesTheLargest":          {pad(api.MaxBodyBytes), "application/json", 200},
		"RefusesLarger":            {pad(api.MaxBodyBytes + 1), "application/json", 413},
		"RefusesFormType":          {good, "application/x-www-form-urlencoded", 415},
		"RefusesText":              {good, "text/json", 415},
		"RefusesSuffixAlone":       {good, "application/+json", 415},
		"RefusesOtherSuffix":       {good, "application/json+x", 415},
		"RefusesUnreadableType":    {good, ";;", 415},
		"RefusesEmptyObject":       {`{}`, "application/json", 422},
		"RefusesOtherCaseOfKey":    {`{"Candidate_ID":"a"}`, "application/json", 422},
		"RefusesNullForRequired":   {`{"candidate_id":null}`, "application/json", 422},
		"RefusesNumberForText":     {`{"candidate_id":7}`, "application/json", 422},
		"RefusesObjectForText":     {`{"candidate_id":"a","metadata":{}}`, "application/json", 422},
		"RefusesDuplicates":        {`{"candidate_id":"a","candidate_id":"a"}`, "application/json", 422},
		"RefusesEscapedDuplicates": {`{"candidate_id":"a","candidate\u005fid":"a"}`, "application/json", 422},
		"RefusesUnknownDuplicates": {`{"candidate_id":"a","x":1,"x":1}`, "application/json", 422},
		"RefusesNestedDuplicates":  {`{"candidate_id":"a","x":[{"y":1,"y":1}]}`, "application/json", 422},
		"RefusesArray":             {`["a"]`, "application/json", 422},
		"RefusesNull":              {`null`, "application/json", 422},
		"RefusesSyntax":            {`{"candidate_id":"a"`, "application/json", 400},
		"RefusesSyntaxFirst":       {`{"candidate_id":7,}`, "application/json", 400},
		"RefusesTrailingData":      {good + good, "application/json", 400},
		"RefusesSpacesAlone":       {"   ", "application/json", 400},
		"RefusesByteOrderMark":     {"\ufeff" + good, "application/json", 400},
		"RefusesBadUTF8":           {"{\"candidate_id\":\"a\",\"metadata\":\"\xff\"}", "application/json", 400},
		"RefusesLoneSurrogate":     {`{"candidate_id":"a","metadata":"\ud83d"}`, "application/json", 400},
		"RefusesDeepNesting":       {`{"candidate_id":"a","x":` + strings.Repeat("[", 32) + strings.Repeat("]", 32) + `}`, "application/json", 400},
		"TakesAllowedNesting":      {`{"candidate_id":"a","x":` + strings.Repeat("[", 31) + strings.Repeat("]", 31) + `}`, "application/json", 200},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code := api.CodeInvalidInput
			if tc.status == 200 {
				code = ""
			}
			r := s.do(call{method: http.MethodPost, path: s.room() + "/campaign", body: tc.body, header: []string{"Content-Type", tc.contentType}})
			r.want(t, tc.status, code)
		})
	}
	t.Run("RefusesNoType", func(t *testing.T) {
		t.Parallel()
		r := s.do(call{method: http.MethodPost, path: s.room() + "/campaign", body: good, header: []string{"Content-Type", ""}})
		r.want(t, http.StatusUnsupportedMediaType, api.CodeInvalidInput)
	})
	t.Run("RefusesTwoTypes", func(t *testing.T) {
		t.Parallel()
		r := s.raw("POST " + s.room() + "/campaign HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Type: text/plain\r\nContent-Length: 20\r\n\r\n" + good)
		if r.StatusCode != http.StatusUnsupportedMediaType {
			t.Fatalf("status %d", r.StatusCode)
		}
	})
	t.Run("RefusesCompression", func(t *testing.T) {
		t.Parallel()
		r := s.do(call{method: http.MethodPost, path: s.room() + "/campaign", body: good, header: []string{"Content-Encoding", "gzip"}})
		r.want(t, http.StatusUnsupportedMediaType, api.CodeInvalidInput)
	})
	t.Run("RefusesEmpty", func(t *testing.T) {
		t.Parallel()
		r := s.do(call{method: http.MethodPost, path: s.room() + "/campaign", header: []string{"Content-Type", "application/json"}})
		r.want(t, http.StatusBadRequest, api.CodeInvalidInput)
	})
	t.Run("RefusesABodyThatBreaksOff", func(t *testing.T) {
		t.Parallel()
		r := s.raw("POST " + s.room() + "/campaign HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n")
		if r.StatusCode != http.StatusBadRequest || r.Header.Get("X-Request-Id") == "" {
			t.Fatalf("status %d", r.StatusCode)
		}
	})
	t.Run("CreateIgnoresItsBody", func(t *testing.T) {
		t.Parallel()
		s.do(call{method: http.MethodPost, path: "/elections", body: "not JSON", header: []string{"Content-Type", "text/plain"}}).
			want(t, http.StatusCreated, "")
		s.do(call{method: http.MethodPost, path: "/elections", body: pad(api.MaxBodyBytes + 1)}).
			want(t, http.StatusRequestEntityTooLarge, api.CodeInvalidInput)
	})
}

// raw sends bytes that no client library would send, and reads one answer.
func (s *server) raw(request string) *http.Response {
	s.t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	must(s.t, err)
	defer func() { _ = conn.Close() }()
	must(s.t, conn.SetDeadline(time.Now().Add(10*time.Second)))
	_, err = io.WriteString(conn, request)
	must(s.t, err)
	resp, err := http.ReadResponse(newReader(conn), nil)
	must(s.t, err)
	_, err = io.Copy(io.Discard, resp.Body)
	must(s.t, err)
	return resp
}

// Each request breaks one rule more than the one before, and the answer is that to
// the first rule in the order of the contract.
func TestChecksComeInOrder(t *testing.T) {
	t.Parallel()
	s := start(t, func(c *setup) { c.requests = 100 })
	const (
		badRoom = "/elections/short"
		badKey  = "too-short"
	)
	long := strings.Repeat("x", api.MaxMetadataRunes+1)
	campaign := func(room, candidate, metadata, ttl, wait, key string) reply {
		t.Helper()
		body := fmt.Sprintf(`{"candidate_id":%q,"metadata":%q,"ttl_seconds":%s,"wait_ms":%s}`, candidate, metadata, ttl, wait)
		return s.do(call{method: http.MethodPost, path: room + "/campaign", body: body, header: []string{"Idempotency-Key", key}})
	}
	details := func(r reply, part string) {
		t.Helper()
		if !strings.Contains(r.text(t, "details"), part) {
			t.Fatalf("details %q, want something about %q", r.text(t, "details"), part)
		}
	}
	room := s.room()
	details(campaign(room, "a", "m", "30", "0", badKey), "Idempotency-Key")
	details(campaign(room, "a", "m", "30", "60001", badKey), "wait_ms")
	r := campaign(room, "a", "m", "1", "60001", badKey)
	r.want(t, http.StatusBadRequest, api.CodeInvalidTTL)
	details(campaign(room, "a", long, "1", "60001", badKey), "metadata")
	details(campaign(room, "a b", long, "1", "60001", badKey), "candidate_id")
	details(campaign(badRoom, "a b", long, "1", "60001", badKey), "election_id")
	for range 100 {
		s.do(call{method: http.MethodPost, path: "/elections"})
	}
	campaign(badRoom, "a b", long, "1", "60001", badKey).want(t, http.StatusTooManyRequests, api.CodeRateLimited)
	campaign(badRoom, "a b", long, "1", "-1", badKey).want(t, http.StatusUnprocessableEntity, api.CodeInvalidInput)

	renew := func(room, token, ttl string) reply {
		t.Helper()
		return s.do(call{method: http.MethodPost, path: room + "/renew", body: `{"leader_token":"` + token + `","ttl_seconds":` + ttl + `}`})
	}
	unknown := strings.Repeat("A", 43)
	renew(room, unknown, "30").want(t, http.StatusNotFound, api.CodeLeaseNotCurrent)
	renew(room, unknown, "1").want(t, http.StatusBadRequest, api.CodeInvalidTTL)
	details(renew(room, "no token", "1"), "leader_token")
	details(renew(badRoom, "no token", "1"), "election_id")
	renew(badRoom, "no token", "-1").want(t, http.StatusUnprocessableEntity, api.CodeInvalidInput)
}

func TestFieldsAreTakenToTheirBounds(t *testing.T) {
	t.Parallel()
	s := start(t)
	token := strings.Repeat("A", 42)
	for name, c := range map[string]struct {
		call
		status int
	}{
		"LongestCandidate":  {call{path: "/campaign", body: `{"candidate_id":"` + strings.Repeat("a", 64) + `"}`}, 200},
		"TooLongCandidate":  {call{path: "/campaign", body: `{"candidate_id":"` + strings.Repeat("a", 65) + `"}`}, 400},
		"EmptyCandidate":    {call{path: "/campaign", body: `{"candidate_id":""}`}, 400},
		"AllSigns":          {call{path: "/campaign", body: `{"candidate_id":"aZ09._:@-"}`}, 200},
		"CandidateInUTF8":   {call{path: "/campaign", body: `{"candidate_id":"é"}`}, 400},
		"LongestMetadata":   {call{path: "/campaign", body: `{"candidate_id":"a","metadata":"` + strings.Repeat("😀", 1024) + `"}`}, 200},
		"TooLongMetadata":   {call{path: "/campaign", body: `{"candidate_id":"a","metadata":"` + strings.Repeat("é", 1025) + `"}`}, 400},
		"TokenOfWrongSize":  {call{path: "/renew", body: `{"leader_token":"` + token + `"}`}, 400},
		"TokenNotCanonical": {call{path: "/renew", body: `{"leader_token":"` + token + `B"}`}, 400},
		"EmptyToken":        {call{path: "/resign", body: `{"leader_token":""}`}, 400},
		"ShortestKey":       {call{path: "/campaign", body: `{"candidate_id":"a"}`, header: []string{"Idempotency-Key", strings.Repeat("k", 22)}}, 200},
		"LongestKey":        {call{path: "/campaign", body: `{"candidate_id":"a"}`, header: []string{"Idempotency-Key", strings.Repeat("k", 128)}}, 200},
		"TooShortKey":       {call{path: "/campaign", body: `{"candidate_id":"a"}`, header: []string{"Idempotency-Key", strings.Repeat("k", 21)}}, 400},
		"TooLongKey":        {call{path: "/campaign", body: `{"candidate_id":"a"}`, header: []string{"Idempotency-Key", strings.Repeat("k", 129)}}, 400},
		"KeyWithBadSign":    {call{path: "/campaign", body: `{"candidate_id":"a"}`, header: []string{"Idempotency-Key", strings.Repeat("k", 22) + "/"}}, 400},
		"TwoKeys": {call{path: "/campaign", body: `{"candidate_id":"a"}`, header: []string{
			"Idempotency-Key", strings.Repeat("k", 22), "Idempotency-Key", strings.Repeat("k", 22),
		}}, 400},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.method, c.path = http.MethodPost, s.room()+c.path
			if r := s.do(c.call); r.status != c.status {
				t.Fatalf("status %d, want %d: %s", r.status, c.status, r.body)
			}
		})
	}
	for name, id := range map[string]string{
		"TooShort": "abcdefg", "TooLong": strings.Repeat("a", 65), "BadSign": "abcdefgh.", "Slash": "abcd%2Fefgh", "Space": "abcd%20efgh", "Plus": "abcd+efgh",
	} {
		t.Run("RoomID"+name, func(t *testing.T) {
			t.Parallel()
			s.do(call{method: http.MethodGet, path: "/elections/" + id}).want(t, http.StatusBadRequest, api.CodeInvalidInput)
		})
	}
}
