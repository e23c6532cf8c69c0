package sqlite

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
)

// location is where a database is.
type location struct {
	path      string // absolute path of the main file
	throwaway bool   // it goes with the process
}

// locate reads a DATABASE_URL: a path, a file: URI, or "" and ":memory:" for a
// throw-away database. A throw-away database is a real file in a private
// temporary directory, so that it behaves like any other; the directory is
// removed on a clean stop.
func locate(database string) (location, error) {
	path := database
	if rest, ok := strings.CutPrefix(database, "file:"); ok {
		var err error
		if path, err = uriPath(rest); err != nil {
			return location{}, err
		}
	}
	if path == "" || path == ":memory:" {
		dir, err := os.MkdirTemp("", "octostore-")
		if err != nil {
			return location{}, fmt.Errorf("make a throw-away database: %w", err)
		}
		return location{path: filepath.Join(dir, "octostore.db"), throwaway: true}, nil
	}
	if strings.IndexByte(path, 0) >= 0 {
		return location{}, errors.New("the database path contains a NUL byte")
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return location{}, fmt.Errorf("database path: %w", err)
	}
	if info, err := os.Stat(abs); err == nil && info.IsDir() { //nolint:gosec // the operator says where the file is
		return location{}, fmt.Errorf("database path %s is a directory", abs)
	}
	return location{path: abs}, nil
}

// uriPath returns the path of a file: URI. Parameters that would change how
// the file is opened are refused rather than ignored: the pragmas that leases
// depend on are not up for choice.
func uriPath(rest string) (string, error) {
	rest, _, _ = strings.Cut(rest, "#")
	raw, query, _ := strings.Cut(rest, "?")
	params, err := url.ParseQuery(query)
	if err != nil {
		return "", fmt.Errorf("database URI: %w", err)
	}
	memory := false
	for name, values := range params {
		value := values[len(values)-1]
		switch {
		case name == "mode" && value == "memory":
			memory = true
		case name == "mode" && (value == "rwc" || value == "rw"), name == "cache":
		default:
			return "", fmt.Errorf("database URI: parameter %q is not supported; only mode=rwc, mode=rw, mode=memory and cache are", name+"="+value)
		}
	}
	if memory {
		return "", nil
	}
	if after, ok := strings.CutPrefix(raw, "//"); ok {
		host, path, _ := strings.Cut(after, "/")
		if host != "" && host != "localhost" {
			return "", fmt.Errorf("database URI: host %q is not this machine", host)
		}
		raw = "/" + path
	}
	path, err := url.PathUnescape(raw)
	if err != nil {
		return "", fmt.Errorf("database URI: %w", err)
	}
	return path, nil
}

// prepare makes the directory and the main file with private modes, before
// SQLite opens it: the -wal and -shm files inherit the mode of the main file.
// An existing directory is used as it is; a warning is returned if others can
// write to it, since who can write there can replace the database.
func (l location) prepare() (warning string, err error) {
	dir := filepath.Dir(l.path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("database directory: %w", err)
	}
	if info, err := os.Stat(dir); err == nil && info.Mode().Perm()&0o022 != 0 && info.Mode()&os.ModeSticky == 0 {
		warning = fmt.Sprintf("others can write to the database directory %s (mode %04o)", dir, info.Mode().Perm())
	}
	f, err := os.OpenFile(l.path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	switch {
	case err == nil:
		return warning, f.Close()
	case errors.Is(err, os.ErrExist):
		return warning, nil
	default:
		return "", fmt.Errorf("database file: %w", err)
	}
}

func (l location) beside(suffix string) string { return l.path + suffix }

// remove deletes a throw-away database.
func (l location) remove() error {
	if !l.throwaway {
		return nil
	}
	return os.RemoveAll(filepath.Dir(l.path))
}
