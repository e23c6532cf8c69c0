package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// pollEvery is the pause between two questions whether a server is ready.
const pollEvery = 5 * time.Millisecond

// Spec is a server to be started.
type Spec struct {
	Name string // of its output file, and in errors
	Path string
	Args []string
	Env  []string // the whole environment, but for PATH
	Dir  string   // its working directory, where its output goes too
}

// Process is a running server.
type Process struct {
	name   string
	cmd    *exec.Cmd
	output string
	exited chan struct{}
	err    error // of the end, once exited is closed
	stop   sync.Once
}

// Start starts a server. It is running when Start returns, not ready.
func Start(s Spec) (*Process, error) {
	p := &Process{name: s.Name, output: filepath.Join(s.Dir, s.Name+".log"), exited: make(chan struct{})}
	out, err := os.Create(p.output)
	if err != nil {
		return nil, fmt.Errorf("process: output of %s: %w", s.Name, err)
	}
	defer out.Close() // the process has a descriptor of its own by then

	// It lives until Kill, whatever the context of whoever started it does.
	p.cmd = exec.Command(s.Path, s.Args...) //nolint:gosec,noctx // G204: what to start is what this package is told
	p.cmd.Dir = s.Dir
	p.cmd.Env = append([]string{"PATH=" + os.Getenv("PATH")}, s.Env...)
	p.cmd.Stdout, p.cmd.Stderr = out, out
	// Should this program be killed, its servers must not go on eating the machine.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("process: start %s: %w", s.Name, err)
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.exited)
	}()
	return p, nil
}

// PID is its process id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Await asks ready again and again until it returns nil, the process ends, or ctx
// does.
func (p *Process) Await(ctx context.Context, ready func(context.Context) error) error {
	for {
		asked := ready(ctx)
		if asked == nil {
			return nil
		}
		select {
		case <-p.exited:
			return p.Failure(errNotServing)
		case <-ctx.Done():
			return p.Failure(fmt.Errorf("it is not ready: %w: %w", context.Cause(ctx), asked))
		case <-time.After(pollEvery):
		}
	}
}

var errNotServing = errors.New("it does not serve")

// ended is how the process ended; it has.
func (p *Process) ended() error {
	if p.err == nil {
		return errors.New("exit status 0")
	}
	return p.err
}

// Failure adds to an error what the process printed last, and its end if it ended
// unasked.
func (p *Process) Failure(err error) error {
	select {
	case <-p.exited:
		err = fmt.Errorf("%w (it ended: %w)", err, p.ended())
	default:
	}
	return fmt.Errorf("process: %s: %w\n%s", p.name, err, p.Tail(2048))
}

// Tail returns the last bytes of what the process printed.
func (p *Process) Tail(limit int) []byte {
	b, err := os.ReadFile(p.output)
	if err != nil {
		return []byte(err.Error())
	}
	if cut := len(b) - limit; cut > 0 {
		b = b[cut:]
		if i := bytes.IndexByte(b, '\n'); i >= 0 {
			b = b[i+1:]
		}
	}
	return bytes.TrimSpace(b)
}

// Kill ends the process as a crash does and returns when it is gone. What it
// kept is thrown away after a block, so it is not asked to end gracefully.
func (p *Process) Kill() {
	p.stop.Do(func() { _ = p.cmd.Process.Kill() })
	<-p.exited
}

// FreeAddress returns a loopback address that nobody listens on at the moment.
// Somebody may take it before the server does; then that server fails to start.
func FreeAddress(ctx context.Context) (string, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("process: find a port: %w", err)
	}
	addr := l.Addr().String()
	if err := l.Close(); err != nil {
		return "", fmt.Errorf("process: find a port: %w", err)
	}
	return addr, nil
}
