package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"time"

	"github.com/octostore/octostore/bench/load"
	"github.com/octostore/octostore/bench/machine"
	"github.com/octostore/octostore/bench/report"
	"github.com/octostore/octostore/bench/target"
)

// joinAtOnce bounds how many clients connect at the same time.
const joinAtOnce = 16

// block runs one target under one workload, on a fresh process and fresh files.
func (b *bench) block(ctx context.Context, t target.Target, w target.Workload, connections, round int) (_ report.Sample, err error) {
	dir, err := os.MkdirTemp(b.dir, t.Name()+"-")
	if err != nil {
		return report.Sample{}, fmt.Errorf("make a folder: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	limited, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	server, err := t.Start(limited, dir)
	if err != nil {
		return report.Sample{}, err
	}
	defer server.Close()
	defer func() {
		if err != nil {
			err = server.Failure(err)
		}
	}()
	clients, err := joinAll(limited, server, w, connections)
	defer closeAll(clients)
	if err != nil {
		return report.Sample{}, err
	}

	key := report.Key{Workload: string(w), Connections: connections, Target: t.Name()}
	gauge := &gauge{ctx: ctx, server: server}
	profile := b.profile(server, key, round)
	runtime.GC() // what earlier blocks left is collected on nobody's time
	res, err := load.Run(ctx, clients, load.Plan{
		Warm: b.warm, Measure: b.measure,
		Begin: func() error { return errors.Join(gauge.begin(), profile.begin(ctx)) },
		End:   gauge.end,
	})
	if err = errors.Join(err, profile.end(ctx)); err != nil {
		return report.Sample{}, err
	}
	if res.Cycles == 0 {
		return report.Sample{}, errors.New("not one cycle was finished in the measured time")
	}
	return gauge.sample(key, round, res), nil
}

// joinAll connects the clients. Those that joined are returned in any case.
func joinAll(ctx context.Context, s target.Server, w target.Workload, n int) ([]load.Client, error) {
	joined, errs := make([]load.Client, n), make([]error, n)
	places := make(chan struct{}, joinAtOnce)
	var all sync.WaitGroup
	for i := range n {
		places <- struct{}{}
		all.Go(func() {
			defer func() { <-places }()
			c, err := s.Join(ctx, target.Seat{Workload: w, Index: i})
			if errs[i] = err; err == nil {
				joined[i] = c
			}
		})
	}
	all.Wait()
	return joined, errors.Join(errs...)
}

func closeAll(clients []load.Client) {
	for _, c := range clients {
		if c, ok := c.(target.Client); ok {
			_ = c.Close() // the server is ended next
		}
	}
}

// gauge reads what a block costs at both edges of its window.
type gauge struct {
	ctx           context.Context
	server        target.Server
	before, after readings
	groups        target.Groups // committed in the window
}

type readings struct {
	at          time.Time
	server, own time.Duration
	machine     machine.Busy
}

// begin asks for the groups first, because that takes a moment; end asks for them
// last.
func (g *gauge) begin() (err error) {
	if of, ok := g.server.(target.Grouper); ok {
		if g.groups, err = of.Groups(g.ctx); err != nil {
			return err
		}
	}
	g.before, err = g.read()
	return err
}

func (g *gauge) end() (err error) {
	if g.after, err = g.read(); err != nil {
		return err
	}
	if of, ok := g.server.(target.Grouper); ok {
		now, err := of.Groups(g.ctx)
		if err != nil {
			return err
		}
		g.groups = now.Sub(g.groups)
	}
	return nil
}

func (g *gauge) read() (readings, error) {
	r := readings{at: time.Now()}
	var errs [3]error
	r.server, errs[0] = machine.ProcessTime(g.server.PID())
	r.own, errs[1] = machine.OwnTime()
	r.machine, errs[2] = machine.BusyTime()
	return r, errors.Join(errs[:]...)
}

// sample makes of the readings and of what the clients saw what is told.
func (g *gauge) sample(key report.Key, round int, res load.Result) report.Sample {
	server, own := g.after.server-g.before.server, g.after.own-g.before.own
	busy := g.after.machine.Sub(g.before.machine)
	window := g.after.at.Sub(g.before.at)
	foreign := max(0, busy.Programs-server-own) + busy.Stolen
	s := report.Sample{
		Key: key, Round: round, Cycles: res.Cycles, Seconds: res.Elapsed.Seconds(), Rate: res.Rate(),
		P50: micros(res.Latency.Quantile(0.5)), P99: micros(res.Latency.Quantile(0.99)), Max: micros(res.Latency.Max()),
		ServerCPU: micros(server) / float64(res.Cycles), ClientCPU: micros(own) / float64(res.Cycles),
		Others: foreign.Seconds() / (window.Seconds() * float64(runtime.NumCPU())),
	}
	if g.groups.Count > 0 {
		s.Groups = &report.Groups{
			PerSecond:  g.groups.Count / window.Seconds(),
			Operations: g.groups.Operations / g.groups.Count,
			CommitTime: g.groups.Seconds / g.groups.Count * 1e6,
		}
	}
	return s
}

func micros(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 }
