package histories

import (
	"os"
	"path/filepath"
	"time"
)

// How a machine is asked whether it stands still: a pause and a sync of a small
// file beside the database, over and over. What is beyond the usual of either is
// time that a start could not use.
const (
	stallPause = 20 * time.Millisecond
	usualPause = stallPause + 10*time.Millisecond
	usualSync  = 20 * time.Millisecond
)

// stalls returns for how long the machine stood still until stop was closed. What
// is still under way then counts.
func stalls(dir string, stop <-chan struct{}) time.Duration {
	f, err := os.OpenFile(filepath.Join(dir, "stall"), os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return 0 // nobody is excused
	}
	defer f.Close()
	var stolen time.Duration
	timer := time.NewTimer(stallPause)
	defer timer.Stop()
	for {
		began := Now()
		timer.Reset(stallPause)
		select {
		case <-timer.C:
		case <-stop:
			return stolen
		}
		woke := Now()
		if _, err := f.WriteAt([]byte{1}, 0); err != nil {
			return stolen
		}
		if err := f.Sync(); err != nil {
			return stolen
		}
		stolen += max(0, woke.Sub(began)-usualPause) + max(0, Now().Sub(woke)-usualSync)
	}
}
