package target

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/octostore/octostore/bench/load"
)

func TestParseRESP(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text  string
		value string
		null  bool
		whole bool
		err   error
	}{
		"ReadsSimple":             {text: "+OK\r\n", value: "OK", whole: true},
		"ReadsInteger":            {text: ":1\r\n", value: "1", whole: true},
		"ReadsBulk":               {text: "$4\r\na\r\nb\r\n", value: "a\r\nb", whole: true},
		"ReadsEmptyBulk":          {text: "$0\r\n\r\n", whole: true},
		"ReadsNull":               {text: "$-1\r\n", null: true, whole: true},
		"AwaitsLine":              {text: "+O"},
		"AwaitsBulk":              {text: "$4\r\nab"},
		"AwaitsEndOfBulk":         {text: "$2\r\nab\r"},
		"RefusesError":            {text: "-OOM too much\r\n", err: errRESPError},
		"RefusesSurplus":          {text: "+OK\r\n+OK\r\n", err: errRESP},
		"RefusesSurplusAfterBulk": {text: "$1\r\na\r\n:", err: errRESP},
		"RefusesSurplusAfterNull": {text: "$-1\r\n:", err: errRESP},
		"RefusesBadLength":        {text: "$x\r\n", err: errRESP},
		"RefusesNegativeLength":   {text: "$-2\r\n", err: errRESP},
		"RefusesArray":            {text: "*1\r\n", err: errRESP},
		"RefusesEmptyLine":        {text: "\r\n", err: errRESP},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			value, whole, err := parseRESP([]byte(c.text))
			if string(value) != c.value || whole != c.whole || !errors.Is(err, c.err) {
				t.Errorf("%q, %v, error %v; want %q, %v, %v", value, whole, err, c.value, c.whole, c.err)
			}
			if whole && (value == nil) != c.null {
				t.Errorf("null is told as %v", value == nil)
			}
		})
	}
}

// keys is a small Redis: the three commands of the clients, and nothing else.
type keys struct {
	mu     sync.Mutex
	held   map[string]string
	grants int
}

func (k *keys) answer(args []string) string {
	k.mu.Lock()
	defer k.mu.Unlock()
	own := func(key, token string) bool { return k.held[key] == token }
	switch {
	case len(args) == 6 && args[0] == "SET" && args[3] == "NX" && args[4] == "PX" && args[5] == "300000":
		if k.held[args[1]] != "" {
			return "$-1\r\n"
		}
		k.held[args[1]] = args[2]
		k.grants++
		return "+OK\r\n"
	case len(args) == 5 && args[0] == "EVALSHA" && args[1] == scriptName(deleteOwn) && own(args[3], args[4]):
		delete(k.held, args[3])
		return ":1\r\n"
	case len(args) == 6 && args[0] == "EVALSHA" && args[1] == scriptName(extendOwn) && own(args[3], args[4]) && args[5] == "300000":
		return ":1\r\n"
	case args[0] == "GET":
		return fmt.Sprintf("$%d\r\n%s\r\n", len(k.held[args[1]]), k.held[args[1]])
	case args[0] == "SCRIPT" && len(args) == 3:
		return fmt.Sprintf("$40\r\n%s\r\n", scriptName(args[2]))
	}
	return "-ERR\r\n"
}

// serve answers one connection until it ends.
func (k *keys) serve(conn net.Conn) {
	defer conn.Close()
	in := bufio.NewReader(conn)
	number := func(mark byte) (int, bool) {
		line, err := in.ReadString('\n')
		if err != nil || line[0] != mark {
			return 0, false
		}
		n, err := strconv.Atoi(strings.TrimSpace(line[1:]))
		return n, err == nil
	}
	for {
		n, ok := number('*')
		if !ok {
			return
		}
		args := make([]string, n)
		for i := range args {
			length, ok := number('$')
			if !ok {
				return
			}
			b := make([]byte, length+2)
			if _, err := io.ReadFull(in, b); err != nil {
				return
			}
			args[i] = string(b[:length])
		}
		if _, err := io.WriteString(conn, k.answer(args)); err != nil {
			return
		}
	}
}

func openKeys(t *testing.T) (*keys, *redisServer) {
	t.Helper()
	k := &keys{held: make(map[string]string)}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() { k.serve(conn) })
		}
	})
	t.Cleanup(func() { l.Close(); all.Wait() })
	return k, &redisServer{addr: l.Addr().String()}
}

func TestRedisClient(t *testing.T) {
	t.Parallel()
	for _, w := range Workloads() {
		t.Run("Makes"+string(w), func(t *testing.T) {
			t.Parallel()
			k, server := openKeys(t)
			if err := server.prepare(t.Context()); err != nil {
				t.Fatal(err)
			}
			clients := make([]load.Client, 4)
			for i := range clients {
				c, err := server.Join(t.Context(), Seat{Workload: w, Index: i})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { c.Close() })
				clients[i] = c
			}
			res, err := load.Run(t.Context(), clients, load.Plan{Measure: 30 * time.Millisecond})
			if err != nil {
				t.Fatal(err)
			}
			if res.Cycles == 0 || k.grants == 0 {
				t.Errorf("%d cycles, %d grants", res.Cycles, k.grants)
			}
		})
	}
	t.Run("RefusesKeyOfAnother", func(t *testing.T) {
		t.Parallel()
		k, server := openKeys(t)
		c, err := server.Join(t.Context(), Seat{Workload: Cycle})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		k.held["bench:0000000000"] = "another"
		if err := c.Cycle(nil); err == nil {
			t.Error("a key that is held was taken")
		}
	})
	t.Run("GivesUpAtClosedGate", func(t *testing.T) {
		t.Parallel()
		k, server := openKeys(t)
		c, err := server.Join(t.Context(), Seat{Workload: Contended})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		k.held["bench:0000000000"] = "another"
		res, err := load.Run(t.Context(), []load.Client{c}, load.Plan{Measure: 20 * time.Millisecond})
		if err != nil || res.Cycles != 0 {
			t.Errorf("%d cycles, error %v; want none", res.Cycles, err)
		}
	})
}
