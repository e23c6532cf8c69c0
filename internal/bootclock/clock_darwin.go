package bootclock

import (
	"time"

	"golang.org/x/sys/unix"
)

// Now returns the time since boot, sleep included.
func Now() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC_RAW, &ts); err != nil {
		panic("bootclock: CLOCK_MONOTONIC_RAW: " + err.Error())
	}
	return time.Duration(ts.Nano())
}

// Current returns the identity of the running boot.
func Current() Boot {
	id, err := unix.Sysctl("kern.bootsessionuuid")
	if err != nil {
		return Boot{}
	}
	return Boot{ID: id}
}
