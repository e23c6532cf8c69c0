package main

import (
	"bytes"
	"context"
	"strings"
	"testing"
)

// command runs the program in this process.
func command(t *testing.T, args ...string) (code int, out, errs string) {
	t.Helper()
	var o, e bytes.Buffer
	err := run(context.Background(), args, func(string) (string, bool) { return "", false }, stdio{&o, &e})
	text := e.String()
	if err != nil {
		text += err.Error()
	}
	return exitCode(err), o.String(), text
}

func TestUnknownWordsAreUsageErrors(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"bogus"}, {"serve", "now"}, {"--bogus"}, {"serve", "--port", "1"}, {"version", "x"}, {"-z"}} {
		code, out, errs := command(t, args...)
		if code != exitUsage {
			t.Errorf("%v ends with %d", args, code)
		}
		if out != "" || !strings.Contains(errs, "--help") {
			t.Errorf("%v prints %q and says %q", args, out, errs)
		}
	}
}

func TestHelpEndsWithSuccess(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"--help"}, {"help"}, {"serve", "--help"}, {"--version"}, {"version"}, {"help", "environment"}} {
		if code, out, errs := command(t, args...); code != exitOK || out == "" {
			t.Errorf("%v ends with %d, prints %q, says %q", args, code, out, errs)
		}
	}
}

// Every setting is explained, and nothing else is.
func TestEveryVariableIsExplained(t *testing.T) {
	t.Parallel()
	texts := make(map[string]bool)
	for _, e := range environmentTexts() {
		texts[e.name] = true
	}
	for _, s := range settings() {
		if !texts[s.name] {
			t.Errorf("%s is not explained", s.name)
		}
		delete(texts, s.name)
	}
	for name := range texts {
		t.Errorf("%s is explained but is no setting", name)
	}
	if _, out, _ := command(t, "help", "environment"); !strings.Contains(out, "DATABASE_URL") || !strings.Contains(out, "(default octostore.db)") {
		t.Errorf("help environment prints %q", out)
	}
}

func TestABadSettingRefusesTheStartInOneLine(t *testing.T) {
	t.Parallel()
	p := launch(t, t.TempDir(), "MAX_PUBLIC_ELECTIONS=0")
	if code := p.wait(); code != exitStartup {
		t.Errorf("exit code %d", code)
	}
	if text := strings.TrimSpace(p.Stderr()); !strings.Contains(text, "MAX_PUBLIC_ELECTIONS") || strings.Contains(text, "\n") {
		t.Errorf("it says %q", text)
	}
}
