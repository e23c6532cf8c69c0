package telemetry

import (
	"log/slog"
	"regexp"
	"sync"
	"time"

	"github.com/go-logr/logr"
)

// problemQuiet is how long a problem of the exporters is not written again. A collector that is down fails every second.
const problemQuiet = time.Minute

// otelVariable finds the name of a standard variable in an error.
var otelVariable = regexp.MustCompile(`OTEL_[A-Z_]+`)

// problemLog writes what goes wrong inside the exporters to the local log only: a failure to export a log record must not
// become a log record to export. It implements the error handler of OpenTelemetry.
type problemLog struct {
	now func() time.Time

	mu      sync.Mutex
	logger  *slog.Logger // nil after silence
	running bool         // the set-up is over
	written time.Time
	skipped int
}

func newProblemLog(logger *slog.Logger) *problemLog {
	return &problemLog{logger: logger, now: time.Now}
}

// Handle implements the ErrorHandler of OpenTelemetry. It writes at most one line in a minute and tells on the next one how
// many were left out. During the set-up an error quotes the variable that it is about, and that can be the credential for
// the collector: then only the name is written.
func (p *problemLog) Handle(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.logger == nil || err == nil {
		return
	}
	if !p.running {
		name := otelVariable.FindString(err.Error())
		if name == "" {
			name = "an OTEL_* variable"
		}
		p.logger.Warn("telemetry settings", "problem", name+" can not be used as it is")
		return
	}
	now := p.now()
	if !p.written.IsZero() && now.Sub(p.written) < problemQuiet {
		p.skipped++
		return
	}
	p.logger.Warn("telemetry could not be exported", "error", Clip(err.Error(), 512), "skipped", p.skipped)
	p.written, p.skipped = now, 0
}

// complain writes a problem of the settings. There are only as many of those as there are variables, at the start.
func (p *problemLog) complain(what string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.logger != nil {
		p.logger.Warn("telemetry settings", "problem", Clip(what, 256))
	}
}

// run tells that the set-up is over.
func (p *problemLog) run() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running = true
}

// silence ends the writing. The process-wide hooks of OpenTelemetry may hold on to p for ever; the writer behind it may not
// live that long.
func (p *problemLog) silence() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.logger = nil
}

// sdkComplaints is the internal logger of OpenTelemetry. Only the fixed text of an error is passed on: the values beside
// it are those of the OTEL_* variables, and a malformed OTEL_EXPORTER_OTLP_HEADERS would put the collector's credential
// into our log.
type sdkComplaints struct{ problems *problemLog }

// Init implements [logr.LogSink].
func (sdkComplaints) Init(logr.RuntimeInfo) {}

// Enabled implements [logr.LogSink]: nothing below an error.
func (sdkComplaints) Enabled(int) bool { return false }

// Info implements [logr.LogSink].
func (sdkComplaints) Info(int, string, ...any) {}

// Error implements [logr.LogSink].
func (s sdkComplaints) Error(_ error, msg string, _ ...any) { s.problems.complain(msg) }

// WithValues implements [logr.LogSink].
func (s sdkComplaints) WithValues(...any) logr.LogSink { return s }

// WithName implements [logr.LogSink].
func (s sdkComplaints) WithName(string) logr.LogSink { return s }
