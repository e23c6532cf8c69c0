package auth_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/octostore/octostore/auth"
)

// refusal is every message that the grammar has.
var refusal = regexp.MustCompile(`^STATIC_TOKENS(_FILE)?(, line \d+)?: (` + strings.Join([]string{
	`there is no token in it; write user:token, separated by commas or line breaks`,
	`a token is empty; write user:token`,
	`a token has whitespace inside; no Authorization header can carry it`,
	`a user name is empty; write user:token or tenant/user:token`,
	`a tenant name is empty; write tenant/user:token, or user:token for the tenant "default"`,
	`a tenant name is longer than 128 bytes`,
	`a tenant name has a control character; no X-OctoStore-Tenant header can carry it`,
	`the same user of the same tenant stands in STATIC_TOKENS, line \d+; a user has one token, and case does not count`,
	`the same token stands in STATIC_TOKENS, line \d+; each token belongs to one user`,
}, "|") + `)$`)

func TestCredentials(t *testing.T) {
	t.Parallel()

	t.Run("KnowsListedTokensOnly", func(t *testing.T) {
		t.Parallel()
		known := credentials(t, inline("acme/ops:"+canary))
		want := auth.Principal{Tenant: "acme", Name: "ops", Kind: auth.KindStatic}
		if got, ok := known.Lookup(canary); !ok || got != want {
			t.Errorf("got %+v, %v; want %+v", got, ok, want)
		}
		for _, token := range []string{"", " ", canary[1:], canary + "x", " " + canary, strings.ToUpper(canary), "ops", "acme/ops:" + canary} {
			if got, ok := known.Lookup(token); ok || got != (auth.Principal{}) {
				t.Errorf("token %q is %+v", token, got)
			}
		}
	})

	t.Run("KnowsNothingWithoutTokens", func(t *testing.T) {
		t.Parallel()
		known := credentials(t, auth.TokenSources{})
		if _, ok := known.Lookup(""); ok || known.Len() != 0 {
			t.Error("the empty set lets the empty token in")
		}
	})

	t.Run("ChecksAdminKey", func(t *testing.T) {
		t.Parallel()
		known, err := auth.NewCredentials(auth.StaticTokens{}, auth.NewSecret(canary), label)
		if err != nil {
			t.Fatal(err)
		}
		if !known.CheckAdminKey(canary) {
			t.Error("the admin key is refused")
		}
		for _, key := range []string{"", canary + "x", canary[1:]} {
			if known.CheckAdminKey(key) {
				t.Errorf("%q passes for the admin key", key)
			}
		}
		if _, ok := known.Lookup(canary); ok {
			t.Error("the admin key passes for a static token")
		}
	})

	t.Run("HasNoAdminWithoutKey", func(t *testing.T) {
		t.Parallel()
		known := credentials(t, inline("a:1"))
		for _, key := range []string{"", "1", canary} {
			if known.CheckAdminKey(key) {
				t.Errorf("%q passes for an admin key that does not exist", key)
			}
		}
	})

	t.Run("RefusesTokenEqualToAdminKey", func(t *testing.T) {
		t.Parallel()
		for _, text := range []string{"a:1\nops:" + canary, "a:1\n" + canary} {
			tokens, _, err := inline(text).Load()
			if err != nil {
				t.Fatal(err)
			}
			_, err = auth.NewCredentials(tokens, auth.NewSecret(canary), label)
			if err == nil || strings.Contains(err.Error(), canary) || !strings.Contains(err.Error(), "STATIC_TOKENS, line 2: the token is equal to ADMIN_KEY") {
				t.Errorf("error %v", err)
			}
		}
	})

	t.Run("RefusesTwoUsersOfOneName", func(t *testing.T) {
		t.Parallel()
		// The label of this test gives equal names to tokens of equal length.
		for _, text := range []string{"aaaa\nbbbb", "TOKEN-00000004:x\nbbbb"} {
			tokens, _, err := inline(text).Load()
			if err != nil {
				t.Fatal(err)
			}
			_, err = auth.NewCredentials(tokens, auth.Secret{}, label)
			if err == nil || !strings.Contains(err.Error(), "STATIC_TOKENS, line 2: the user gets the same name as the one in STATIC_TOKENS, line 1") {
				t.Errorf("error %v", err)
			}
		}
	})

	t.Run("NeedsLabel", func(t *testing.T) {
		t.Parallel()
		if _, err := auth.NewCredentials(auth.StaticTokens{}, auth.Secret{}, nil); err == nil {
			t.Error("no error")
		}
	})

	t.Run("KeepsNoTokenInClear", func(t *testing.T) {
		t.Parallel()
		tokens, _, err := inline("ops:" + canary).Load()
		if err != nil {
			t.Fatal(err)
		}
		known, err := auth.NewCredentials(tokens, auth.NewSecret("admin-"+canary), label)
		if err != nil {
			t.Fatal(err)
		}
		for _, format := range []string{"%v", "%+v", "%#v"} {
			if got := fmt.Sprintf(format, known); strings.Contains(got, canary) {
				t.Errorf("%s prints %q", format, got)
			}
		}
	})
}

