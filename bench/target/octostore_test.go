package target

import (
	"context"
	"errors"
	"strings"
	"testing"
)

func TestParseGroups(t *testing.T) {
	t.Parallel()
	const whole = `# HELP octostore_group_commit_operations Operations in a committed group.
# TYPE octostore_group_commit_operations histogram
octostore_group_commit_operations_bucket{le="1"} 3
octostore_group_commit_operations_sum 96
octostore_group_commit_operations_count 4
octostore_group_commit_duration_seconds_sum 1.25e-02
octostore_group_commit_duration_seconds_count 4
`
	t.Run("ReadsMetrics", func(t *testing.T) {
		t.Parallel()
		got, err := parseGroups(strings.NewReader(whole))
		if want := (Groups{Count: 4, Operations: 96, Seconds: 0.0125}); err != nil || got != want {
			t.Errorf("%+v, error %v; want %+v", got, err, want)
		}
		if d := got.Sub(Groups{1, 90, 0.0025}); d != (Groups{3, 6, 0.01}) {
			t.Errorf("the difference is %+v", d)
		}
	})
	for name, text := range map[string]string{
		"RefusesNothing":    "",
		"RefusesMissingOne": strings.Replace(whole, "octostore_group_commit_operations_sum", "other", 1),
		"RefusesNoNumber":   strings.Replace(whole, " 96", " many", 1),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got, err := parseGroups(strings.NewReader(text)); err == nil {
				t.Errorf("read %+v", got)
			}
		})
	}
}

func TestLocate(t *testing.T) {
	t.Parallel()
	t.Run("TellsMissingPeer", func(t *testing.T) {
		t.Parallel()
		if _, err := versionOf(context.Background(), "no-such-server"); !errors.Is(err, ErrMissing) {
			t.Errorf("error %v, want ErrMissing", err)
		}
	})
	t.Run("TellsBrokenServer", func(t *testing.T) {
		t.Parallel()
		if _, err := (OctoStore{Program: "/nowhere/octostore"}).Locate(context.Background()); err == nil || errors.Is(err, ErrMissing) {
			t.Errorf("error %v, want one that is not ErrMissing", err)
		}
	})
	t.Run("TellsVersionOfGin", func(t *testing.T) {
		t.Parallel()
		if v, err := (Bare{}).Locate(context.Background()); err != nil || !strings.HasPrefix(v, "gin") {
			t.Errorf("%q, error %v", v, err)
		}
	})
}
