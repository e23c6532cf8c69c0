package simulation

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"strings"
	"time"
)

// journal is the history of a run: a hash over all of it, and its last lines to
// show when something is wrong.
type journal struct {
	hash  hash.Hash
	lines [60]string
	n     int
}

func newJournal() *journal { return &journal{hash: sha256.New()} }

func (j *journal) write(now time.Duration, format string, args ...any) {
	line := fmt.Sprintf("%d ", now) + fmt.Sprintf(format, args...)
	_, _ = j.hash.Write(append([]byte(line), '\n'))
	j.lines[j.n%len(j.lines)] = line
	j.n++
}

func (j *journal) sum() string { return hex.EncodeToString(j.hash.Sum(nil)[:12]) }

// tail returns the last lines, oldest first.
func (j *journal) tail() string {
	var b strings.Builder
	for i := max(0, j.n-len(j.lines)); i < j.n; i++ {
		b.WriteString(j.lines[i%len(j.lines)])
		b.WriteByte('\n')
	}
	return b.String()
}
