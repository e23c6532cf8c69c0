package events

import (
	"math"
	"strconv"
)

// maxDigits is the number of digits of the largest revision.
const maxDigits = len("9223372036854775807")

// parseRevision reads the id of a frame. Only the one spelling that frames
// have is accepted, decimal without sign, space or leading zero: whatever else
// comes was not given out here, and the reader is better told of a gap than
// taken at its word.
func parseRevision(id string) (revision int64, ok bool) {
	if id == "" || len(id) > maxDigits || id[0] == '0' && id != "0" {
		return 0, false
	}
	for i := range len(id) {
		if id[i] < '0' || id[i] > '9' {
			return 0, false
		}
	}
	n, err := strconv.ParseUint(id, 10, 64)
	if err != nil || n > math.MaxInt64 {
		return 0, false
	}
	return int64(n), true
}
