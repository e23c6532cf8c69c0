package main

import (
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/octostore/octostore/auth"
	"github.com/octostore/octostore/lease"
)

// errKey refuses a text that is no server key. It says nothing of the text.
var errKey = allowed(fmt.Errorf("it is not a key of %d bytes", lease.KeySize),
	"base64 (standard or URL alphabet, padded or not) or hexadecimal; openssl rand -base64 32 makes one")

// settleServerKey reads the key's file, if that is where the key is.
func (e *environment) settleServerKey() error {
	if !e.has(varKeyFile) {
		return nil
	}
	if e.has(varKey) {
		return fmt.Errorf("%s: it is set together with %s, and one of the two would be ignored; remove one", varKeyFile, varKey)
	}
	text, warnings, err := auth.ReadSecretFile(varKeyFile, e.keyFile)
	if err != nil {
		return err // it names the variable and the file
	}
	e.warnings = append(e.warnings, warnings...)
	if e.config.SecretKey, err = parseServerKey(text); err != nil {
		return fmt.Errorf("%s: file %q: %w", varKeyFile, e.keyFile, err)
	}
	return nil
}

// parseServerKey takes one key and keeps its bytes, not its spelling.
func parseServerKey(text string) (auth.Secret, error) {
	if err := notBlank(text); err != nil {
		return auth.Secret{}, err
	}
	text = strings.TrimSpace(text)
	// The decoder passes over line breaks, and a key over two lines is two keys.
	if strings.ContainsFunc(text, unicode.IsSpace) {
		return auth.Secret{}, errKey
	}
	// The length tells the two apart: 64 digits are 32 bytes in hexadecimal, and
	// would be 48 in base64.
	if len(text) == hex.EncodedLen(lease.KeySize) {
		if key, err := hex.DecodeString(text); err == nil {
			return auth.NewSecret(string(key)), nil
		}
	}
	unpadded := strings.TrimSuffix(strings.NewReplacer("-", "+", "_", "/").Replace(text), "=")
	key, err := base64.RawStdEncoding.DecodeString(unpadded)
	if err != nil || len(key) != lease.KeySize {
		return auth.Secret{}, errKey
	}
	return auth.NewSecret(string(key)), nil
}

// parseServerKeys takes a comma-separated list of keys; a blank one has none.
func parseServerKeys(text string) ([]auth.Secret, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	var keys []auth.Secret
	for i, entry := range strings.Split(text, ",") {
		key, err := parseServerKey(entry)
		if errors.Is(err, errBlank) {
			err = errKey
		}
		if err != nil {
			return nil, fmt.Errorf("key %d of the list: %w", i+1, err)
		}
		keys = append(keys, key)
	}
	return keys, nil
}
