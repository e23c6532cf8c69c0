package machine

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// tick is the unit of processor time in /proc: USER_HZ, which is 100 on every
// Linux that Go runs on. A reading is exact to one tick per process.
const tick = time.Second / 100

var errForm = errors.New("machine: unexpected form")

// ProcessTime is the processor time that a process has used so far, in user and
// kernel mode, all its threads together.
func ProcessTime(pid int) (time.Duration, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, fmt.Errorf("machine: %w", err)
	}
	return parseProcessStat(b)
}

// parseProcessStat reads fields 14 and 15 of /proc/PID/stat. The name of the
// program stands second, in parentheses, and may hold anything.
func parseProcessStat(b []byte) (time.Duration, error) {
	end := bytes.LastIndexByte(b, ')')
	if end < 0 {
		return 0, fmt.Errorf("%w of a process's stat: %q", errForm, b)
	}
	fields := strings.Fields(string(b[end+1:]))
	if len(fields) < 13 { // the third of the file is the first here
		return 0, fmt.Errorf("%w of a process's stat: %q", errForm, b)
	}
	user, uerr := strconv.ParseInt(fields[11], 10, 64)
	system, serr := strconv.ParseInt(fields[12], 10, 64)
	if err := errors.Join(uerr, serr); err != nil {
		return 0, fmt.Errorf("%w of a process's stat: %w", errForm, err)
	}
	return time.Duration(user+system) * tick, nil
}

// OwnTime is the processor time that this process has used so far.
func OwnTime() (time.Duration, error) {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		return 0, fmt.Errorf("machine: own processor time: %w", err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), nil
}

// Busy is the processor time that was used on the whole machine since its start.
type Busy struct {
	Programs time.Duration // by processes, in user and kernel mode
	Kernel   time.Duration // in interrupts, which no process is charged for
	Stolen   time.Duration // by the host of a virtual machine
}

// Sub is the time between two readings.
func (b Busy) Sub(o Busy) Busy {
	return Busy{b.Programs - o.Programs, b.Kernel - o.Kernel, b.Stolen - o.Stolen}
}

// BusyTime reads it.
func BusyTime() (Busy, error) {
	b, err := os.ReadFile("/proc/stat")
	if err != nil {
		return Busy{}, fmt.Errorf("machine: %w", err)
	}
	return parseStat(string(b))
}

// parseStat reads the first line of /proc/stat: "cpu user nice system idle iowait
// irq softirq steal …".
func parseStat(text string) (Busy, error) {
	line, _, _ := strings.Cut(text, "\n")
	fields := strings.Fields(line)
	if len(fields) < 9 || fields[0] != "cpu" {
		return Busy{}, fmt.Errorf("%w of /proc/stat: %q", errForm, line)
	}
	var v [8]time.Duration
	for i := range v {
		n, err := strconv.ParseInt(fields[i+1], 10, 64)
		if err != nil {
			return Busy{}, fmt.Errorf("%w of /proc/stat: %w", errForm, err)
		}
		v[i] = time.Duration(n) * tick
	}
	return Busy{Programs: v[0] + v[1] + v[2], Kernel: v[5] + v[6], Stolen: v[7]}, nil
}
