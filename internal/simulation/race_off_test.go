//go:build !race

package simulation

// raced tells that the detector is on.
const raced = false
