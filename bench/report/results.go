package report

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/octostore/octostore/bench/machine"
)

// Results is one run.
type Results struct {
	Started  time.Time         `json:"started"`
	Seconds  float64           `json:"seconds"` // that the run took
	Settings Settings          `json:"settings"`
	Host     machine.Host      `json:"host"`
	Versions map[string]string `json:"versions"`          // of the targets that ran
	Missing  map[string]string `json:"missing,omitempty"` // why the others did not
	Disk     []DiskSample      `json:"disk"`
	Samples  []Sample          `json:"samples"`
	Scale    *Scale            `json:"scale,omitempty"`
	Verdicts []Verdict         `json:"verdicts"`
}

// Settings is how the run was made.
type Settings struct {
	Rounds         int     `json:"rounds"`
	WarmSeconds    float64 `json:"warm_seconds"`
	MeasureSeconds float64 `json:"measure_seconds"`
	Profiled       bool    `json:"profiled"` // slowed down by a profiler
}

// Key names what a sample is of.
type Key struct {
	Workload    string `json:"workload"`
	Connections int    `json:"connections"`
	Target      string `json:"target"`
}

// Sample is one block: one target under one workload in one round.
type Sample struct {
	Key
	Round   int     `json:"round"` // from 1
	Cycles  int64   `json:"cycles"`
	Seconds float64 `json:"seconds"`
	Rate    float64 `json:"cycles_per_second"`
	P50     float64 `json:"p50_us"`
	P99     float64 `json:"p99_us"`
	Max     float64 `json:"max_us"`
	// ServerCPU and ClientCPU are processor time a cycle, in microseconds, of the
	// server's process and of the load program.
	ServerCPU float64 `json:"server_cpu_us_per_cycle"`
	ClientCPU float64 `json:"client_cpu_us_per_cycle"`
	// Others is the share of the machine's processors, 0 to 1, that was used by
	// other programs or taken by the host: above a few percent it is noise.
	Others float64 `json:"others_share"`
	// Groups is nil where the target does not tell of its groups.
	Groups *Groups `json:"groups,omitempty"`
}

// Groups is what became of the writes of a block.
type Groups struct {
	PerSecond  float64 `json:"per_second"`
	Operations float64 `json:"mean_operations"`
	CommitTime float64 `json:"mean_commit_us"`
}

// DiskSample is the rate of durable 4 KiB writes in one round.
type DiskSample struct {
	Call  string  `json:"call"`
	Round int     `json:"round"`
	Rate  float64 `json:"per_second"`
	P50   float64 `json:"p50_us"`
	P99   float64 `json:"p99_us"`
}

// Scale is the store alone, in a process of its own, with few and with many rooms
// that are led while others come and go.
type Scale struct {
	Few            int       `json:"few_rooms"`
	Many           int       `json:"many_rooms"`
	CyclesFew      []float64 `json:"cycles_per_second_few"` // by round
	CyclesMany     []float64 `json:"cycles_per_second_many"`
	FillRate       float64   `json:"fill_rooms_per_second"`
	HeapPerRoom    float64   `json:"heap_bytes_per_room"` // beyond the bytes of its strings
	StringsPerRoom float64   `json:"string_bytes_per_room"`
	ResidentMB     float64   `json:"resident_mb_many"`
	FileMB         float64   `json:"database_mb_many"`
	RestartSeconds []float64 `json:"restart_seconds_many"` // of the real server, until ready
}

// WriteJSON writes the whole run.
func (r *Results) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	if err := e.Encode(r); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}
