package api

import "unicode/utf8"

// Limits of the wire. Lengths of identifiers are in bytes, which for their
// alphabets equals characters.
const (
	// MinElectionTTLSeconds, MaxElectionTTLSeconds and DefaultElectionTTLSeconds
	// bound the time to live of an election's lease, in seconds.
	MinElectionTTLSeconds     = 5
	MaxElectionTTLSeconds     = 300
	DefaultElectionTTLSeconds = 30

	// MaxWaitMs is the longest that a campaign or acquire may ask to be held, in milliseconds.
	MaxWaitMs = 60_000

	// MaxBodyBytes is the largest request body, in bytes; a larger one is answered with 413.
	MaxBodyBytes = 64 << 10

	// MinElectionIDLength and MaxElectionIDLength bound a room id.
	MinElectionIDLength = 8
	MaxElectionIDLength = 64

	// MaxCandidateIDLength bounds a candidate id; it has at least one character.
	MaxCandidateIDLength = 64

	// MaxMetadataRunes bounds metadata, in Unicode code points.
	MaxMetadataRunes = 1024

	// MinIdempotencyKeyLength and MaxIdempotencyKeyLength bound an idempotency key. 22
	// characters of its alphabet are the least that hold 128 random bits.
	MinIdempotencyKeyLength = 22
	MaxIdempotencyKeyLength = 128
)

// ValidElectionID reports whether id can name a room: 8 to 64 characters of
// A-Z, a-z, 0-9, `_` and `-`. Any such room exists, created or not.
func ValidElectionID(id string) bool {
	if len(id) < MinElectionIDLength || len(id) > MaxElectionIDLength {
		return false
	}
	for i := range len(id) {
		if b := id[i]; !alphanumeric(b) && b != '_' && b != '-' {
			return false
		}
	}
	return true
}

// ValidCandidateID reports whether id can name a candidate: 1 to 64 characters of
// A-Z, a-z, 0-9 and `. _ : @ -`.
func ValidCandidateID(id string) bool {
	if id == "" || len(id) > MaxCandidateIDLength {
		return false
	}
	for i := range len(id) {
		if b := id[i]; !alphanumeric(b) && b != '.' && b != '_' && b != ':' && b != '@' && b != '-' {
			return false
		}
	}
	return true
}

// ValidMetadata reports whether text is valid UTF-8 of at most 1024 code points.
// Empty text is valid and differs from none.
func ValidMetadata(text string) bool {
	// Each code point takes at least one byte and at most utf8.UTFMax, so that the
	// usual short text and the absurdly long one are both decided without counting.
	if len(text) > MaxMetadataRunes*utf8.UTFMax {
		return false
	}
	if !utf8.ValidString(text) {
		return false
	}
	return len(text) <= MaxMetadataRunes || utf8.RuneCountInString(text) <= MaxMetadataRunes
}

// ValidIdempotencyKey reports whether key can be an Idempotency-Key: 22 to 128
// characters of A-Z, a-z, 0-9 and `_ . : -`. That it was drawn at random can not be seen from here.
func ValidIdempotencyKey(key string) bool {
	if len(key) < MinIdempotencyKeyLength || len(key) > MaxIdempotencyKeyLength {
		return false
	}
	for i := range len(key) {
		if b := key[i]; !alphanumeric(b) && b != '_' && b != '.' && b != ':' && b != '-' {
			return false
		}
	}
	return true
}

// ValidElectionTTL reports whether seconds is a time to live that an election accepts.
func ValidElectionTTL(seconds uint32) bool {
	return seconds >= MinElectionTTLSeconds && seconds <= MaxElectionTTLSeconds
}

// ValidWaitMs reports whether ms is a wait that campaign and acquire accept.
func ValidWaitMs(ms uint32) bool { return ms <= MaxWaitMs }

func alphanumeric(b byte) bool {
	return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9'
}
