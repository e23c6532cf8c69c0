package auth

import (
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"io"
	"log/slog"
)

// redacted stands wherever a Secret would otherwise have been printed.
const redacted = "[redacted]"

// Secret is a text that grants authority. Every way of printing or encoding it
// (each fmt verb, slog, JSON, XML, text) gives "[redacted]"; Reveal is the one way
// to the text, so that a search for it finds every use.
//
// The zero value is a secret that is not set.
type Secret struct {
	// The text is behind a pointer because fmt can not call methods on an unexported
	// field of somebody else's struct: there it would print the text itself, here it
	// prints an address.
	text *string
}

// NewSecret wraps text. An empty text gives a secret that is set and empty.
func NewSecret(text string) Secret { return Secret{text: &text} }

// IsSet tells whether the secret was given a text, be it empty.
func (s Secret) IsSet() bool { return s.text != nil }

// Reveal returns the text, or "" if the secret is not set.
func (s Secret) Reveal() string {
	if s.text == nil {
		return ""
	}
	return *s.text
}

// Matches tells in constant time whether both secrets are set to the same text. The
// time does not depend on the texts, nor on which byte differs.
func (s Secret) Matches(other Secret) bool {
	// Digests of one length are compared, for ConstantTimeCompare returns early on
	// texts of different lengths.
	a, b := sha256.Sum256([]byte(s.Reveal())), sha256.Sum256([]byte(other.Reveal()))
	same := subtle.ConstantTimeCompare(a[:], b[:]) == 1
	return same && s.IsSet() && other.IsSet()
}

// Format prints "[redacted]" for every verb and flag. It implements fmt.Formatter,
// which goes before String and GoString.
func (s Secret) Format(state fmt.State, _ rune) {
	// fmt.State gives a caller no way to see a failed write; fmt reports it itself.
	_, _ = io.WriteString(state, redacted)
}

// String returns "[redacted]".
func (s Secret) String() string { return redacted }

// MarshalText returns "[redacted]" for JSON, XML and every encoder that asks for text.
func (s Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// LogValue returns "[redacted]" for slog handlers.
func (s Secret) LogValue() slog.Value { return slog.StringValue(redacted) }
