package machine

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// ErrInMemory refuses a folder whose files are not on a disk: a sync costs nothing
// there, so no durable figure would mean anything.
var ErrInMemory = errors.New("machine: the folder is in memory, not on a disk")

// Host describes the machine that figures were taken on.
type Host struct {
	Kernel     string  `json:"kernel"`
	Processors int     `json:"processors"`
	Model      string  `json:"processor_model,omitempty"`
	Load       float64 `json:"load_1m"` // load average of the last minute
	Filesystem string  `json:"filesystem"`
	Go         string  `json:"go"`
}

// Describe describes the machine and the file system of a folder. What can not be
// read is left empty, but a folder in memory is ErrInMemory.
func Describe(dir string) (Host, error) {
	h := Host{Processors: runtime.NumCPU(), Go: runtime.Version(), Load: Load()}
	if b, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		h.Kernel = strings.TrimSpace(string(b))
	}
	if b, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		h.Model = processorModel(string(b))
	}
	var err error
	h.Filesystem, err = Filesystem(dir)
	return h, err
}

// processorModel finds the name of the first processor.
func processorModel(cpuinfo string) string {
	for line := range strings.Lines(cpuinfo) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// Load is the load average of the last minute, 0 if it can not be read.
func Load() float64 {
	b, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return 0
	}
	first, _, _ := strings.Cut(string(b), " ")
	load, err := strconv.ParseFloat(first, 64)
	if err != nil {
		return 0
	}
	return load
}

// Filesystem names the file system of a folder. It is ErrInMemory for one whose
// files are in memory.
func Filesystem(dir string) (string, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return "", fmt.Errorf("machine: file system of %s: %w", dir, err)
	}
	return nameFilesystem(uint32(s.Type)) //nolint:gosec // G115: the magic numbers have 32 bits
}

func nameFilesystem(magic uint32) (string, error) {
	switch magic {
	case unix.TMPFS_MAGIC:
		return "tmpfs", ErrInMemory
	case unix.RAMFS_MAGIC:
		return "ramfs", ErrInMemory
	case unix.EXT4_SUPER_MAGIC:
		return "ext4", nil
	case unix.XFS_SUPER_MAGIC:
		return "xfs", nil
	case unix.BTRFS_SUPER_MAGIC:
		return "btrfs", nil
	case unix.OVERLAYFS_SUPER_MAGIC:
		return "overlayfs", nil
	default:
		return fmt.Sprintf("%#x", magic), nil
	}
}
