package target

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime/debug"

	"github.com/gin-gonic/gin"

	"github.com/octostore/octostore/bench/process"
)

// Bare is the least gin handler that the clients of the election routes can not
// tell from a server: it takes the body of each request and answers with bytes that
// were made before. It keeps nothing and decides nothing, so it is what HTTP alone
// costs here.
type Bare struct {
	// Program is this very program, and Role the argument that makes it call
	// ServeBare with the address and the Body that follow.
	Program, Role string
	Body          Body
}

// Body is what the bare handler does with the body of a request.
type Body string

// Decoding costs a fifth of all that the handler costs, so it matters which of the
// two a server is compared with.
const (
	// Decoded: into a struct, with gin's ShouldBindJSON, as a handler of these
	// routes has to in one way or another.
	Decoded Body = "decoded"
	// Discarded: read to its end and thrown away.
	Discarded Body = "discarded"
)

// Name implements [Target].
func (Bare) Name() string { return "bare" }

// Locate implements [Target].
func (b Bare) Locate(context.Context) (string, error) {
	version := "gin"
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			if m.Path == "github.com/gin-gonic/gin" {
				version += " " + m.Version
			}
		}
	}
	return version + ", bodies are " + string(b.Body), nil
}

// Serves implements [Target]. Without a state nobody waits for anybody.
func (Bare) Serves(w Workload) bool { return w != Contended }

// Start implements [Target].
func (b Bare) Start(ctx context.Context, dir string) (Server, error) {
	addr, err := process.FreeAddress(ctx)
	if err != nil {
		return nil, err
	}
	proc, err := process.Start(process.Spec{Name: b.Name(), Path: b.Program, Args: []string{b.Role, addr, string(b.Body)}, Dir: dir})
	if err != nil {
		return nil, err
	}
	s := &httpServer{proc, addr}
	if err := proc.Await(ctx, s.ready("/elections/bench-0000000000")); err != nil {
		proc.Kill()
		return nil, err
	}
	return s, nil
}

// The answers, as long as the server's own.
const (
	bareLeader = `"leader":{"candidate_id":"client-00000","term":1796083200000000,"expires_at":"2026-12-01T00:05:00.000Z"}`
	bareToken  = `"leader_token":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA","renew_after_ms":150000`
	bareRoom   = `"election_id":"bench-0000000000"`

	bareWon      = `{"status":"leader",` + bareRoom + `,` + bareLeader + `,` + bareToken + `,"waited_ms":0}`
	bareRenewed  = `{"status":"leader",` + bareRoom + `,` + bareLeader + `,` + bareToken + `}`
	bareResigned = `{` + bareRoom + `,"status":"vacant","previous_term":1796083200000000}`
	bareStatus   = `{` + bareRoom + `,"status":"leader",` + bareLeader + `,"retry_after_ms":300000,"revision":1796083200000000,"waiters":0}`
)

// bareRequest has the members of all requests.
type bareRequest struct {
	Candidate string  `json:"candidate_id"`
	Token     string  `json:"leader_token"`
	TTL       *uint32 `json:"ttl_seconds"`
	Wait      *uint32 `json:"wait_ms"`
}

// bareHandler is the handler itself.
func bareHandler(body Body) http.Handler {
	engine := gin.New()
	take := func(c *gin.Context) error {
		if body == Decoded && c.Request.Method == http.MethodPost {
			return c.ShouldBindJSON(new(bareRequest))
		}
		_, err := io.Copy(io.Discard, c.Request.Body)
		return err
	}
	constant := func(text string) gin.HandlerFunc {
		answer := []byte(text)
		return func(c *gin.Context) {
			if err := take(c); err != nil {
				c.Status(http.StatusBadRequest)
				return
			}
			c.Data(http.StatusOK, "application/json", answer)
		}
	}
	engine.POST("/elections/:id/campaign", constant(bareWon))
	engine.POST("/elections/:id/renew", constant(bareRenewed))
	engine.POST("/elections/:id/resign", constant(bareResigned))
	engine.GET("/elections/:id", constant(bareStatus))
	return engine
}

// ServeBare serves the handler at an address until ctx ends.
func ServeBare(ctx context.Context, addr string, body Body) error {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if err != nil {
		return fmt.Errorf("target: %w", err)
	}
	gin.SetMode(gin.ReleaseMode)
	server := &http.Server{Handler: bareHandler(body)} //nolint:gosec // G112: loopback, and timeouts cost
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("target: %w", err)
	}
	return nil
}
