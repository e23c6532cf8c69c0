package report

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"text/tabwriter"
)

// WriteTable prints the run for people.
func (r *Results) WriteTable(w io.Writer) error {
	p := &printer{w: w}
	r.head(p)
	r.disk(p)
	last := ""
	for _, k := range r.keys() {
		if block := fmt.Sprintf("%s, %s", k.Workload, plural(k.Connections, "connection")); block != last {
			last = block
			r.block(p, block, k)
		}
	}
	r.scale(p)
	r.verdicts(p)
	return p.err
}

// printer writes until the first error and keeps that.
type printer struct {
	w   io.Writer
	err error
}

func (p *printer) printf(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format, args...)
	}
}

// table prints lines whose cells are separated by tabs, in columns that are
// aligned as flags says.
func (p *printer) table(flags uint, lines []string) {
	t := tabwriter.NewWriter(p.w, 0, 0, 2, ' ', flags)
	for _, line := range lines {
		if p.err == nil {
			_, p.err = io.WriteString(t, line+"\t\n")
		}
	}
	if p.err == nil {
		p.err = t.Flush()
	}
}

func (r *Results) head(p *printer) {
	s := r.Settings
	p.printf("%s of %g s each after %g s of warm-up, medians; %s, %.0f s in all\n",
		plural(s.Rounds, "round"), s.MeasureSeconds, s.WarmSeconds, r.Started.UTC().Format("2006-01-02 15:04 MST"), r.Seconds)
	h := r.Host
	p.printf("%d processors (%s), Linux %s, %s, %s, load average %.1f at the start\n", h.Processors, h.Model, h.Kernel, h.Filesystem, h.Go, h.Load)
	for _, name := range slices.Sorted(maps.Keys(r.Versions)) {
		p.printf("%s: %s\n", name, r.Versions[name])
	}
	for _, name := range slices.Sorted(maps.Keys(r.Missing)) {
		p.printf("%s: NOT COMPARED, %s\n", name, r.Missing[name])
	}
	if s.Profiled {
		p.printf("A profiler ran: the figures of %s are lower than they would be.\n", own)
	}
	if s.Rounds < 3 {
		p.printf("Fewer than three rounds: a check that the program works, no measurement.\n")
	}
}

func (r *Results) disk(p *printer) {
	byCall := make(map[string][3][]float64)
	for _, d := range r.Disk {
		v := byCall[d.Call]
		v[0], v[1], v[2] = append(v[0], d.Rate), append(v[1], d.P50), append(v[2], d.P99)
		byCall[d.Call] = v
	}
	if len(byCall) == 0 {
		return
	}
	lines := []string{"disk, 4 KiB overwritten\t/s\tmin-max\tp50 us\tp99 us"}
	for _, call := range slices.Sorted(maps.Keys(byCall)) {
		v := byCall[call]
		lines = append(lines, fmt.Sprintf("%s\t%s\t%s\t%s\t%s", call, count(Median(v[0])), span(v[0]), count(Median(v[1])), count(Median(v[2]))))
	}
	p.printf("\n")
	p.table(tabwriter.AlignRight, lines)
}

// block prints every target under one workload and number of connections.
func (r *Results) block(p *printer, title string, of Key) {
	lines := []string{title + "\t/s\tmin-max\tx bare\tx etcd\tp50 ms\tp99 ms\tserver us\tclient us\tothers\toperations a group"}
	for _, k := range r.keys() {
		if k.Workload != of.Workload || k.Connections != of.Connections {
			continue
		}
		lines = append(lines, strings.Join([]string{
			k.Target, count(r.median(k, rate)), span(r.values(k, rate)),
			decimals(r.ratio(k, bare, rate), 2), decimals(r.ratio(k, etcd, rate), 2),
			decimals(r.median(k, p50)/1000, 2), decimals(r.median(k, p99)/1000, 2),
			decimals(r.median(k, serverCPU), 0), decimals(r.median(k, clientCPU), 0),
			decimals(100*r.median(k, others), 0) + "%", r.groups(k),
		}, "\t"))
	}
	p.printf("\n")
	p.table(tabwriter.AlignRight, lines)
}

func (r *Results) groups(k Key) string {
	var sizes []float64
	for i := range r.Samples {
		if s := &r.Samples[i]; s.Key == k && s.Groups != nil {
			sizes = append(sizes, s.Groups.Operations)
		}
	}
	return decimals(Median(sizes), 1)
}

func (r *Results) scale(p *printer) {
	s := r.Scale
	if s == nil {
		return
	}
	p.printf("\n")
	p.table(tabwriter.AlignRight, []string{
		"store alone, 256 callers\tcycles/s\tmin-max",
		fmt.Sprintf("%s rooms led\t%s\t%s", count(float64(s.Few)), count(Median(s.CyclesFew)), span(s.CyclesFew)),
		fmt.Sprintf("%s rooms led\t%s\t%s", count(float64(s.Many)), count(Median(s.CyclesMany)), span(s.CyclesMany)),
	})
	p.printf("many to few: %s; filled at %s rooms/s; heap %s bytes a room beyond the %s of its strings; resident %s MB; file %s MB\n",
		decimals(s.scaleRatio(), 2), count(s.FillRate), count(s.HeapPerRoom), count(s.StringsPerRoom), count(s.ResidentMB), count(s.FileMB))
	p.printf("the server is ready %s s after a restart with %s rooms (%s)\n",
		decimals(Median(s.RestartSeconds), 2), count(float64(s.Many)), plural(len(s.RestartSeconds), "restart"))
}

func (r *Results) verdicts(p *printer) {
	lines := []string{"requirement\tmeasured\tfloor\t\tgoal\t"}
	for _, v := range r.Verdicts {
		measured := "-"
		if v.Measured != nil {
			measured = decimals(*v.Measured, 2)
		}
		sign := ">="
		if v.AtMost {
			sign = "<="
		}
		limit := func(limit float64) string {
			if limit == 0 {
				return ""
			}
			return fmt.Sprintf("%s %g", sign, limit)
		}
		lines = append(lines, strings.Join([]string{v.What, measured, limit(v.Floor), string(v.OfFloor), limit(v.Goal), string(v.OfGoal)}, "\t"))
	}
	p.printf("\n")
	p.table(0, lines)
}

// count writes a number without decimals, its thousands apart.
func count(v float64) string {
	if math.IsNaN(v) {
		return "-"
	}
	digits := fmt.Sprintf("%.0f", v)
	sign := ""
	if digits[0] == '-' {
		sign, digits = "-", digits[1:]
	}
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return sign + digits
}

func decimals(v float64, n int) string {
	if math.IsNaN(v) {
		return "-"
	}
	return fmt.Sprintf("%.*f", n, v)
}

// span is the range of some values.
func span(values []float64) string {
	if len(values) == 0 {
		return "-"
	}
	return count(slices.Min(values)) + "-" + count(slices.Max(values))
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
