package telemetry

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// clipMark ends a text that was cut.
const clipMark = "…"

// Clip makes text from outside fit to be logged: at most limit bytes, one line, nothing that a terminal obeys or that
// changes the reading direction. What is not printable, and bytes that are not UTF-8, are written as Go escapes
// (\n, \x1b, \u202e) and a backslash as two, so that the escape of a byte and the same characters in clear differ. A text
// that does not fit ends in "…". A clean text comes back as it is, without an allocation.
func Clip(s string, limit int) string {
	if limit <= 0 {
		return ""
	}
	if len(s) <= limit && isPlain(s) {
		return s
	}
	mark := clipMark
	if limit < len(mark) {
		mark = ""
	}
	var b strings.Builder
	cut := 0 // length of the part that still leaves room for the mark
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		piece := s[i : i+size]
		if r == '\\' || !strconv.IsPrint(r) || (r == utf8.RuneError && size == 1) {
			quoted := strconv.Quote(piece)
			piece = quoted[1 : len(quoted)-1]
		}
		if b.Len()+len(piece) > limit {
			return b.String()[:cut] + mark
		}
		b.WriteString(piece)
		if b.Len() <= limit-len(mark) {
			cut = b.Len()
		}
		i += size
	}
	return b.String()
}

// isPlain tells whether s is printable ASCII without a backslash.
func isPlain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '\\' {
			return false
		}
	}
	return true
}
