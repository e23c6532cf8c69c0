package main

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/octostore/octostore/auth"
)

// variables is an environment of exactly these variables.
type variables map[string]string

func (v variables) lookup(name string) (string, bool) {
	value, ok := v[name]
	return value, ok
}

// with returns a copy that has a further variable, or another value of one.
func (v variables) with(name, value string) variables {
	changed := variables{name: value}
	for n, old := range v {
		if n != name {
			changed[n] = old
		}
	}
	return changed
}

// mustLoad loads an environment that has to be right.
func mustLoad(t *testing.T, env variables) (config, []warning) {
	t.Helper()
	c, warnings, err := loadConfig(env.lookup)
	if err != nil {
		t.Fatalf("%v is refused: %v", env, err)
	}
	return c, warnings
}

// canary is the text in secrets, which must be in no message.
const canary = "canary-7f3a91c5e2-6b04d8e19f27a35c"

// keyOf is a server key that is easy to write down.
func keyOf(b byte) []byte {
	key := make([]byte, 32)
	for i := range key {
		key[i] = b + byte(i)
	}
	return key
}

// writeFile makes a file of exactly the given mode.
func writeFile(t *testing.T, content string, mode os.FileMode) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestConfigDefaults(t *testing.T) {
	t.Parallel()
	got, warnings := mustLoad(t, nil)
	want := config{
		BindAddr:                  "0.0.0.0:3000",
		DatabaseURL:               "octostore.db",
		PublicElections:           true,
		MaxPublicElections:        10_000,
		ElectionRequestsPerMinute: 600,
		ElectionStreamsGlobal:     1024,
		ElectionStreamsPerClient:  8,
		ElectionStreamMaxAge:      900 * time.Second,
		MaxConnectionsPerClient:   1000,
		MaxIdleNames:              1_000_000,
		ShutdownTimeout:           10 * time.Second,
		Settings:                  got.Settings,
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(auth.Secret{}, auth.StaticTokens{})); diff != "" {
		t.Errorf("config (-want +got):\n%s", diff)
	}
	if len(warnings) != 0 {
		t.Errorf("warnings without a variable: %v", warnings)
	}
}

func TestConfigSettings(t *testing.T) {
	t.Parallel()

	t.Run("TellsValueAndSource", func(t *testing.T) {
		t.Parallel()
		c, _ := mustLoad(t, variables{"BIND_ADDR": "127.0.0.1:3000", "MAX_IDLE_NAMES": "5", "ADMIN_KEY": canary})
		got := map[string]effectiveSetting{}
		for _, s := range c.Settings {
			got[s.Name] = s
		}
		for _, want := range []effectiveSetting{
			{"BIND_ADDR", "127.0.0.1:3000", "environment"},
			{"MAX_IDLE_NAMES", "5", "environment"},
			{"DATABASE_URL", "octostore.db", "default"},
			{"TRUSTED_PROXIES", "", "default"},
			{"ADMIN_KEY", "[redacted]", "environment"},
			{"STATIC_TOKENS", "", "unset"},
		} {
			if got[want.Name] != want {
				t.Errorf("got %+v, want %+v", got[want.Name], want)
			}
		}
		if len(got) != len(settings()) || len(c.Settings) != len(settings()) {
			t.Errorf("%d settings are told, there are %d", len(c.Settings), len(settings()))
		}
	})

	t.Run("NamesEachVariableOnce", func(t *testing.T) {
		t.Parallel()
		seen := map[string]bool{}
		for _, s := range settings() {
			if seen[s.name] {
				t.Errorf("%s stands twice in the table", s.name)
			}
			seen[s.name] = true
			if s.optional && s.fallback != "" {
				t.Errorf("%s is optional and has a default", s.name)
			}
		}
	})
}

func TestConfigPrintsNoSecret(t *testing.T) {
	t.Parallel()
	key := base64.StdEncoding.EncodeToString(keyOf(1))
	env := github()
	env["ADMIN_KEY"] = canary + "-admin"
	env["STATIC_TOKENS"] = "ops:" + canary + "-token"
	env["OCTOSTORE_SECRET_KEY"] = key
	env["OCTOSTORE_SECRET_KEY_PREVIOUS"] = base64.StdEncoding.EncodeToString(keyOf(2))
	c, warnings := mustLoad(t, env)
	for _, format := range []string{"%v", "%+v", "%#v", "%s", "%x", "%q", "%d"} {
		got := fmt.Sprintf(format, c) + fmt.Sprintf(format, &c) + fmt.Sprintf(format, warnings)
		for _, secret := range []string{canary, fmt.Sprintf("%x", canary), key, string(keyOf(1)), string(keyOf(2)), fmt.Sprintf("%v", keyOf(1))} {
			if strings.Contains(got, secret) {
				t.Errorf("%s prints a secret: %s", format, got)
			}
		}
		if format == "%v" && !strings.Contains(got, "[redacted]") {
			t.Errorf("%s prints no [redacted], so this test looks at nothing: %s", format, got)
		}
	}
}

