package main

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func campaign(p *process, room, candidate string, ttl int, header ...string) (status string, body map[string]any) {
	p.t.Helper()
	code, out := p.call("POST", "/elections/"+room+"/campaign", fmt.Sprintf(`{"candidate_id":%q,"ttl_seconds":%d}`, candidate, ttl), header...)
	if code != 200 {
		p.t.Fatalf("campaign: %d %v", code, out)
	}
	status, _ = out["status"].(string)
	return status, out
}

func leaderOf(t *testing.T, body map[string]any) map[string]any {
	t.Helper()
	l, ok := body["leader"].(map[string]any)
	if !ok {
		t.Fatalf("no leader in %v", body)
	}
	return l
}

func TestAcknowledgedLeaseSurvivesKill(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := start(t, dir)
	key := strings.Repeat("k", 40)
	_, won := campaign(p, "room-survives", "a", 60, "Idempotency-Key", key)
	leader := leaderOf(t, won)
	p.kill()

	p = start(t, dir)
	_, status := p.call("GET", "/elections/room-survives", "")
	now := leaderOf(t, status)
	for _, field := range []string{"candidate_id", "term", "expires_at"} {
		if now[field] != leader[field] {
			t.Errorf("%s is %v after the restart, was %v", field, now[field], leader[field])
		}
	}
	expires, err := time.Parse(time.RFC3339, now["expires_at"].(string))
	if err != nil {
		t.Fatal(err)
	}
	// The remaining time is counted by the same clock as before: it neither began
	// anew nor lost more than the guard.
	left := time.Duration(status["retry_after_ms"].(float64)) * time.Millisecond
	if d := time.Until(expires) + 60*time.Millisecond - left; d < -20*time.Millisecond || d > 100*time.Millisecond {
		t.Errorf("%v are left, the announced expiry is in %v", left, time.Until(expires))
	}
	if _, again := campaign(p, "room-survives", "a", 60, "Idempotency-Key", key); again["leader_token"] != won["leader_token"] {
		t.Error("the repeat did not find the lease of the first call")
	}
	body := fmt.Sprintf(`{"leader_token":%q}`, won["leader_token"])
	if code, out := p.call("POST", "/elections/room-survives/renew", body); code != 200 || leaderOf(t, out)["term"] != leader["term"] {
		t.Errorf("the old token: %d %v", code, out)
	}
	if code, out := p.call("POST", "/elections/room-survives/resign", body); code != 200 {
		t.Errorf("resign: %d %v", code, out)
	}
	p.kill()
	p = start(t, dir)
	if _, next := campaign(p, "room-survives", "b", 60); leaderOf(t, next)["term"].(float64) <= leader["term"].(float64) {
		t.Errorf("term %v after %v", leaderOf(t, next)["term"], leader["term"])
	}
}

func TestSecondServerOnTheFileRefusesToStart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := start(t, dir)
	second := launch(t, dir)
	if code := second.wait(); code != exitStartup {
		t.Errorf("the second server ended with %d", code)
	}
	if text := second.Stderr(); !strings.Contains(text, fmt.Sprintf("pid %d", p.cmd.Process.Pid)) || strings.Count(strings.TrimSpace(text), "\n") != 0 {
		t.Errorf("the second server says %q, must name pid %d in one line", text, p.cmd.Process.Pid)
	}
	if status, _ := campaign(p, "still-serving", "a", 30); status != "leader" {
		t.Errorf("the first server answers %q", status)
	}
}

// Restarts one after another must not hand a dead leader its full TTL each
// time.
func TestRestartsDoNotKeepADeadLeader(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := start(t, dir)
	granted := time.Now()
	_, first := campaign(p, "dead-leader", "a", 5)
	for range 3 {
		p.kill()
		p = start(t, dir)
	}
	code, out := p.call("POST", "/elections/dead-leader/campaign", `{"candidate_id":"b","ttl_seconds":5,"wait_ms":10000}`)
	took := time.Since(granted)
	if code != 200 || out["status"] != "leader" {
		t.Fatalf("b: %d %v", code, out)
	}
	if took < 5*time.Second || took > 8*time.Second {
		t.Errorf("b leads %v after a did, the TTL is 5 s", took)
	}
	if leaderOf(t, out)["term"].(float64) <= leaderOf(t, first)["term"].(float64) {
		t.Error("the term did not rise")
	}
}
