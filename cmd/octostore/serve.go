package main

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"github.com/octostore/octostore/api"
	"github.com/octostore/octostore/auth"
	"github.com/octostore/octostore/elections"
	"github.com/octostore/octostore/internal/events"
	"github.com/octostore/octostore/internal/httpapi"
	"github.com/octostore/octostore/internal/telemetry"
	"github.com/octostore/octostore/lease"
	"github.com/octostore/octostore/ratelimit"
	"github.com/octostore/octostore/store/sqlite"
)

// Bounds of what one anonymous client, and all of them, may keep waiting.
const (
	waitersPerClient = 256
	waitersInAll     = 16384
)

// linger is how long a large group may wait for company before it commits.
const linger = time.Millisecond

// closing is the stack of what was opened. It is closed in reverse order.
type closing []func(context.Context) error

func (c *closing) add(f func(context.Context) error) { *c = append(*c, f) }

// close closes everything under one deadline and joins what went wrong.
func (c closing) close(ctx context.Context) error {
	var errs []error
	for i := len(c) - 1; i >= 0; i-- {
		errs = append(errs, c[i](ctx))
	}
	return errors.Join(errs...)
}

// serve starts the server and returns when ctx ends and it has stopped.
func serve(ctx context.Context, lookup func(string) (string, bool), io stdio) (err error) {
	cfg, warnings, err := loadConfig(lookup)
	if err != nil {
		return &exitError{exitStartup, err}
	}
	defer runtime.KeepAlive(roomToCollect(lookup))
	// Files are private from the moment they are made, the log of the database too.
	syscall.Umask(0o077)

	var open closing
	defer func() {
		// Not ctx: it has just ended.
		shut, cancel := context.WithTimeout(context.WithoutCancel(ctx), cfg.ShutdownTimeout)
		defer cancel()
		if cerr := open.close(shut); cerr != nil {
			err = errors.Join(err, &exitError{exitInternal, fmt.Errorf("stop: %w", cerr)})
		}
	}()
	s := &server{cfg: cfg, lookup: lookup, io: io}
	if err := s.open(ctx, &open); err != nil {
		return &exitError{exitStartup, err}
	}
	for _, w := range warnings {
		s.log.WarnContext(ctx, "configuration", "setting", w.Setting, "warning", w.Text)
	}
	for _, w := range s.store.Warnings() {
		s.log.WarnContext(ctx, "database", "warning", w)
	}
	return s.run(ctx)
}

// collectorRoom is memory that is reserved and never touched, so that it costs
// address space only. The collector starts a cycle when the heap has doubled;
// with this in the count a small heap is collected a tenth as often, and no heap
// ever grows by more than this beyond what it would.
const collectorRoom = 64 << 20

// roomToCollect reserves it, unless the operator tunes the collector himself.
func roomToCollect(lookup func(string) (string, bool)) []byte {
	if _, tuned := lookup("GOGC"); tuned {
		return nil
	}
	return make([]byte, collectorRoom)
}

// server is the wired process.
type server struct {
	cfg       config
	lookup    func(string) (string, bool)
	io        stdio
	telemetry *telemetry.Telemetry
	log       *slog.Logger
	store     *sqlite.Store
	creds     *auth.Credentials
	api       *httpapi.API
	listener  *ratelimit.Conns
	http      *http.Server
}

// open builds the parts from the bottom up.
func (s *server) open(ctx context.Context, open *closing) error {
	proxies, err := ratelimit.ParseProxies(s.cfg.TrustedProxies)
	if err != nil {
		return fmt.Errorf("TRUSTED_PROXIES: %w", err)
	}
	if s.telemetry, err = telemetry.Start(ctx, telemetry.Config{
		Version: currentVersion(), LogWriter: s.io.out, Routes: httpapi.Routes(), Codes: codeWords(),
		Getenv: func(name string) string { v, _ := s.lookup(name); return v },
	}); err != nil {
		return err
	}
	open.add(s.telemetry.Shutdown)
	s.log = s.telemetry.Logger()

	// The address first: if it is taken, the database is left alone.
	raw, err := (&net.ListenConfig{}).Listen(ctx, "tcp", s.cfg.BindAddr)
	if err != nil {
		return fmt.Errorf("BIND_ADDR: %w", err)
	}
	connections, held := ratelimit.DescriptorBudget(descriptorLimit())
	s.listener = ratelimit.Listen(raw, ratelimit.ConnLimits{
		PerClient: s.cfg.MaxConnectionsPerClient, Total: connections, Proxies: proxies,
		OnRefuse: func(r ratelimit.Refusal) { s.telemetry.Metrics().ConnectionRefused(string(r)) },
	})
	open.add(func(context.Context) error {
		if err := s.listener.Close(); !errors.Is(err, net.ErrClosed) {
			return err
		}
		return nil
	})

	hub := events.New(events.Options{Dropped: s.telemetry.Metrics().EventsDropped})
	open.add(func(context.Context) error { hub.Close(); return nil })
	keys, err := s.openStore(ctx, hub, open)
	if err != nil {
		return err
	}
	if s.creds, err = auth.NewCredentials(s.cfg.StaticTokens, s.cfg.AdminKey, labelUnder(keys)); err != nil {
		return err
	}
	ceiling := ratelimit.NewCeiling(held)
	s.api, err = httpapi.New(httpapi.Config{
		Elections: elections.New(elections.Config{
			Store: s.store, Keys: keys, MaxRooms: int64(s.cfg.MaxPublicElections),
		}),
		Records: s.store, Events: hub, PublicElections: s.cfg.PublicElections,
		Admission:     ratelimit.NewAdmission(s.cfg.ElectionRequestsPerMinute),
		Waiters:       ratelimit.NewSlots(waitersPerClient, waitersInAll).Under(ceiling),
		Streams:       ratelimit.NewSlots(s.cfg.ElectionStreamsPerClient, s.cfg.ElectionStreamsGlobal).Under(ceiling),
		WatchLifetime: s.cfg.ElectionStreamMaxAge, Proxies: proxies, Origins: s.cfg.CORSOrigins,
		Credentials: s.creds, Storage: s.store, Counters: s.counters,
		Probes:    []httpapi.Probe{{Name: "store", Check: s.store.Probe}},
		Telemetry: s.telemetry, Version: currentVersion(),
	})
	if err != nil {
		return err
	}
	s.http = s.api.NewHTTPServer(s.cfg.BindAddr)
	s.http.ConnState = s.listener.ConnState
	return nil
}

