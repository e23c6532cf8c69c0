package sqlite

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestLocate(t *testing.T) {
	t.Parallel()
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for database, want := range map[string]string{
		"octostore.db":                      filepath.Join(here, "octostore.db"),
		"./data/../octostore.db":            filepath.Join(here, "octostore.db"),
		"/srv/data/octostore.db":            "/srv/data/octostore.db",
		"/srv/with space/a%20b?c#d.db":      "/srv/with space/a%20b?c#d.db",
		"file:octostore.db":                 filepath.Join(here, "octostore.db"),
		"file:/srv/octostore.db":            "/srv/octostore.db",
		"file:///srv/octostore.db":          "/srv/octostore.db",
		"file://localhost/srv/octostore.db": "/srv/octostore.db",
		"file:/srv/a%20b%3Fc.db":            "/srv/a b?c.db",
		"file:/srv/o.db?mode=rwc":           "/srv/o.db",
		"file:/srv/o.db?mode=rw&cache=x":    "/srv/o.db",
		"file:/srv/o.db#part":               "/srv/o.db",
		"file:/srv/o.db?#":                  "/srv/o.db",
	} {
		got, err := locate(database)
		if err != nil || got.path != want || got.throwaway {
			t.Errorf("%q is at %+v, %v; want %s", database, got, err, want)
		}
	}
	for _, database := range []string{
		"file:/srv/o.db?mode=ro",
		"file:/srv/o.db?immutable=1",
		"file:/srv/o.db?nolock=1",
		"file:/srv/o.db?vfs=unix-none",
		"file:/srv/o.db?_pragma=synchronous(0)",
		"file:/srv/o.db?_txlock=deferred",
		"file:/srv/o.db?mode=rwc&mode=ro",
		"file://other-host/srv/o.db",
		"file:/srv/o%zz.db",
		"file:/srv/o.db?a=%zz",
		"/srv/o\x00.db",
		"file:/srv/o%00.db",
	} {
		if got, err := locate(database); err == nil {
			t.Errorf("%q is accepted, at %+v", database, got)
		}
	}
}

func TestRefusedParameterIsNamed(t *testing.T) {
	t.Parallel()
	if _, err := locate("file:/srv/o.db?immutable=1"); err == nil || !strings.Contains(err.Error(), "immutable=1") {
		t.Errorf("refused with %v", err)
	}
}

// Whatever a path is made of, the library opens the file of that very name.
func TestPathsOfAnySpellingNameOneFile(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"plain.db", "with space.db", "a%20b.db", "what?.db", "#1.db", "ünïcode.db", "a&b=c;d.db", "file:x.db", "'q\".db", "back\\slash.db"} {
		path := filepath.Join(t.TempDir(), name)
		s := open(t, path, Options{})
		take(t, s, "r", time.Hour)
		if s.Path() != path {
			t.Errorf("%q is at %q", path, s.Path())
		}
		s = open(t, closed(t, s), Options{})
		if !held(t, s, "r").Held {
			t.Errorf("%q: another file was opened", name)
		}
		entries, err := os.ReadDir(filepath.Dir(path))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if !strings.HasPrefix(e.Name(), name) {
				t.Errorf("%q: there is also %q", name, e.Name())
			}
		}
	}
}
