package sqlite

import (
	"errors"
	"os"
	"path/filepath"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// Room that is kept on the file system, in bytes. Below minFree no new lease
// begins: what is left is for those who hold. The ballast is a file that is
// given up when there is nothing left at all.
const (
	minFree    = 64 << 20
	ballast    = 16 << 20
	spaceShare = 20 // both are at most one part in this many of the file system
)

// Space is a reading of the file system that the database is on.
type Space struct {
	Total, Free uint64 // bytes; Free is what an unprivileged process may use
	Type        int64  // magic number of the file system
}

// statfs reads the file system of a directory.
func statfs(dir string) (Space, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return Space{}, err
	}
	size := uint64(s.Bsize)                                                               //nolint:gosec,unconvert // the type differs between systems, the value is positive
	return Space{Total: s.Blocks * size, Free: s.Bavail * size, Type: int64(s.Type)}, nil //nolint:unconvert // as above
}

// diskRoom decides whether the disk has room for new leases.
type diskRoom struct {
	at     location
	statfs func(dir string) (Space, error)
	low    atomic.Bool // below minFree, or a write found the disk full
	gaveUp atomic.Bool // the ballast was given up and is not made again yet
}

func (d *diskRoom) threshold(s Space) uint64 { return min(minFree, s.Total/spaceShare) }

func (d *diskRoom) ballastSize(s Space) int64 { return int64(min(ballast, s.Total/spaceShare)) } //nolint:gosec // at most 16 MiB

// check measures the room and reports whether it changed.
func (d *diskRoom) check() (s Space, changed bool, err error) {
	s, err = d.statfs(filepath.Dir(d.at.path))
	if err != nil {
		return s, false, err
	}
	low := s.Free < d.threshold(s)
	if d.gaveUp.Load() {
		// The room that the ballast made is for those who hold, not for new leases.
		low = s.Free < d.threshold(s)+2*uint64(d.ballastSize(s)) //nolint:gosec // positive
	}
	changed = d.low.Swap(low) != low
	if !low {
		d.load(s)
	}
	return s, changed, nil
}

// full notes that a write found no room, and gives the ballast up so that
// those who hold can go on.
func (d *diskRoom) full() (gaveUp bool) {
	d.low.Store(true)
	if os.Remove(d.at.beside(".ballast")) != nil {
		return false
	}
	d.gaveUp.Store(true)
	return true
}

// load makes the ballast if there is room for it beside what is kept free.
func (d *diskRoom) load(s Space) {
	path, size := d.at.beside(".ballast"), d.ballastSize(s)
	if d.at.throwaway || s.Free < d.threshold(s)+2*uint64(size) { //nolint:gosec // positive
		return
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return // it is there, which is the usual case, or can not be made, which only costs the reserve
	}
	if err := errors.Join(allocate(f, size), f.Close()); err != nil {
		_ = os.Remove(path)
		return
	}
	d.gaveUp.Store(false)
}

// allocate reserves real blocks: a sparse file would be no reserve.
func allocate(f *os.File, size int64) error {
	zeros := make([]byte, 64<<10)
	for size > 0 {
		n, err := f.Write(zeros[:min(size, int64(len(zeros)))])
		if err != nil {
			return err
		}
		size -= int64(n)
	}
	return nil
}

// File systems on which a database must not or should not lie, by magic
// number.
const (
	nfsMagic     = 0x6969
	smbMagic     = 0x517b
	smb2Magic    = 0xfe534d42
	tmpfsMagic   = 0x01021994
	overlayMagic = 0x794c7630
)

// ErrNetworkFileSystem: locks and syncs can not be trusted there.
var ErrNetworkFileSystem = errors.New("the database is on a network file system, where locks and syncs can not be trusted; put it on a local disk")

// judge refuses a file system that can not keep the promise, and warns of one
// that forgets.
func (s Space) judge() (warning string, err error) {
	switch uint32(s.Type) { //nolint:gosec // magic numbers have 32 bits
	case nfsMagic, smbMagic, smb2Magic:
		return "", ErrNetworkFileSystem
	case tmpfsMagic:
		return "the database is on tmpfs: it is lost when the machine restarts", nil
	case overlayMagic:
		return "the database is on the container's own layer: it is lost with the container; mount a volume", nil
	}
	return "", nil
}
