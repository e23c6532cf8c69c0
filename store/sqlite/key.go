package sqlite

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/octostore/octostore/lease"
)

// ServerKey returns the server key that is kept beside the database in a file
// of mode 0600, and makes it on the first start. A throw-away database has a
// random one that is kept nowhere. It is not called when the operator provides
// a key.
//
// A missing key file beside a database that has rows makes a new key: the
// rows under the old one then answer lease.ErrUnknownKey until they end.
func (s *Store) ServerKey() ([]byte, error) {
	key := make([]byte, lease.KeySize)
	if _, err := rand.Read(key); err != nil {
		return nil, fmt.Errorf("sqlite: draw a server key: %w", err)
	}
	if s.at.throwaway {
		return key, nil
	}
	path := s.KeyFile()
	text, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return key, writeKey(path, key)
	case err != nil:
		return nil, fmt.Errorf("sqlite: server key: %w", err)
	}
	if info, err := os.Stat(path); err == nil && info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("sqlite: server key %s can be read by others (mode %04o); it must be 0600", path, info.Mode().Perm())
	}
	key, err = hex.DecodeString(strings.TrimSpace(string(text)))
	if err != nil || len(key) != lease.KeySize {
		return nil, fmt.Errorf("sqlite: server key %s is not %d bytes in hex", path, lease.KeySize)
	}
	return key, nil
}

// KeyFile is where ServerKey keeps the key.
func (s *Store) KeyFile() string { return s.at.beside(".key") }

// writeKey makes the file complete or not at all, and durable before any
// lease is derived from it.
func writeKey(path string, key []byte) error {
	tmp := path + ".new"
	f, err := os.OpenFile(tmp, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("sqlite: server key: %w", err)
	}
	_, err = f.WriteString(hex.EncodeToString(key) + "\n")
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(tmp, path)
	}
	if err == nil {
		err = syncDir(filepath.Dir(path))
	}
	if err != nil {
		return fmt.Errorf("sqlite: server key: %w", err)
	}
	return nil
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
