package sqlite

import (
	"testing"
	"time"

	"github.com/octostore/octostore/lease"
	"github.com/octostore/octostore/store"
)

// step drives a store that has no committer of its own until a call has been
// answered.
func step(t *testing.T, s *Store, call func() error) error {
	t.Helper()
	answered := make(chan error, 1)
	go func() { answered <- call() }()
	for {
		select {
		case err := <-answered:
			return err
		default:
			s.Step(t.Context())
		}
	}
}

// grant is take for a store that is stepped.
func grant(t *testing.T, s *Store, name string, ttl time.Duration) (rec lease.Record) {
	t.Helper()
	err := step(t, s, func() error {
		out, err := s.Acquire(t.Context(), lease.ElectionKey(name), lease.Acquire{TTL: ttl, Nonce: lease.Nonce{1}, KeyID: 1}, 0)
		rec = out.Record
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return rec
}

// writeRow writes one row as the store would, past every check.
func writeRow(t *testing.T, path string, id int64, rec lease.Record) {
	t.Helper()
	conn, err := openRaw(t.Context(), location{path: path})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.close()
	w := &writer{conn: conn}
	if err := w.prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := w.upsert.ExecContext(t.Context(), w.codec.encode(store.Row{ID: id, Record: rec})); err != nil {
		t.Fatal(err)
	}
}
