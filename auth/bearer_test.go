package auth_test

import (
	"errors"
	"testing"

	"github.com/octostore/octostore/auth"
)

func TestParseBearer(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		value, token string
		err          error
	}{
		"TakesToken":                   {value: "Bearer change-me", token: "change-me"},
		"TakesColonInToken":            {value: "Bearer admin:key", token: "admin:key"},
		"TakesBase64Token":             {value: "Bearer a+/=", token: "a+/="},
		"KeepsInnerSpace":              {value: "Bearer admin:two words", token: "admin:two words"},
		"RefusesEmptyValue":            {value: "", err: auth.ErrNoBearer},
		"RefusesLowerCaseScheme":       {value: "bearer change-me", err: auth.ErrNoBearer},
		"RefusesUpperCaseScheme":       {value: "BEARER change-me", err: auth.ErrNoBearer},
		"RefusesOtherScheme":           {value: "Basic b3BzOmNoYW5nZS1tZQ==", err: auth.ErrNoBearer},
		"RefusesSchemeAlone":           {value: "Bearer", err: auth.ErrNoBearer},
		"RefusesEmptyToken":            {value: "Bearer ", err: auth.ErrNoBearer},
		"RefusesTwoSpaces":             {value: "Bearer  change-me", err: auth.ErrNoBearer},
		"RefusesTab":                   {value: "Bearer\tchange-me", err: auth.ErrNoBearer},
		"RefusesTabAfterSpace":         {value: "Bearer \tchange-me", err: auth.ErrNoBearer},
		"RefusesSpaceBeforeScheme":     {value: " Bearer change-me", err: auth.ErrNoBearer},
		"RefusesSchemeWithoutASpacing": {value: "Bearerchange-me", err: auth.ErrNoBearer},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			token, err := auth.ParseBearer(c.value)
			if token != c.token || !errors.Is(err, c.err) {
				t.Errorf("ParseBearer(%q) = %q, %v; want %q, %v", c.value, token, err, c.token, c.err)
			}
		})
	}
}

func TestParseAuthorization(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		lines []string
		token string
		err   error
	}{
		"TakesOneLine":          {lines: []string{"Bearer a"}, token: "a"},
		"RefusesNone":           {err: auth.ErrNoBearer},
		"RefusesOtherScheme":    {lines: []string{"Basic a"}, err: auth.ErrNoBearer},
		"RefusesTwoTokens":      {lines: []string{"Bearer a", "Bearer b"}, err: auth.ErrManyAuthorizations},
		"RefusesTwoEqualTokens": {lines: []string{"Bearer a", "Bearer a"}, err: auth.ErrManyAuthorizations},
		"RefusesTwoSchemes":     {lines: []string{"Basic a", "Bearer a"}, err: auth.ErrManyAuthorizations},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			token, err := auth.ParseAuthorization(c.lines)
			if token != c.token || !errors.Is(err, c.err) {
				t.Errorf("got %q, %v; want %q, %v", token, err, c.token, c.err)
			}
		})
	}
}
