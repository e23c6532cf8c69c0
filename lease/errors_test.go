package lease_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/octostore/octostore/lease"
)

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	const fallback = 3 * time.Second
	hint := &lease.Retry{Err: lease.ErrUnavailable, After: 250 * time.Millisecond}
	for name, c := range map[string]struct {
		err  error
		want time.Duration
	}{
		"TakesTheHint":              {hint, hint.After},
		"TakesAHintThatWasWrapped":  {fmt.Errorf("while acquiring: %w", hint), hint.After},
		"FallsBackWithoutAHint":     {lease.ErrUnavailable, fallback},
		"FallsBackWithoutAnError":   {nil, fallback},
		"FallsBackFromAnEmptyHint":  {&lease.Retry{Err: lease.ErrUnavailable}, fallback},
		"FallsBackFromANegativeOne": {&lease.Retry{Err: lease.ErrUnavailable, After: -1}, fallback},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := lease.RetryAfter(c.err, fallback); got != c.want {
				t.Errorf("%v, want %v", got, c.want)
			}
		})
	}

	t.Run("KeepsWhatItWraps", func(t *testing.T) {
		t.Parallel()
		if !errors.Is(hint, lease.ErrUnavailable) || hint.Error() != lease.ErrUnavailable.Error() {
			t.Errorf("%v", hint)
		}
	})
}
