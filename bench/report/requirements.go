package report

import (
	"fmt"
	"math"
)

// Names of the targets that requirements speak of.
const (
	own  = "octostore"
	bare = "bare"
	etcd = "etcd"
)

// manyRooms is the number of rooms that the requirements about scale mean.
const manyRooms = 1_000_000

// Requirement is a figure that the server has to reach.
type Requirement struct {
	What string
	// Floor has to be reached, or the check fails; Goal has to be reached or
	// explained. 0 for none.
	Floor, Goal float64
	// AtMost tells that small is good.
	AtMost  bool
	measure func(*Results) float64 // NaN if it was not measured
}

// Requirements returns all of them.
func Requirements() []Requirement {
	// against compares a metric of the server with another target's.
	against := func(workload string, connections int, target string, m Metric) func(*Results) float64 {
		return func(r *Results) float64 {
			return r.ratio(Key{workload, connections, own}, target, m)
		}
	}
	scale := func(figure func(*Scale) float64) func(*Results) float64 {
		return func(r *Results) float64 {
			if r.Scale == nil || r.Scale.Many < manyRooms {
				return math.NaN()
			}
			return figure(r.Scale)
		}
	}
	return []Requirement{
		{What: "cycle, 64 connections: rate / bare handler's", Floor: 0.50, Goal: 0.60, measure: against("cycle", 64, bare, rate)},
		{What: "cycle, 256 connections: rate / bare handler's", Floor: 0.70, Goal: 0.80, measure: against("cycle", 256, bare, rate)},
		{What: "cycle, 64 connections: rate / etcd's", Floor: 1.6, Goal: 2, measure: against("cycle", 64, etcd, rate)},
		{What: "cycle, 256 connections: rate / etcd's", Floor: 1.6, Goal: 2, measure: against("cycle", 256, etcd, rate)},
		{What: "cycle, 64 connections: p99 / etcd's", Goal: 0.6, AtMost: true, measure: against("cycle", 64, etcd, p99)},
		{What: "cycle, 64 connections: server CPU a cycle / etcd's", Goal: 0.5, AtMost: true, measure: against("cycle", 64, etcd, serverCPU)},
		{What: "cycle, 1 connection: p50 / etcd's", Goal: 0.6, AtMost: true, measure: against("cycle", 1, etcd, p50)},
		{What: "contended, 64 connections: grants / etcd Mutex's", Goal: 5, measure: against("contended", 64, etcd, rate)},
		{What: "renew, 64 connections: rate / etcd KeepAliveOnce's", Floor: 0.85, Goal: 1, measure: against("renew", 64, etcd, rate)},
		{What: "store with 1,000,000 rooms led: cycles / with 1,000", Floor: 0.5, Goal: 0.75, measure: scale((*Scale).scaleRatio)},
		{What: "1,000,000 rooms: heap bytes a room beyond its strings", Goal: 320, AtMost: true, measure: scale(func(s *Scale) float64 { return s.HeapPerRoom })},
		{What: "1,000,000 rooms: seconds until ready after a restart", Goal: 8, AtMost: true, measure: scale(func(s *Scale) float64 { return Median(s.RestartSeconds) })},
	}
}

// Standing is how a figure stands to one of its limits.
type Standing string

// The standings. A limit that there is not has none.
const (
	Met         Standing = "met"
	Missed      Standing = "missed"
	NotMeasured Standing = "not measured"
)

// Verdict is a requirement and what came of it.
type Verdict struct {
	What     string   `json:"what"`
	Measured *float64 `json:"measured"` // nil if it was not
	AtMost   bool     `json:"at_most"`
	Floor    float64  `json:"floor,omitempty"`
	Goal     float64  `json:"goal"`
	OfFloor  Standing `json:"of_floor,omitempty"`
	OfGoal   Standing `json:"of_goal"`
}

// Judge holds the results against every requirement and keeps the verdicts.
func (r *Results) Judge() {
	r.Verdicts = nil
	for _, q := range Requirements() {
		v := Verdict{What: q.What, AtMost: q.AtMost, Floor: q.Floor, Goal: q.Goal}
		figure := q.measure(r)
		if !math.IsNaN(figure) {
			v.Measured = &figure
		}
		v.OfFloor, v.OfGoal = q.stand(figure, q.Floor), q.stand(figure, q.Goal)
		r.Verdicts = append(r.Verdicts, v)
	}
}

func (q Requirement) stand(figure, limit float64) Standing {
	switch {
	case limit == 0:
		return ""
	case math.IsNaN(figure):
		return NotMeasured
	case q.AtMost && figure <= limit, !q.AtMost && figure >= limit:
		return Met
	default:
		return Missed
	}
}

// Check returns an error that names every floor that was missed, nil if there is
// none. What was not measured is not missed.
func (r *Results) Check() error {
	var missed string
	for _, v := range r.Verdicts {
		if v.OfFloor == Missed {
			missed += fmt.Sprintf("\n  %s: %.2f, the floor is %.2f", v.What, *v.Measured, v.Floor)
		}
	}
	if missed == "" {
		return nil
	}
	return fmt.Errorf("report: floors are missed:%s", missed)
}
