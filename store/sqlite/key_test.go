package sqlite

import (
	"bytes"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/octostore/octostore/lease"
)

func TestServerKey(t *testing.T) {
	t.Parallel()
	key := func(t *testing.T, s *Store) []byte {
		t.Helper()
		k, err := s.ServerKey()
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	t.Run("IsMadeOnceAndStays", func(t *testing.T) {
		t.Parallel()
		s := open(t, dbPath(t), Options{})
		first := key(t, s)
		if len(first) != lease.KeySize || bytes.Equal(first, make([]byte, lease.KeySize)) {
			t.Fatalf("the key is %x", first)
		}
		if again := key(t, s); !bytes.Equal(first, again) {
			t.Error("another key")
		}
		s = open(t, closed(t, s), Options{})
		if again := key(t, s); !bytes.Equal(first, again) {
			t.Error("another key after a restart")
		}
		if got := mode(t, s.KeyFile()); got != 0o600 {
			t.Errorf("mode %04o, want 0600", got)
		}
		left, err := filepath.Glob(s.Path() + ".key?*")
		if err != nil || len(left) > 0 {
			t.Errorf("left behind: %q, %v", left, err)
		}
		if other := key(t, open(t, dbPath(t), Options{})); bytes.Equal(first, other) {
			t.Error("two databases have one key")
		}
	})
	t.Run("IsNotInTheDatabase", func(t *testing.T) {
		t.Parallel()
		s := open(t, dbPath(t), Options{})
		k := key(t, s)
		path := closed(t, s)
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(content, k) || bytes.Contains(content, []byte(hex.EncodeToString(k))) {
			t.Error("the key is in the database file")
		}
	})
	t.Run("IsRefusedWhenOthersCanReadIt", func(t *testing.T) {
		t.Parallel()
		s := open(t, dbPath(t), Options{})
		key(t, s)
		for _, m := range []os.FileMode{0o640, 0o604, 0o660} {
			if err := os.Chmod(s.KeyFile(), m); err != nil {
				t.Fatal(err)
			}
			if _, err := s.ServerKey(); err == nil || !strings.Contains(err.Error(), "0600") {
				t.Errorf("mode %04o: %v", m, err)
			}
		}
	})
	t.Run("IsRefusedWhenItIsNoKeyAndNotMadeAnew", func(t *testing.T) {
		t.Parallel()
		s := open(t, dbPath(t), Options{})
		for _, text := range []string{"", "\n", "not hex", strings.Repeat("ab", lease.KeySize-1), strings.Repeat("ab", lease.KeySize+1)} {
			if err := os.WriteFile(s.KeyFile(), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			if k, err := s.ServerKey(); err == nil {
				t.Errorf("%q is taken for the key %x", text, k)
			} else if text != "" && strings.Contains(err.Error(), strings.TrimSpace(text)) && strings.TrimSpace(text) != "" {
				t.Errorf("the refusal quotes the file: %v", err)
			}
			if after, err := os.ReadFile(s.KeyFile()); err != nil || string(after) != text {
				t.Errorf("the file became %q, %v", after, err)
			}
		}
	})
	t.Run("ToleratesWhitespaceAroundIt", func(t *testing.T) {
		t.Parallel()
		s := open(t, dbPath(t), Options{})
		text := strings.Repeat("ab", lease.KeySize)
		if err := os.WriteFile(s.KeyFile(), []byte(" "+text+"\r\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := hex.EncodeToString(key(t, s)); got != text {
			t.Errorf("read %s", got)
		}
	})
}
