package histories

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// Build compiles the program into a directory and returns the file. Build tags are
// for variants of it, such as one with a known fault.
func Build(ctx context.Context, dir string, tags ...string) (string, error) {
	path := filepath.Join(dir, "octostore")
	args := []string{"build", "-o", path}
	for _, tag := range tags {
		args = append(args, "-tags", tag)
	}
	cmd := exec.CommandContext(ctx, "go", append(args, "github.com/octostore/octostore/cmd/octostore")...) //nolint:gosec // G204: arguments of a test
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("histories: build: %w\n%s", err, out)
	}
	return path, nil
}

// readyPoll is how often a starting server is asked whether it is ready. It is the
// precision of what is reported as its time to be ready.
const readyPoll = 2 * time.Millisecond

// stopPatience is how long a server that was asked to stop may take.
const stopPatience = 20 * time.Second

// Process is the target of one process on one SQLite file.
type Process struct {
	path, dir, address string
	env                []string
	cmd                *exec.Cmd
	exited             chan struct{}
	err                error // of Wait, once exited
}

// NewProcess returns a target that runs the program in dir, which also gets its
// database and its log. The variables are added to those that a run needs.
func NewProcess(path, dir string, env ...string) (*Process, error) {
	address, err := freeAddress()
	if err != nil {
		return nil, err
	}
	return &Process{path: path, dir: dir, address: address, env: append([]string{
		"PATH=" + os.Getenv("PATH"),
		"BIND_ADDR=" + address,
		"DATABASE_URL=" + filepath.Join(dir, "octostore.db"),
		// Admission is not what is tested here.
		"PUBLIC_ELECTION_REQUESTS_PER_MINUTE=4000000000",
		"MAX_PUBLIC_ELECTIONS=1000000",
		"OCTOSTORE_LOG_LEVEL=warn",
	}, env...)}, nil
}

// freeAddress finds a port that stays free while the server is down. Ports from
// which the system serves outgoing connections would not: another process could get
// this one, and a client that dials a port that nobody listens on could even be
// connected to itself.
func freeAddress() (string, error) {
	var last error
	for range 100 {
		address := "127.0.0.1:" + strconv.Itoa(10_000+rand.IntN(20_000)) //nolint:gosec // G404: any port will do
		l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", address)
		if err == nil {
			return address, l.Close()
		}
		last = err
	}
	return "", fmt.Errorf("histories: no free port: %w", last)
}

// Addresses implements Target.
func (p *Process) Addresses() []string { return []string{p.address} }

// Launch implements Target.
func (p *Process) Launch(int) error {
	log, err := os.OpenFile(p.logPath(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("histories: %w", err)
	}
	defer log.Close()
	cmd := exec.Command(p.path) //nolint:gosec,noctx // G204: built by the test; it ends by a signal of its own
	cmd.Dir, cmd.Env = p.dir, p.env
	// Files, not pipes: whoever kills the process waits for nothing else.
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("histories: start: %w", err)
	}
	exited := make(chan struct{})
	p.cmd, p.exited = cmd, exited
	go func() {
		p.err = cmd.Wait()
		close(exited)
	}()
	return nil
}

// Ready implements Target.
func (p *Process) Ready(ctx context.Context, _ int) (Instant, time.Duration, error) {
	stop := make(chan struct{})
	stalled := make(chan time.Duration, 1)
	go func() { stalled <- stalls(p.dir, stop) }()
	err := p.ready(ctx)
	at := Now()
	close(stop)
	return at, <-stalled, err
}

func (p *Process) ready(ctx context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
			if p.answersReady(ctx) {
				return nil
			}
			timer.Reset(readyPoll)
		case <-p.exited:
			return fmt.Errorf("histories: the server ended instead of serving: %w", p.err)
		case <-ctx.Done():
			return fmt.Errorf("histories: not ready: %w", ctx.Err())
		}
	}
}

// answersReady asks once, on a connection of its own.
func (p *Process) answersReady(ctx context.Context) bool {
	c, err := dial(ctx, p.address)
	if err != nil {
		return false
	}
	defer c.close()
	r := c.exchange(request{method: http.MethodGet, path: "/readyz", patience: time.Second})
	return r.fate == answered && r.status == http.StatusOK
}

// Kill implements Target.
func (p *Process) Kill(int) error {
	if err := p.cmd.Process.Kill(); err != nil {
		return fmt.Errorf("histories: kill: %w", err)
	}
	<-p.exited
	return nil
}

// Stop implements Target.
func (p *Process) Stop(ctx context.Context, _ int) error {
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return fmt.Errorf("histories: stop: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, stopPatience)
	defer cancel()
	select {
	case <-p.exited:
		if p.err != nil {
			return fmt.Errorf("histories: stop: %w", p.err)
		}
		return nil
	case <-ctx.Done():
		return fmt.Errorf("histories: the server does not stop: %w", ctx.Err())
	}
}

// Close kills what still runs.
func (p *Process) Close() error {
	if p.cmd == nil {
		return nil
	}
	select {
	case <-p.exited:
		return nil
	default:
		return p.Kill(0)
	}
}

// Exited implements Target.
func (p *Process) Exited(int) <-chan struct{} { return p.exited }

// maxLog bounds what of the log is shown, in bytes.
const maxLog = 4096

// Log implements Target.
func (p *Process) Log(int) string {
	all, err := os.ReadFile(p.logPath())
	if err != nil {
		return err.Error()
	}
	if len(all) > maxLog {
		all = all[len(all)-maxLog:]
	}
	return string(bytes.TrimSpace(all))
}

func (p *Process) logPath() string { return filepath.Join(p.dir, "server.log") }
