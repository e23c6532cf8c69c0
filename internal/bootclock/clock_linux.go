package bootclock

import (
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Now returns the time since boot, suspended time included.
func Now() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		// The kernel has had it since 2.6.39; without it no lease can be measured.
		panic("bootclock: CLOCK_BOOTTIME: " + err.Error())
	}
	return time.Duration(ts.Nano())
}

// Current returns the identity of the running boot.
func Current() Boot {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return Boot{}
	}
	b := Boot{ID: strings.TrimSpace(string(id))}
	// A kernel without time namespaces has no such file and no offsets.
	switch offsets, err := os.ReadFile("/proc/self/timens_offsets"); {
	case err == nil:
		b.Offsets = strings.Join(strings.Fields(string(offsets)), " ")
	case !os.IsNotExist(err):
		return Boot{}
	}
	return b
}
