package report

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestMedian(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		values []float64
		want   float64
	}{
		"TakesOnlyOne":         {[]float64{7}, 7},
		"TakesMiddle":          {[]float64{9, 1, 5}, 5},
		"TakesMeanOfTwo":       {[]float64{4, 1, 2, 100}, 3},
		"IsNotMovedByOutliers": {[]float64{1e9, 2, 2, 2, -1e9}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before := append([]float64(nil), c.values...)
			if got := Median(c.values); got != c.want {
				t.Errorf("the median is %v, want %v", got, c.want)
			}
			if diff := cmp.Diff(before, c.values); diff != "" {
				t.Errorf("the values were changed:\n%s", diff)
			}
		})
	}
	t.Run("IsNoNumberOfNothing", func(t *testing.T) {
		t.Parallel()
		if got := Median(nil); !math.IsNaN(got) {
			t.Errorf("the median of nothing is %v", got)
		}
	})
}

// sample makes a sample with the figures that are compared.
func sample(target string, round int, rate, p99, cpu float64) Sample {
	return Sample{Key: Key{"cycle", 64, target}, Round: round, Rate: rate, P50: p99 / 2, P99: p99, ServerCPU: cpu}
}

func TestRatio(t *testing.T) {
	t.Parallel()
	key := Key{"cycle", 64, own}

	t.Run("IsMedianOfRoundsRatios", func(t *testing.T) {
		t.Parallel()
		// The machine halves its speed in the second round; the ratio stays. The
		// ratio of the medians would be 1000/1000.
		r := Results{Samples: []Sample{
			sample(own, 1, 2000, 10, 50), sample(etcd, 1, 1000, 20, 200),
			sample(own, 2, 1000, 20, 50), sample(etcd, 2, 500, 40, 200),
			sample(own, 3, 900, 20, 50), sample(etcd, 3, 1000, 40, 200),
		}}
		for name, c := range map[string]struct {
			metric Metric
			want   float64
		}{"rate": {rate, 2}, "p99": {p99, 0.5}, "p50": {p50, 0.5}, "cpu": {serverCPU, 0.25}} {
			if got := r.ratio(key, etcd, c.metric); got != c.want {
				t.Errorf("%s: %v, want %v", name, got, c.want)
			}
		}
	})

	t.Run("UsesRoundsWithBothSidesOnly", func(t *testing.T) {
		t.Parallel()
		r := Results{Samples: []Sample{sample(own, 1, 100, 1, 1), sample(own, 2, 300, 1, 1), sample(etcd, 2, 100, 1, 1)}}
		if got := r.ratio(key, etcd, rate); got != 3 {
			t.Errorf("%v, want 3", got)
		}
	})

	for name, samples := range map[string][]Sample{
		"IsNoNumberWithoutPeer":     {sample(own, 1, 100, 1, 1)},
		"IsNoNumberWithoutSelf":     {sample(etcd, 1, 100, 1, 1)},
		"IsNoNumberAgainstNothing":  {sample(own, 1, 100, 1, 1), sample(etcd, 1, 0, 1, 1)},
		"IsNoNumberOfOtherWorkload": {{Key: Key{"renew", 64, own}, Round: 1, Rate: 1}, {Key: Key{"renew", 64, etcd}, Round: 1, Rate: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := Results{Samples: samples}
			if got := r.ratio(key, etcd, rate); !math.IsNaN(got) {
				t.Errorf("%v", got)
			}
		})
	}
}

func TestScaleRatio(t *testing.T) {
	t.Parallel()
	s := Scale{CyclesFew: []float64{100, 200, 100}, CyclesMany: []float64{50, 160, 70}}
	if got := s.scaleRatio(); got != 0.7 {
		t.Errorf("%v, want 0.7", got)
	}
}

// judged runs the requirements over results and returns the verdict about one.
func judged(t *testing.T, r *Results, what string) Verdict {
	t.Helper()
	r.Judge()
	for _, v := range r.Verdicts {
		if strings.HasPrefix(v.What, what) {
			return v
		}
	}
	t.Fatalf("there is no requirement %q", what)
	return Verdict{}
}