// openStore opens the database and the keys that its capabilities hang on.
func (s *server) openStore(ctx context.Context, hub *events.Hub, open *closing) (*lease.Keyring, error) {
	var err error
	s.store, err = sqlite.Open(ctx, s.cfg.DatabaseURL, sqlite.Options{
		Publisher: hub, Observer: observer{s.telemetry.Metrics(), s.telemetry}, Logger: s.log,
		MaxIdle: int64(s.cfg.MaxIdleNames), Linger: linger, AcceptFaults: s.cfg.AcceptIOErrors,
	})
	if err != nil {
		return nil, fmt.Errorf("DATABASE_URL: %w", err)
	}
	open.add(func(context.Context) error { return s.store.Close() }) //nolint:contextcheck // what was decided is written whatever the time
	var current []byte
	if s.cfg.SecretKey.IsSet() {
		current = []byte(s.cfg.SecretKey.Reveal())
	} else if current, err = s.store.ServerKey(); err != nil {
		return nil, err
	}
	var previous [][]byte
	for _, k := range s.cfg.PreviousSecretKeys {
		previous = append(previous, []byte(k.Reveal()))
	}
	return lease.NewKeyring(current, previous...)
}

// run serves until ctx ends, the store fails or the listener does.
func (s *server) run(ctx context.Context) error {
	served := make(chan error, 1)
	go func() { served <- s.http.Serve(s.listener) }()
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	defer signal.Stop(hup)
	if err := s.announce(); err != nil {
		return &exitError{exitStartup, err}
	}
	for {
		select {
		case <-hup:
			s.reload()
		case <-ctx.Done():
			s.log.InfoContext(ctx, "stopping")
			return s.stop(ctx)
		case <-s.store.Failed():
			// What is on the disk can not be known any more: nobody gets another
			// answer, and the next start checks before it serves.
			s.quit(ctx)
			return &exitError{exitInternal, fmt.Errorf("the database failed: %w", s.store.Cause())}
		case err := <-served:
			return &exitError{exitInternal, fmt.Errorf("listener: %w", err)}
		}
	}
}

// stop lets requests end: readiness turns bad, streams end, waiters are
// answered, then the server drains. What is not done in time is cut off.
func (s *server) stop(ctx context.Context) error {
	s.api.BeginShutdown()
	s.store.Drain()
	shut, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.cfg.ShutdownTimeout)
	defer cancel()
	if err := s.http.Shutdown(shut); err != nil {
		s.log.WarnContext(ctx, "some requests did not end in time and were cut off", "error", err)
		_ = s.http.Close()
	}
	s.log.InfoContext(ctx, "stopped")
	return nil
}

// lastWords is how long those who wait for an answer have to be told that it is
// not known, when the store has failed.
const lastWords = 500 * time.Millisecond

// quit ends the service of a store that failed.
func (s *server) quit(ctx context.Context) {
	s.api.BeginShutdown()
	s.store.Drain()
	shut, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWords)
	defer cancel()
	if s.http.Shutdown(shut) != nil {
		_ = s.http.Close()
	}
}

// reload reads the static tokens again. A file with an error keeps the old set.
func (s *server) reload() {
	warnings, err := s.creds.Reload(s.cfg.TokenSources)
	if err != nil {
		s.log.Error("static tokens were not reloaded; the old ones stay", "error", err)
		return
	}
	for _, w := range warnings {
		s.log.Warn("configuration", "setting", w.Setting, "warning", w.Text)
	}
	s.log.Info("static tokens reloaded", "count", s.creds.Len())
}

func (s *server) counters() httpapi.Counters {
	stats, totals := s.store.Stats(), s.store.Totals()
	return httpapi.Counters{
		ActiveLocks: stats.Rooms + stats.Locks, TotalUsers: int64(s.creds.Len()),
		TotalAcquires: totals.Acquires, TotalReleases: totals.Releases,
	}
}

// observer tells metrics and traces of what the store does.
type observer struct {
	*telemetry.Metrics
	traces *telemetry.Telemetry
}

// GroupTraced implements store.Observer.
func (o observer) GroupTraced(ctx context.Context, lane string, enqueued, began, committing, committed time.Time, operations, rows int) {
	o.traces.GroupTraced(ctx, lane, enqueued, began, committing, committed, operations, rows)
}

// labelUnder names the users of tokens that came without a user name.
func labelUnder(keys *lease.Keyring) func(string) string {
	return func(token string) string {
		d := keys.Digest("static token", token)
		return "token-" + hex.EncodeToString(d[:4])
	}
}

func codeWords() []string {
	codes := api.Codes()
	words := make([]string, len(codes))
	for i, c := range codes {
		words[i] = string(c)
	}
	return words
}

// descriptorLimit is how many files the process may open. Go has raised it to
// the hard limit at the start.
func descriptorLimit() uint64 {
	var r syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &r); err != nil {
		return 1024
	}
	return r.Cur
}
