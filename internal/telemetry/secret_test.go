package telemetry

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

func TestSecretNeverShows(t *testing.T) {
	t.Parallel()
	const value = "kf83hq0w"
	secret := NewSecret(value)
	inside := struct {
		Name  string
		Token Secret
		Many  []Secret
		By    map[string]Secret
		Ref   *Secret
		own   Secret // fmt can not call methods here
	}{"x", secret, []Secret{secret}, map[string]Secret{"a": secret}, &secret, secret}

	var forms []string
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "% x", "%d", "%t", "%c", "%U", "%b", "%o", "%e", "%p", "%10s", "%-3v", "%.2s", "%y"} {
		forms = append(forms, fmt.Sprintf(verb, secret), fmt.Sprintf(verb, inside), fmt.Sprintf(verb, []Secret{secret}))
	}
	encode := func(out []byte, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		forms = append(forms, string(out))
	}
	encode(json.Marshal(secret))
	encode(json.Marshal(inside))
	encode(xml.Marshal(secret))
	forms = append(forms, secret.String(), secret.GoString(), fmt.Errorf("no: %w", errors.New(fmt.Sprint(secret))).Error())

	for _, asJSON := range []bool{true, false} {
		var log bytes.Buffer
		logger := slog.New(newLogHandler(&log, slog.LevelInfo, asJSON))
		logger.Info("m", "k", secret, "inside", inside)
		logger.Info("m", slog.Any("any", secret), slog.Group("g", "k", secret))
		logger.With("k", secret).WithGroup("g").Info("m", "k", secret)
		forms = append(forms, log.String())
	}
	for _, form := range forms {
		lower := strings.ToLower(form)
		for _, trace := range []string{value, value[:2], fmt.Sprintf("%x", value), fmt.Sprintf("% x", value)} {
			if strings.Contains(lower, trace) {
				t.Errorf("%q shows in %q", trace, form)
			}
		}
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		if got := fmt.Sprintf(verb, secret); got != redacted {
			t.Errorf("%s gives %q", verb, got)
		}
	}
}

func TestSecretHidesItsLength(t *testing.T) {
	t.Parallel()
	if fmt.Sprint(Secret{}) != fmt.Sprint(NewSecret("long long long")) {
		t.Fatal("an empty secret looks different")
	}
}

func TestSecretReveals(t *testing.T) {
	t.Parallel()
	if got := NewSecret("x").Reveal(); got != "x" {
		t.Errorf("revealed %q", got)
	}
	if got := (Secret{}).Reveal(); got != "" {
		t.Errorf("the zero secret revealed %q", got)
	}
}
