package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		// Idle connections of the clients in these tests; the servers are processes of their own.
		goleak.IgnoreTopFunction("internal/poll.runtime_pollWait"),
		goleak.IgnoreTopFunction("net/http.(*persistConn).writeLoop"),
		// The cleaner of the rate limiter's counter lives as long as its store.
		goleak.IgnoreTopFunction("github.com/ulule/limiter/v3/drivers/store/memory.(*cleaner).Run"))
}

// binary builds the real program, once for all tests.
var binary = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "octostore-test-")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "octostore")
	cmd := exec.Command("go", "build", "-o", path, ".")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", errors.New(string(out))
	}
	return path, nil
})

func builtBinary(t *testing.T) string {
	t.Helper()
	path, err := binary()
	if err != nil {
		t.Fatalf("build: %v", err)
	}
	return path
}

// process is one running server.
type process struct {
	t      *testing.T
	cmd    *exec.Cmd
	URL    string
	exited chan struct{}
	err    error // of Wait, once exited
	ready  chan struct{}
	news   chan struct{} // something was printed

	mu     sync.Mutex
	stdout bytes.Buffer
	stderr bytes.Buffer
}

// start runs the server in dir with the variables, and returns when it serves.
func start(t *testing.T, dir string, env ...string) *process {
	t.Helper()
	p := launch(t, dir, env...)
	select {
	case <-p.ready:
	case <-p.exited:
		t.Fatalf("the server ended instead of serving: %v\n%s", p.err, p.Stderr())
	case <-time.After(30 * time.Second):
		t.Fatalf("the server does not serve\n%s", p.Stderr())
	}
	return p
}

// launch runs the server and returns at once.
func launch(t *testing.T, dir string, env ...string) *process {
	t.Helper()
	p := &process{t: t, cmd: exec.Command(builtBinary(t)), exited: make(chan struct{}), ready: make(chan struct{}), news: make(chan struct{}, 1)}
	p.cmd.Dir = dir
	p.cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "BIND_ADDR=127.0.0.1:0"}, env...)
	p.cmd.Stderr = writerFunc(func(b []byte) (int, error) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.tell()
		return p.stderr.Write(b)
	})
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go p.follow(stdout)
	t.Cleanup(func() { p.kill() })
	return p
}

// follow reads the log, finds the address in it, and waits for the end.
func (p *process) follow(stdout io.Reader) {
	scanner := bufio.NewScanner(stdout)
	for scanner.Scan() {
		var line struct{ Msg, Address string }
		_ = json.Unmarshal(scanner.Bytes(), &line)
		p.mu.Lock()
		p.stdout.Write(scanner.Bytes())
		p.stdout.WriteByte('\n')
		p.tell()
		p.mu.Unlock()
		if line.Msg == "serving" {
			p.URL = "http://" + strings.Replace(line.Address, "[::]", "127.0.0.1", 1)
			close(p.ready)
		}
	}
	p.err = p.cmd.Wait()
	close(p.exited)
}

func (p *process) tell() {
	select {
	case p.news <- struct{}{}:
	default:
	}
}

// until waits for what the server prints, in one of its outputs, to contain
// the text.
func (p *process) until(output func() string, text string) string {
	p.t.Helper()
	late := time.After(30 * time.Second)
	for {
		if all := output(); strings.Contains(all, text) {
			return all
		}
		select {
		case <-p.news:
		case <-p.exited:
			p.t.Fatalf("it ended without printing %q", text)
		case <-late:
			p.t.Fatalf("it does not print %q", text)
		}
	}
}

func (p *process) Stderr() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stderr.String()
}

func (p *process) Log() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stdout.String()
}

// kill ends the server as a crash does.
func (p *process) kill() {
	_ = p.cmd.Process.Signal(syscall.SIGKILL)
	<-p.exited
}

// signal sends a signal and waits for the end. It returns the exit code.
func (p *process) signal(sig os.Signal) int {
	p.t.Helper()
	if err := p.cmd.Process.Signal(sig); err != nil {
		p.t.Fatal(err)
	}
	return p.wait()
}

func (p *process) wait() int {
	p.t.Helper()
	select {
	case <-p.exited:
		return p.cmd.ProcessState.ExitCode()
	case <-time.After(30 * time.Second):
		p.t.Fatalf("the server does not end\n%s", p.Log())
		return -1
	}
}

// call sends a request and returns status and decoded body. Body "" sends none.
func (p *process) call(method, path, body string, header ...string) (int, map[string]any) {
	p.t.Helper()
	status, out, err := p.try(method, path, body, header...)
	if err != nil {
		p.t.Fatalf("%s %s: %v", method, path, err)
	}
	return status, out
}

func (p *process) try(method, path, body string, header ...string) (int, map[string]any, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 70*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, p.URL+path, strings.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		return resp.StatusCode, nil, err
	}
	var out map[string]any
	_ = json.Unmarshal(raw, &out)
	return resp.StatusCode, out, nil
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }
