package load

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// clientFunc is a client made of a function.
type clientFunc func(gate *Gate) error

func (f clientFunc) Cycle(gate *Gate) error { return f(gate) }

// sleeper is a client whose cycles take d of a bubble's time.
func sleeper(d time.Duration) Client {
	return clientFunc(func(*Gate) error { time.Sleep(d); return nil })
}

func TestRun(t *testing.T) {
	t.Parallel()

	t.Run("CountsCyclesOfWindowOnly", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			// Cycles end at odd milliseconds, so none ends at an edge of the window.
			first := true
			late := clientFunc(func(*Gate) error {
				if first {
					first = false
					time.Sleep(time.Millisecond)
				} else {
					time.Sleep(2 * time.Millisecond)
				}
				return nil
			})
			res, err := Run(t.Context(), []Client{late}, Plan{Warm: 100 * time.Millisecond, Measure: time.Second})
			if err != nil {
				t.Fatal(err)
			}
			if res.Cycles != 500 || res.Elapsed != time.Second || res.Rate() != 500 {
				t.Errorf("%d cycles in %v, %v a second; want 500 in 1s", res.Cycles, res.Elapsed, res.Rate())
			}
			if got := res.Latency.Max(); got != 2*time.Millisecond {
				t.Errorf("the longest cycle took %v, want 2ms", got)
			}
		})
	})

	t.Run("AddsUpClients", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			clients := []Client{sleeper(3 * time.Millisecond), sleeper(7 * time.Millisecond)}
			res, err := Run(t.Context(), clients, Plan{Warm: time.Millisecond, Measure: 21*time.Second + time.Millisecond})
			if err != nil {
				t.Fatal(err)
			}
			if res.Cycles != 7000+3000 {
				t.Errorf("%d cycles, want 10000", res.Cycles)
			}
			if p := res.Latency.Quantile(0.5); p < 2900*time.Microsecond || p > 3100*time.Microsecond {
				t.Errorf("the median is %v, want about 3ms", p)
			}
		})
	})

	t.Run("TellsEdgesOfWindow", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			var began, ended time.Duration
			_, err := Run(t.Context(), []Client{sleeper(time.Millisecond)}, Plan{
				Warm: 40 * time.Millisecond, Measure: 60 * time.Millisecond,
				Begin: func() error { began = time.Since(start); return nil },
				End:   func() error { ended = time.Since(start); return nil },
			})
			if err != nil || began != 40*time.Millisecond || ended != 100*time.Millisecond {
				t.Errorf("began at %v, ended at %v, error %v", began, ended, err)
			}
		})
	})

	t.Run("ClosesGateForClientsThatRetry", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			hopeless := clientFunc(func(gate *Gate) error {
				for !gate.Closed() {
					time.Sleep(time.Millisecond)
				}
				return nil
			})
			res, err := Run(t.Context(), []Client{hopeless}, Plan{Warm: time.Millisecond, Measure: time.Second})
			if err != nil || res.Cycles != 0 {
				t.Errorf("%d cycles, error %v; want none", res.Cycles, err)
			}
		})
	})

	t.Run("EndsWithFirstErrorOfClient", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			wrong := errors.New("wrong answer")
			n := 0
			failing := clientFunc(func(*Gate) error {
				time.Sleep(time.Millisecond)
				if n++; n == 5 {
					return wrong
				}
				return nil
			})
			start := time.Now()
			_, err := Run(t.Context(), []Client{sleeper(time.Millisecond), failing}, Plan{Measure: time.Hour})
			if !errors.Is(err, wrong) || !strings.Contains(err.Error(), "client 1") {
				t.Errorf("error %v, want the one of client 1", err)
			}
			if took := time.Since(start); took > 10*time.Millisecond {
				t.Errorf("it took %v to end", took)
			}
		})
	})

	t.Run("TellsErrorAfterWindow", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			wrong := errors.New("wrong answer")
			late := clientFunc(func(gate *Gate) error {
				time.Sleep(time.Second)
				if gate.Closed() {
					return wrong
				}
				return nil
			})
			if _, err := Run(t.Context(), []Client{late}, Plan{Measure: 1500 * time.Millisecond}); !errors.Is(err, wrong) {
				t.Errorf("error %v, want the wrong answer", err)
			}
		})
	})

	t.Run("EndsWithContext", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			if _, err := Run(ctx, []Client{sleeper(time.Millisecond)}, Plan{Measure: time.Hour}); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("error %v, want the context's", err)
			}
		})
	})

	t.Run("EndsWithErrorOfEdge", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			gone := errors.New("process gone")
			_, err := Run(t.Context(), []Client{sleeper(time.Millisecond)}, Plan{
				Measure: time.Second, End: func() error { return gone },
			})
			if !errors.Is(err, gone) {
				t.Errorf("error %v, want the one of the edge", err)
			}
		})
	})
}
