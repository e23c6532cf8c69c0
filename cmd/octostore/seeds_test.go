package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// script runs shell text the way a reader of the documentation would.
func script(t *testing.T, dir, text string, env ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", text)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, out, errs.String())
	}
	return string(out)
}

// The commands of the quickstart, word for word but for the host name.
const (
	createCommand = `ROOM=$(curl -s -X POST https://api.octostore.io/elections \
  | jq -r .election_id)
`
	campaignCommand = `
curl -s -X POST \
  "https://api.octostore.io/elections/$ROOM/campaign" \
  -H "Content-Type: application/json" \
  -d '{"candidate_id":"worker-a","ttl_seconds":30}'
`
	renewCommand = `
curl -s -X POST \
  "https://api.octostore.io/elections/$ROOM/renew" \
  -H "Content-Type: application/json" \
  -d "{\"leader_token\":\"$LEADER_TOKEN\",\"ttl_seconds\":30}"
`
	resignCommand = `
curl -s -X POST \
  "https://api.octostore.io/elections/$ROOM/resign" \
  -H "Content-Type: application/json" \
  -d "{\"leader_token\":\"$LEADER_TOKEN\"}"
`
)

func TestQuickstartElectsOneLeader(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := start(t, dir)
	here := func(text string) string {
		if !strings.Contains(text, "https://api.octostore.io") {
			t.Fatalf("the command names no host: %s", text)
		}
		return strings.ReplaceAll(text, "https://api.octostore.io", p.URL)
	}
	run := func(text string, env ...string) map[string]any {
		t.Helper()
		var out map[string]any
		if err := json.Unmarshal([]byte(script(t, dir, text, env...)), &out); err != nil {
			t.Fatal(err)
		}
		return out
	}
	room := strings.TrimSpace(script(t, dir, here(createCommand)+`echo "$ROOM"`))
	if len(room) != 32 {
		t.Fatalf("room id %q", room)
	}
	env := []string{"ROOM=" + room}
	won := run(here(campaignCommand), env...)
	if won["status"] != "leader" {
		t.Fatalf("the first candidate is %v", won)
	}
	token, _ := won["leader_token"].(string)
	term := won["leader"].(map[string]any)["term"].(float64)
	if len(token) != 43 || term <= 0 {
		t.Fatalf("token %q, term %v", token, term)
	}
	lost := run(strings.Replace(here(campaignCommand), "worker-a", "worker-b", 1), env...)
	if lost["status"] != "follower" || lost["leader"].(map[string]any)["candidate_id"] != "worker-a" || lost["leader_token"] != nil {
		t.Fatalf("the second candidate is told %v", lost)
	}
	if wait := lost["retry_after_ms"].(float64); wait <= 0 || wait > 30_050 {
		t.Fatalf("retry_after_ms %v", wait)
	}
	env = append(env, "LEADER_TOKEN="+token)
	if renewed := run(here(renewCommand), env...); renewed["status"] != "leader" || renewed["leader"].(map[string]any)["term"] != term {
		t.Fatalf("renewal: %v", renewed)
	}
	if resigned := run(here(resignCommand), env...); resigned["status"] != "vacant" || resigned["previous_term"] != term {
		t.Fatalf("resignation: %v", resigned)
	}
	next := run(strings.Replace(here(campaignCommand), "worker-a", "worker-b", 1), env...)
	if next["status"] != "leader" || next["leader"].(map[string]any)["term"].(float64) <= term {
		t.Fatalf("the next term is %v, after %v", next, term)
	}
}

// The server of the self-hosting text, with its defaults: port 3000, the file
// in the directory where it was started.
func TestSelfHostInOneMinute(t *testing.T) {
	t.Parallel()
	dir, path := t.TempDir(), filepath.Dir(builtBinary(t))
	out := script(t, dir, `
(
STATIC_TOKENS='ops:change-me' \
DATABASE_URL='./octostore.db' \
octostore
) >log 2>text & server=$!
trap 'kill $server' EXIT
until grep -q 'is serving' text; do kill -0 $server || { cat text >&2; exit 1; }; done
curl -s http://localhost:3000/health
`, "PATH="+path+":"+os.Getenv("PATH"))
	var health struct {
		Status, Storage string
		DBSizeBytes     int64 `json:"db_size_bytes"`
	}
	if err := json.Unmarshal([]byte(out), &health); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if health.Status != "ok" || health.Storage != "wal" || health.DBSizeBytes <= 0 {
		t.Errorf("health: %s", out)
	}
	if _, err := os.Stat(filepath.Join(dir, "octostore.db")); err != nil {
		t.Error(err)
	}
}

// The command that the start-up text prints is the next thing that a user
// runs.
func TestStartupTextPrintsACommandThatWorks(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir())
	text := p.until(p.Stderr, "ttl_seconds")
	for _, want := range []string{p.URL, "octostore.db", "public elections"} {
		if !strings.Contains(text, want) {
			t.Errorf("the start-up text does not say %q:\n%s", want, text)
		}
	}
	_, commands, ok := strings.Cut(text, "Elect a leader:\n")
	if !ok {
		t.Fatalf("no command in:\n%s", text)
	}
	var out map[string]any
	if err := json.Unmarshal([]byte(script(t, t.TempDir(), commands)), &out); err != nil {
		t.Fatal(err)
	}
	if out["status"] != "leader" {
		t.Errorf("the printed command answers %v", out)
	}
}
