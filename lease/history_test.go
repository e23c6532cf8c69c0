package lease_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
)

// How many histories are played by default, and how long each is.
const (
	defaultHistories = 1000
	historySteps     = 300
)

// variable reads a number from the environment.
func variable(t *testing.T, name string, fallback uint64) uint64 {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return fallback
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

// TestHistories plays random histories of one name and compares every step with
// the book, and what it means with the witness. OCTOSTORE_HISTORIES plays more
// of them, OCTOSTORE_HISTORY_SEED plays those of a seed again.
func TestHistories(t *testing.T) {
	t.Parallel()
	seed := variable(t, "OCTOSTORE_HISTORY_SEED", rand.Uint64())
	histories := variable(t, "OCTOSTORE_HISTORIES", defaultHistories)
	t.Logf("%d histories of %d steps; OCTOSTORE_HISTORY_SEED=%d plays them again", histories, historySteps, seed)

	tally := make(map[string]int)
	for i := range histories {
		w := newWorld(rand.New(rand.NewPCG(seed, i)), tally)
		if err := w.play(historySteps); err != nil {
			t.Fatalf("history %d of OCTOSTORE_HISTORY_SEED=%d: %v\n%s", i, seed, err, w.tail())
		}
	}
	// A history in which nothing happens proves nothing.
	for _, what := range []string{
		"acquire granted", "acquire confirmed by key", "acquire confirmed by session", "acquire confirmed by proof",
		"acquire taken", "acquire delayed", "acquire full", "acquire conflict", "acquire not_current",
		"renew confirmed", "renew not_current", "release released", "release repeated", "release not_current",
		"give-back released", "give-back repeated", "give-back not_current", "force released", "force not_held",
		"session end released", "session end not_held", "keepalive confirmed", "keepalive session_ended", "keepalive no_session",
		"delete released", "delete session_ended", "delete no_session",
		"end by release", "end by expiry", "end by session expired", "end by session deleted", "end by force",
		"late call", "late call that met a successor", "late release that met a successor", "grant at the very end of a delay", "grant at the very deadline",
		"reboot while held", "reboot while overdue", "reboot while cooling", "clean-up", "another server key", "wall clock step",
		"two transitions in one decision", "renewal that shortened", "confirmation that moved nothing",
	} {
		if tally[what] == 0 && histories >= defaultHistories {
			t.Errorf("never happened: %s", what)
		}
	}
	if t.Failed() || testing.Verbose() {
		t.Log(fmt.Sprint(tally))
	}
}
