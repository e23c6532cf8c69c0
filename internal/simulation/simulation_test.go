package simulation

import (
	"os"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"
)

const tmpfsMagic = 0x01021994

// inMemory is a directory for a database: in memory where the system has it.
func inMemory(t *testing.T) string {
	t.Helper()
	var s unix.Statfs_t
	if err := unix.Statfs("/dev/shm", &s); err != nil || s.Type != tmpfsMagic {
		return t.TempDir()
	}
	dir, err := os.MkdirTemp("/dev/shm", "octostore-simulation-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// simulate runs one configuration.
func simulate(t *testing.T, c Config) (r Report) {
	t.Helper()
	c.Dir = inMemory(t)
	synctest.Test(t, func(t *testing.T) {
		var err error
		if r, err = Run(c); err != nil {
			t.Fatal(err)
		}
	})
	t.Log(r)
	if r.MaxDB > 1<<20 || r.MaxLog > 8<<20 {
		t.Errorf("the file grew to %d bytes, its log to %d", r.MaxDB, r.MaxLog)
	}
	return r
}

// seen are the faults and outcomes without which a run has shown nothing.
var seen = []string{
	"fault not applied at begin", "fault not applied at rows", "fault not applied at commit",
	"fault breaks at commit, crash false", "fault breaks at committed, crash false",
	"fault breaks at commit, crash true", "fault breaks at committed, crash true",
	"fault crash between groups", "fault restart", "fault reboot", "fault pause", "fault disk full",
	"fault wall clock forward", "fault wall clock back", "fault slow disk",
	"acquire granted", "acquire confirmed", "acquire taken", "acquire delayed", "acquire not_current", "acquire conflict",
	"acquire left", "acquire lost", "acquire unavailable", "acquire unknown",
	"renew confirmed", "renew not_current", "renew unavailable", "release released", "release not_current",
	"event expired", "granted after a wait", "found again", "sent twice", "late", "rival", "cleaned up", "release repeated",
	"hung up during a commit", "handed over in time", "the gate healed",
}

// plan is how much to live through.
func plan(t *testing.T) (seeds []uint64, hours int) {
	t.Helper()
	n := uint64(5)
	switch hours = 4; {
	case os.Getenv("OCTOSTORE_PROVE") == "1":
		n, hours = 20, 50
	case testing.Short():
		n, hours = 1, 1
	case raced:
		n, hours = 2, 2
	}
	for s := range n {
		seeds = append(seeds, s+1)
	}
	if text := os.Getenv("OCTOSTORE_SEED"); text != "" {
		s, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		seeds = []uint64{s}
	}
	return seeds, hours
}

// TestHistories is safety and liveness. OCTOSTORE_SEED plays one seed again,
// OCTOSTORE_PROVE=1 lives through a thousand hours.
func TestHistories(t *testing.T) {
	seeds, hours := plan(t)
	all := Report{Counts: make(map[string]int)}
	for _, seed := range seeds {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			r := simulate(t, Config{Seed: seed, For: time.Duration(hours) * time.Hour})
			for k, n := range r.Counts {
				all.Counts[k] += n
			}
		})
	}
	if missing := all.Missing(seen...); len(missing) > 0 && len(seeds) > 1 {
		t.Errorf("nothing was seen of %q", missing)
	}
}

// TestSameSeedSameHistory compares two runs to the last answer.
func TestSameSeedSameHistory(t *testing.T) {
	const long = 45 * time.Minute
	a, b := simulate(t, Config{Seed: 42, For: long}), simulate(t, Config{Seed: 42, For: long})
	other := simulate(t, Config{Seed: 43, For: long / 4})
	if a.Hash != b.Hash || a.Lines != b.Lines {
		t.Errorf("one seed gave %s with %d lines, then %s with %d", a.Hash, a.Lines, b.Hash, b.Lines)
	}
	if a.Hash == other.Hash {
		t.Error("two seeds gave one history")
	}
}

// TestMemoryStaysFlat lets one process serve for long. What is left when all is
// quiet may not grow from the middle to the end.
func TestMemoryStaysFlat(t *testing.T) {
	hours := 24
	switch {
	case os.Getenv("OCTOSTORE_PROVE") == "1":
		hours = 100
	case raced, testing.Short():
		hours = 2
	}
	r := simulate(t, Config{Seed: 7, For: time.Duration(hours) * time.Hour, OneLife: true})
	if missing := r.Missing("cleaned up", "event expired", "acquire left"); len(missing) > 0 {
		t.Errorf("nothing was seen of %q", missing)
	}
	if drift := flat(r.Heap); hours >= 24 && drift > 0.05 {
		t.Errorf("the heap grew by %.1f %% from the middle to the end: %d", drift*100, r.Heap)
	}
}

// flat tells how far the heap at the end is from the heap in the middle. Of each
// fifth of what was measured the least counts, in which nothing is in passing.
func flat(heap []uint64) float64 {
	n := len(heap)
	if n < 10 {
		return 0
	}
	return float64(slices.Min(heap[n-n/5:]))/float64(slices.Min(heap[n*2/5:n*3/5])) - 1
}
