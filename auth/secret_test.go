package auth_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/octostore/octostore/auth"
)

// canary is a secret that stands nowhere else, so that finding it means a leak.
const canary = "canary-7f3a91c5e2"

func TestSecret(t *testing.T) {
	t.Parallel()

	t.Run("PrintsRedactedInEveryVerb", func(t *testing.T) {
		t.Parallel()
		type holder struct{ Key auth.Secret }
		values := map[string]any{
			"Value":   auth.NewSecret(canary),
			"Pointer": new(auth.NewSecret(canary)),
			"Field":   holder{Key: auth.NewSecret(canary)},
			"Slice":   []auth.Secret{auth.NewSecret(canary)},
			"Map":     map[string]auth.Secret{"key": auth.NewSecret(canary)},
		}
		for name, value := range values {
			for _, format := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%c", "%U", "%e", "%t", "%b", "%20s", "%-5.2v"} {
				got := fmt.Sprintf(format, value)
				if !strings.Contains(got, "[redacted]") || strings.Contains(got, canary) {
					t.Errorf("%s with %s prints %q", name, format, got)
				}
			}
		}
	})

	t.Run("StaysHiddenInUnexportedField", func(t *testing.T) {
		t.Parallel()
		type holder struct{ key auth.Secret }
		value := holder{key: auth.NewSecret(canary)}
		for _, format := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%p"} {
			if got := fmt.Sprintf(format, value); strings.Contains(got, canary) || strings.Contains(got, fmt.Sprintf("%x", canary)) {
				t.Errorf("%s prints %q", format, got)
			}
		}
		if value.key.Reveal() != canary {
			t.Error("Reveal does not return the text")
		}
	})

	t.Run("EncodesRedacted", func(t *testing.T) {
		t.Parallel()
		value := struct{ Key auth.Secret }{auth.NewSecret(canary)}
		asJSON, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		if want := `{"Key":"[redacted]"}`; string(asJSON) != want {
			t.Errorf("JSON is %s, want %s", asJSON, want)
		}
		asXML, err := xml.Marshal(value.Key)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(asXML), canary) {
			t.Errorf("XML is %s", asXML)
		}
	})

	t.Run("LogsRedacted", func(t *testing.T) {
		t.Parallel()
		var out bytes.Buffer
		for _, handler := range []slog.Handler{slog.NewTextHandler(&out, nil), slog.NewJSONHandler(&out, nil)} {
			slog.New(handler).Info("start", "key", auth.NewSecret(canary), "config", struct{ Key auth.Secret }{auth.NewSecret(canary)})
		}
		if got := out.String(); strings.Contains(got, canary) || strings.Count(got, "[redacted]") != 4 {
			t.Errorf("log is %s", got)
		}
	})

	t.Run("ComparesTextsOfSetSecrets", func(t *testing.T) {
		t.Parallel()
		var unset auth.Secret
		for _, c := range []struct {
			a, b auth.Secret
			want bool
		}{
			{auth.NewSecret("a"), auth.NewSecret("a"), true},
			{auth.NewSecret(""), auth.NewSecret(""), true},
			{auth.NewSecret("a"), auth.NewSecret("b"), false},
			{auth.NewSecret("a"), auth.NewSecret("aa"), false},
			{unset, unset, false},
			{unset, auth.NewSecret(""), false},
		} {
			if got := c.a.Matches(c.b); got != c.want {
				t.Errorf("Matches(%q, %q) = %v", c.a.Reveal(), c.b.Reveal(), got)
			}
		}
		if unset.IsSet() || unset.Reveal() != "" {
			t.Error("the zero value is set")
		}
	})
}
