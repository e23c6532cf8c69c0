package auth_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/octostore/octostore/auth"
)

// longToken makes a token that gets no warning.
func longToken(name string) string { return name + strings.Repeat("0", 32) }

// inline is a source of tokens without a file.
func inline(text string) auth.TokenSources {
	return auth.TokenSources{Inline: auth.NewSecret(text)}
}

// label stands in for the keyed naming: visible, so that a test can foresee it.
func label(token string) string { return fmt.Sprintf("token-%08d", len(token)) }

// credentials loads the sources or fails the test.
func credentials(t *testing.T, sources auth.TokenSources) *auth.Credentials {
	t.Helper()
	tokens, _, err := sources.Load()
	if err != nil {
		t.Fatal(err)
	}
	known, err := auth.NewCredentials(tokens, auth.Secret{}, label)
	if err != nil {
		t.Fatal(err)
	}
	return known
}

func TestStaticTokenGrammar(t *testing.T) {
	t.Parallel()
	type owners map[string]string // token to tenant/user
	for name, c := range map[string]struct {
		text string
		want owners
	}{
		"TakesOneEntry":                   {"ops:change-me", owners{"change-me": "default/ops"}},
		"SplitsOnCommas":                  {"a:1,b:2", owners{"1": "default/a", "2": "default/b"}},
		"SplitsOnLines":                   {"a:1\nb:2\r\nc:3\n", owners{"1": "default/a", "2": "default/b", "3": "default/c"}},
		"SplitsOnBoth":                    {"a:1,b:2\nc:3,d:4", owners{"1": "default/a", "2": "default/b", "3": "default/c", "4": "default/d"}},
		"TrimsEverything":                 {" \ta : 1 ,\u00a0b:2\u2003", owners{"1": "default/a", "2": "default/b"}},
		"DropsEmptyEntries":               {",,a:1,, ,\n\n,", owners{"1": "default/a"}},
		"DropsCommentEntries":             {"a:1,#b:2,c:3", owners{"1": "default/a", "3": "default/c"}},
		"DropsCommentLinesCommasAndAll":   {"# old: x, b:2, c:3\na:1\n  # d:4,e:5", owners{"1": "default/a"}},
		"KeepsHashInsideEntry":            {"a:1#2", owners{"1#2": "default/a"}},
		"SplitsAtFirstColon":              {"a:1:2:3", owners{"1:2:3": "default/a"}},
		"SplitsTenantAtFirstSlash":        {"acme/team/ops:1", owners{"1": "acme/team/ops"}},
		"TrimsTenantAndUser":              {" acme / ops :1", owners{"1": "acme/ops"}},
		"KeepsSlashInToken":               {"ops:ab/cd", owners{"ab/cd": "default/ops"}},
		"NamesEntryWithoutColon":          {"abcdef", owners{"abcdef": "default/token-00000006"}},
		"KeepsSlashInEntryWithoutColon":   {"ab/cd+e=", owners{"ab/cd+e=": "default/token-00000008"}},
		"TakesOneUserNameInTwoTenants":    {"acme/ops:1,ops:2,Acme/ops:3", owners{"1": "acme/ops", "2": "default/ops", "3": "Acme/ops"}},
		"TakesAnyUserName":                {"Łukasz (ops) [#1]:1", owners{"1": "default/Łukasz (ops) [#1]"}},
		"TakesExplicitDefaultTenant":      {"default/ops:1", owners{"1": "default/ops"}},
		"TakesUnicodeToken":               {"ops:пароль", owners{"пароль": "default/ops"}},
		"TakesTenantOfGreatestLength":     {strings.Repeat("t", 128) + "/ops:1", owners{"1": strings.Repeat("t", 128) + "/ops"}},
		"TellsTokensApartByCase":          {"a:Token,b:token", owners{"Token": "default/a", "token": "default/b"}},
		"TakesNameThatIsAnothersToken":    {"a:b,b:a", owners{"b": "default/a", "a": "default/b"}},
		"TakesCommentedOutColonLessEntry": {"#abc,def\nghij", owners{"ghij": "default/token-00000004"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			known := credentials(t, inline(c.text))
			got := owners{}
			for token := range c.want {
				if principal, ok := known.Lookup(token); ok {
					got[token] = principal.Tenant + "/" + principal.Name
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("principals (-want +got):\n%s", diff)
			}
			if known.Len() != len(c.want) {
				t.Errorf("%d tokens, want %d", known.Len(), len(c.want))
			}
		})
	}
}

func TestStaticTokenRefusals(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, want string }{
		"RefusesBlankList":                 {" \n ", "STATIC_TOKENS: there is no token in it"},
		"RefusesListOfCommasOnly":          {",,\n,", "STATIC_TOKENS: there is no token in it"},
		"RefusesListOfCommentsOnly":        {"# " + canary + ",a:b", "STATIC_TOKENS: there is no token in it"},
		"RefusesEmptyUser":                 {"a:1\n:" + canary, "STATIC_TOKENS, line 2: a user name is empty"},
		"RefusesEmptyUserOfTenant":         {"acme/:" + canary, "STATIC_TOKENS, line 1: a user name is empty"},
		"RefusesEmptyTenant":               {"/ops:" + canary, "STATIC_TOKENS, line 1: a tenant name is empty"},
		"RefusesEmptyToken":                {canary + ":", "STATIC_TOKENS, line 1: a token is empty"},
		"RefusesBlankToken":                {canary + ": \t", "STATIC_TOKENS, line 1: a token is empty"},
		"RefusesSpaceInToken":              {"ops:" + canary + " x", "STATIC_TOKENS, line 1: a token has whitespace inside"},
		"RefusesTabInToken":                {"ops:" + canary + "\tx", "STATIC_TOKENS, line 1: a token has whitespace inside"},
		"RefusesUnicodeSpaceInToken":       {"ops:" + canary + "\u2003x", "STATIC_TOKENS, line 1: a token has whitespace inside"},
		"RefusesSpaceInEntryWithoutColon":  {canary + " x", "STATIC_TOKENS, line 1: a token has whitespace inside"},
		"RefusesCarriageReturnInsideToken": {"ops:" + canary + "\rx", "STATIC_TOKENS, line 1: a token has whitespace inside"},
		"RefusesUserTwice":                 {"ops:1,\nops:" + canary, "STATIC_TOKENS, line 2: the same user of the same tenant stands in STATIC_TOKENS, line 1"},
		"RefusesUserTwiceIgnoringCase":     {"acme/Žofie:1\nacme/žOFIE:" + canary, "STATIC_TOKENS, line 2: the same user of the same tenant stands in STATIC_TOKENS, line 1"},
		"RefusesUserTwiceByDefaultTenant":  {"ops:1,default/OPS:" + canary, "STATIC_TOKENS, line 1: the same user of the same tenant"},
		"RefusesTokenTwice":                {"a:" + canary + ",b:" + canary, "STATIC_TOKENS, line 1: the same token stands in STATIC_TOKENS, line 1"},
		"RefusesTokenTwiceOverTenants":     {"acme/a:" + canary + "\nother/a:" + canary, "STATIC_TOKENS, line 2: the same token stands in STATIC_TOKENS, line 1"},
		"RefusesTokenTwiceWithoutColon":    {canary + ",ops:" + canary, "STATIC_TOKENS, line 1: the same token"},
		"RefusesLongTenant":                {strings.Repeat("t", 129) + "/ops:" + canary, "STATIC_TOKENS, line 1: a tenant name is longer than 128 bytes"},
		"RefusesControlCharacterInTenant":  {"ac\x01me/ops:" + canary, "STATIC_TOKENS, line 1: a tenant name has a control character"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tokens, _, err := inline(c.text).Load()
			if err == nil || tokens.Len() != 0 {
				t.Fatalf("%q is accepted", c.text)
			}
			got := err.Error()
			if !strings.HasPrefix(got, c.want) {
				t.Errorf("error %q, want it to begin with %q", got, c.want)
			}
			if strings.Contains(got, canary) || strings.Contains(got, "\n") {
				t.Errorf("error %q has a token or a second line", got)
			}
		})
	}
}

