package scale

import (
	"encoding/json"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/octostore/octostore/store/sqlite"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestWork(t *testing.T) {
	t.Parallel()

	t.Run("LeadsRoomsAndCarriesOutOrders", func(t *testing.T) {
		t.Parallel()
		const rooms = 500
		dir := t.TempDir()
		orders, give := io.Pipe()
		hear, answers := io.Pipe()
		ended := make(chan error, 1)
		go func() { ended <- Work(t.Context(), dir, rooms, orders, answers) }()

		lines := json.NewDecoder(hear)
		var told filled
		if err := lines.Decode(&told); err != nil {
			t.Fatal(err)
		}
		if told.Rate <= 0 || told.ResidentMB <= 0 {
			t.Errorf("told %+v", told)
		}
		// 32 characters of a room's id and 20 of a candidate's.
		if told.Strings != 52 {
			t.Errorf("%v bytes of strings a room, want 52", told.Strings)
		}
		for range 2 {
			if err := json.NewEncoder(give).Encode(order{time.Millisecond, 500 * time.Millisecond}); err != nil {
				t.Fatal(err)
			}
			var m measured
			if err := lines.Decode(&m); err != nil {
				t.Fatal(err)
			}
			if m.Rate <= 0 {
				t.Errorf("told %+v", m)
			}
		}
		give.Close()
		if err := <-ended; err != nil {
			t.Fatal(err)
		}

		s, err := sqlite.Open(t.Context(), filepath.Join(dir, databaseName), sqlite.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if n := s.Stats().Rooms; n != rooms {
			t.Errorf("%d rooms are led after a restart, want %d", n, rooms)
		}
	})

	for name, c := range map[string]struct{ orders, want string }{
		"RefusesOrderOfOtherForm": {"now\n", "order"},
		"EndsWithoutOrders":       {"", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var answers strings.Builder
			err := Work(t.Context(), t.TempDir(), 1, strings.NewReader(c.orders), &answers)
			if (err == nil) != (c.want == "") || (err != nil && !strings.Contains(err.Error(), c.want)) {
				t.Errorf("error %v, want %q in it", err, c.want)
			}
			if !strings.Contains(answers.String(), "rooms_per_second") {
				t.Errorf("it answered %q", answers.String())
			}
		})
	}

	t.Run("RefusesFolderInUse", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		s, err := sqlite.Open(t.Context(), filepath.Join(dir, databaseName), sqlite.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if err := Work(t.Context(), dir, 1, strings.NewReader(""), io.Discard); err == nil {
			t.Error("two workers on one database")
		}
	})
}
