package target

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/octostore/octostore/bench/process"
)

// OctoStore is the server of this repository.
type OctoStore struct {
	// Program is the path of its binary.
	Program string
}

// Name implements [Target].
func (OctoStore) Name() string { return "octostore" }

// Locate implements [Target].
func (o OctoStore) Locate(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, o.Program, "version").Output() //nolint:gosec // G204: the binary that is to be measured
	if err != nil {
		return "", fmt.Errorf("target: version of octostore: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}

// Serves implements [Target].
func (OctoStore) Serves(Workload) bool { return true }

// Environment is the server's, at an address, with a database file and an admin
// key. All limits are in force and raised; the log is at its default level, the
// metrics are on.
func Environment(addr, database, adminKey string) []string {
	return []string{
		"BIND_ADDR=" + addr,
		"DATABASE_URL=" + database,
		"ADMIN_KEY=" + adminKey,
		"PUBLIC_ELECTION_REQUESTS_PER_MINUTE=4294967295",
		"MAX_PUBLIC_ELECTIONS=10000000",
	}
}

// Start implements [Target].
func (o OctoStore) Start(ctx context.Context, dir string) (Server, error) {
	return o.StartOn(ctx, dir, filepath.Join(dir, "octostore.db"))
}

// StartOn starts the server on a database file that may exist. It returns when
// the server is ready.
func (o OctoStore) StartOn(ctx context.Context, dir, database string) (Server, error) {
	addr, err := process.FreeAddress(ctx)
	if err != nil {
		return nil, err
	}
	key := rand.Text()
	proc, err := process.Start(process.Spec{Name: o.Name(), Path: o.Program, Env: Environment(addr, database, key), Dir: dir})
	if err != nil {
		return nil, err
	}
	s := &octoServer{httpServer{proc, addr}, key}
	if err := proc.Await(ctx, s.ready("/readyz")); err != nil {
		proc.Kill()
		return nil, err
	}
	return s, nil
}

type octoServer struct {
	httpServer
	adminKey string
}

// Groups implements [Grouper] from the server's metrics.
func (s *octoServer) Groups(ctx context.Context) (Groups, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.addr+"/metrics", http.NoBody)
	if err != nil {
		return Groups{}, fmt.Errorf("target: %w", err)
	}
	req.Header.Set("X-Admin-Key", s.adminKey)
	req.Close = true
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return Groups{}, fmt.Errorf("target: %w", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return Groups{}, fmt.Errorf("target: /metrics answers %s", resp.Status)
	}
	return parseGroups(resp.Body)
}

// parseGroups reads what is told of groups in the Prometheus text format.
func parseGroups(r io.Reader) (g Groups, err error) {
	wanted := map[string]*float64{
		"octostore_group_commit_operations_count":     &g.Count,
		"octostore_group_commit_operations_sum":       &g.Operations,
		"octostore_group_commit_duration_seconds_sum": &g.Seconds,
	}
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), " ")
		if into := wanted[name]; into != nil {
			if *into, err = strconv.ParseFloat(value, 64); err != nil {
				return Groups{}, fmt.Errorf("target: metric %s: %w", name, err)
			}
			delete(wanted, name)
		}
	}
	if err := lines.Err(); err != nil {
		return Groups{}, fmt.Errorf("target: metrics: %w", err)
	}
	if len(wanted) > 0 {
		return Groups{}, errors.New("target: the metrics tell nothing of groups")
	}
	return g, nil
}