func TestTokenSources(t *testing.T) {
	t.Parallel()

	t.Run("MergesBothSources", func(t *testing.T) {
		t.Parallel()
		known := credentials(t, auth.TokenSources{Inline: auth.NewSecret("a:1"), File: writeFile(t, "# two\nacme/b:2\n", 0o600)})
		for token, want := range map[string]string{"1": "default/a", "2": "acme/b"} {
			principal, ok := known.Lookup(token)
			if got := principal.Tenant + "/" + principal.Name; !ok || got != want {
				t.Errorf("token %s is %s, want %s", token, got, want)
			}
		}
	})

	t.Run("IsEmptyWithoutSources", func(t *testing.T) {
		t.Parallel()
		tokens, warnings, err := auth.TokenSources{}.Load()
		if tokens.Len() != 0 || len(warnings) != 0 || err != nil {
			t.Errorf("%d tokens, %v, %v", tokens.Len(), warnings, err)
		}
	})

	t.Run("RefusesDuplicateAcrossSources", func(t *testing.T) {
		t.Parallel()
		for content, want := range map[string]string{
			"# first\nOPS:2": "STATIC_TOKENS_FILE, line 2: the same user of the same tenant stands in STATIC_TOKENS, line 1",
			"b:1":            "STATIC_TOKENS_FILE, line 1: the same token stands in STATIC_TOKENS, line 1",
		} {
			_, _, err := auth.TokenSources{Inline: auth.NewSecret("ops:1"), File: writeFile(t, content, 0o600)}.Load()
			if err == nil || !strings.HasPrefix(err.Error(), want) {
				t.Errorf("error %v, want %q", err, want)
			}
		}
	})

	t.Run("RefusesEmptyFileBesideTokens", func(t *testing.T) {
		t.Parallel()
		_, _, err := auth.TokenSources{Inline: auth.NewSecret("ops:1"), File: writeFile(t, "# none yet\n", 0o600)}.Load()
		if err == nil || !strings.HasPrefix(err.Error(), "STATIC_TOKENS_FILE: there is no token in it") {
			t.Errorf("error %v", err)
		}
	})

	t.Run("RefusesBadFile", func(t *testing.T) {
		t.Parallel()
		for path, want := range map[string]string{
			writeFile(t, "ops:1", 0o606): "can write it",
			t.TempDir():                  "not a regular file",
		} {
			_, _, err := auth.TokenSources{File: path}.Load()
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("error %v, want %q", err, want)
			}
		}
	})

	t.Run("WarnsOncePerSourceOfShortTokens", func(t *testing.T) {
		t.Parallel()
		sources := auth.TokenSources{
			Inline: auth.NewSecret("a:" + longToken("a") + "\nb:" + canary + ",c:" + canary + "2"),
			File:   writeFile(t, strings.Repeat("ж", 31), 0o600),
		}
		_, warnings, err := sources.Load()
		if err != nil {
			t.Fatal(err)
		}
		want := []auth.Warning{
			{Setting: "STATIC_TOKENS", Text: "tokens of less than 32 characters can be guessed: 2 found, the first in line 2; openssl rand -hex 32 makes a good one"},
			{Setting: "STATIC_TOKENS_FILE", Text: "tokens of less than 32 characters can be guessed: 1 found, the first in line 1; openssl rand -hex 32 makes a good one"},
		}
		if diff := cmp.Diff(want, warnings); diff != "" {
			t.Errorf("warnings (-want +got):\n%s", diff)
		}
	})

	t.Run("WarnsOfFileThatOthersCanRead", func(t *testing.T) {
		t.Parallel()
		_, warnings, err := auth.TokenSources{File: writeFile(t, "a:"+longToken("a"), 0o644)}.Load()
		if err != nil || len(warnings) != 1 || !strings.Contains(warnings[0].Text, "can read it") {
			t.Errorf("%v, %v", warnings, err)
		}
	})

	t.Run("DoesNotWarnOfLongTokens", func(t *testing.T) {
		t.Parallel()
		_, warnings, err := inline("a:" + strings.Repeat("ж", 32) + "," + longToken("b")).Load()
		if len(warnings) != 0 || err != nil {
			t.Errorf("%v, %v", warnings, err)
		}
	})

	t.Run("TellsWhetherTokenIsListed", func(t *testing.T) {
		t.Parallel()
		tokens, _, err := inline("a:" + canary + ",bare").Load()
		if err != nil {
			t.Fatal(err)
		}
		for text, want := range map[string]bool{canary: true, "bare": true, "a": false, "": false} {
			if got := tokens.Contains(auth.NewSecret(text)); got != want {
				t.Errorf("Contains(%q) = %v", text, got)
			}
		}
		if tokens.Contains(auth.Secret{}) {
			t.Error("a secret that is not set is listed")
		}
	})

	t.Run("PrintsNoToken", func(t *testing.T) {
		t.Parallel()
		sources := inline("a:" + canary)
		tokens, _, err := sources.Load()
		if err != nil {
			t.Fatal(err)
		}
		for _, format := range []string{"%v", "%+v", "%#v"} {
			if got := fmt.Sprintf(format+format, tokens, sources); strings.Contains(got, canary) {
				t.Errorf("%s prints %q", format, got)
			}
		}
	})
}

