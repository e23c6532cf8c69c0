package histories

import "testing"

func TestAttemptIsReadBackFromItsLabel(t *testing.T) {
	t.Parallel()
	for _, a := range []Attempt{ann, NewAttempt(64, 12_345)} {
		if got := ParseAttempt(a.String()); got != a {
			t.Errorf("%s was read as %d, is %d", a, got, a)
		}
	}
	for _, label := range []string{"", "c1", "c1-", "c-1", "x1-1", "c01-1", "c1-1 ", "worker-1"} {
		if got := ParseAttempt(label); got != 0 {
			t.Errorf("%q was read as %s", label, got)
		}
	}
}