func TestConfigAccepts(t *testing.T) {
	t.Parallel()

	t.Run("BindAddr", func(t *testing.T) {
		t.Parallel()
		for _, value := range []string{"127.0.0.1:3000", "[::1]:3000", "[::]:3000", "[fe80::1%eth0]:3000", "localhost:3000", "octostore.internal:80", "0.0.0.0:0", "a_b:65535"} {
			if c, _ := mustLoad(t, variables{"BIND_ADDR": " " + value + " "}); c.BindAddr != value {
				t.Errorf("%q becomes %q", value, c.BindAddr)
			}
		}
	})

	t.Run("DatabaseURLAsGiven", func(t *testing.T) {
		t.Parallel()
		for _, value := range []string{"", ":memory:", "octostore.db", "./octostore.db", "/var/lib/octostore/o.db", "file:o.db?mode=rwc", "file:///var/o.db", "dir/x://y", " padded ", `C:\octostore.db`} {
			if c, _ := mustLoad(t, variables{"DATABASE_URL": value}); c.DatabaseURL != value {
				t.Errorf("%q becomes %q", value, c.DatabaseURL)
			}
		}
	})

	t.Run("EverySpellingOfASwitch", func(t *testing.T) {
		t.Parallel()
		for value, want := range map[string]bool{
			"1": true, "true": true, "on": true, "yes": true, "TRUE": true, " Yes\t": true,
			"0": false, "false": false, "off": false, "no": false, "OFF": false, " No ": false,
		} {
			c, _ := mustLoad(t, variables{"PUBLIC_ELECTIONS": value, "OCTOSTORE_ACCEPT_IO_ERRORS": value, "LOCAL_REGISTRATION": value, "BIND_ADDR": "127.0.0.1:0"})
			if c.PublicElections != want || c.AcceptIOErrors != want || c.LocalRegistration != want {
				t.Errorf("%q is %v, %v, %v; want %v", value, c.PublicElections, c.AcceptIOErrors, c.LocalRegistration, want)
			}
		}
	})

	t.Run("NumbersUpToTheirBound", func(t *testing.T) {
		t.Parallel()
		c, _ := mustLoad(t, variables{
			"MAX_PUBLIC_ELECTIONS":                     "18446744073709551615",
			"PUBLIC_ELECTION_REQUESTS_PER_MINUTE":      "4294967295",
			"PUBLIC_ELECTION_WATCH_STREAMS_GLOBAL":     " 7 ",
			"PUBLIC_ELECTION_WATCH_STREAMS_PER_CLIENT": "1",
			"PUBLIC_ELECTION_WATCH_MAX_SECONDS":        "18446744073709551615",
			"MAX_CONNECTIONS_PER_CLIENT":               "2",
			"MAX_IDLE_NAMES":                           "3",
			"OCTOSTORE_SHUTDOWN_TIMEOUT_SECONDS":       "300",
		})
		if c.MaxPublicElections <= 0 || c.ElectionStreamMaxAge <= 0 {
			t.Errorf("a large number wraps: %d, %v", c.MaxPublicElections, c.ElectionStreamMaxAge)
		}
		if c.ElectionRequestsPerMinute != 4_294_967_295 || c.ElectionStreamsGlobal != 7 || c.ElectionStreamsPerClient != 1 ||
			c.MaxConnectionsPerClient != 2 || c.MaxIdleNames != 3 || c.ShutdownTimeout != 300*time.Second {
			t.Errorf("numbers are %+v", c)
		}
	})

	t.Run("TrustedProxies", func(t *testing.T) {
		t.Parallel()
		for _, value := range []string{"", " ", "10.0.0.0/8", "10.0.0.0/8, fd00::/8,192.0.2.7/32"} {
			if c, _ := mustLoad(t, variables{"TRUSTED_PROXIES": value}); c.TrustedProxies != value {
				t.Errorf("%q becomes %q", value, c.TrustedProxies)
			}
		}
	})

	t.Run("Origins", func(t *testing.T) {
		t.Parallel()
		for value, want := range map[string][]string{
			"":                        nil,
			" \t":                     nil,
			"https://app.example.com": {"https://app.example.com"},
			"http://localhost:4173, https://a.example:8443,http://localhost:4173": {"http://localhost:4173", "https://a.example:8443"},
			"http://[::1]:3000,http://[2001:db8::1]":                              {"http://[::1]:3000", "http://[2001:db8::1]"},
			"http://h:443,https://h:80":                                           {"http://h:443", "https://h:80"},
		} {
			c, _ := mustLoad(t, variables{"CORS_ORIGINS": value})
			if diff := cmp.Diff(want, c.CORSOrigins); diff != "" {
				t.Errorf("%q (-want +got):\n%s", value, diff)
			}
		}
	})

	t.Run("WebhookNetworksByTwoSpellingsOnly", func(t *testing.T) {
		t.Parallel()
		for value, want := range map[string]struct {
			on       bool
			warnings int
		}{
			"1": {true, 0}, "true": {true, 0},
			"TRUE": {false, 1}, "yes": {false, 1}, " 1": {false, 1}, "on": {false, 1},
			"": {false, 0}, "0": {false, 0}, "false": {false, 0}, "maybe": {false, 0},
		} {
			c, warnings := mustLoad(t, variables{"OCTOSTORE_WEBHOOK_ALLOW_PRIVATE_NETWORKS": value})
			if c.WebhookAllowPrivateNetworks != want.on || len(warnings) != want.warnings {
				t.Errorf("%q is %v with %v", value, c.WebhookAllowPrivateNetworks, warnings)
			}
		}
	})

	t.Run("TextsAsGiven", func(t *testing.T) {
		t.Parallel()
		c, _ := mustLoad(t, variables{"OCTOSTORE_CA_BUNDLE": "/etc/roots.pem", "RUST_LOG": "octostore_lock=debug"})
		if c.CABundle != "/etc/roots.pem" || c.LogFilter != "octostore_lock=debug" {
			t.Errorf("texts are %q, %q", c.CABundle, c.LogFilter)
		}
	})

	t.Run("LocalRegistrationOnLoopback", func(t *testing.T) {
		t.Parallel()
		for _, addr := range []string{"127.0.0.1:3000", "127.9.9.9:1", "[::1]:3000"} {
			if c, _ := mustLoad(t, variables{"LOCAL_REGISTRATION": "on", "BIND_ADDR": addr}); !c.LocalRegistration {
				t.Errorf("%s: it is off", addr)
			}
		}
	})
}

