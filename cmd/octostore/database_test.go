package main

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// An outside process holds the write lock for three seconds, twice. Clients
// see success or a retryable 503, never a word of a locked database, and no
// lease that was confirmed is lost.
func TestOutsideLockDelaysAndLosesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := start(t, dir, "PUBLIC_ELECTION_REQUESTS_PER_MINUTE=1000000")
	const clients = 64
	var ok, retry atomic.Int64
	stop := make(chan struct{})
	var load sync.WaitGroup
	for i := range clients {
		load.Go(func() {
			room := fmt.Sprintf("/elections/locked-room-%02d", i)
			var token any
			for {
				select {
				case <-stop:
					return
				default:
				}
				var code int
				var body map[string]any
				var err error
				if token == nil {
					code, body, err = p.try("POST", room+"/campaign", `{"candidate_id":"a","ttl_seconds":60}`)
				} else {
					code, body, err = p.try("POST", room+"/renew", fmt.Sprintf(`{"leader_token":%q}`, token))
				}
				switch {
				case err != nil:
					t.Error(err)
					return
				case code == http.StatusOK && body["status"] == "leader":
					ok.Add(1)
					token = body["leader_token"]
				case code == http.StatusServiceUnavailable && body["code"] == "unavailable" && body["retry_after_ms"] != nil:
					retry.Add(1)
				default:
					t.Errorf("%d %v", code, body)
					return
				}
				if strings.Contains(fmt.Sprint(body), "locked") && !strings.Contains(fmt.Sprint(body), "locked-room") {
					t.Errorf("a client was told %v", body)
				}
			}
		})
	}
	for range 2 {
		hold := exec.CommandContext(t.Context(), "sqlite3", filepath.Join(dir, "octostore.db"),
			".timeout 5000", "BEGIN IMMEDIATE;", ".shell sleep 3", "ROLLBACK;")
		if out, err := hold.CombinedOutput(); err != nil {
			t.Fatalf("sqlite3 is needed for this test: %v\n%s", err, out)
		}
	}
	before := ok.Load()
	for began := time.Now(); ok.Load() < before+clients; {
		if time.Since(began) > 20*time.Second {
			t.Fatal("the load does not go on after the lock was given up")
		}
		p.call("GET", "/livez", "")
	}
	close(stop)
	load.Wait()
	t.Logf("%d answered, %d told to retry", ok.Load(), retry.Load())
	p.kill()
	p = start(t, dir)
	for i := range clients {
		if _, st := p.call("GET", fmt.Sprintf("/elections/locked-room-%02d", i), ""); st["status"] != "leader" {
			t.Errorf("room %d is %v after a kill", i, st["status"])
		}
	}
}

// The file is moved away under the running server: it is alive but not ready,
// and asking creates nothing.
func TestReadinessSeesAMissingFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := start(t, dir)
	if code, _ := p.call("GET", "/readyz", ""); code != http.StatusOK {
		t.Fatalf("ready: %d", code)
	}
	db := filepath.Join(dir, "octostore.db")
	if err := os.Rename(db, db+".away"); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if code, _ := p.call("GET", "/readyz?verbose", ""); code != http.StatusServiceUnavailable || time.Since(began) > 2*time.Second {
		t.Errorf("readiness answers %d after %v", code, time.Since(began))
	}
	if code, _ := p.call("GET", "/livez", ""); code != http.StatusOK {
		t.Errorf("liveness answers %d", code)
	}
	if _, err := os.Stat(db); !os.IsNotExist(err) {
		t.Errorf("asking made the file again: %v", err)
	}
}
