package bootclock

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestClockNeverGoesBack(t *testing.T) {
	t.Parallel()
	last := Now()
	for range 10_000 {
		now := Now()
		if now < last {
			t.Fatalf("read %v after %v", now, last)
		}
		last = now
	}
}

func TestUnreadableBootIsNeverTheSame(t *testing.T) {
	t.Parallel()
	if (Boot{}).Same(Boot{}) {
		t.Error("two unreadable boots count as the same")
	}
	a := Boot{ID: "a", Offsets: "boottime 0 0"}
	if !a.Same(a) {
		t.Error("a boot is not the same as itself")
	}
	if a.Same(Boot{ID: "a", Offsets: "boottime 5 0"}) {
		t.Error("other time-namespace offsets count as the same boot")
	}
	if a.Same(Boot{ID: "b", Offsets: "boottime 0 0"}) {
		t.Error("another boot id counts as the same boot")
	}
}

func TestRunningBootIsKnown(t *testing.T) {
	t.Parallel()
	if b := Current(); !b.Same(Current()) {
		t.Errorf("boot %+v is not the same as itself read again", b)
	}
}

// A child in a time namespace whose boot clock is shifted by a day sees both:
// the shifted clock, and that it is not on the same clock any more.
func TestShiftedBootClockIsAnotherBoot(t *testing.T) {
	if os.Getenv("BOOTCLOCK_CHILD") != "" {
		b := Current()
		os.Stdout.WriteString(strconv.FormatInt(int64(Now()), 10) + "\n" + b.ID + "\n" + b.Offsets)
		os.Exit(0)
	}
	t.Parallel()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "unshare", "-T", "--boottime", "86400", exe, "-test.run", "^TestShiftedBootClockIsAnotherBoot$")
	cmd.Env = append(os.Environ(), "BOOTCLOCK_CHILD=1")
	before := Now()
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("unshare: %v\n%s", err, out)
	}
	lines := strings.SplitN(string(out), "\n", 3)
	if len(lines) != 3 {
		t.Fatalf("child printed %q", out)
	}
	ns, err := strconv.ParseInt(lines[0], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	if shift := time.Duration(ns) - before; shift < 86_000*time.Second {
		t.Errorf("the child's clock is shifted by %v, want a day", shift)
	}
	if (Boot{ID: lines[1], Offsets: lines[2]}).Same(Current()) {
		t.Error("a shifted clock counts as the same boot")
	}
}
