package scale

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/octostore/octostore/bench/report"
	"github.com/octostore/octostore/bench/target"
)

// Few is the number of rooms that many are compared with.
const Few = 1000

// Plan is what is to be measured.
type Plan struct {
	// Program is this very program, and Role the argument that makes it call Work
	// with the folder and the number of rooms that follow.
	Program, Role string
	Server        target.OctoStore // that is started on the file
	Dir           string
	Many          int
	Rounds        int
	Warm, Measure time.Duration
	Progress      func(format string, args ...any)
}

// Measure carries a plan out.
func Measure(ctx context.Context, p Plan) (*report.Scale, error) {
	s := &report.Scale{Few: Few, Many: p.Many}
	few, err := p.hire(ctx, "few", Few)
	if err != nil {
		return nil, err
	}
	defer few.kill()
	many, err := p.hire(ctx, "many", p.Many)
	if err != nil {
		return nil, err
	}
	defer many.kill()
	s.FillRate, s.StringsPerRoom, s.ResidentMB = many.told.Rate, many.told.Strings, many.told.ResidentMB
	s.HeapPerRoom = many.told.HeapPerRoom - many.told.Strings
	p.Progress("store alone: %d rooms led at %.0f/s", p.Many, s.FillRate)

	for round := range p.Rounds {
		turns := []*hired{few, many}
		if round%2 == 1 {
			turns[0], turns[1] = turns[1], turns[0]
		}
		for _, w := range turns {
			rate, err := w.measure(order{p.Warm, p.Measure})
			if err != nil {
				return nil, err
			}
			if w == few {
				s.CyclesFew = append(s.CyclesFew, rate)
			} else {
				s.CyclesMany = append(s.CyclesMany, rate)
			}
			p.Progress("store alone, round %d: %.0f cycles/s with %s rooms", round+1, rate, w.name)
		}
	}
	few.kill()
	many.kill() // as a crash: the next start finds its log
	return s, p.restart(ctx, many.dir, s)
}

// restart starts the real server on the file again and again.
func (p Plan) restart(ctx context.Context, dir string, s *report.Scale) error {
	database := filepath.Join(dir, databaseName)
	info, err := os.Stat(database)
	if err != nil {
		return fmt.Errorf("scale: %w", err)
	}
	s.FileMB = float64(info.Size()) / 1e6
	for range p.Rounds {
		limited, cancel := context.WithTimeout(ctx, 2*time.Minute)
		began := time.Now()
		server, err := p.Server.StartOn(limited, dir, database)
		took := time.Since(began).Seconds()
		cancel()
		if err != nil {
			return err
		}
		server.Close()
		s.RestartSeconds = append(s.RestartSeconds, took)
		p.Progress("server ready after %.2f s", took)
	}
	return nil
}

// hired is a worker's process.
type hired struct {
	name    string
	dir     string
	cmd     *exec.Cmd
	orders  io.WriteCloser
	answers *bufio.Scanner
	told    filled
	dead    bool
}

// hire starts a worker and waits until its rooms are led.
func (p Plan) hire(ctx context.Context, name string, rooms int) (*hired, error) {
	w := &hired{name: name, dir: filepath.Join(p.Dir, name)}
	if err := os.Mkdir(w.dir, 0o700); err != nil {
		return nil, fmt.Errorf("scale: %w", err)
	}
	w.cmd = exec.CommandContext(ctx, p.Program, p.Role, w.dir, strconv.Itoa(rooms)) //nolint:gosec // G204: this program
	w.cmd.Stderr = os.Stderr
	w.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	orders, oerr := w.cmd.StdinPipe()
	answers, aerr := w.cmd.StdoutPipe()
	if err := errors.Join(oerr, aerr); err != nil {
		return nil, fmt.Errorf("scale: %w", err)
	}
	w.orders, w.answers = orders, bufio.NewScanner(answers)
	if err := w.cmd.Start(); err != nil {
		return nil, fmt.Errorf("scale: %w", err)
	}
	if err := w.hear(&w.told); err != nil {
		w.kill()
		return nil, err
	}
	return w, nil
}

// hear reads the next line of the worker.
func (w *hired) hear(into any) error {
	if !w.answers.Scan() {
		return fmt.Errorf("scale: worker with %s rooms ended: %w", w.name, errors.Join(io.ErrUnexpectedEOF, w.answers.Err()))
	}
	if err := json.Unmarshal(w.answers.Bytes(), into); err != nil {
		return fmt.Errorf("scale: worker with %s rooms: %w", w.name, err)
	}
	return nil
}

func (w *hired) measure(o order) (float64, error) {
	if err := json.NewEncoder(w.orders).Encode(o); err != nil {
		return 0, fmt.Errorf("scale: worker with %s rooms: %w", w.name, err)
	}
	var m measured
	if err := w.hear(&m); err != nil {
		return 0, err
	}
	return m.Rate, nil
}

// kill ends the worker as a crash does. A second call does nothing.
func (w *hired) kill() {
	if w.dead {
		return
	}
	w.dead = true
	_ = w.cmd.Process.Kill()
	_ = w.cmd.Wait() // that it was killed is known
}
