package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version is set by the linker; a build by go install takes the module's.
var version = ""

func currentVersion() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "dev"
}

// newRoot builds the command line. Without a word it serves, as `serve` does.
func newRoot(lookup func(string) (string, bool), io stdio) *cobra.Command {
	serveRun := func(cmd *cobra.Command, _ []string) error {
		return serve(cmd.Context(), lookup, io)
	}
	root := &cobra.Command{
		Use:   "octostore",
		Short: "Give every task one temporary owner",
		Long: `octostore is a coordination service over plain HTTP: elections for who
coordinates a group, leases with a term for every winner.

Without a command it starts the server, as "octostore serve" does. The server
takes no flags; it reads its settings from the environment ("octostore help
environment" lists them) and keeps everything in one SQLite file.`,
		Example: `  octostore
  DATABASE_URL=/var/lib/octostore/octostore.db BIND_ADDR=127.0.0.1:3000 octostore serve`,
		Args:          noWords,
		RunE:          serveRun,
		SilenceUsage:  true,
		SilenceErrors: true,
		Version:       currentVersion(),
	}
	root.SetOut(io.out)
	root.SetErr(io.err)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usageError(cmd, err)
	})
	root.CompletionOptions.DisableDefaultCmd = true
	root.AddCommand(
		&cobra.Command{
			Use:   "serve",
			Short: "Start the server (the default)",
			Args:  noWords,
			RunE:  serveRun,
		},
		&cobra.Command{
			Use:   "version",
			Short: "Print the version",
			Args:  noWords,
			RunE: func(*cobra.Command, []string) error {
				_, err := fmt.Fprintf(io.out, "octostore %s %s %s/%s\n", currentVersion(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
				return err
			},
		},
		&cobra.Command{
			Use:   "environment",
			Short: "The environment variables of the server",
			Long:  environmentHelp(),
		},
	)
	return root
}

// noWords refuses every word after a command: an unknown one must not start a
// server.
func noWords(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usageError(cmd, fmt.Errorf("unknown command %q for %q", args[0], cmd.CommandPath()))
	}
	return nil
}

func usageError(cmd *cobra.Command, err error) error {
	return &exitError{exitUsage, fmt.Errorf("%w\nRun '%s --help' for usage", err, cmd.CommandPath())}
}
