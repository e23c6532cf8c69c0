package main

import (
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/octostore/octostore/auth"
)

// config is the server's environment, read once at the start and checked as a
// whole. Its fields are exported within the package so that fmt reaches the secrets
// through their own Format and prints [redacted].
type config struct {
	// BindAddr is host:port, as given; the host may be a name.
	BindAddr string
	// DatabaseURL is kept as given: "" is a throw-away database in a temporary
	// directory, ":memory:" one in memory, otherwise a path or a file: URI.
	DatabaseURL string

	// GitHub is the sign-in with GitHub; its zero value means that there is none.
	GitHub githubConfig
	// AdminKey is the admin of every tenant, if set.
	AdminKey auth.Secret
	// TokenSources is where StaticTokens came from, to be read again on SIGHUP.
	TokenSources auth.TokenSources
	// StaticTokens are the static tokens as they were at the start.
	StaticTokens auth.StaticTokens
	// LocalRegistration lets anybody on this host make an account.
	LocalRegistration bool

	// PublicElections is false to switch every election route off.
	PublicElections bool
	// MaxPublicElections bounds the rooms that have a leader at the same time.
	MaxPublicElections int
	// ElectionRequestsPerMinute is what one client may create and campaign.
	ElectionRequestsPerMinute int64
	// ElectionStreamsGlobal bounds the open watch streams of all clients together.
	ElectionStreamsGlobal int
	// ElectionStreamsPerClient bounds the open watch streams of one client.
	ElectionStreamsPerClient int
	// ElectionStreamMaxAge is when a watch stream is closed, whole seconds.
	ElectionStreamMaxAge time.Duration

	// TrustedProxies is a list for ratelimit.ParseProxies, which has accepted it.
	TrustedProxies string
	// CORSOrigins are the exact origins that browsers may call from, the
	// dashboard's included, without repetition.
	CORSOrigins []string
	// MaxConnectionsPerClient bounds the open connections of one client.
	MaxConnectionsPerClient int
	// MaxIdleNames is the number of ended names above which the oldest are forgotten early.
	MaxIdleNames int

	// SecretKey is the server key, 32 bytes as they are. Not set means that the
	// store has to come up with one.
	SecretKey auth.Secret
	// PreviousSecretKeys are further keys, accepted and not used for new rows.
	PreviousSecretKeys []auth.Secret

	// CABundle is the path of further PEM roots for webhooks; "" means none.
	CABundle string
	// WebhookAllowPrivateNetworks lets webhooks reach addresses that are not public.
	WebhookAllowPrivateNetworks bool

	// LogFilter is RUST_LOG as given; telemetry reads what it can of it.
	LogFilter string
	// AcceptIOErrors starts the server although its database failed twice in a row.
	AcceptIOErrors bool
	// ShutdownTimeout is how long open requests may take to end, whole seconds.
	ShutdownTimeout time.Duration

	// Settings tells where each value came from, in the order of the documentation.
	Settings []effectiveSetting
}

// githubConfig is the sign-in with GitHub. All fields but AdminUsername are set, or none.
type githubConfig struct {
	ClientID     string
	ClientSecret auth.Secret
	// RedirectURI is the callback as GitHub knows it.
	RedirectURI string
	// APIOrigin is the origin of RedirectURI: this server as browsers see it.
	APIOrigin string
	// DashboardURL is where the browser goes after the sign-in; no trailing slash.
	DashboardURL string
	// AdminUsername is the GitHub login that is an admin; "" means nobody is.
	AdminUsername string
}

// enabled tells whether people can sign in with GitHub.
func (g githubConfig) enabled() bool { return g.ClientID != "" }

// warning is one line for the log of the start.
type warning = auth.Warning

// effectiveSetting is one line of the start-up text about the configuration.
type effectiveSetting struct {
	Name string
	// Value is what is in force: [redacted] for a secret, "" where nothing is.
	Value string
	// Source is "environment", "default", or "unset" for a setting without a default.
	Source string
}

// environment is the environment while it is read: what was given, and what has
// been made of it so far. Only the rules that look at several variables need the former.
type environment struct {
	given    map[string]string
	config   config
	warnings []warning

	githubID, githubRedirect, dashboardURL, adminUsername string
	githubSecret                                          auth.Secret
	keyFile                                               string
}

// has tells whether a variable is set, be it to an empty text.
func (e *environment) has(name string) bool {
	_, ok := e.given[name]
	return ok
}

// warn notes a warning about a variable.
func (e *environment) warn(name, format string, args ...any) {
	e.warnings = append(e.warnings, warning{Setting: name, Text: fmt.Sprintf(format, args...)})
}

// loadConfig reads the server's environment through lookup (os.LookupEnv), and the
// files that it names. The error is the first refusal, in one line: the variable,
// what is wrong with it and what is allowed. Neither errors nor warnings contain a secret.
func loadConfig(lookup func(name string) (string, bool)) (config, []warning, error) {
	env := &environment{given: make(map[string]string)}
	for _, s := range settings() {
		value, source, err := s.find(lookup)
		if err != nil {
			return config{}, nil, fmt.Errorf("%s: %w", s.name, err)
		}
		if source == sourceEnvironment {
			env.given[s.name] = value
		}
		if source != sourceUnset {
			if err := s.read(env, value); err != nil {
				return config{}, nil, fmt.Errorf("%s: %w", s.name, err)
			}
		}
		if s.secret && source == sourceEnvironment {
			value = "[redacted]"
		}
		env.config.Settings = append(env.config.Settings, effectiveSetting{Name: s.name, Value: value, Source: source})
	}
	for _, rule := range []func(*environment) error{
		(*environment).settleGitHub,
		(*environment).settleServerKey,
		(*environment).settleTokens,
		(*environment).settleLocalRegistration,
	} {
		if err := rule(env); err != nil {
			return config{}, nil, err
		}
	}
	return env.config, env.warnings, nil
}

// find returns the text to read for a setting, and where it came from.
func (s setting) find(lookup func(string) (string, bool)) (value, source string, err error) {
	value, ok := lookup(s.name)
	switch {
	case ok && !utf8.ValidString(value):
		return "", "", errors.New("the value is not UTF-8 text")
	case ok:
		return value, sourceEnvironment, nil
	case s.optional:
		return "", sourceUnset, nil
	default:
		return s.fallback, sourceDefault, nil
	}
}

// settleTokens loads the static tokens and holds them against the admin key.
func (e *environment) settleTokens() error {
	tokens, warnings, err := e.config.TokenSources.Load()
	if err != nil {
		return err // it names the variable and the line
	}
	e.config.StaticTokens = tokens
	e.warnings = append(e.warnings, warnings...)
	if tokens.Contains(e.config.AdminKey) {
		return errors.New("ADMIN_KEY: it is equal to one of the static tokens, so a member would be admin; choose another key")
	}
	return nil
}
