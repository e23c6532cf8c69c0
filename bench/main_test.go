package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/octostore/octostore/bench/load"
	"github.com/octostore/octostore/bench/machine"
	"github.com/octostore/octostore/bench/report"
	"github.com/octostore/octostore/bench/target"
)

func TestMain(m *testing.M) {
	// The program starts itself in its other roles, and here it is the test binary.
	if len(os.Args) > 1 && (os.Args[1] == roleBare || os.Args[1] == roleWorker) {
		main()
	}
	goleak.VerifyTestMain(m)
}

func TestSettings(t *testing.T) {
	t.Parallel()
	parse := func(t *testing.T, args ...string) settings {
		t.Helper()
		s, err := parseSettings(args, io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	t.Run("MeasuresByDefault", func(t *testing.T) {
		t.Parallel()
		s := parse(t)
		if s.rounds < 3 || s.rooms != 1_000_000 || !s.scale {
			t.Errorf("%d rounds, %d rooms, scale %v", s.rounds, s.rooms, s.scale)
		}
		if diff := cmp.Diff([]int{1, 64, 256}, s.connections); diff != "" {
			t.Errorf("connections (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(target.Workloads(), s.workloads); diff != "" {
			t.Errorf("workloads (-want +got):\n%s", diff)
		}
	})
	t.Run("TakesGivenOverQuick", func(t *testing.T) {
		t.Parallel()
		for _, args := range [][]string{{"-quick", "-rounds", "5"}, {"-rounds", "5", "-quick"}} {
			if s := parse(t, args...); s.rounds != 5 || s.measure >= time.Second {
				t.Errorf("%v: %d rounds of %v", args, s.rounds, s.measure)
			}
		}
	})
	t.Run("TellsHelp", func(t *testing.T) {
		t.Parallel()
		if _, err := parseSettings([]string{"-h"}, io.Discard); !errors.Is(err, flag.ErrHelp) {
			t.Errorf("error %v", err)
		}
	})
	for name, args := range map[string][]string{
		"RefusesUnknownFlag":     {"-fast"},
		"RefusesArgument":        {"now"},
		"RefusesNoRounds":        {"-rounds", "0"},
		"RefusesNoTime":          {"-measure", "0s"},
		"RefusesBlockPastLease":  {"-measure", "10m"},
		"RefusesNoRooms":         {"-rooms", "0"},
		"RefusesNoConnections":   {"-connections", "0"},
		"RefusesWordForNumber":   {"-connections", "1,many"},
		"RefusesUnknownWorkload": {"-workloads", "cycle,sleep"},
		"RefusesUnknownTarget":   {"-targets", "octostore,consul"},
		"RefusesOtherBody":       {"-bare-body", "eaten"},
		"RefusesNegativeShare":   {"-etcd-connections", "-1"},
		"RefusesCheckOfProfiled": {"-check", "-perf", "x"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if s, err := parseSettings(args, io.Discard); err == nil {
				t.Errorf("%v is taken for %+v", args, s)
			}
		})
	}
}

func TestInTurn(t *testing.T) {
	t.Parallel()
	all := new(settings).kinds("", "")
	first := make(map[string]bool)
	for round := 1; round <= len(all); round++ {
		turn := inTurn(all, round)
		seen := make(map[string]bool)
		for _, target := range turn {
			seen[target.Name()] = true
		}
		if len(turn) != len(all) || len(seen) != len(all) {
			t.Errorf("round %d has %v", round, seen)
		}
		first[turn[0].Name()] = true
	}
	if len(first) != len(all) {
		t.Errorf("only %v are ever first", first)
	}
	if got := inTurn(nil, 3); got != nil {
		t.Errorf("the turn of nobody is %v", got)
	}
}

// TestSample checks the arithmetic of a block by hand.
func TestSample(t *testing.T) {
	t.Parallel()
	at := time.Unix(1_800_000_000, 0)
	g := &gauge{
		before: readings{at: at, server: time.Second, own: 2 * time.Second, machine: machine.Busy{Programs: 10 * time.Second}},
		after: readings{
			at: at.Add(2 * time.Second), server: 3 * time.Second, own: 3 * time.Second,
			machine: machine.Busy{Programs: 14 * time.Second, Stolen: time.Second},
		},
		groups: target.Groups{Count: 100, Operations: 4000, Seconds: 0.05},
	}
	latency := new(load.Histogram)
	latency.Record(time.Millisecond)
	key := report.Key{Workload: "cycle", Connections: 64, Target: "octostore"}
	s := g.sample(key, 2, load.Result{Cycles: 10_000, Elapsed: 2 * time.Second, Latency: latency})
	if s.Key != key || s.Round != 2 || s.Rate != 5000 || s.ServerCPU != 200 || s.ClientCPU != 100 || s.Max != 1000 {
		t.Errorf("%+v", s)
	}
	// 4 s of programs less 2 s of the server and 1 s of the load, 1 s stolen, of 2 s on each processor.
	if want := 2.0 / (2 * float64(runtime.NumCPU())); math.Abs(s.Others-want) > 1e-9 {
		t.Errorf("the others had %v", s.Others)
	}
	if want := (report.Groups{PerSecond: 50, Operations: 40, CommitTime: 500}); s.Groups == nil || *s.Groups != want {
		t.Errorf("groups %+v, want %+v", s.Groups, want)
	}
}

func TestWorkFolder(t *testing.T) {
	t.Parallel()
	t.Run("IsMadeInGivenFolder", func(t *testing.T) {
		t.Parallel()
		parent := onDisk(t)
		dir, err := workFolder(parent)
		if err != nil {
			t.Fatal(err)
		}
		if filepath.Dir(dir) != parent {
			t.Errorf("%s is not in %s", dir, parent)
		}
	})
	t.Run("RefusesMemory", func(t *testing.T) {
		t.Parallel()
		if _, err := workFolder("/dev/shm"); !errors.Is(err, machine.ErrInMemory) {
			t.Errorf("error %v, want ErrInMemory", err)
		}
	})
	t.Run("RefusesMissingFolder", func(t *testing.T) {
		t.Parallel()
		if _, err := workFolder("/nowhere"); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("error %v, want that there is none", err)
		}
	})
}

// onDisk makes a folder that is on a disk, wherever the temporary folder is.
func onDisk(t *testing.T) string {
	t.Helper()
	for _, parent := range []string{os.TempDir(), "/var/tmp", "."} {
		if _, err := machine.Filesystem(parent); err != nil {
			continue
		}
		dir, err := os.MkdirTemp(parent, "octostore-bench-test-")
		if err != nil {
			continue
		}
		t.Cleanup(func() { os.RemoveAll(dir) })
		if dir, err = filepath.Abs(dir); err == nil {
			return dir
		}
	}
	t.Fatal("no folder is on a disk")
	return ""
}

func TestRun(t *testing.T) {
	t.Parallel()
	t.Run("RefusesWrongUse", func(t *testing.T) {
		t.Parallel()
		var errs bytes.Buffer
		if code := run(t.Context(), []string{"-fast"}, stdio{err: &errs}); code != exitUsage || !strings.Contains(errs.String(), "fast") {
			t.Errorf("code %d, %q", code, errs.String())
		}
	})
	for name, args := range map[string][]string{
		"RefusesBareWithoutAddress": {roleBare},
		"RefusesWorkerWithoutRooms": {roleWorker, "dir"},
		"RefusesWorkerOfNoNumber":   {roleWorker, "dir", "many"},
		"TellsMissingServer":        {"-quick", "-server", "/nowhere/octostore"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var errs bytes.Buffer
			if code := run(t.Context(), args, stdio{err: &errs}); code != exitFailed || errs.Len() == 0 {
				t.Errorf("code %d, %q", code, errs.String())
			}
		})
	}
}

