package bootclock

// Boot identifies the boot that readings of the clock belong to. Two readings
// may be compared only if their boots are Same.
type Boot struct {
	ID      string // empty if it can not be read
	Offsets string // of the time namespace, which shifts the clock
}

// Same tells whether both are known to be the same boot. What can not be read
// counts as another boot: that lengthens leases, and never shortens one.
func (b Boot) Same(o Boot) bool {
	return b.ID != "" && b == o
}
