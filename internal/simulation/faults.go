package simulation

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/octostore/octostore/lease"
	"github.com/octostore/octostore/store/sqlite"
)

// faults is what is wrong with the machine at present.
type faults struct {
	failing time.Duration // until when groups fail now and then
	paused  time.Duration // until when the process stands still
	fullFor time.Duration // until when the disk is full
	low     bool          // the disk is full
	gate    bool          // and the store may not have noticed yet that it is not any more
	retry   time.Duration // when deadlines are tried again after a group failed
	failed  bool          // the present group failed
	armed   sqlite.Stage  // where the next group breaks
	keyed   bool          // only one with a request that can be repeated
	crash   bool          // and whether the process dies there
	dead    bool          // the process that is being closed is dead already
	calm    bool          // the disk is fast, and callers are patient
	broken  *opening      // the store has to be opened again
}

// Space is the file system. It is so small that the reserve costs nothing.
func (w *world) space(string) (sqlite.Space, error) {
	s := sqlite.Space{Total: 1 << 20, Free: 1 << 19}
	if w.faults.low {
		s.Free = 0
	}
	return s, nil
}

// fault lets something happen to the machine.
func (w *world) fault(now time.Duration) {
	f := &w.faults
	w.nextFault = now + time.Second + w.upTo(4*time.Minute)
	if f.low {
		f.low = now < f.fullFor
		w.log("disk full %v", f.low)
		if f.low {
			w.nextFault = f.fullFor
		}
		return
	}
	kinds := 12
	if w.OneLife {
		kinds = 7
	}
	switch w.rng.IntN(kinds) {
	case 0, 1, 2:
		f.failing = now + w.upTo(15*time.Second)
	case 3, 4:
		f.paused = now + w.upTo([...]time.Duration{2 * time.Second, 30 * time.Second, 10 * time.Minute}[w.rng.IntN(3)])
		w.witness.free = max(w.witness.free, f.paused)
		w.log("paused until %d", f.paused)
		w.count("fault pause")
	case 5:
		f.low, f.gate, f.fullFor = true, true, now+w.upTo(time.Minute)
		w.nextFault = f.fullFor
		w.log("disk full")
		w.count("fault disk full")
	case 6:
		by := []time.Duration{time.Second, time.Minute, time.Hour, 24 * time.Hour}[w.rng.IntN(4)]
		if w.clock.wallOff > 0 {
			by = -by
		}
		w.clock.wallOff += by
		w.log("wall clock stepped by %v", by)
		w.count("fault wall clock " + map[bool]string{true: "forward", false: "back"}[by > 0])
	case 7, 8:
		f.armed = [...]sqlite.Stage{sqlite.AtCommit, sqlite.AtCommitted}[w.rng.IntN(2)]
		f.crash, f.keyed = w.chance(2), w.chance(2)
	case 9:
		w.restart()
	case 10, 11:
		w.count("fault crash between groups")
		w.crash()
		w.reopen()
	}
}

// failpoint is asked before each step of a transaction.
func (w *world) failpoint(stage sqlite.Stage) error {
	f, now := &w.faults, w.clock.now()
	notApplied := fmt.Errorf("%w: injected at %s", lease.ErrUnavailable, stage)
	switch {
	case f.dead:
		return notApplied
	case f.armed == stage && (!f.keyed || w.keyed()):
		f.armed = ""
		w.count(fmt.Sprintf("fault breaks at %s, crash %v", stage, f.crash))
		if f.crash {
			w.crash()
		} else {
			f.broken = new(opening)
		}
		f.broken.down, f.broken.maybe, f.broken.poisoned = w.stepAt, stage == sqlite.AtCommitted, true
		return errors.New("input/output error, injected")
	case stage == sqlite.AtCommitted:
		return nil
	case now < f.failing && w.chance(6):
		f.failed, f.retry = true, now+250*time.Millisecond
		w.witness.free = max(w.witness.free, f.retry)
		w.count("fault not applied at " + string(stage))
		return notApplied
	case stage == sqlite.AtRows && !f.calm && w.chance(40):
		w.meanwhile()
	}
	return nil
}

// keyed tells whether a request to lead is open that has a key.
func (w *world) keyed() bool {
	return slices.ContainsFunc(w.calls, func(c *call) bool { return !c.left && len(c.req.Idem) > 0 })
}

