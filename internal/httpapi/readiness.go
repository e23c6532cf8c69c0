package httpapi

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"
)

// readyTimeout is how long /readyz takes at most.
const readyTimeout = time.Second

// Probe is one thing that has to work before it makes sense to send traffic.
type Probe struct {
	// Name is told to everybody who asks: one lower-case word.
	Name string
	// Check returns nil if it works. It must change nothing, write nothing and
	// create nothing; its context ends after a second. The text of its
	// error is not told. If the error has a method Reason() string that returns
	// one word of at most 32 characters of a-z, 0-9 and _, that word is.
	Check func(context.Context) error
}

// The words that a check ends with where no reason is known.
const (
	wordOK       = "ok"
	wordFailed   = "failed"
	wordTimeout  = "timeout"
	checkClosing = "shutdown"
	wordClosing  = "in_progress"
)

// verdict is what one check said.
type verdict struct{ name, word string }

// readiness runs the probes. However many callers ask, and however long a probe
// hangs, there is one run at a time: callers share it.
type readiness struct {
	probes  []Probe
	closing <-chan struct{}

	mu  sync.Mutex
	run *probeRun // nil while none is under way
}

// probeRun is one run of all probes.
type probeRun struct {
	done     chan struct{}
	verdicts []verdict // written before done is closed
}

func newReadiness(probes []Probe, closing <-chan struct{}) *readiness {
	return &readiness{probes: probes, closing: closing}
}

// verdicts asks every probe, or waits for those who ask already, for at most
// readyTimeout. It always ends with the verdict on the server itself.
func (r *readiness) verdicts(ctx context.Context) []verdict {
	run := r.join(ctx)
	timer := time.NewTimer(readyTimeout)
	defer timer.Stop()
	var all []verdict
	select {
	case <-run.done:
		all = append(all, run.verdicts...)
	case <-timer.C:
		for _, p := range r.probes {
			all = append(all, verdict{p.Name, wordTimeout})
		}
	}
	select {
	case <-r.closing:
		return append(all, verdict{checkClosing, wordClosing})
	default:
		return append(all, verdict{checkClosing, wordOK})
	}
}

// join returns the run under way, or begins one. A probe that ignores its
// context holds up later callers until their own timeout and nothing else.
func (r *readiness) join(ctx context.Context) *probeRun {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.run != nil {
		return r.run
	}
	run := &probeRun{done: make(chan struct{})}
	r.run = run
	// Not the caller's context: others may wait for the same run when it leaves.
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), readyTimeout)
	go func() {
		defer cancel()
		for _, p := range r.probes {
			run.verdicts = append(run.verdicts, verdict{p.Name, wordOf(p.Check(bounded))})
		}
		r.mu.Lock()
		r.run = nil
		r.mu.Unlock()
		close(run.done)
	}()
	return run
}

// wordOf reduces an error to a word that can be told to anybody.
func wordOf(err error) string {
	var reasoned interface{ Reason() string }
	switch {
	case err == nil:
		return wordOK
	case errors.As(err, &reasoned) && isReason(reasoned.Reason()):
		return reasoned.Reason()
	case errors.Is(err, context.DeadlineExceeded):
		return wordTimeout
	default:
		return wordFailed
	}
}

func isReason(s string) bool {
	if s == "" || s == wordOK || len(s) > 32 {
		return false
	}
	for i := range len(s) {
		if c := s[i]; (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '_' {
			return false
		}
	}
	return true
}

// readiness answers GET /readyz: "ok", or 503 and a line for each check that
// failed. With ?verbose there is a line for every check.
func (a *API) readiness(x *exchange) {
	verbose := x.r.URL.Query().Has("verbose")
	status := http.StatusOK
	b := x.out[:0]
	for _, v := range a.system.ready.verdicts(x.ctx) {
		if v.word != wordOK {
			status = http.StatusServiceUnavailable
		} else if !verbose {
			continue
		}
		b = append(append(append(append(b, v.name...), ": "...), v.word...), '\n')
	}
	if len(b) == 0 {
		b = append(b, wordOK+"\n"...)
	}
	x.out = b
	x.w.Header()["Cache-Control"] = noStore
	x.send(status, contentText, x.out)
}