// FuzzStaticTokens looks for a list that is accepted with a meaning it should not
// have, and for a refusal that quotes what it refuses.
func FuzzStaticTokens(f *testing.F) {
	for _, seed := range []string{
		"ops:change-me", "acme/ops:a,b:c\n#x,y:z\nbare", "a:1:2", "/x:y", "x/:y", "a:,b", ":", ",", "a: b c", "\uFEFFa:b", "a\r\nb:c\r", "A:1,a:2", "#", "t/#u:1",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		tokens, _, err := inline(text).Load()
		if err != nil {
			// All that a message says comes from a closed set, so it can not quote the list.
			if !refusal.MatchString(err.Error()) {
				t.Fatalf("%q gives an unforeseen error %q", text, err)
			}
			return
		}
		known, err := auth.NewCredentials(tokens, auth.Secret{}, func(token string) string { return "token-" + token })
		if err != nil {
			return // two users got one name
		}
		if known.Len() == 0 || known.Len() != tokens.Len() {
			t.Fatalf("%q gives %d tokens and %d principals", text, tokens.Len(), known.Len())
		}
		for line := range strings.SplitSeq(text, "\n") {
			if line = strings.TrimSpace(line); strings.HasPrefix(line, "#") {
				continue
			}
			for entry := range strings.SplitSeq(line, ",") {
				if entry = strings.TrimSpace(entry); entry == "" || entry[0] == '#' {
					continue
				}
				_, token, named := strings.Cut(entry, ":")
				if !named {
					token = entry
				}
				principal, ok := known.Lookup(strings.TrimSpace(token))
				if !ok || principal.Tenant == "" || principal.Name == "" || principal.Kind != auth.KindStatic || principal.Admin {
					t.Fatalf("%q: entry %q is %+v, %v", text, entry, principal, ok)
				}
			}
		}
		if _, ok := known.Lookup(""); ok {
			t.Fatalf("%q lets the empty token in", text)
		}
	})
}

func TestTokensFileIsReadFromDisk(t *testing.T) {
	t.Parallel()
	path := writeFile(t, "a:1", 0o600)
	known := credentials(t, auth.TokenSources{File: path})
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, ok := known.Lookup("1"); !ok {
		t.Error("the token is gone with the file, without a reload")
	}
}
