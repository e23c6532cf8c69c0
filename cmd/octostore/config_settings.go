package main

import (
	"time"

	"github.com/octostore/octostore/auth"
	"github.com/octostore/octostore/ratelimit"
)

// Where a setting's value came from.
const (
	sourceEnvironment = "environment"
	sourceDefault     = "default"
	sourceUnset       = "unset"
)

// The variables that more than one rule speaks of.
const (
	varGitHubID       = "GITHUB_CLIENT_ID"
	varGitHubSecret   = "GITHUB_CLIENT_SECRET" //nolint:gosec // G101: the name of the variable, not its value
	varGitHubRedirect = "GITHUB_REDIRECT_URI"
	varDashboard      = "OAUTH_DASHBOARD_URL"
	varAdminUsername  = "ADMIN_USERNAME"
	varTokens         = "STATIC_TOKENS"
	varTokensFile     = "STATIC_TOKENS_FILE"
	varRegistration   = "LOCAL_REGISTRATION"
	varKey            = "OCTOSTORE_SECRET_KEY"
	varKeyFile        = "OCTOSTORE_SECRET_KEY_FILE"
	varPrivateHooks   = "OCTOSTORE_WEBHOOK_ALLOW_PRIVATE_NETWORKS"
	varAcceptIOErrors = "OCTOSTORE_ACCEPT_IO_ERRORS"
)

// setting is one variable of the server's environment.
type setting struct {
	name string
	// fallback is read where the variable is not set, unless the setting is optional.
	fallback string
	optional bool
	secret   bool
	// read checks the value and keeps it. Its error says what is wrong and what is
	// allowed, without the variable's name and without a secret.
	read func(e *environment, value string) error
}

// keep makes the read of a setting that is parsed on its own and kept in one field.
func keep[T any](parse func(value string) (T, error), field func(*environment) *T) func(*environment, string) error {
	return func(e *environment, value string) error {
		parsed, err := parse(value)
		*field(e) = parsed
		return err
	}
}

