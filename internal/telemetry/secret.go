package telemetry

import (
	"fmt"
	"io"
	"log/slog"
)

// redacted is what every printed [Secret] looks like, so that its length and its absence do not show either.
const redacted = "[redacted]"

// Secret is a token, key or capability on its way through code that logs, formats and encodes. However it is printed, it
// reads [redacted]; only [Secret.Reveal] gives the value, which a reader of the code can search for. The zero Secret is
// empty.
//
// It is not a string type with methods, because three ways lead around those to the bytes: fmt calls no method for %p, nor
// through an unexported field of a struct, and encoders take the key of a map as it is. A closure has no bytes to print.
// It also makes secrets incomparable with ==, which would not take constant time.
type Secret struct{ reveal func() string }

var (
	_ fmt.Formatter  = Secret{}
	_ fmt.GoStringer = Secret{}
	_ slog.LogValuer = Secret{}
)

// NewSecret hides value.
func NewSecret(value string) Secret { return Secret{reveal: func() string { return value }} }

// Reveal is the value.
func (s Secret) Reveal() string {
	if s.reveal == nil {
		return ""
	}
	return s.reveal()
}

// String implements [fmt.Stringer].
func (Secret) String() string { return redacted }

// GoString implements [fmt.GoStringer], for %#v.
func (Secret) GoString() string { return redacted }

// Format implements [fmt.Formatter] for every verb but %p, for which fmt prints the address of a closure.
func (Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, redacted) }

// MarshalJSON implements json.Marshaler.
func (Secret) MarshalJSON() ([]byte, error) { return []byte(`"` + redacted + `"`), nil }

// MarshalText implements encoding.TextMarshaler, for YAML, XML and flags.
func (Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// LogValue implements [slog.LogValuer].
func (Secret) LogValue() slog.Value { return slog.StringValue(redacted) }
