package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// Exit codes. They are part of the interface: scripts branch on them.
const (
	exitOK       = 0
	exitStartup  = 1  // the server could not start
	exitUsage    = 64 // an unknown word or flag
	exitInternal = 70 // the server had to stop: the database failed, or the listener did
)

// exitError carries an exit code to main.
type exitError struct {
	code int
	err  error
}

// Error implements error.
func (e *exitError) Error() string { return e.err.Error() }

// Unwrap returns the error that the code stands for.
func (e *exitError) Unwrap() error { return e.err }

// stdio is what a command talks through.
type stdio struct {
	out, err io.Writer
}

func main() {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		// The first signal asks for a graceful stop, the second ends it at once.
		<-signals
		cancel()
		os.Exit(signalCode(<-signals))
	}()
	err := run(ctx, os.Args[1:], os.LookupEnv, stdio{os.Stdout, os.Stderr})
	if err != nil {
		fmt.Fprintln(os.Stderr, "octostore:", err)
	}
	os.Exit(exitCode(err))
}

// signalCode is what a process ended by a signal ends with, as a shell tells it.
func signalCode(sig os.Signal) int {
	if s, ok := sig.(syscall.Signal); ok {
		return 128 + int(s)
	}
	return exitInternal
}

// exitCode returns what the process ends with.
func exitCode(err error) int {
	var coded *exitError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &coded):
		return coded.code
	default:
		return exitInternal
	}
}

// run is the program. It returns when ctx ends and everything is closed, or
// with the error that ended it.
func run(ctx context.Context, args []string, lookup func(string) (string, bool), io stdio) error {
	cmd := newRoot(lookup, io) //nolint:contextcheck // cobra hands ctx to the commands
	cmd.SetArgs(args)
	return cmd.ExecuteContext(ctx)
}