func TestConfigTokens(t *testing.T) {
	t.Parallel()

	t.Run("LoadsBothSources", func(t *testing.T) {
		t.Parallel()
		c, warnings := mustLoad(t, variables{"STATIC_TOKENS": "a:" + canary, "STATIC_TOKENS_FILE": writeFile(t, "b:2", 0o644)})
		if c.StaticTokens.Len() != 2 || !c.StaticTokens.Contains(auth.NewSecret("2")) {
			t.Errorf("%d tokens", c.StaticTokens.Len())
		}
		if len(warnings) != 2 || warnings[0].Setting != "STATIC_TOKENS_FILE" {
			t.Errorf("warnings %v, want one of the file's mode and one of the short token", warnings)
		}
		known, err := auth.NewCredentials(c.StaticTokens, c.AdminKey, func(string) string { return "token-0" })
		if err != nil {
			t.Fatal(err)
		}
		if _, err := known.Reload(c.TokenSources); err != nil || known.Len() != 2 {
			t.Errorf("after a reload %d tokens, %v", known.Len(), err)
		}
	})

	t.Run("WorksBesideGitHub", func(t *testing.T) {
		t.Parallel()
		if c, _ := mustLoad(t, github().with("STATIC_TOKENS", "a:b")); c.StaticTokens.Len() != 1 || !c.GitHub.enabled() {
			t.Errorf("%d tokens, GitHub %v", c.StaticTokens.Len(), c.GitHub.enabled())
		}
	})

	t.Run("WarnsOfShortAdminKey", func(t *testing.T) {
		t.Parallel()
		c, warnings := mustLoad(t, variables{"ADMIN_KEY": " short "})
		if c.AdminKey.Reveal() != "short" || len(warnings) != 1 || warnings[0].Setting != "ADMIN_KEY" || strings.Contains(warnings[0].Text, "short ") {
			t.Errorf("key %q, warnings %v", c.AdminKey.Reveal(), warnings)
		}
		if _, warnings := mustLoad(t, variables{"ADMIN_KEY": canary}); len(warnings) != 0 {
			t.Errorf("warnings of a long key: %v", warnings)
		}
	})

	t.Run("WarnsOfAcceptedIOErrors", func(t *testing.T) {
		t.Parallel()
		if _, warnings := mustLoad(t, variables{"OCTOSTORE_ACCEPT_IO_ERRORS": "yes"}); len(warnings) != 1 {
			t.Errorf("warnings %v", warnings)
		}
	})
}
