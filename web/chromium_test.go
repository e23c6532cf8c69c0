//go:build browser

package web_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"
)

// browser drives a headless Chromium through its debugging pipe: messages of the
// DevTools protocol, each ended by a zero byte, on two inherited descriptors. That
// needs no port, no driver program and no library.
type browser struct {
	commands io.WriteCloser

	mu      sync.Mutex
	next    int
	replies map[int]chan reply
	closed  error
}

type reply struct {
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Message string `json:"message"`
	} `json:"error"`
}

type message struct {
	reply
	ID     int             `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

// startBrowser runs Chromium until the test ends and hands every event to onEvent, one at a
// time. It fails the test if there is no Chromium: who asks for the browser tests wants them run.
func startBrowser(t *testing.T, proxy string, onEvent func(method string, params json.RawMessage)) *browser {
	t.Helper()
	path, err := findChromium()
	if err != nil {
		t.Fatal(err)
	}
	commandsOut, commandsIn, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	eventsOut, eventsIn, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	// Not t.TempDir: a dying helper process may still write there, which is no failure of ours.
	profile, err := os.MkdirTemp("", "octostore-browser-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(profile) })
	cmd := exec.Command(path,
		"--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-dev-shm-usage",
		"--no-first-run", "--no-default-browser-check", "--disable-extensions", "--disable-breakpad",
		"--disable-background-networking", "--disable-component-update", "--disable-sync",
		"--disable-domain-reliability", "--disable-client-side-phishing-detection", "--no-pings",
		"--disable-features=OptimizationHints,MediaRouter,Translate,AutofillServerCommunication",
		"--user-data-dir="+profile,
		"--proxy-server="+proxy, // Loopback addresses bypass it; everything else ends there, so the browser is offline.
		"--window-size=1280,1600",
		"--remote-debugging-pipe", "about:blank")
	cmd.ExtraFiles = []*os.File{commandsOut, eventsIn} // descriptors 3 and 4
	if err := cmd.Start(); err != nil {
		t.Fatalf("start %s: %v", path, err)
	}
	_, _ = commandsOut.Close(), eventsIn.Close()

	b := &browser{commands: commandsIn, replies: map[int]chan reply{}}
	read := make(chan struct{})
	go func() {
		defer close(read)
		b.read(eventsOut, onEvent)
	}()
	t.Cleanup(func() {
		// The reply may be lost in the closing: what counts is that the process ends.
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		_ = b.call(ctx, "", "Browser.close", nil, nil)
		_ = commandsIn.Close()
		exited := make(chan struct{})
		go func() {
			_ = cmd.Wait()
			close(exited)
		}()
		select {
		case <-exited:
		case <-ctx.Done():
			_ = cmd.Process.Kill()
			<-exited
		}
		<-read
		_ = eventsOut.Close()
	})
	return b
}

func findChromium() (string, error) {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome-stable", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", errors.New("the browser tests need Chromium in PATH (Debian, Ubuntu: apt-get install chromium)")
}

func (b *browser) read(events io.Reader, onEvent func(string, json.RawMessage)) {
	reader := bufio.NewReaderSize(events, 1<<16)
	for {
		text, err := reader.ReadBytes(0)
		if err != nil {
			b.mu.Lock()
			b.closed = fmt.Errorf("chromium is gone: %w", err)
			for id, waiting := range b.replies {
				delete(b.replies, id)
				close(waiting)
			}
			b.mu.Unlock()
			return
		}
		var m message
		if json.Unmarshal(text[:len(text)-1], &m) != nil {
			continue
		}
		if m.ID == 0 {
			onEvent(m.Method, m.Params)
			continue
		}
		b.mu.Lock()
		waiting := b.replies[m.ID]
		delete(b.replies, m.ID)
		b.mu.Unlock()
		if waiting != nil {
			waiting <- m.reply
		}
	}
}

// call sends one command and reads its result into out, unless that is nil.
func (b *browser) call(ctx context.Context, session, method string, params map[string]any, out any) error {
	waiting := make(chan reply, 1)
	b.mu.Lock()
	if b.closed != nil {
		b.mu.Unlock()
		return b.closed
	}
	b.next++
	id := b.next
	b.replies[id] = waiting
	command := map[string]any{"id": id, "method": method}
	if session != "" {
		command["sessionId"] = session
	}
	if params != nil {
		command["params"] = params
	}
	text, err := json.Marshal(command)
	if err == nil {
		_, err = b.commands.Write(append(text, 0))
	}
	b.mu.Unlock()
	if err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	select {
	case <-ctx.Done():
		return fmt.Errorf("%s: %w", method, ctx.Err())
	case r, ok := <-waiting:
		switch {
		case !ok:
			return fmt.Errorf("%s: chromium is gone", method)
		case r.Error != nil:
			return fmt.Errorf("%s: %s", method, r.Error.Message)
		case out == nil:
			return nil
		default:
			return json.Unmarshal(r.Result, out)
		}
	}
}
