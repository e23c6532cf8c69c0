package target

import (
	"context"
	"fmt"
	"time"

	"github.com/octostore/octostore/bench/load"
	"github.com/octostore/octostore/bench/process"
	"github.com/octostore/octostore/bench/rawhttp"
)

// httpServer is a server that speaks the election routes.
type httpServer struct {
	proc *process.Process
	addr string
}

// PID implements [Server].
func (s *httpServer) PID() int { return s.proc.PID() }

// Failure implements [Server].
func (s *httpServer) Failure(err error) error { return s.proc.Failure(err) }

// Close implements [Server].
func (s *httpServer) Close() { s.proc.Kill() }

// Join implements [Server].
func (s *httpServer) Join(ctx context.Context, seat Seat) (Client, error) {
	conn, err := rawhttp.Dial(ctx, s.addr, time.Now().Add(MaxBlock+2*maxWait))
	if err != nil {
		return nil, err
	}
	return join(&httpLine{conn, s.addr, seat.Index}, seat)
}

// ready asks a path that answers 200 once the server serves.
func (s *httpServer) ready(path string) func(context.Context) error {
	request := rawhttp.NewRequest("GET", s.addr, path, "").Bytes()
	return func(ctx context.Context) error {
		conn, err := rawhttp.Dial(ctx, s.addr, time.Now().Add(time.Second))
		if err != nil {
			return err
		}
		defer conn.Close()
		answer, err := conn.Do(request)
		if err == nil && answer.Status != 200 {
			err = fmt.Errorf("%s answers %d: %.200s", path, answer.Status, answer.Body)
		}
		return err
	}
}

type httpLine struct {
	*rawhttp.Conn
	addr  string
	index int
}

func (l *httpLine) caller() caller { return newHTTPCaller(l, 0) }

func (l *httpLine) contender() (contender, error) {
	c := newHTTPCaller(l, maxWait)
	c.aim(0)
	return httpContender{c}, nil
}

// The parts of a request that are written over, each as long as what replaces it.
const (
	nameMark  = "##########"
	tokenMark = "???????????????????????????????????????????" // 32 bytes in base64url
)

var (
	statusField = rawhttp.StringField("status")
	tokenField  = rawhttp.StringField("leader_token")
)

// httpCaller makes the election requests.
type httpCaller struct {
	conn                              *rawhttp.Conn
	campaign, renewal, resigning, get []byte
	names, tokens                     [][]byte // the places of the name and of the token
}

func newHTTPCaller(l *httpLine, wait time.Duration) *httpCaller {
	c := &httpCaller{conn: l.Conn}
	request := func(method, verb, body string) *rawhttp.Request {
		r := rawhttp.NewRequest(method, l.addr, "/elections/bench-"+nameMark+verb, body)
		c.names = append(c.names, r.Place(nameMark))
		return r
	}
	withToken := func(r *rawhttp.Request) []byte {
		c.tokens = append(c.tokens, r.Place(tokenMark))
		return r.Bytes()
	}
	waiting := ""
	if wait > 0 {
		waiting = fmt.Sprintf(`,"wait_ms":%d`, wait.Milliseconds())
	}
	ttl := int(TTL.Seconds())
	c.campaign = request("POST", "/campaign", fmt.Sprintf(`{"candidate_id":"client-%05d","ttl_seconds":%d%s}`, l.index, ttl, waiting)).Bytes()
	c.renewal = withToken(request("POST", "/renew", fmt.Sprintf(`{"leader_token":%q,"ttl_seconds":%d}`, tokenMark, ttl)))
	c.resigning = withToken(request("POST", "/resign", fmt.Sprintf(`{"leader_token":%q}`, tokenMark)))
	c.get = request("GET", "", "").Bytes()
	return c
}

func (c *httpCaller) aim(n int) {
	for _, name := range c.names {
		digits(name, n)
	}
}

// ask sends a request whose answer has to be a 200 with this status in its body.
func (c *httpCaller) ask(request []byte, status string) ([]byte, error) {
	answer, err := c.conn.Do(request)
	if err != nil {
		return nil, err
	}
	if answer.Status != 200 || string(statusField.In(answer.Body)) != status {
		return nil, fmt.Errorf("answer %d %.300q instead of status %q", answer.Status, answer.Body, status)
	}
	return answer.Body, nil
}

func (c *httpCaller) lead() error {
	body, err := c.ask(c.campaign, "leader")
	if err != nil {
		return err
	}
	token := tokenField.In(body)
	if len(token) != len(tokenMark) {
		return fmt.Errorf("answer %.300q without a leader token", body)
	}
	for _, place := range c.tokens {
		copy(place, token)
	}
	return nil
}

func (c *httpCaller) renew() error  { _, err := c.ask(c.renewal, "leader"); return err }
func (c *httpCaller) resign() error { _, err := c.ask(c.resigning, "vacant"); return err }
func (c *httpCaller) look() error   { _, err := c.ask(c.get, "leader"); return err }

// httpContender waits in the server, which tells who is next.
type httpContender struct{ *httpCaller }

func (c httpContender) win(*load.Gate) (bool, error) { return true, c.lead() }
