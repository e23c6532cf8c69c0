package target

import (
	"bytes"
	"context"
	"crypto/sha1" //nolint:gosec // G505: Redis names scripts by it
	"encoding/hex"
	"fmt"
	"net"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/octostore/octostore/bench/load"
	"github.com/octostore/octostore/bench/process"
)

// Redis is redis-server with a sync of its log before each answer: the usual lock
// on one instance, SET NX PX and a script that deletes what is still its own.
type Redis struct{}

// Name implements [Target].
func (Redis) Name() string { return "redis" }

// Locate implements [Target].
func (Redis) Locate(ctx context.Context) (string, error) {
	out, err := versionOf(ctx, "redis-server")
	if err != nil {
		return "", err
	}
	for word := range strings.FieldsSeq(out) {
		if v, ok := strings.CutPrefix(word, "v="); ok {
			return "Redis " + v, nil
		}
	}
	return "Redis", nil
}

// versionOf runs a program with --version. It is ErrMissing if there is none.
func versionOf(ctx context.Context, program string) (string, error) {
	path, err := exec.LookPath(program)
	if err != nil {
		return "", fmt.Errorf("target: %s: %w (%w)", program, ErrMissing, err)
	}
	out, err := exec.CommandContext(ctx, path, "--version").Output() //nolint:gosec // G204: a constant name
	if err != nil {
		return "", fmt.Errorf("target: version of %s: %w", program, err)
	}
	return string(out), nil
}

// Serves implements [Target].
func (Redis) Serves(Workload) bool { return true }

// Start implements [Target].
func (r Redis) Start(ctx context.Context, dir string) (Server, error) {
	addr, err := process.FreeAddress(ctx)
	if err != nil {
		return nil, err
	}
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("target: %w", err)
	}
	path, err := exec.LookPath("redis-server")
	if err != nil {
		return nil, fmt.Errorf("target: %w", err)
	}
	proc, err := process.Start(process.Spec{Name: r.Name(), Path: path, Dir: dir, Args: []string{
		"--bind", host, "--port", port, "--dir", dir, "--daemonize", "no",
		"--appendonly", "yes", "--appendfsync", "always", "--save", "",
	}})
	if err != nil {
		return nil, err
	}
	s := &redisServer{proc, addr}
	if err := proc.Await(ctx, s.prepare); err != nil {
		proc.Kill()
		return nil, err
	}
	return s, nil
}

// The scripts act only while the key still holds the caller's own token.
const (
	deleteOwn = `if redis.call("get",KEYS[1])==ARGV[1] then return redis.call("del",KEYS[1]) else return 0 end`
	extendOwn = `if redis.call("get",KEYS[1])==ARGV[1] then return redis.call("pexpire",KEYS[1],ARGV[2]) else return 0 end`
)

func scriptName(script string) string {
	sum := sha1.Sum([]byte(script)) //nolint:gosec // G401: Redis names scripts by it
	return hex.EncodeToString(sum[:])
}

type redisServer struct {
	proc *process.Process
	addr string
}

// prepare loads the scripts, which works once the server answers.
func (s *redisServer) prepare(ctx context.Context) error {
	conn, err := dialRESP(ctx, s.addr, time.Now().Add(time.Second))
	if err != nil {
		return err
	}
	defer conn.Close()
	for _, script := range []string{deleteOwn, extendOwn} {
		name, err := conn.do(respCommand("SCRIPT", "LOAD", script))
		if err != nil {
			return err
		}
		if string(name) != scriptName(script) {
			return fmt.Errorf("redis: a script is named %q", name)
		}
	}
	return nil
}

// PID implements [Server].
func (s *redisServer) PID() int { return s.proc.PID() }

// Failure implements [Server].
func (s *redisServer) Failure(err error) error { return s.proc.Failure(err) }

// Close implements [Server].
func (s *redisServer) Close() { s.proc.Kill() }

// Join implements [Server].
func (s *redisServer) Join(ctx context.Context, seat Seat) (Client, error) {
	conn, err := dialRESP(ctx, s.addr, time.Now().Add(MaxBlock+2*maxWait))
	if err != nil {
		return nil, err
	}
	return join(&redisLine{conn, seat.Index}, seat)
}

type redisLine struct {
	*respConn
	index int
}

func (l *redisLine) caller() caller { return newRedisCaller(l) }

func (l *redisLine) contender() (contender, error) {
	c := newRedisCaller(l)
	c.aim(0)
	return redisContender{c}, nil
}

// redisCaller makes the commands. The token is the client's own.
type redisCaller struct {
	conn                        *respConn
	set, extend, deletion, read []byte
	names                       [][]byte
	token                       string
}

func newRedisCaller(l *redisLine) *redisCaller {
	c := &redisCaller{conn: l.respConn, token: fmt.Sprintf("client-%05d", l.index)}
	command := func(args ...string) []byte {
		b := respCommand(args...)
		i := bytes.Index(b, []byte(nameMark))
		c.names = append(c.names, b[i:i+len(nameMark)])
		return b
	}
	const key = "bench:" + nameMark
	ttl := strconv.FormatInt(TTL.Milliseconds(), 10)
	c.set = command("SET", key, c.token, "NX", "PX", ttl)
	c.extend = command("EVALSHA", scriptName(extendOwn), "1", key, c.token, ttl)
	c.deletion = command("EVALSHA", scriptName(deleteOwn), "1", key, c.token)
	c.read = command("GET", key)
	return c
}

func (c *redisCaller) aim(n int) {
	for _, name := range c.names {
		digits(name, n)
	}
}

// expect sends a command that has to be answered with this text.
func (c *redisCaller) expect(command []byte, want string) error {
	got, err := c.conn.do(command)
	if err == nil && string(got) != want {
		err = fmt.Errorf("redis: answer %q instead of %q", got, want)
	}
	return err
}

func (c *redisCaller) lead() error   { return c.expect(c.set, "OK") }
func (c *redisCaller) renew() error  { return c.expect(c.extend, "1") }
func (c *redisCaller) resign() error { return c.expect(c.deletion, "1") }
func (c *redisCaller) look() error   { return c.expect(c.read, c.token) }

// redisContender asks again at once whenever it was refused: one instance of
// Redis has no queue for a key.
type redisContender struct{ *redisCaller }

func (c redisContender) win(gate *load.Gate) (bool, error) {
	for !gate.Closed() {
		got, err := c.conn.do(c.set)
		if err != nil {
			return false, err
		}
		if got != nil {
			return true, nil
		}
	}
	return false, nil
}
