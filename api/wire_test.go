package api_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/octostore/octostore/api"
)

func instant() api.Time {
	return api.NewTime(time.Date(2026, 1, 1, 0, 0, 30, 123_999_999, time.UTC))
}

func metadata() *string {
	text := "host=eu-1"
	return &text
}

// TestWireForm pins key order, optional keys and number forms byte by byte.
func TestWireForm(t *testing.T) {
	t.Parallel()
	zero, waited := int64(0), int64(1500)
	ttl, wait := uint32(30), uint32(60_000)
	bare := api.Leader{CandidateID: "worker-a", Term: 1_767_225_600_123_456, ExpiresAt: instant()}
	full := bare
	full.Metadata = metadata()
	const bareJSON = `{"candidate_id":"worker-a","term":1767225600123456,"expires_at":"2026-01-01T00:00:30.123Z"}`
	const fullJSON = `{"candidate_id":"worker-a","metadata":"host=eu-1","term":1767225600123456,"expires_at":"2026-01-01T00:00:30.123Z"}`

	for name, tc := range map[string]struct {
		value any
		want  string
	}{
		"Error": {
			api.Error{Label: "Conflict", Code: api.CodeConflict, Details: "d", RequestID: "req_1"},
			`{"error":"Conflict","code":"conflict","details":"d","request_id":"req_1"}`,
		},
		"ErrorWithRetryHint": {
			api.Error{Label: "Rate limited", Code: api.CodeRateLimited, Details: "d", RequestID: "req_1", RetryAfterMs: 12_000},
			`{"error":"Rate limited","code":"rate_limited","details":"d","request_id":"req_1","retry_after_ms":12000}`,
		},
		"CreateElectionResponse": {
			api.CreateElectionResponse{ElectionID: "r", CampaignPath: "c", StatusPath: "s", WatchPath: "w"},
			`{"election_id":"r","campaign_path":"c","status_path":"s","watch_path":"w"}`,
		},
		"CampaignRequest": {
			api.CampaignRequest{CandidateID: "a", TTLSeconds: &ttl, Metadata: metadata(), WaitMs: &wait},
			`{"candidate_id":"a","ttl_seconds":30,"metadata":"host=eu-1","wait_ms":60000}`,
		},
		"BareCampaignRequest": {api.CampaignRequest{CandidateID: "a"}, `{"candidate_id":"a"}`},
		"LeaderResponseAtOnce": {
			api.LeaderResponse{Status: api.StatusLeader, ElectionID: "r", Leader: bare, LeaderToken: "t", RenewAfterMs: 15_000, WaitedMs: &zero},
			`{"status":"leader","election_id":"r","leader":` + bareJSON + `,"leader_token":"t","renew_after_ms":15000,"waited_ms":0}`,
		},
		"LeaderResponseAfterAWait": {
			api.LeaderResponse{Status: api.StatusLeader, ElectionID: "r", Leader: full, LeaderToken: "t", RenewAfterMs: 15_000, WaitedMs: &waited},
			`{"status":"leader","election_id":"r","leader":` + fullJSON + `,"leader_token":"t","renew_after_ms":15000,"waited_ms":1500}`,
		},
		"LeaderResponseOfARenewal": {
			api.LeaderResponse{Status: api.StatusLeader, ElectionID: "r", Leader: bare, LeaderToken: "t", RenewAfterMs: 15_000},
			`{"status":"leader","election_id":"r","leader":` + bareJSON + `,"leader_token":"t","renew_after_ms":15000}`,
		},
		"FollowerResponse": {
			api.FollowerResponse{Status: api.StatusFollower, ElectionID: "r", Leader: bare, RetryAfterMs: 1},
			`{"status":"follower","election_id":"r","leader":` + bareJSON + `,"retry_after_ms":1}`,
		},
		"LedElectionStatus": {
			api.ElectionStatus{ElectionID: "r", Status: api.StatusLeader, Leader: &bare, RetryAfterMs: 1, Revision: 2, Waiters: 3},
			`{"election_id":"r","status":"leader","leader":` + bareJSON + `,"retry_after_ms":1,"revision":2,"waiters":3}`,
		},
		"VacantElectionStatus": {
			api.ElectionStatus{ElectionID: "r", Status: api.StatusVacant},
			`{"election_id":"r","status":"vacant","retry_after_ms":0,"revision":0,"waiters":0}`,
		},
		"RenewRequest":     {api.RenewRequest{LeaderToken: "t", TTLSeconds: &ttl}, `{"leader_token":"t","ttl_seconds":30}`},
		"BareRenewRequest": {api.RenewRequest{LeaderToken: "t"}, `{"leader_token":"t"}`},
		"ResignRequest":    {api.ResignRequest{LeaderToken: "t"}, `{"leader_token":"t"}`},
		"ResignResponse": {
			api.ResignResponse{ElectionID: "r", Status: api.StatusVacant, PreviousTerm: 7},
			`{"election_id":"r","status":"vacant","previous_term":7}`,
		},
		"VacantElectionState": {
			api.ElectionState{SchemaVersion: api.ElectionStateSchemaVersion, ElectionID: "r", Status: api.StatusVacant, ObservedAt: instant(), Revision: 4},
			`{"schema_version":1,"election_id":"r","status":"vacant","leader":null,"retry_after_ms":0,"observed_at":"2026-01-01T00:00:30.123Z","revision":4}`,
		},
		"Health": {api.Health{Status: api.StatusOK, Storage: "wal", DBSizeBytes: 9}, `{"status":"ok","storage":"wal","db_size_bytes":9}`},
		"Status": {
			api.Status{Status: api.StatusOK, UptimeSeconds: 1, ActiveLocks: 2, TotalUsers: 3, TotalAcquires: 4, TotalReleases: 5},
			`{"status":"ok","uptime_seconds":1,"active_locks":2,"total_users":3,"total_acquires":4,"total_releases":5}`,
		},
		"EndpointLatency": {
			api.EndpointLatency{Count: 1, AvgMs: "0.5", P50Ms: "0.5", P95Ms: "1.0", P99Ms: "2.0", Errors: 1, MinMs: 0, MaxMs: 2},
			`{"count":1,"avg_ms":"0.5","p50_ms":"0.5","p95_ms":"1.0","p99_ms":"2.0","errors":1,"min_ms":0,"max_ms":2}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := json.Marshal(tc.value)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, string(got)); diff != "" {
				t.Errorf("wire form (-want +got):\n%s", diff)
			}
		})
	}
}

// TestRequestIntegers: decoding alone refuses what is not an unsigned 32-bit integer.
func TestRequestIntegers(t *testing.T) {
	t.Parallel()
	for _, number := range []string{"-1", "0.5", "30.0", "3e1", `"30"`, "true", "[]", "4294967296", "9223372036854775807", "1e400"} {
		t.Run("Refuses/"+number, func(t *testing.T) {
			t.Parallel()
			var request api.CampaignRequest
			if err := json.Unmarshal([]byte(`{"candidate_id":"a","ttl_seconds":`+number+`}`), &request); err == nil {
				t.Errorf("decoded as %d", *request.TTLSeconds)
			}
		})
	}
	t.Run("TakesNullForAbsent", func(t *testing.T) {
		t.Parallel()
		var request api.CampaignRequest
		if err := json.Unmarshal([]byte(`{"candidate_id":"a","ttl_seconds":null,"metadata":null,"wait_ms":null}`), &request); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(api.CampaignRequest{CandidateID: "a"}, request); diff != "" {
			t.Error(diff)
		}
	})
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	for ms, want := range map[int64]int64{-5: 0, 0: 0, 1: 1, 999: 1, 1000: 1, 1001: 2, 300_000: 300} {
		if got := api.RetryAfterSeconds(ms); got != want {
			t.Errorf("RetryAfterSeconds(%d) = %d, want %d", ms, got, want)
		}
	}
	for ms, want := range map[int64]int64{-5: 1, 0: 1, 1: 1, 250: 250, 300_000: 300_000, 300_001: 300_000} {
		if got := api.ClampRetryAfterMs(ms); got != want {
			t.Errorf("ClampRetryAfterMs(%d) = %d, want %d", ms, got, want)
		}
	}
}

func TestTime(t *testing.T) {
	t.Parallel()
	east := time.FixedZone("east", 2*3600)

	t.Run("WritesUTCWithThreeDigits", func(t *testing.T) {
		t.Parallel()
		for want, at := range map[string]time.Time{
			`"2026-01-01T00:00:30.000Z"`: time.Date(2026, 1, 1, 0, 0, 30, 0, time.UTC),
			`"2025-12-31T22:00:30.123Z"`: time.Date(2026, 1, 1, 0, 0, 30, 123_000_000, east),
			`"2026-01-01T00:00:30.999Z"`: time.Date(2026, 1, 1, 0, 0, 30, 999_999_999, time.UTC),
			`"1969-12-31T23:59:59.999Z"`: time.Unix(-1, 999_999_999),
		} {
			got, err := json.Marshal(api.NewTime(at))
			if err != nil || string(got) != want {
				t.Errorf("%v marshals as %s (%v), want %s", at, got, err, want)
			}
			if unrounded := api.Time(at).String(); `"`+unrounded+`"` != want {
				t.Errorf("%v prints as %s, want %s", at, unrounded, want)
			}
		}
	})

	t.Run("RefusesYearsWithoutAForm", func(t *testing.T) {
		t.Parallel()
		for _, year := range []int{-1, 10_000} {
			if got, err := json.Marshal(api.NewTime(time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC))); err == nil {
				t.Errorf("year %d marshals as %s", year, got)
			}
		}
	})

	t.Run("ReadsEveryRFC3339Form", func(t *testing.T) {
		t.Parallel()
		want := api.Time(time.Date(2026, 1, 1, 0, 0, 30, 120_000_000, time.UTC))
		for _, text := range []string{
			`"2026-01-01T00:00:30.12Z"`, `"2026-01-01T00:00:30.120000000Z"`, `"2026-01-01T02:00:30.120+02:00"`,
		} {
			var got api.Time
			if err := json.Unmarshal([]byte(text), &got); err != nil {
				t.Errorf("%s: %v", text, err)
			} else if !got.Equal(want) || got.Time().Location() != time.UTC {
				t.Errorf("%s reads as %v", text, got)
			}
		}
	})

	t.Run("RefusesOtherTexts", func(t *testing.T) {
		t.Parallel()
		for _, text := range []string{`""`, `"2026-01-01"`, `"2026-01-01 00:00:30Z"`, `1767225600`, `"2026-13-01T00:00:00Z"`} {
			var got api.Time
			if err := json.Unmarshal([]byte(text), &got); err == nil {
				t.Errorf("%s reads as %v", text, got)
			}
		}
	})

	t.Run("SurvivesARoundTrip", func(t *testing.T) {
		t.Parallel()
		text, err := json.Marshal(instant())
		if err != nil {
			t.Fatal(err)
		}
		var got api.Time
		if err := json.Unmarshal(text, &got); err != nil || !got.Equal(instant()) {
			t.Errorf("%s reads as %v (%v)", text, got, err)
		}
	})
}
