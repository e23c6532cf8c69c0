package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"strconv"
	"syscall"

	"github.com/octostore/octostore/bench/report"
	"github.com/octostore/octostore/bench/scale"
	"github.com/octostore/octostore/bench/target"
)

// Arguments that make this program one of its own helpers.
const (
	roleBare   = "serve-bare"
	roleWorker = "scale-worker"
)

// Exit codes.
const (
	exitOK     = 0
	exitFailed = 1 // the run failed
	exitMissed = 2 // -check: a floor is missed
	exitUsage  = 64
)

// stdio is what the program talks through.
type stdio struct {
	in       io.Reader
	out, err io.Writer
}

func main() {
	ctx, restore := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, restore) // a second signal ends the program at once
	os.Exit(run(ctx, os.Args[1:], stdio{os.Stdin, os.Stdout, os.Stderr}))
}

// run is the program; it returns the exit code.
func run(ctx context.Context, args []string, io stdio) int {
	if len(args) > 0 {
		switch args[0] {
		case roleBare:
			return helper(io, serveBare(ctx, args[1:]))
		case roleWorker:
			return helper(io, work(ctx, args[1:], io))
		}
	}
	set, err := parseSettings(args, io.err)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return exitOK
	case err != nil:
		fmt.Fprintln(io.err, "bench:", err)
		return exitUsage
	}
	// The clients allocate, etcd's above all; what they collect the less often
	// takes the less from the servers.
	debug.SetGCPercent(400)
	results, err := measure(ctx, set, io.err)
	if err != nil {
		fmt.Fprintln(io.err, "bench:", err)
		return exitFailed
	}
	if err := tell(results, set, io.out); err != nil {
		fmt.Fprintln(io.err, "bench:", err)
		return exitFailed
	}
	if set.check {
		if err := results.Check(); err != nil {
			fmt.Fprintln(io.err, "bench:", err)
			return exitMissed
		}
	}
	return exitOK
}

// tell prints the table and writes the file.
func tell(r *report.Results, set settings, out io.Writer) (err error) {
	if err := r.WriteTable(out); err != nil {
		return err
	}
	if set.json == "" {
		return nil
	}
	f, err := os.Create(set.json)
	if err != nil {
		return fmt.Errorf("write the results: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return r.WriteJSON(f)
}

// helper turns what a helper ended with into an exit code.
func helper(io stdio, err error) int {
	if err != nil {
		fmt.Fprintln(io.err, "bench:", err)
		return exitFailed
	}
	return exitOK
}

func serveBare(ctx context.Context, args []string) error {
	if len(args) != 2 {
		return fmt.Errorf("%s takes an address and what to do with bodies", roleBare)
	}
	return target.ServeBare(ctx, args[0], target.Body(args[1]))
}

func work(ctx context.Context, args []string, io stdio) error {
	if len(args) != 2 {
		return fmt.Errorf("%s takes a folder and a number of rooms", roleWorker)
	}
	rooms, err := strconv.Atoi(args[1])
	if err != nil {
		return fmt.Errorf("%s: %w", roleWorker, err)
	}
	return scale.Work(ctx, args[0], rooms, io.in, io.out)
}
