package report

import (
	"math"
	"slices"
)

// Median is the middle of the values, the mean of the two middle ones if their
// number is even, NaN if there are none.
func Median(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	half := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[half]
	}
	return (sorted[half-1] + sorted[half]) / 2
}

// Metric is one figure of a sample.
type Metric func(*Sample) float64

// The metrics that are compared. They are pure functions of a sample.
func rate(s *Sample) float64      { return s.Rate }
func p50(s *Sample) float64       { return s.P50 }
func p99(s *Sample) float64       { return s.P99 }
func serverCPU(s *Sample) float64 { return s.ServerCPU }
func clientCPU(s *Sample) float64 { return s.ClientCPU }
func others(s *Sample) float64    { return s.Others }

// values returns a metric of each sample of a key, in the order of the rounds.
func (r *Results) values(k Key, m Metric) []float64 {
	var found []float64
	for i := range r.Samples {
		if r.Samples[i].Key == k {
			found = append(found, m(&r.Samples[i]))
		}
	}
	return found
}

// median is the median of a metric over the rounds, NaN without samples.
func (r *Results) median(k Key, m Metric) float64 { return Median(r.values(k, m)) }

// ratio is the median of the single rounds' ratios of two targets under the same
// workload and connections; NaN if no round has both, or nothing to divide by.
func (r *Results) ratio(k Key, against string, m Metric) float64 {
	other := k
	other.Target = against
	var found []float64
	for i := range r.Samples {
		a := &r.Samples[i]
		if a.Key != k {
			continue
		}
		for j := range r.Samples {
			if b := &r.Samples[j]; b.Key == other && b.Round == a.Round && m(b) > 0 {
				found = append(found, m(a)/m(b))
			}
		}
	}
	return Median(found)
}

// keys returns every key that has samples, in the order of its first one.
func (r *Results) keys() []Key {
	var found []Key
	for i := range r.Samples {
		if k := r.Samples[i].Key; !slices.Contains(found, k) {
			found = append(found, k)
		}
	}
	return found
}

// scaleRatio is the median of the rounds' ratios of cycles with many rooms to
// cycles with few.
func (s *Scale) scaleRatio() float64 {
	var found []float64
	for i := range min(len(s.CyclesFew), len(s.CyclesMany)) {
		if s.CyclesFew[i] > 0 {
			found = append(found, s.CyclesMany[i]/s.CyclesFew[i])
		}
	}
	return Median(found)
}