// meanwhile is a slow disk, and callers that lose patience with it.
func (w *world) meanwhile() {
	time.Sleep(w.upTo(300 * time.Millisecond))
	w.witness.free = max(w.witness.free, w.clock.now())
	w.count("fault slow disk")
	for _, c := range w.calls {
		switch w.rng.IntN(3) {
		case 0:
			w.hangUp(c)
			w.count("hung up during a commit")
		case 1:
			if c.waitEnd != never {
				c.waitEnd, c.timer = never, never
				c.EndWait()
			}
		}
	}
}

// crash takes a copy of the files as they are, on which the next process will
// start. What this one does from now on nobody sees.
func (w *world) crash() {
	w.faults.broken = &opening{down: w.clock.now()}
	w.opened++
	dir := filepath.Join(w.Dir, fmt.Sprint(w.opened))
	w.check(os.MkdirAll(dir, 0o700))
	for _, suffix := range []string{"", "-wal", ".faults"} {
		data, err := os.ReadFile(w.path + suffix)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		w.check(err)
		w.check(os.WriteFile(filepath.Join(dir, "octostore.db"+suffix), data, 0o600)) //nolint:gosec // a directory of the test
	}
}

// restart is a clean one: everybody has to be answered.
func (w *world) restart() {
	w.count("fault restart")
	w.stepAt = w.clock.now()
	w.witness.free = max(w.witness.free, w.stepAt)
	w.check(w.store.Close())
	w.poll()
	w.poll() // what is sent now is refused at once
	if n := len(w.calls); n > 0 && w.faults.broken == nil {
		w.wrong("%d calls were not answered before the stop", n)
	}
	if w.faults.broken == nil {
		w.faults.broken = &opening{down: w.clock.now()}
	}
	w.reopen()
}

// reopen ends the process that serves the file, lets time go by and starts the
// next one.
func (w *world) reopen() {
	o := *w.faults.broken
	if o.poisoned {
		if _, err := w.store.Read(context.Background(), lease.ElectionKey("room-0")); !errors.Is(err, lease.ErrUnavailable) {
			w.wrong("a store that failed goes on serving: %v", err)
		}
	}
	w.faults = faults{dead: true, retry: -1, low: w.faults.low, gate: w.faults.gate, fullFor: w.faults.fullFor}
	w.check(w.store.Close())
	w.store = nil
	w.faults.dead = false
	for _, c := range w.calls {
		w.lost(c)
	}
	w.calls = w.calls[:0]
	if next := filepath.Join(w.Dir, fmt.Sprint(w.opened), "octostore.db"); next != w.path {
		w.check(os.RemoveAll(filepath.Dir(w.path)))
		w.path = next
	}
	if !w.chance(3) {
		time.Sleep(w.upTo([...]time.Duration{time.Second, 30 * time.Second, 10 * time.Minute}[w.rng.IntN(3)]))
	}
	if o.rebooted = !o.maybe && w.chance(8); o.rebooted {
		w.clock.reboot(time.Second + w.upTo(20*time.Second))
		w.count("fault reboot")
	}
	w.open(o)
}

// maxIdle is how many ended names are remembered before the oldest go early. It
// is the default for every second seed, and otherwise less than there are.
func (w *world) maxIdle() int64 {
	if w.Seed%2 == 0 {
		return 0
	}
	w.witness.keepsIdle = keepsCrowded
	return 40
}

// open starts a process on the file and compares what it has with what was told.
func (w *world) open(o opening) {
	w.log("open, boot %d, maybe %v", w.clock.boots, o.maybe)
	if w.err != nil {
		return
	}
	s, err := sqlite.Open(context.Background(), w.path, sqlite.Options{
		Clock: w.clock, Boot: w.clock.boot, Publisher: w, Manual: true, AcceptFaults: true,
		MaxIdle: w.maxIdle(), Statfs: w.space, Failpoint: w.failpoint,
	})
	if err != nil {
		w.wrong("open: %w", err)
		return
	}
	w.store, o.at = s, w.clock.now()
	w.witness.free, w.nextHouse, w.stepDue = max(w.witness.free, o.at), o.at, o.at
	for _, n := range w.witness.order {
		read, err := s.Read(context.Background(), n.key)
		if err == nil {
			err = w.witness.reopens(n, read.Record, o)
		}
		if err != nil {
			w.wrong("opened again after %v: %s: %w", o.at-o.down, n.key.Name(), err)
		}
	}
}
