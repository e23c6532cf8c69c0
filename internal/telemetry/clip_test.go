package telemetry

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestClip(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		in    string
		limit int
		want  string
	}{
		"KeepsCleanText":            {"curl/8.5.0", 20, "curl/8.5.0"},
		"KeepsTextOfExactlyTheSize": {"12345", 5, "12345"},
		"KeepsLetters":              {"Größe", 20, "Größe"},
		"CutsWithAMark":             {"1234567890", 8, "12345…"},
		"CutsBetweenCharacters":     {"äöüäöü", 8, "äö…"},
		"EscapesLineBreaks":         {"a\r\nb", 20, `a\r\nb`},
		"EscapesTerminalControls":   {"\x1b[2J", 20, `\x1b[2J`},
		"EscapesReadingDirection":   {"a\u202eb", 20, `a\u202eb`},
		"EscapesBadUTF8":            {"a\xffb", 20, `a\xffb`},
		"KeepsTheReplacementSign":   {"\ufffd", 20, "\ufffd"},
		"EscapesBackslash":          {`a\nb`, 20, `a\\nb`},
		"NeverCutsAnEscape":         {"abc\x00\x00", 9, `abc…`},
		"TinyLimitHasNoMark":        {"abc", 2, "ab"},
		"ZeroIsEmpty":               {"abc", 0, ""},
		"NegativeIsEmpty":           {"abc", -1, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := Clip(tc.in, tc.limit); got != tc.want {
				t.Fatalf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func FuzzClip(f *testing.F) {
	f.Add("plain", 10)
	f.Add("a\nb\xff\u202e\\", 7)
	f.Add(strings.Repeat("ä", 50), 20)
	f.Fuzz(func(t *testing.T, s string, limit int) {
		limit %= 200
		got := Clip(s, limit)
		if len(got) > max(limit, 0) {
			t.Fatalf("%d bytes, limit %d", len(got), limit)
		}
		if !utf8.ValidString(got) || strings.ContainsFunc(got, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			t.Fatalf("not clean: %q", got)
		}
	})
}

func TestClipDoesNotAllocateForCleanText(t *testing.T) {
	agent := "octostore-cli/0.14.0"
	if n := testing.AllocsPerRun(100, func() { _ = Clip(agent, 200) }); n != 0 {
		t.Fatalf("%v allocations", n)
	}
}
