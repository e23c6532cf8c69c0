package api_test

import (
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/octostore/octostore/api"
)

// The grammars once more, in the notation of the OpenAPI document: an
// independent witness for the hand-written validators.
const (
	electionIDGrammar     = `\A[A-Za-z0-9_-]{8,64}\z`
	candidateIDGrammar    = `\A[A-Za-z0-9._:@-]{1,64}\z`
	idempotencyKeyGrammar = `\A[A-Za-z0-9_.:-]{22,128}\z`
	requestIDGrammar      = `\Areq_[0-9a-f]{32}\z`
)

func TestValidators(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		valid   func(string) bool
		accepts []string
		refuses []string
	}{
		"ElectionID": {
			api.ValidElectionID,
			[]string{"abcdefgh", strings.Repeat("Z", 64), "a_b-c_d-9", "--------"},
			[]string{"", "abcdefg", strings.Repeat("Z", 65), "abcdefg/", "abcdefg.", "abcdefgé", "abcdefg\n", "abc defgh", "abcdefg\x00"},
		},
		"CandidateID": {
			api.ValidCandidateID,
			[]string{"a", "worker-a", "a.b_c:d@e-f", strings.Repeat("9", 64)},
			[]string{"", strings.Repeat("9", 65), "a b", "a/b", "é", "a\n", "a+b"},
		},
		"IdempotencyKey": {
			api.ValidIdempotencyKey,
			[]string{strings.Repeat("k", 22), strings.Repeat("k", 128), "abc_DEF.012:345-678.90"},
			[]string{"", strings.Repeat("k", 21), strings.Repeat("k", 129), strings.Repeat("k", 21) + "@", strings.Repeat("k", 22) + " ", strings.Repeat("é", 22)},
		},
		"RequestID": {
			api.ValidRequestID,
			[]string{"req_0123456789abcdef0123456789abcdef"},
			[]string{"", "req_", "req_0123456789ABCDEF0123456789abcdef", "req_0123456789abcdef0123456789abcde", "req_0123456789abcdef0123456789abcdef0", "id__0123456789abcdef0123456789abcdef", "req_0123456789abcdef0123456789abcde\n"},
		},
		"Metadata": {
			api.ValidMetadata,
			[]string{"", "worker=billing-7 trace=2f91", strings.Repeat("x", 1024), strings.Repeat("é", 1024), strings.Repeat("🐙", 1024), "\x00"},
			[]string{strings.Repeat("x", 1025), strings.Repeat("é", 1025), strings.Repeat("🐙", 1025), "\xff", strings.Repeat("x", 1023) + "\xc3", strings.Repeat("🐙", 5000)},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, text := range tc.accepts {
				if !tc.valid(text) {
					t.Errorf("refuses %.40q (%d bytes)", text, len(text))
				}
			}
			for _, text := range tc.refuses {
				if tc.valid(text) {
					t.Errorf("accepts %.40q (%d bytes)", text, len(text))
				}
			}
		})
	}
}

func TestNumericLimits(t *testing.T) {
	t.Parallel()
	for seconds, want := range map[uint32]bool{0: false, 4: false, 5: true, 30: true, 300: true, 301: false, 1<<32 - 1: false} {
		if got := api.ValidElectionTTL(seconds); got != want {
			t.Errorf("ValidElectionTTL(%d) = %v", seconds, got)
		}
	}
	for ms, want := range map[uint32]bool{0: true, 1: true, 60_000: true, 60_001: false, 1<<32 - 1: false} {
		if got := api.ValidWaitMs(ms); got != want {
			t.Errorf("ValidWaitMs(%d) = %v", ms, got)
		}
	}
}

func TestValidatorsDoNotAllocate(t *testing.T) {
	long := strings.Repeat("🐙", 1024)
	key := strings.Repeat("k", 64)
	if got := testing.AllocsPerRun(100, func() {
		_ = api.ValidElectionID(key) && api.ValidCandidateID(key) && api.ValidIdempotencyKey(key) && api.ValidMetadata(long)
	}); got != 0 {
		t.Errorf("%v allocations a run, want none", got)
	}
}

func fuzzGrammar(f *testing.F, grammar string, valid func(string) bool, seeds ...string) {
	f.Helper()
	witness := regexp.MustCompile(grammar)
	for _, seed := range append(seeds, "", "a", "abcdefgh", strings.Repeat("k", 22), strings.Repeat("k", 129), "é", "\xff", "a\n") {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if got, want := valid(text), witness.MatchString(text); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	})
}

func FuzzValidElectionID(f *testing.F) {
	fuzzGrammar(f, electionIDGrammar, api.ValidElectionID, strings.Repeat("_", 64), strings.Repeat("-", 65))
}

func FuzzValidCandidateID(f *testing.F) {
	fuzzGrammar(f, candidateIDGrammar, api.ValidCandidateID, "worker-a", "a@b:c.d")
}

func FuzzValidIdempotencyKey(f *testing.F) {
	fuzzGrammar(f, idempotencyKeyGrammar, api.ValidIdempotencyKey, "abc_DEF.012:345-678.90")
}

func FuzzValidRequestID(f *testing.F) {
	fuzzGrammar(f, requestIDGrammar, api.ValidRequestID, "req_0123456789abcdef0123456789abcdef")
}

func FuzzValidMetadata(f *testing.F) {
	for _, seed := range []string{"", "x", strings.Repeat("x", 1025), strings.Repeat("é", 1024), strings.Repeat("🐙", 1025), "\xff"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		points := 0
		for range text {
			points++
		}
		want := utf8.ValidString(text) && points <= 1024
		if got := api.ValidMetadata(text); got != want {
			t.Errorf("%d code points, valid UTF-8 %v: %v, want %v", points, utf8.ValidString(text), got, want)
		}
	})
}

func FuzzTime(f *testing.F) {
	for _, seed := range []string{"2026-01-01T00:00:30.123Z", "2026-01-01T00:00:30+02:00", "9999-12-31T23:59:59.999999999-23:59", "0000-01-01T00:00:00Z", ""} {
		f.Add(seed)
	}
	wire := regexp.MustCompile(`\A\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z\z`)
	f.Fuzz(func(t *testing.T, text string) {
		var read api.Time
		if read.UnmarshalText([]byte(text)) != nil {
			return
		}
		written, err := read.MarshalText()
		if err != nil {
			return // Near the edges of the calendar an offset leads out of it.
		}
		if !wire.Match(written) {
			t.Errorf("%q is written as %q", text, written)
		}
		var again api.Time
		if err := again.UnmarshalText(written); err != nil || !again.Equal(api.NewTime(read.Time())) {
			t.Errorf("%q, written as %q, reads as %v (%v)", text, written, again, err)
		}
	})
}