// settings returns the table of all variables. The first that is wrong refuses the
// start, in this order; rules over several variables come after all of them.
func settings() []setting {
	return []setting{
		{name: "BIND_ADDR", fallback: "0.0.0.0:3000", read: keep(parseBindAddr, func(e *environment) *string { return &e.config.BindAddr })},
		{name: "DATABASE_URL", fallback: "octostore.db", read: keep(parseDatabaseURL, func(e *environment) *string { return &e.config.DatabaseURL })},
		{name: varGitHubID, optional: true, read: keep(parseText, func(e *environment) *string { return &e.githubID })},
		{name: varGitHubSecret, optional: true, secret: true, read: keep(parseSecret, func(e *environment) *auth.Secret { return &e.githubSecret })},
		{name: varGitHubRedirect, fallback: "http://localhost:3000" + githubCallbackPath, read: func(e *environment, v string) error {
			e.githubRedirect = v // judged in settleGitHub: without GitHub it does not matter
			return nil
		}},
		{name: varDashboard, optional: true, read: keep(parseText, func(e *environment) *string { return &e.dashboardURL })},
		{name: "ADMIN_KEY", optional: true, secret: true, read: func(e *environment, v string) (err error) {
			if e.config.AdminKey, err = parseSecret(v); err == nil && isShort(e.config.AdminKey) {
				e.warn("ADMIN_KEY", "a key of less than %d characters can be guessed; openssl rand -hex 32 makes a good one", shortSecret)
			}
			return err
		}},
		{name: varAdminUsername, optional: true, read: keep(parseText, func(e *environment) *string { return &e.adminUsername })},
		{name: varTokens, optional: true, secret: true, read: func(e *environment, v string) error {
			e.config.TokenSources.Inline = auth.NewSecret(v)
			return notBlank(v)
		}},
		{name: varTokensFile, optional: true, read: func(e *environment, v string) error {
			e.config.TokenSources.File = v
			return notBlank(v)
		}},
		{name: varRegistration, fallback: "false", read: keep(parseBool, func(e *environment) *bool { return &e.config.LocalRegistration })},
		{name: "PUBLIC_ELECTIONS", fallback: "true", read: keep(parseBool, func(e *environment) *bool { return &e.config.PublicElections })},
		{name: "MAX_PUBLIC_ELECTIONS", fallback: "10000", read: keep(parseCount, func(e *environment) *int { return &e.config.MaxPublicElections })},
		{name: "PUBLIC_ELECTION_REQUESTS_PER_MINUTE", fallback: "600", read: keep(parseUint32, func(e *environment) *int64 { return &e.config.ElectionRequestsPerMinute })},
		{name: "PUBLIC_ELECTION_WATCH_STREAMS_GLOBAL", fallback: "1024", read: keep(parseCount, func(e *environment) *int { return &e.config.ElectionStreamsGlobal })},
		{name: "PUBLIC_ELECTION_WATCH_STREAMS_PER_CLIENT", fallback: "8", read: keep(parseCount, func(e *environment) *int { return &e.config.ElectionStreamsPerClient })},
		{name: "PUBLIC_ELECTION_WATCH_MAX_SECONDS", fallback: "900", read: keep(parseSeconds, func(e *environment) *time.Duration { return &e.config.ElectionStreamMaxAge })},
		{name: "TRUSTED_PROXIES", fallback: "", read: func(e *environment, v string) error {
			e.config.TrustedProxies = v
			if _, err := ratelimit.ParseProxies(v); err != nil {
				return allowed(err, "a comma-separated list of networks such as 10.0.0.0/8, fd00::/8")
			}
			return nil
		}},
		{name: "CORS_ORIGINS", fallback: "", read: keep(parseOrigins, func(e *environment) *[]string { return &e.config.CORSOrigins })},
		{name: "MAX_CONNECTIONS_PER_CLIENT", fallback: "1000", read: keep(parseCount, func(e *environment) *int { return &e.config.MaxConnectionsPerClient })},
		{name: "MAX_IDLE_NAMES", fallback: "1000000", read: keep(parseCount, func(e *environment) *int { return &e.config.MaxIdleNames })},
		{name: varKey, optional: true, secret: true, read: keep(parseServerKey, func(e *environment) *auth.Secret { return &e.config.SecretKey })},
		{name: varKeyFile, optional: true, read: func(e *environment, v string) error {
			e.keyFile = v // opened in settleServerKey, if it is the only source
			return notBlank(v)
		}},
		{name: "OCTOSTORE_SECRET_KEY_PREVIOUS", optional: true, secret: true, read: keep(parseServerKeys, func(e *environment) *[]auth.Secret { return &e.config.PreviousSecretKeys })},
		{name: "OCTOSTORE_CA_BUNDLE", optional: true, read: func(e *environment, v string) error {
			e.config.CABundle = v // read at each delivery, so that a new bundle needs no restart
			return nil
		}},
		{name: varPrivateHooks, optional: true, read: func(e *environment, v string) error {
			// Two spellings only: a door that opens by anything vaguely affirmative is
			// one that somebody opens by mistake.
			e.config.WebhookAllowPrivateNetworks = v == "1" || v == "true"
			if on, err := parseBool(v); err == nil && on && !e.config.WebhookAllowPrivateNetworks {
				e.warn(varPrivateHooks, "it stays off: only the exact values 1 and true switch it on")
			}
			return nil
		}},
		{name: "RUST_LOG", optional: true, read: func(e *environment, v string) error {
			e.config.LogFilter = v
			return nil
		}},
		{name: varAcceptIOErrors, fallback: "false", read: func(e *environment, v string) (err error) {
			if e.config.AcceptIOErrors, err = parseBool(v); err == nil && e.config.AcceptIOErrors {
				e.warn(varAcceptIOErrors, "the server starts even after repeated I/O errors of its disk; remove it once the disk is sound")
			}
			return err
		}},
		{name: "OCTOSTORE_SHUTDOWN_TIMEOUT_SECONDS", fallback: "10", read: keep(parseShutdownTimeout, func(e *environment) *time.Duration { return &e.config.ShutdownTimeout })},
	}
}
