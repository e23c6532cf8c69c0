package target

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	"go.uber.org/zap"

	"github.com/octostore/octostore/bench/load"
	"github.com/octostore/octostore/bench/process"
)

// Etcd is a cluster of one member with its defaults, which sync before each
// answer. Its clients are those of its own project.
type Etcd struct {
	// Shared is how many connections all clients of a block share, 0 for one each.
	// Calls on one connection are sent and answered in common writes, which saves
	// much of what gRPC costs on both sides.
	Shared int
}

// Name implements [Target].
func (Etcd) Name() string { return "etcd" }

// Locate implements [Target].
func (Etcd) Locate(ctx context.Context) (string, error) {
	out, err := versionOf(ctx, "etcd")
	if err != nil {
		return "", err
	}
	first, _, _ := strings.Cut(out, "\n")
	return "etcd " + strings.TrimSpace(strings.TrimPrefix(first, "etcd Version:")), nil
}

// Serves implements [Target].
func (Etcd) Serves(Workload) bool { return true }

// Start implements [Target].
func (e Etcd) Start(ctx context.Context, dir string) (Server, error) {
	addr, err := process.FreeAddress(ctx)
	if err != nil {
		return nil, err
	}
	peer, err := process.FreeAddress(ctx)
	if err != nil {
		return nil, err
	}
	path, err := exec.LookPath("etcd")
	if err != nil {
		return nil, fmt.Errorf("target: %w", err)
	}
	client, member := "http://"+addr, "http://"+peer
	proc, err := process.Start(process.Spec{Name: e.Name(), Path: path, Dir: dir, Args: []string{
		"--name", "one", "--data-dir", dir + "/data", "--log-level", "error",
		"--listen-client-urls", client, "--advertise-client-urls", client,
		"--listen-peer-urls", member, "--initial-advertise-peer-urls", member, "--initial-cluster", "one=" + member,
	}})
	if err != nil {
		return nil, err
	}
	s := &etcdServer{proc: proc, addr: addr, shared: make([]*clientv3.Client, e.Shared)}
	if err := proc.Await(ctx, s.ready); err != nil {
		proc.Kill()
		return nil, err
	}
	return s, nil
}

type etcdServer struct {
	proc *process.Process
	addr string

	mu     sync.Mutex
	shared []*clientv3.Client // made when they are needed, nil before
}

// ready writes something, which works once the member leads its cluster.
func (s *etcdServer) ready(ctx context.Context) error {
	client, err := s.dial()
	if err != nil {
		return err
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	_, err = client.Put(ctx, "ready", "")
	return err
}

// dial makes a client with a connection of its own.
func (s *etcdServer) dial() (*clientv3.Client, error) {
	client, err := clientv3.New(clientv3.Config{
		Endpoints: []string{"http://" + s.addr}, DialTimeout: 5 * time.Second, Logger: zap.NewNop(),
	})
	if err != nil {
		return nil, fmt.Errorf("etcd: %w", err)
	}
	return client, nil
}

// PID implements [Server].
func (s *etcdServer) PID() int { return s.proc.PID() }

// Failure implements [Server].
func (s *etcdServer) Failure(err error) error { return s.proc.Failure(err) }

// Close implements [Server].
func (s *etcdServer) Close() {
	for _, c := range s.shared {
		if c != nil {
			_ = c.Close() // the server is ended next
		}
	}
	s.proc.Kill()
}

// client returns the client for a seat, and what is to be closed with the seat.
func (s *etcdServer) client(seat Seat) (*clientv3.Client, io.Closer, error) {
	if len(s.shared) == 0 {
		c, err := s.dial()
		return c, c, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	place := &s.shared[seat.Index%len(s.shared)]
	if *place == nil {
		c, err := s.dial()
		if err != nil {
			return nil, nil, err
		}
		*place = c
	}
	return *place, nobody{}, nil
}

// nobody closes nothing.
type nobody struct{}

func (nobody) Close() error { return nil }

// Join implements [Server]. The client gets one lease, which it uses for all that
// it leads: the cheapest lock that etcd has.
func (s *etcdServer) Join(ctx context.Context, seat Seat) (Client, error) {
	client, own, err := s.client(seat)
	if err != nil {
		return nil, err
	}
	granted, err := client.Grant(ctx, int64(TTL.Seconds()))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("etcd: %w", err), own.Close())
	}
	return join(&etcdLine{own, client, granted.ID, "client-" + strconv.Itoa(seat.Index)}, seat)
}

type etcdLine struct {
	io.Closer
	client *clientv3.Client
	lease  clientv3.LeaseID
	name   string
}

func (l *etcdLine) caller() caller { return &etcdCaller{etcdLine: l} }

// etcdCaller holds a key for as long as it exists with the revision at which
// this caller made it.
type etcdCaller struct {
	*etcdLine
	key string
	rev int64
}

var errNotApplied = errors.New("etcd: the transaction's condition does not hold")

func (c *etcdCaller) aim(n int) { c.key = "bench/" + strconv.Itoa(n) }

func (c *etcdCaller) lead() error {
	rev, err := c.change(0, clientv3.OpPut(c.key, c.name, clientv3.WithLease(c.lease)))
	c.rev = rev
	return err
}

func (c *etcdCaller) resign() error {
	_, err := c.change(c.rev, clientv3.OpDelete(c.key))
	return err
}

// change applies op if the key was created at this revision, 0 for no key.
func (c *etcdCaller) change(created int64, op clientv3.Op) (int64, error) {
	resp, err := c.client.Txn(context.Background()).If(clientv3.Compare(clientv3.CreateRevision(c.key), "=", created)).Then(op).Commit()
	if err != nil {
		return 0, fmt.Errorf("etcd: %w", err)
	}
	if !resp.Succeeded {
		return 0, errNotApplied
	}
	return resp.Header.Revision, nil
}

func (c *etcdCaller) renew() error {
	resp, err := c.client.KeepAliveOnce(context.Background(), c.lease)
	if err == nil && resp.TTL <= 0 {
		err = errors.New("the lease is over")
	}
	if err != nil {
		return fmt.Errorf("etcd: %w", err)
	}
	return nil
}

func (c *etcdCaller) look() error {
	resp, err := c.client.Get(context.Background(), c.key)
	if err == nil && (len(resp.Kvs) != 1 || string(resp.Kvs[0].Value) != c.name) {
		err = fmt.Errorf("the key has %d values", len(resp.Kvs))
	}
	if err != nil {
		return fmt.Errorf("etcd: %w", err)
	}
	return nil
}

// contender is the mutex of etcd's own client library, which queues.
func (l *etcdLine) contender() (contender, error) {
	session, err := concurrency.NewSession(l.client, concurrency.WithLease(l.lease))
	if err != nil {
		return nil, fmt.Errorf("etcd: %w", err)
	}
	return etcdContender{concurrency.NewMutex(session, "bench/one")}, nil
}

type etcdContender struct{ *concurrency.Mutex }

func (c etcdContender) win(*load.Gate) (bool, error) {
	ctx, cancel := context.WithTimeout(context.Background(), maxWait)
	defer cancel()
	if err := c.Lock(ctx); err != nil {
		return false, fmt.Errorf("etcd: %w", err)
	}
	return true, nil
}

func (c etcdContender) resign() error {
	if err := c.Unlock(context.Background()); err != nil {
		return fmt.Errorf("etcd: %w", err)
	}
	return nil
}
