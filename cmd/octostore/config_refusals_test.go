package main

import (
	"encoding/base64"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// TestConfigRefuses is the table of all refusals. Each has to be one line that
// begins with the variable, says what is wrong (want) and quotes no secret.
func TestConfigRefuses(t *testing.T) {
	t.Parallel()
	hexKey := fmt.Sprintf("%x", keyOf(1))
	notGitHub := func(name, value string) variables { return variables{name: value} }
	withGitHub := func(name, value string) variables { return github().with(name, value) }
	without := func(env variables, name string) variables { delete(env, name); return env }

	type refusal struct {
		name     string
		env      variables
		variable string
		want     string
	}
	var table []refusal
	add := func(name, variable, want string, envs ...variables) {
		for i, env := range envs {
			table = append(table, refusal{fmt.Sprintf("%s/%d", name, i), env, variable, want})
		}
	}

	for _, value := range []string{"", "3000", ":3000", "localhost", "localhost:", "localhost:http", "localhost:65536", "localhost:-1", "::1:3000", "[::1]", "a b:3000", "http://localhost:3000", strings.Repeat("a", 254) + ":1"} {
		add("BadBindAddr", "BIND_ADDR", "is not host:port; allowed is for example", notGitHub("BIND_ADDR", value))
	}
	for _, value := range []string{"postgres://u:" + canary + "@h/db", "postgresql://u:" + canary + "@h/db", "POSTGRES://u:" + canary + "@h"} {
		add("PostgreSQLForNow", "DATABASE_URL", "this build stores in SQLite only and can not use a PostgreSQL URL", notGitHub("DATABASE_URL", value))
	}
	for _, value := range []string{"mysql://u:" + canary + "@h/db", "sqlite://o.db", "://x"} {
		add("OtherDatabase", "DATABASE_URL", "this build stores in SQLite only", notGitHub("DATABASE_URL", value))
	}

	for _, name := range []string{"LOCAL_REGISTRATION", "PUBLIC_ELECTIONS", "OCTOSTORE_ACCEPT_IO_ERRORS"} {
		for _, value := range []string{"", " ", "2", "y", "enabled", "true false", "wahr", "nil"} {
			add("BadSwitch", name, "is not a switch; allowed is 1, true, on, yes or 0, false, off, no", notGitHub(name, value))
		}
	}
	for _, name := range []string{"MAX_PUBLIC_ELECTIONS", "PUBLIC_ELECTION_REQUESTS_PER_MINUTE", "PUBLIC_ELECTION_WATCH_STREAMS_GLOBAL", "PUBLIC_ELECTION_WATCH_STREAMS_PER_CLIENT", "PUBLIC_ELECTION_WATCH_MAX_SECONDS", "MAX_CONNECTIONS_PER_CLIENT", "MAX_IDLE_NAMES", "OCTOSTORE_SHUTDOWN_TIMEOUT_SECONDS"} {
		for _, value := range []string{"", "0", "-1", "1.5", "1e3", "0x10", "1_000", "ten", "1 0", "18446744073709551616"} {
			add("BadNumber", name, "is not such a number; allowed is a whole number from 1 to", notGitHub(name, value))
		}
	}
	add("MoreThanUint32", "PUBLIC_ELECTION_REQUESTS_PER_MINUTE", "from 1 to 4294967295", notGitHub("PUBLIC_ELECTION_REQUESTS_PER_MINUTE", "4294967296"))
	add("LongShutdown", "OCTOSTORE_SHUTDOWN_TIMEOUT_SECONDS", "from 1 to 300", notGitHub("OCTOSTORE_SHUTDOWN_TIMEOUT_SECONDS", "301"))

	for _, name := range []string{"GITHUB_CLIENT_ID", "GITHUB_CLIENT_SECRET", "OAUTH_DASHBOARD_URL", "ADMIN_KEY", "ADMIN_USERNAME", "STATIC_TOKENS", "STATIC_TOKENS_FILE", "OCTOSTORE_SECRET_KEY", "OCTOSTORE_SECRET_KEY_FILE"} {
		add("Blank", name, "the value is blank", notGitHub(name, ""), notGitHub(name, " \t\n"), withGitHub(name, ""))
	}
	for _, s := range settings() {
		add("NotUTF8", s.name, "the value is not UTF-8 text", notGitHub(s.name, canary+"\xff"))
	}

	add("GitHubWithoutSecret", "GITHUB_CLIENT_SECRET", "it is not set although GITHUB_CLIENT_ID is", without(github(), "GITHUB_CLIENT_SECRET"))
	add("GitHubWithoutID", "GITHUB_CLIENT_ID", "it is not set although GITHUB_CLIENT_SECRET is", without(github(), "GITHUB_CLIENT_ID"))
	add("GitHubWithoutDashboard", "OAUTH_DASHBOARD_URL", "it is required", without(github(), "OAUTH_DASHBOARD_URL"))
	add("DashboardWithoutGitHub", "OAUTH_DASHBOARD_URL", "only has a meaning with the sign-in with GitHub", notGitHub("OAUTH_DASHBOARD_URL", "https://app.example.com/"))
	add("AdminUsernameWithoutGitHub", "ADMIN_USERNAME", "only has a meaning with the sign-in with GitHub", notGitHub("ADMIN_USERNAME", "octocat"))
	for _, name := range []string{"GITHUB_REDIRECT_URI", "OAUTH_DASHBOARD_URL"} {
		for value, want := range map[string]string{
			"/auth/github/callback":                                         "it is not an absolute http or https URL; allowed is https://HOST",
			"api.example.com/auth/github/callback":                          "it is not an absolute http or https URL",
			"ftp://api.example.com/auth/github/callback":                    "it is not an absolute http or https URL",
			"https:///auth/github/callback":                                 "it is not an absolute http or https URL",
			"https:api.example.com/auth/github/callback":                    "it is not an absolute http or https URL",
			"https://a b/auth/github/callback":                              "it is not an absolute http or https URL",
			"https://h:0/auth/github/callback":                              "its port is not a number",
			"https://h:/auth/github/callback":                               "its port is not a number",
			"https://h:65536/auth/github/callback":                          "its port is not a number",
			"https://u:" + canary + "@h/auth/github/callback":               "it has credentials in it",
			"https://" + canary + "@h/auth/github/callback":                 "it has credentials in it",
			"https://h/auth/github/callback?":                               "it has a query or a fragment",
			"https://h/auth/github/callback?code=" + canary:                 "it has a query or a fragment",
			"https://h/auth/github/callback#" + canary:                      "it has a query or a fragment",
			"https://h/auth/github/callback#":                               "it has a query or a fragment",
			"http://api.example.com/auth/github/callback":                   "it uses http to a host that is not loopback",
			"http://localhost.example.com/auth/github/callback":             "it uses http to a host that is not loopback",
			"http://10.0.0.1/auth/github/callback":                          "it uses http to a host that is not loopback",
			"http://127.0.0.1.nip.io/auth/github/callback":                  "it uses http to a host that is not loopback",
			"https://h/" + strings.Repeat("%", 2) + "/auth/github/callback": "it is not an absolute http or https URL",
		} {
			add("BadBrowserURL", name, want, withGitHub(name, value))
		}
	}
	for _, path := range []string{"", "/", "/auth/github/callback/", "/auth/github", "/AUTH/github/callback", "/x/auth/github/callback", "/auth/github%2Fcallback", "//auth/github/callback"} {
		add("BadCallbackPath", "GITHUB_REDIRECT_URI", "its path is not /auth/github/callback", withGitHub("GITHUB_REDIRECT_URI", "https://h"+path))
	}
	add("BlankCallback", "GITHUB_REDIRECT_URI", "it is not an absolute", withGitHub("GITHUB_REDIRECT_URI", ""))

	for _, value := range []string{"nonsense", "10.0.0.0/33", "10.0.0.0/8,", "10.0.0.0/8;fd00::/8", "fd00::/129", "localhost/8", ",", "10.0.0.0/8 192.0.2.0/24"} {
		add("BadProxies", "TRUSTED_PROXIES", "allowed is a comma-separated list of networks", notGitHub("TRUSTED_PROXIES", value))
	}
	for _, entry := range []string{"", "*", "null", "app.example.com", "ftp://app.example.com", "https://*.example.com", "https://app.example.com/", "https://app.example.com/x", "https://app.example.com?", "https://app.example.com#", "https://u:" + canary + "@app.example.com", "https://App.example.com", "HTTPS://app.example.com", "https://app.example.com:443", "http://app.example.com:80", "https://app.example.com:", "https://app.example.com:99999", "https://", "https://exa mple.com", "https://bücher.example"} {
		add("NotAnOrigin", "CORS_ORIGINS", "entry 2: ", notGitHub("CORS_ORIGINS", "https://ok.example.com,"+entry))
	}

	for _, key := range []string{
		canary, hexKey[2:], hexKey + "00", "zz" + hexKey[2:],
		base64.StdEncoding.EncodeToString(keyOf(1)[:31]), base64.StdEncoding.EncodeToString(append(keyOf(1), 0)),
		base64.StdEncoding.EncodeToString(keyOf(1)) + "=", "=" + base64.RawStdEncoding.EncodeToString(keyOf(1)),
		hexKey[:32] + "\n" + hexKey[32:], hexKey[:30] + " " + hexKey[30:],
	} {
		add("BadKey", "OCTOSTORE_SECRET_KEY", "it is not a key of 32 bytes; allowed is base64", notGitHub("OCTOSTORE_SECRET_KEY", key))
		add("BadKeyFile", "OCTOSTORE_SECRET_KEY_FILE", "it is not a key of 32 bytes; allowed is base64", notGitHub("OCTOSTORE_SECRET_KEY_FILE", writeFile(t, key, 0o600)))
		add("BadPreviousKey", "OCTOSTORE_SECRET_KEY_PREVIOUS", "key 2 of the list: it is not a key of 32 bytes", notGitHub("OCTOSTORE_SECRET_KEY_PREVIOUS", hexKey+","+key))
	}
	add("EmptyPreviousKey", "OCTOSTORE_SECRET_KEY_PREVIOUS", "key 2 of the list: it is not a key of 32 bytes", notGitHub("OCTOSTORE_SECRET_KEY_PREVIOUS", hexKey+","))
	add("EmptyKeyFile", "OCTOSTORE_SECRET_KEY_FILE", "the value is blank", notGitHub("OCTOSTORE_SECRET_KEY_FILE", writeFile(t, "\n", 0o600)))
	add("KeyTwice", "OCTOSTORE_SECRET_KEY_FILE", "it is set together with OCTOSTORE_SECRET_KEY", notGitHub("OCTOSTORE_SECRET_KEY", hexKey).with("OCTOSTORE_SECRET_KEY_FILE", "anything"))
	for _, name := range []string{"OCTOSTORE_SECRET_KEY_FILE", "STATIC_TOKENS_FILE"} {
		add("NoFile", name, "can not be opened", notGitHub(name, "/nowhere/at/all"))
		add("Directory", name, "is not a regular file", notGitHub(name, t.TempDir()))
		add("WritableFile", name, "others than its owner can write it", notGitHub(name, writeFile(t, hexKey, 0o622)))
		add("BinaryFile", name, "is not UTF-8 text", notGitHub(name, writeFile(t, canary+"\xff", 0o600)))
	}

	add("TokenGrammar", "STATIC_TOKENS", ", line 2: a token has whitespace inside", notGitHub("STATIC_TOKENS", "a:b\nc:"+canary+" d"))
	add("TokenTwice", "STATIC_TOKENS", ", line 2: the same token", notGitHub("STATIC_TOKENS", "a:"+canary+"\nb:"+canary))
	add("NoTokens", "STATIC_TOKENS", "there is no token in it", notGitHub("STATIC_TOKENS", "# "+canary))
	add("NoTokensInFile", "STATIC_TOKENS_FILE", "there is no token in it", notGitHub("STATIC_TOKENS_FILE", writeFile(t, "# "+canary, 0o600)))
	add("AdminKeyIsToken", "ADMIN_KEY", "it is equal to one of the static tokens",
		notGitHub("ADMIN_KEY", canary).with("STATIC_TOKENS", "a:b,ops:"+canary),
		notGitHub("ADMIN_KEY", canary+"\n").with("STATIC_TOKENS", canary),
		notGitHub("ADMIN_KEY", canary).with("STATIC_TOKENS_FILE", writeFile(t, "ops:"+canary, 0o600)),
		withGitHub("ADMIN_KEY", canary).with("STATIC_TOKENS", "ops:"+canary))

	registration := variables{"LOCAL_REGISTRATION": "true", "BIND_ADDR": "127.0.0.1:3000"}
	for _, addr := range []string{"0.0.0.0:3000", "[::]:3000", "192.0.2.1:3000", "localhost:3000", "example.com:3000"} {
		add("RegistrationInTheOpen", "LOCAL_REGISTRATION", "it needs a BIND_ADDR that only this host can reach; allowed is a numeric loopback address", registration.with("BIND_ADDR", addr))
	}
	add("RegistrationByDefault", "LOCAL_REGISTRATION", "it needs a BIND_ADDR", variables{"LOCAL_REGISTRATION": "1"})
	add("RegistrationBesideGitHub", "LOCAL_REGISTRATION", "together with the sign-in with GitHub", github().with("LOCAL_REGISTRATION", "1").with("BIND_ADDR", "127.0.0.1:3000"))
	add("RegistrationBesideTokens", "LOCAL_REGISTRATION", "together with static tokens",
		registration.with("STATIC_TOKENS", "ops:"+canary), registration.with("STATIC_TOKENS_FILE", writeFile(t, "ops:"+canary, 0o600)))

	refused := map[string]bool{}
	for _, c := range table {
		refused[c.variable] = true
		t.Run(c.name+"/"+c.variable, func(t *testing.T) {
			t.Parallel()
			_, _, err := loadConfig(c.env.lookup)
			if err == nil {
				t.Fatalf("%q is accepted", c.env)
			}
			got := err.Error()
			if !strings.HasPrefix(got, c.variable+":") && !strings.HasPrefix(got, c.variable+", line ") || !strings.Contains(got, c.want) {
				t.Errorf("error %q, want it to begin with %s and to have %q", got, c.variable, c.want)
			}
			if strings.Contains(got, canary) || strings.Contains(got, hexKey[2:]) || strings.Contains(got, "\n") {
				t.Errorf("error %q has a secret or a second line", got)
			}
		})
	}
	for _, s := range settings() {
		if !refused[s.name] {
			t.Errorf("the table has no refusal of %s", s.name)
		}
	}
}

// TestConfigRefusesDeterministically: of several mistakes the first in the table is told.
func TestConfigRefusesDeterministically(t *testing.T) {
	t.Parallel()
	env := variables{"MAX_IDLE_NAMES": "0", "BIND_ADDR": "x", "OAUTH_DASHBOARD_URL": "x"}
	for range 20 {
		if _, _, err := loadConfig(env.lookup); err == nil || !strings.HasPrefix(err.Error(), "BIND_ADDR:") {
			t.Fatalf("error %v", err)
		}
	}
}

// FuzzConfig puts any text into any variable. Whatever it is, the start is either
// granted or refused with one line that names a variable and quotes no secret.
func FuzzConfig(f *testing.F) {
	for i := range settings() {
		for _, value := range []string{"", "1", "true", "a:b", "https://h:1/auth/github/callback", "10.0.0.0/8", "\xff", "[::1]:1", "postgres://", strings.Repeat("ab", 32)} {
			f.Add(uint8(i), value, i%2 == 0)
		}
	}
	f.Fuzz(func(t *testing.T, index uint8, value string, signIn bool) {
		s := settings()[int(index)%len(settings())]
		if strings.HasSuffix(s.name, "_FILE") {
			return // any text is a path, and reading it is not what is fuzzed
		}
		env := variables{}
		if signIn {
			env = github()
		}
		env[s.name] = value
		c, warnings, err := loadConfig(env.lookup)
		var lines []string
		if err != nil {
			lines = append(lines, err.Error())
		}
		for _, w := range warnings {
			lines = append(lines, w.String())
		}
		for _, line := range lines {
			name, _, _ := strings.Cut(line, ":")
			name, _, _ = strings.Cut(name, ",")
			if !slices.ContainsFunc(settings(), func(known setting) bool { return known.name == name }) || strings.ContainsAny(line, "\n\r") {
				t.Fatalf("%s=%q gives %q", s.name, value, line)
			}
			// A secret shorter than this may stand in a message by chance.
			if secret := strings.TrimSpace(value); s.secret && len(secret) >= 24 && strings.Contains(line, secret) {
				t.Fatalf("%s=%q is quoted in %q", s.name, value, line)
			}
		}
		if printed := fmt.Sprintf("%+v %#v", c, c); s.secret && len(value) >= 24 && strings.Contains(printed, value) {
			t.Fatalf("%s=%q is printed in %q", s.name, value, printed)
		}
	})
}

func TestConfigReadsTheProcessEnvironment(t *testing.T) {
	t.Setenv("BIND_ADDR", "127.0.0.1:4321")
	c, _, err := loadConfig(os.LookupEnv)
	if err != nil {
		t.Fatal(err)
	}
	if c.BindAddr != "127.0.0.1:4321" {
		t.Errorf("BindAddr is %q", c.BindAddr)
	}
}
