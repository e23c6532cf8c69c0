package main

import (
	"encoding/base64"
	"fmt"
	"testing"
)

func TestConfigServerKey(t *testing.T) {
	t.Parallel()
	// 0xf7 and its followers need the two characters in which the alphabets differ.
	key := keyOf(0xf7)
	spellings := map[string]string{
		"StandardPadded":   base64.StdEncoding.EncodeToString(key),
		"StandardUnpadded": base64.RawStdEncoding.EncodeToString(key),
		"URLPadded":        base64.URLEncoding.EncodeToString(key),
		"URLUnpadded":      base64.RawURLEncoding.EncodeToString(key),
		"LowerHex":         fmt.Sprintf("%x", key),
		"UpperHex":         fmt.Sprintf("%X", key),
	}
	for name, text := range spellings {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for source, env := range map[string]variables{
				"value": {"OCTOSTORE_SECRET_KEY": text},
				"file":  {"OCTOSTORE_SECRET_KEY_FILE": writeFile(t, text+"\n", 0o600)},
			} {
				c, warnings := mustLoad(t, env)
				if c.SecretKey.Reveal() != string(key) || len(warnings) != 0 {
					t.Errorf("%s: another key, or warnings %v", source, warnings)
				}
			}
		})
	}

	t.Run("PreviousKeysInOrder", func(t *testing.T) {
		t.Parallel()
		c, _ := mustLoad(t, variables{"OCTOSTORE_SECRET_KEY_PREVIOUS": spellings["URLUnpadded"] + " , " + fmt.Sprintf("%x", keyOf(2))})
		if len(c.PreviousSecretKeys) != 2 || c.PreviousSecretKeys[0].Reveal() != string(key) || c.PreviousSecretKeys[1].Reveal() != string(keyOf(2)) || c.SecretKey.IsSet() {
			t.Errorf("%d previous keys, or other ones", len(c.PreviousSecretKeys))
		}
		if c, _ := mustLoad(t, variables{"OCTOSTORE_SECRET_KEY_PREVIOUS": " "}); len(c.PreviousSecretKeys) != 0 {
			t.Error("a blank list has keys")
		}
	})

	t.Run("WarnsOfFileThatOthersCanRead", func(t *testing.T) {
		t.Parallel()
		_, warnings := mustLoad(t, variables{"OCTOSTORE_SECRET_KEY_FILE": writeFile(t, spellings["LowerHex"], 0o444)})
		if len(warnings) != 1 || warnings[0].Setting != "OCTOSTORE_SECRET_KEY_FILE" {
			t.Errorf("warnings %v", warnings)
		}
	})
}
