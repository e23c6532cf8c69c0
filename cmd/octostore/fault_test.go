package main

import (
	"bufio"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// acknowledged are the terms that a server confirmed, by room.
type acknowledged map[string]float64

func (a acknowledged) check(t *testing.T, p *process) {
	t.Helper()
	for room, term := range a {
		_, st := p.call("GET", "/elections/"+room, "")
		if st["status"] != "leader" || leaderOf(t, st)["term"] != term {
			t.Errorf("%s was confirmed with term %v and is %v", room, term, st)
		}
	}
}

// The disk refuses a sync. Nothing that was not durable is told as done, the
// process ends within a moment and not with success, and the next one has every
// lease that was confirmed.
func TestFailedSyncEndsTheServerAndLosesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := start(t, dir)
	acked := make(acknowledged)
	for i := range 20 {
		room := fmt.Sprintf("before-the-fault-%02d", i)
		_, won := campaign(p, room, "a", 300)
		acked[room] = leaderOf(t, won)["term"].(float64)
	}
	tracer := exec.CommandContext(t.Context(), "strace", "-f", "-p", fmt.Sprint(p.cmd.Process.Pid),
		"-o", "/dev/null", "-e", "trace=fdatasync", "-e", "inject=fdatasync:error=EIO:when=4+")
	says, err := tracer.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := tracer.Start(); err != nil {
		t.Fatalf("strace is needed for this test: %v", err)
	}
	attached := bufio.NewScanner(says)
	if !attached.Scan() || !strings.Contains(attached.Text(), "attached") {
		t.Fatalf("strace says %q", attached.Text())
	}
	go func() {
		for attached.Scan() { //nolint:revive // so that strace can go on writing
		}
	}()
	unknown := false
	for i := range 100 {
		room := fmt.Sprintf("at-the-fault-%02d", i)
		code, body, err := p.try("POST", "/elections/"+room+"/campaign", `{"candidate_id":"a","ttl_seconds":300}`)
		if err != nil {
			break // the server is gone: nothing was told
		}
		if code == http.StatusOK {
			acked[room] = leaderOf(t, body)["term"].(float64)
			continue
		}
		if code != http.StatusServiceUnavailable {
			t.Errorf("%d %v", code, body)
		}
		unknown = unknown || body["code"] == "outcome_unknown"
	}
	began := time.Now()
	if code := p.wait(); code != exitInternal {
		t.Errorf("the server ended with %d", code)
	}
	if took := time.Since(began); took > 3*time.Second {
		t.Errorf("it took %v to end", took)
	}
	_ = tracer.Wait()
	if !unknown {
		t.Error("nobody was told that the outcome is not known")
	}
	if text := p.Stderr(); !strings.Contains(text, "database failed") {
		t.Errorf("the last words are %q", text)
	}
	p = start(t, dir)
	acked.check(t, p)
	p.kill()

	// A second fault within ten minutes is not started over.
	faults := filepath.Join(dir, "octostore.db.faults")
	line, err := os.ReadFile(faults)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(faults, append(line, line...), 0o600); err != nil {
		t.Fatal(err)
	}
	refused := launch(t, dir)
	if code := refused.wait(); code != exitStartup || !strings.Contains(refused.Stderr(), "OCTOSTORE_ACCEPT_IO_ERRORS") {
		t.Errorf("ended with %d: %s", code, refused.Stderr())
	}
	p = start(t, dir, "OCTOSTORE_ACCEPT_IO_ERRORS=true")
	acked.check(t, p)
}

// A real small file system is filled under the server. New leases are refused,
// those who lead go on, readiness tells it and liveness does not; with room
// again everything heals by itself, and nothing that was confirmed is lost.
func TestFullDiskRefusesNewcomersAndHeals(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "small")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=20m"); err != nil {
		t.Fatalf("this test mounts a file system and has to run as root: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	p := start(t, dir, "DATABASE_URL="+filepath.Join(dir, "octostore.db"), "PUBLIC_ELECTION_REQUESTS_PER_MINUTE=1000000")
	acked := make(acknowledged)
	_, won := campaign(p, "calm-in-the-storm", "a", 300)
	acked["calm-in-the-storm"] = leaderOf(t, won)["term"].(float64)
	token := fmt.Sprintf(`{"leader_token":%q,"ttl_seconds":300}`, won["leader_token"])

	filler := filepath.Join(dir, "filler")
	fill(t, filler)
	refused := 0
	for i, began := 0, time.Now(); refused < 20; i++ {
		if time.Since(began) > 10*time.Second {
			t.Fatal("a full disk refuses no newcomer")
		}
		room := fmt.Sprintf("newcomer-%04d", i)
		code, body := p.call("POST", "/elections/"+room+"/campaign", `{"candidate_id":"b","ttl_seconds":300}`)
		switch {
		case code == http.StatusOK:
			acked[room] = leaderOf(t, body)["term"].(float64)
		case code == http.StatusServiceUnavailable && body["code"] == "unavailable" && body["retry_after_ms"] != nil:
			refused++
		default:
			t.Fatalf("%d %v", code, body)
		}
	}
	for range 50 {
		if code, body := p.call("POST", "/elections/calm-in-the-storm/renew", token); code != http.StatusOK {
			t.Fatalf("the leader is refused: %d %v", code, body)
		}
	}
	if code, _ := p.call("GET", "/readyz", ""); code != http.StatusServiceUnavailable {
		t.Errorf("readiness answers %d", code)
	}
	if code, _ := p.call("GET", "/livez", ""); code != http.StatusOK {
		t.Errorf("liveness answers %d", code)
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	for began := time.Now(); ; {
		if code, _ := p.call("POST", "/elections/after-the-storm/campaign", `{"candidate_id":"c","ttl_seconds":300}`); code == http.StatusOK {
			break
		}
		if time.Since(began) > 5*time.Second {
			t.Fatal("it does not heal within 5 s")
		}
	}
	if code, _ := p.call("GET", "/readyz", ""); code != http.StatusOK {
		t.Errorf("readiness answers %d after there is room", code)
	}
	p.kill()
	p = start(t, dir, "DATABASE_URL="+filepath.Join(dir, "octostore.db"))
	acked.check(t, p)
}

// fill writes until there is no room left.
func fill(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	block := make([]byte, 64<<10)
	for {
		if _, err := f.Write(block); err != nil {
			if len(block) == 1 {
				return
			}
			block = block[:len(block)/2]
		}
	}
}

// The server stands still for longer than a lease. What it says afterwards is
// true at the moment it says it: the leader is over, and a renewal is too late.
func TestPausedServerRevivesNobody(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir())
	_, won := campaign(p, "paused-room", "a", 5)
	term := leaderOf(t, won)["term"].(float64)
	if err := p.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	late := make(chan int, 1)
	go func() {
		code, _, err := p.try("POST", "/elections/paused-room/renew", fmt.Sprintf(`{"leader_token":%q}`, won["leader_token"]))
		if err != nil {
			t.Error(err)
		}
		late <- code
	}()
	<-time.After(6 * time.Second)
	if err := p.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if code := <-late; code != http.StatusNotFound {
		t.Errorf("a renewal that came too late answers %d", code)
	}
	if status, next := campaign(p, "paused-room", "b", 5); status != "leader" || leaderOf(t, next)["term"].(float64) <= term {
		t.Errorf("%v", next)
	}
}