func TestReload(t *testing.T) {
	t.Parallel()

	t.Run("SwapsWholeSet", func(t *testing.T) {
		t.Parallel()
		path := writeFile(t, "a:1\nb:2", 0o600)
		sources := auth.TokenSources{File: path}
		known := credentials(t, sources)
		if err := os.WriteFile(path, []byte("b:2\nacme/a:3"), 0o600); err != nil {
			t.Fatal(err)
		}
		warnings, err := known.Reload(sources)
		if err != nil || len(warnings) != 1 {
			t.Fatalf("warnings %v, error %v", warnings, err)
		}
		if _, ok := known.Lookup("1"); ok {
			t.Error("the removed token is alive")
		}
		if _, ok := known.Lookup("2"); !ok {
			t.Error("the kept token is dead")
		}
		if got, _ := known.Lookup("3"); got.Tenant != "acme" || got.Name != "a" {
			t.Errorf("the new token is %+v", got)
		}
	})

	t.Run("KeepsOldSetOnError", func(t *testing.T) {
		t.Parallel()
		path := writeFile(t, "a:1", 0o600)
		sources := auth.TokenSources{File: path}
		tokens, _, err := sources.Load()
		if err != nil {
			t.Fatal(err)
		}
		known, err := auth.NewCredentials(tokens, auth.NewSecret("key"), label)
		if err != nil {
			t.Fatal(err)
		}
		for name, content := range map[string]string{
			"Grammar":   "b:2\n:3",
			"NoEntries": "",
			"AdminKey":  "b:2\nc:key",
			"OneName":   "bbbb\ncccc",
		} {
			reloadFails(t, known, sources, name, func() error { return os.WriteFile(path, []byte(content), 0o600) })
		}
		if err := os.WriteFile(path, []byte("b:2"), 0o600); err != nil {
			t.Fatal(err)
		}
		reloadFails(t, known, sources, "Writable", func() error { return os.Chmod(path, 0o602) })
		reloadFails(t, known, sources, "Missing", func() error { return os.Remove(path) })
	})

	t.Run("NeverShowsHalfASet", func(t *testing.T) {
		t.Parallel()
		path := writeFile(t, "a:1\nb:2", 0o600)
		sources := auth.TokenSources{File: path}
		known := credentials(t, sources)
		done := make(chan struct{})
		var readers sync.WaitGroup
		for range 4 {
			readers.Go(func() {
				for {
					select {
					case <-done:
						return
					default:
					}
					// Both sets have the token 2, for different users.
					got, ok := known.Lookup("2")
					if !ok || (got.Name != "b" && got.Name != "c") {
						t.Errorf("the common token is %+v, %v", got, ok)
						return
					}
				}
			})
		}
		for turn := range 50 {
			content := []string{"c:2\nd:4", "a:1\nb:2"}[turn%2]
			if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
				t.Error(err)
				break
			}
			if _, err := known.Reload(sources); err != nil {
				t.Error(err)
				break
			}
		}
		close(done)
		readers.Wait()
	})
}

// reloadFails spoils the source and checks that the set {a:1} lives on alone.
func reloadFails(t *testing.T, known *auth.Credentials, sources auth.TokenSources, name string, spoil func() error) {
	t.Helper()
	if err := spoil(); err != nil {
		t.Fatal(err)
	}
	if _, err := known.Reload(sources); err == nil {
		t.Errorf("%s: the reload succeeds", name)
	}
	if _, ok := known.Lookup("1"); !ok || known.Len() != 1 {
		t.Errorf("%s: the old set is gone", name)
	}
	if _, ok := known.Lookup("2"); ok {
		t.Errorf("%s: half of the new set is there", name)
	}
}

func TestAdmin(t *testing.T) {
	t.Parallel()
	for tenant, want := range map[string]auth.Principal{
		"":     {Tenant: "default", Name: "admin", Kind: auth.KindAdmin, Admin: true},
		"acme": {Tenant: "acme", Name: "admin", Kind: auth.KindAdmin, Admin: true},
	} {
		if got := auth.Admin(tenant); got != want {
			t.Errorf("Admin(%q) = %+v, want %+v", tenant, got, want)
		}
	}
	for kind, want := range map[auth.Kind]string{auth.KindStatic: "static", auth.KindAdmin: "admin", 0: "none"} {
		if got := kind.String(); got != want {
			t.Errorf("kind %d is %q, want %q", kind, got, want)
		}
	}
}
