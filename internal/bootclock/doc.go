// Package bootclock reads the clock that leases are measured with: one that
// never steps and that counts the time for which the machine is suspended.
//
// Go's own monotonic time stops during suspend on Linux, so a lease measured
// with it would outlive its deadline on a laptop or a migrated virtual machine
// (golang/go#24595). This package reads CLOCK_BOOTTIME on Linux and
// CLOCK_MONOTONIC_RAW, which counts sleep there, on macOS. It also tells one
// boot from another, because readings of two boots must never be compared.
package bootclock
