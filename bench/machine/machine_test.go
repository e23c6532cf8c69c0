package machine

import (
	"errors"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestParseProcessStat(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text string
		want time.Duration
		err  error
	}{
		"ReadsTimes":              {text: "77 (octostore) S 1 77 77 0 -1 4194560 900 0 0 0 250 130 0 0 20 0 9 0 100", want: 3800 * time.Millisecond},
		"ReadsPastNameOfAnything": {text: "77 (a) R 9 (b c) S 1 77 77 0 -1 4194560 900 0 0 0 1 2 0 0 20 0 9 0 100", want: 30 * time.Millisecond},
		"RefusesShortLine":        {text: "77 (octostore) S 1 77", err: errForm},
		"RefusesOtherText":        {text: "no process", err: errForm},
		"RefusesTimeOfLetters":    {text: "77 (octostore) S 1 77 77 0 -1 4194560 900 0 0 0 x 130 0", err: errForm},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := parseProcessStat([]byte(c.text))
			if got != c.want || !errors.Is(err, c.err) {
				t.Errorf("%v, error %v; want %v, %v", got, err, c.want, c.err)
			}
		})
	}
}

func TestParseStat(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text string
		want Busy
		err  error
	}{
		"ReadsFirstLine": {
			text: "cpu  100 10 40 9000 7 3 2 5 0 0\ncpu0 1 1 1 1 1 1 1 1 0 0\n",
			want: Busy{Programs: 1500 * time.Millisecond, Kernel: 50 * time.Millisecond, Stolen: 50 * time.Millisecond},
		},
		"RefusesOneProcessor":  {text: "cpu0 1 1 1 1 1 1 1 1", err: errForm},
		"RefusesShortLine":     {text: "cpu 1 2 3", err: errForm},
		"RefusesTimeOfLetters": {text: "cpu 1 2 3 4 5 6 7 x", err: errForm},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := parseStat(c.text)
			if got != c.want || !errors.Is(err, c.err) {
				t.Errorf("%+v, error %v; want %+v, %v", got, err, c.want, c.err)
			}
		})
	}
}

// TestOwnReadings compares what the kernel tells of this very process in two ways.
func TestOwnReadings(t *testing.T) {
	t.Parallel()
	before, err := OwnTime()
	if err != nil {
		t.Fatal(err)
	}
	busyBefore, err := BusyTime()
	if err != nil {
		t.Fatal(err)
	}
	var used time.Duration
	for used < 100*time.Millisecond {
		if used, err = OwnTime(); err != nil {
			t.Fatal(err)
		}
		used -= before
	}
	whole, err := ProcessTime(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if own := before + used; whole < own-50*time.Millisecond {
		t.Errorf("/proc tells of %v, getrusage of %v", whole, own)
	}
	busyAfter, err := BusyTime()
	if err != nil {
		t.Fatal(err)
	}
	if d := busyAfter.Sub(busyBefore); d.Programs < used-50*time.Millisecond {
		t.Errorf("all programs together used %v, this one alone %v", d.Programs, used)
	}
}

func TestProcessTime(t *testing.T) {
	t.Parallel()
	t.Run("TellsThatProcessIsGone", func(t *testing.T) {
		t.Parallel()
		if _, err := ProcessTime(1 << 30); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("error %v, want that there is none", err)
		}
	})
}

func TestNameFilesystem(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		magic uint32
		want  string
		err   error
	}{
		"NamesDisk":      {unix.EXT4_SUPER_MAGIC, "ext4", nil},
		"TellsUnknown":   {0x1234, "0x1234", nil},
		"RefusesTmpfs":   {unix.TMPFS_MAGIC, "tmpfs", ErrInMemory},
		"RefusesRamdisk": {unix.RAMFS_MAGIC, "ramfs", ErrInMemory},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := nameFilesystem(c.magic)
			if got != c.want || !errors.Is(err, c.err) {
				t.Errorf("%q, error %v; want %q, %v", got, err, c.want, c.err)
			}
		})
	}
}

func TestDescribe(t *testing.T) {
	t.Parallel()
	h, err := Describe(".")
	if err != nil && !errors.Is(err, ErrInMemory) {
		t.Fatal(err)
	}
	if h.Kernel == "" || h.Processors < 1 || h.Go == "" || h.Filesystem == "" {
		t.Errorf("something is missing in %+v", h)
	}
	if got := processorModel("processor : 0\nmodel name\t: Some CPU @ 2 GHz\nmodel name : other\n"); got != "Some CPU @ 2 GHz" {
		t.Errorf("the model is %q", got)
	}
}
