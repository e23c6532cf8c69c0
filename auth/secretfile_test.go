package auth_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/octostore/octostore/auth"
)

// writeFile makes a file of exactly the given mode, whatever the umask is.
func writeFile(t *testing.T, content string, mode os.FileMode) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestReadSecretFile(t *testing.T) {
	t.Parallel()

	t.Run("ReadsFileOfItsOwner", func(t *testing.T) {
		t.Parallel()
		for _, mode := range []os.FileMode{0o400, 0o600, 0o700} {
			text, warnings, err := auth.ReadSecretFile("KEY_FILE", writeFile(t, "ops:a\n", mode))
			if text != "ops:a\n" || len(warnings) != 0 || err != nil {
				t.Errorf("mode %04o: %q, %v, %v", mode, text, warnings, err)
			}
		}
	})

	t.Run("WarnsOnceOfFileThatOthersCanRead", func(t *testing.T) {
		t.Parallel()
		for _, mode := range []os.FileMode{0o644, 0o640, 0o604, 0o444} {
			text, warnings, err := auth.ReadSecretFile("KEY_FILE", writeFile(t, canary, mode))
			if err != nil || text != canary || len(warnings) != 1 {
				t.Fatalf("mode %04o: %d warnings, %v", mode, len(warnings), err)
			}
			got := warnings[0].String()
			if !strings.HasPrefix(got, "KEY_FILE: ") || !strings.Contains(got, "can read it") || strings.Contains(got, canary) || strings.Contains(got, "\n") {
				t.Errorf("mode %04o: warning %q", mode, got)
			}
		}
	})

	t.Run("RefusesFileThatOthersCanWrite", func(t *testing.T) {
		t.Parallel()
		for _, mode := range []os.FileMode{0o666, 0o620, 0o602, 0o664, 0o777} {
			text, _, err := auth.ReadSecretFile("KEY_FILE", writeFile(t, canary, mode))
			if err == nil || text != "" {
				t.Fatalf("mode %04o is accepted", mode)
			}
			if !strings.Contains(err.Error(), "can write it") || strings.Contains(err.Error(), canary) {
				t.Errorf("mode %04o: error %q", mode, err)
			}
		}
	})

	t.Run("FollowsSymlinkToRegularFile", func(t *testing.T) {
		t.Parallel()
		target := writeFile(t, "ops:a", 0o600)
		link := filepath.Join(t.TempDir(), "link")
		if err := os.Symlink(target, link); err != nil {
			t.Fatal(err)
		}
		text, warnings, err := auth.ReadSecretFile("KEY_FILE", link)
		if text != "ops:a" || len(warnings) != 0 || err != nil {
			t.Errorf("%q, %v, %v", text, warnings, err)
		}
		if err := os.Chmod(target, 0o622); err != nil {
			t.Fatal(err)
		}
		if _, _, err := auth.ReadSecretFile("KEY_FILE", link); err == nil {
			t.Error("the mode of the link's target is not looked at")
		}
	})

	t.Run("DropsByteOrderMark", func(t *testing.T) {
		t.Parallel()
		text, _, err := auth.ReadSecretFile("KEY_FILE", writeFile(t, "\uFEFFops:a", 0o600))
		if text != "ops:a" || err != nil {
			t.Errorf("%q, %v", text, err)
		}
	})

	t.Run("RefusesWhatIsNoReadableTextFile", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		pipe := filepath.Join(dir, "pipe")
		if err := syscall.Mkfifo(pipe, 0o600); err != nil {
			t.Fatal(err)
		}
		dangling := filepath.Join(dir, "dangling")
		if err := os.Symlink(filepath.Join(dir, "nowhere"), dangling); err != nil {
			t.Fatal(err)
		}
		for name, c := range map[string]struct{ path, want string }{
			"Missing":     {filepath.Join(dir, "nowhere"), "no such file"},
			"Dangling":    {dangling, "no such file"},
			"EmptyPath":   {"", "no such file"},
			"Directory":   {dir, "not a regular file"},
			"NamedPipe":   {pipe, "not a regular file"},
			"NotUTF8":     {writeFile(t, canary+"\xff", 0o600), "not UTF-8"},
			"TooLarge":    {writeFile(t, strings.Repeat("#", 8<<20+1), 0o600), "larger than 8388608 bytes"},
			"NewlinePath": {filepath.Join(dir, "a\nb"), `a\nb`},
		} {
			text, _, err := auth.ReadSecretFile("KEY_FILE", c.path)
			if err == nil || text != "" {
				t.Errorf("%s is accepted", name)
				continue
			}
			got := err.Error()
			if !strings.HasPrefix(got, "KEY_FILE: ") || !strings.Contains(got, c.want) || strings.Contains(got, canary) || strings.Contains(got, "\n") {
				t.Errorf("%s: error %q, want one line with %q", name, got, c.want)
			}
		}
	})
}