func TestJudge(t *testing.T) {
	t.Parallel()
	const what = "cycle, 64 connections: rate / etcd's" // floor 1.6, goal 2
	for name, c := range map[string]struct {
		samples     []Sample
		floor, goal Standing
		fails       bool
	}{
		"MeetsBoth":               {[]Sample{sample(own, 1, 200, 1, 1), sample(etcd, 1, 100, 1, 1)}, Met, Met, false},
		"MissesGoalOnly":          {[]Sample{sample(own, 1, 199, 1, 1), sample(etcd, 1, 100, 1, 1)}, Met, Missed, false},
		"MeetsFloorExactly":       {[]Sample{sample(own, 1, 160, 1, 1), sample(etcd, 1, 100, 1, 1)}, Met, Missed, false},
		"MissesBoth":              {[]Sample{sample(own, 1, 159, 1, 1), sample(etcd, 1, 100, 1, 1)}, Missed, Missed, true},
		"DoesNotMissWithoutPeer":  {[]Sample{sample(own, 1, 1, 1, 1)}, NotMeasured, NotMeasured, false},
		"DoesNotMissWithoutSelf":  {[]Sample{sample(etcd, 1, 1, 1, 1)}, NotMeasured, NotMeasured, false},
		"DoesNotMissWithoutAtAll": {nil, NotMeasured, NotMeasured, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := &Results{Samples: c.samples}
			v := judged(t, r, what)
			if v.OfFloor != c.floor || v.OfGoal != c.goal {
				t.Errorf("floor %s, goal %s; want %s, %s", v.OfFloor, v.OfGoal, c.floor, c.goal)
			}
			err := r.Check()
			if (err != nil) != c.fails {
				t.Errorf("the check says %v", err)
			}
			if err != nil && !strings.Contains(err.Error(), what) {
				t.Errorf("the error %v does not name the floor", err)
			}
		})
	}

	t.Run("TakesSmallForGoodWhereItIs", func(t *testing.T) {
		t.Parallel()
		for limit, want := range map[float64]Standing{0.6: Met, 0.61: Missed} {
			r := &Results{Samples: []Sample{sample(own, 1, 1, 100*limit, 1), sample(etcd, 1, 1, 100, 1)}}
			if v := judged(t, r, "cycle, 64 connections: p99"); v.OfGoal != want || v.OfFloor != "" {
				t.Errorf("%v of etcd's p99: floor %q, goal %q; want none, %q", limit, v.OfFloor, v.OfGoal, want)
			}
		}
	})

	t.Run("JudgesScaleWithAllRoomsOnly", func(t *testing.T) {
		t.Parallel()
		scale := Scale{Many: 1_000_000, CyclesFew: []float64{100}, CyclesMany: []float64{40}, HeapPerRoom: 300, RestartSeconds: []float64{9}}
		r := &Results{Scale: &scale}
		if v := judged(t, r, "store with"); v.OfFloor != Missed || r.Check() == nil {
			t.Errorf("40 of 100 cycles: floor %q", v.OfFloor)
		}
		if v := judged(t, r, "1,000,000 rooms: heap"); v.OfGoal != Met {
			t.Errorf("300 bytes a room: goal %q", v.OfGoal)
		}
		if v := judged(t, r, "1,000,000 rooms: seconds"); v.OfGoal != Missed {
			t.Errorf("9 seconds: goal %q", v.OfGoal)
		}
		scale.Many = 999_999
		if v := judged(t, r, "store with"); v.OfFloor != NotMeasured || r.Check() != nil {
			t.Errorf("with too few rooms: floor %q", v.OfFloor)
		}
	})
}

