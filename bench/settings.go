package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/octostore/octostore/bench/target"
)

// scaleName stands among the workloads for the store alone.
const scaleName = "scale"

// contenders is the number of clients of the contended workload.
const contenders = 64

// settings is how a run is made.
type settings struct {
	rounds      int
	warm        time.Duration
	measure     time.Duration
	connections []int
	workloads   []target.Workload
	scale       bool
	rooms       int
	targets     []string // empty: all
	dir         string   // empty: found
	etcdShared  int
	body        target.Body
	server      string // path of a binary; empty: built
	json        string
	profiles    string // folder; empty: none
	check       bool
}

// parseSettings reads the command line. -quick changes the defaults of the other
// flags, so it can be combined with them.
func parseSettings(args []string, usage io.Writer) (settings, error) {
	var set settings
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(usage)
	quick := flags.Bool("quick", false, "about a minute: one short round and 50,000 rooms; to see that all works, not to measure")
	flags.IntVar(&set.rounds, "rounds", 3, "rounds; of 3 or more the medians are worth something")
	flags.DurationVar(&set.warm, "warm", 500*time.Millisecond, "warm-up of each block")
	flags.DurationVar(&set.measure, "measure", 2*time.Second, "measured time of each block")
	connections := flags.String("connections", "1,64,256", "numbers of connections, by comma (contended always has 64)")
	workloads := flags.String("workloads", "cycle,contended,renew,mixed,scale", "workloads, by comma")
	targets := flags.String("targets", "octostore,bare,etcd,redis", "targets, by comma")
	flags.IntVar(&set.rooms, "rooms", 1_000_000, "rooms led in the scale workload")
	body := flags.String("bare-body", string(target.Decoded), "what the bare handler does with bodies: decoded or discarded")
	flags.IntVar(&set.etcdShared, "etcd-connections", 2, "connections that all clients of etcd share, at its best with about one a processor; 0: one each")
	flags.StringVar(&set.dir, "dir", "", "folder for databases, on the disk to be measured (default: the temporary folder, if it is on a disk)")
	flags.StringVar(&set.server, "server", "", "binary of the server (default: built from this repository, without cgo)")
	flags.StringVar(&set.json, "json", "", "file for the results as JSON")
	flags.StringVar(&set.profiles, "perf", "", "folder for profiles of the server, made with perf; they slow it down")
	flags.BoolVar(&set.check, "check", false, "end with status 2 if a floor is missed")
	if err := flags.Parse(args); err != nil {
		return set, err
	}
	if *quick {
		given := make(map[string]bool)
		flags.Visit(func(f *flag.Flag) { given[f.Name] = true })
		for name, value := range map[string]string{"rounds": "1", "warm": "200ms", "measure": "600ms", "rooms": "50000"} {
			if !given[name] {
				if err := flags.Set(name, value); err != nil {
					return set, err
				}
			}
		}
	}
	set.body = target.Body(*body)
	return set, errors.Join(
		flagError("connections", set.setConnections(*connections)),
		flagError("workloads", set.setWorkloads(*workloads)),
		flagError("targets", set.setTargets(*targets)),
		set.validate(flags.Args()),
	)
}

func flagError(name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("-%s: %w", name, err)
}

func (s *settings) setConnections(text string) error {
	for word := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(word))
		if err != nil || n < 1 || n > 4096 {
			return fmt.Errorf("%q is not a number from 1 to 4096", word)
		}
		s.connections = append(s.connections, n)
	}
	return nil
}

func (s *settings) setWorkloads(text string) error {
	for word := range strings.SplitSeq(text, ",") {
		w := target.Workload(strings.TrimSpace(word))
		switch {
		case w == scaleName:
			s.scale = true
		case slices.Contains(target.Workloads(), w):
			s.workloads = append(s.workloads, w)
		default:
			return fmt.Errorf("%q is none of %v and %s", word, target.Workloads(), scaleName)
		}
	}
	return nil
}

func (s *settings) setTargets(text string) error {
	for word := range strings.SplitSeq(text, ",") {
		name := strings.TrimSpace(word)
		if !slices.ContainsFunc(s.kinds("", ""), func(t target.Target) bool { return t.Name() == name }) {
			return fmt.Errorf("there is no target %q", word)
		}
		s.targets = append(s.targets, name)
	}
	return nil
}

func (s *settings) validate(rest []string) error {
	switch {
	case len(rest) > 0:
		return fmt.Errorf("unexpected argument %q", rest[0])
	case s.rounds < 1:
		return errors.New("-rounds: there must be at least one")
	case s.warm < 0, s.measure <= 0:
		return errors.New("-warm and -measure must be positive")
	case s.warm+s.measure > target.MaxBlock:
		return fmt.Errorf("-warm and -measure: a block takes at most %v", target.MaxBlock)
	case s.rooms < 1:
		return errors.New("-rooms: there must be at least one")
	case s.body != target.Decoded && s.body != target.Discarded:
		return fmt.Errorf("-bare-body: %q is neither %s nor %s", s.body, target.Decoded, target.Discarded)
	case s.etcdShared < 0:
		return errors.New("-etcd-connections: there can not be fewer than none")
	case s.check && s.profiles != "":
		return errors.New("-check and -perf: what a profiler slows down can not be judged")
	}
	return nil
}

// kinds returns every kind of target, in the order in which they are told. The
// paths are of the server's binary and of this program.
func (s *settings) kinds(server, self string) []target.Target {
	return []target.Target{
		target.OctoStore{Program: server},
		target.Bare{Program: self, Role: roleBare, Body: s.body},
		target.Etcd{Shared: s.etcdShared},
		target.Redis{},
	}
}