// TestWholeRun makes a run in miniature with the real server, and with the peers
// that are installed.
func TestWholeRun(t *testing.T) {
	t.Parallel()
	dir := onDisk(t)
	file := filepath.Join(dir, "results.json")
	var out, errs bytes.Buffer
	code := run(t.Context(), []string{
		"-rounds", "1", "-warm", "1ms", "-measure", "500ms", "-connections", "3", "-rooms", "300", "-dir", dir, "-json", file,
	}, stdio{out: &out, err: &errs})
	if code != exitOK {
		t.Fatalf("code %d\n%s", code, errs.String())
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var r report.Results
	if err := json.Unmarshal(raw, &r); err != nil {
		t.Fatal(err)
	}
	installed := map[string]bool{"octostore": true, "bare": true}
	for name, program := range map[string]string{"etcd": "etcd", "redis": "redis-server"} {
		_, err := exec.LookPath(program)
		installed[name] = err == nil
	}
	for name, there := range installed {
		if _, told := r.Missing[name]; told == there {
			t.Errorf("%s is installed: %v; told as missing: %v", name, there, told)
		}
		for _, w := range target.Workloads() {
			n := 0
			for _, s := range r.Samples {
				if s.Target == name && s.Workload == string(w) {
					n++
					if s.Cycles == 0 || s.P50 <= 0 || s.P99 < s.P50 || s.Max < s.P99 {
						t.Errorf("%+v", s)
					}
				}
			}
			if want := there && (name != "bare" || w != target.Contended); (n == 1) != want {
				t.Errorf("%s, %s: %d samples", name, w, n)
			}
		}
	}
	if s := r.Scale; s == nil || s.Many != 300 || len(s.CyclesFew) != 1 || len(s.CyclesMany) != 1 || len(s.RestartSeconds) != 1 {
		t.Errorf("the store alone: %+v", s)
	}
	if len(r.Disk) != 2 {
		t.Errorf("the disk: %+v", r.Disk)
	}
	for _, s := range r.Samples {
		if writes := s.Workload == "cycle" && s.Target == "octostore"; writes && (s.Groups == nil || s.Groups.Operations < 1) {
			t.Errorf("the server tells of no groups: %+v", s)
		}
	}
	if !strings.Contains(out.String(), "cycle, 3 connections") {
		t.Errorf("the table is\n%s", out.String())
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 1 {
		t.Errorf("left behind: %v, error %v", left, err)
	}
}