// TestRequirements: a floor above its goal, or the other way round, could not be
// meant.
func TestRequirements(t *testing.T) {
	t.Parallel()
	for _, q := range Requirements() {
		if q.Goal == 0 || q.What == "" {
			t.Errorf("%+v has no goal or no text", q)
		}
		if q.Floor != 0 && (q.Floor > q.Goal) != q.AtMost {
			t.Errorf("%s: the floor %v is beyond the goal %v", q.What, q.Floor, q.Goal)
		}
	}
}

func full() *Results {
	r := &Results{
		Started:  time.Date(2026, 12, 1, 8, 0, 0, 0, time.UTC),
		Settings: Settings{Rounds: 3, WarmSeconds: 0.5, MeasureSeconds: 2},
		Versions: map[string]string{own: "octostore dev", "bare": "gin"},
		Missing:  map[string]string{etcd: "target: etcd: not installed"},
		Disk:     []DiskSample{{"fsync", 1, 2000, 400, 900}, {"fsync", 2, 4000, 200, 700}},
		Samples: []Sample{
			{Key: Key{"cycle", 64, own}, Round: 1, Rate: 12345, P50: 4000, P99: 15000, ServerCPU: 110, Others: 0.05, Groups: &Groups{Operations: 30.5}},
			{Key: Key{"cycle", 64, "bare"}, Round: 1, Rate: 20000, P50: 3000, P99: 9000, ServerCPU: 60},
			{Key: Key{"renew", 1, own}, Round: 1, Rate: 900},
		},
		Scale: &Scale{Few: 1000, Many: 1_000_000, CyclesFew: []float64{100_000}, CyclesMany: []float64{80_000}, HeapPerRoom: 310, StringsPerRoom: 52, RestartSeconds: []float64{3.5}},
	}
	r.Judge()
	return r
}

func TestWriteTable(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	if err := full().WriteTable(&b); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(b.String(), "\n")
	for _, want := range []string{
		"3 rounds of 2 s each",
		"etcd: NOT COMPARED, target: etcd: not installed",
		"fsync 3,000 2,000-4,000 300 800",
		"cycle, 64 connections /s",
		"octostore 12,345 12,345-12,345 0.62 - 4.00 15.00 110 0 5% 30.5",
		"bare 20,000 20,000-20,000 1.00 - 3.00 9.00 60 0 0% -",
		"renew, 1 connection /s",
		"1,000,000 rooms led 80,000 80,000-80,000",
		"many to few: 0.80",
		"the server is ready 3.50 s after a restart",
		"cycle, 64 connections: rate / bare handler's 0.62 >= 0.5 met >= 0.6 met",
		"cycle, 64 connections: rate / etcd's - >= 1.6 not measured >= 2 not measured",
		"1,000,000 rooms: heap bytes a room beyond its strings 310.00 <= 320 met",
	} {
		found := false
		for _, line := range lines {
			found = found || strings.Contains(strings.Join(strings.Fields(line), " "), want)
		}
		if !found {
			t.Errorf("no line with %q in\n%s", want, b.String())
		}
	}
	if strings.Contains(b.String(), "NaN") {
		t.Errorf("a figure that was not measured is told:\n%s", b.String())
	}
}

func TestWriteTableWarns(t *testing.T) {
	t.Parallel()
	r := full()
	r.Settings.Rounds, r.Settings.Profiled = 1, true
	var b bytes.Buffer
	if err := r.WriteTable(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"no measurement", "A profiler ran"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no warning with %q", want)
		}
	}
}

func TestWriteJSON(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	r := full()
	if err := r.WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
	var back Results
	if err := json.Unmarshal(b.Bytes(), &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(r, &back); diff != "" {
		t.Errorf("what was written (-) is not what is read (+):\n%s", diff)
	}
}

func TestCount(t *testing.T) {
	t.Parallel()
	for want, v := range map[string]float64{"0": 0.4, "999": 999, "1,000": 999.6, "1,234,567": 1234567, "-1,000": -1000, "-": math.NaN()} {
		if got := count(v); got != want {
			t.Errorf("%v is written %q, want %q", v, got, want)
		}
	}
}
