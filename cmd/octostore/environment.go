package main

import (
	"fmt"
	"strings"
)

// explained is one variable of the help text.
type explained struct{ name, text string }

// environmentTexts explains every variable, in the order in which they are
// read. A test holds it against the table of settings.
func environmentTexts() []explained {
	return []explained{
		{"BIND_ADDR", "host:port to listen on"},
		{"DATABASE_URL", `path or file: URI of the SQLite file; "" or :memory: for a throw-away one`},
		{"GITHUB_CLIENT_ID", "sign-in with GitHub: the OAuth app; needs GITHUB_CLIENT_SECRET"},
		{"GITHUB_CLIENT_SECRET", "sign-in with GitHub: its secret"},
		{"GITHUB_REDIRECT_URI", "sign-in with GitHub: the callback as GitHub knows it"},
		{"OAUTH_DASHBOARD_URL", "sign-in with GitHub: where the browser goes afterwards"},
		{"ADMIN_KEY", "key of the admin routes; unset: they are closed"},
		{"ADMIN_USERNAME", "sign-in with GitHub: login of the admin"},
		{"STATIC_TOKENS", "bearer tokens as [tenant/]user:token, by comma or line"},
		{"STATIC_TOKENS_FILE", "file with the same; read again on SIGHUP"},
		{"LOCAL_REGISTRATION", "let anyone on this host register (loopback only)"},
		{"PUBLIC_ELECTIONS", "serve the election routes"},
		{"MAX_PUBLIC_ELECTIONS", "rooms led at the same time"},
		{"PUBLIC_ELECTION_REQUESTS_PER_MINUTE", "creations and campaigns per client; renew, status and resign are never limited"},
		{"PUBLIC_ELECTION_WATCH_STREAMS_GLOBAL", "open watch streams in all"},
		{"PUBLIC_ELECTION_WATCH_STREAMS_PER_CLIENT", "open watch streams per client"},
		{"PUBLIC_ELECTION_WATCH_MAX_SECONDS", "age at which a watch stream is closed"},
		{"TRUSTED_PROXIES", "networks whose X-Forwarded-For is believed, by comma"},
		{"CORS_ORIGINS", "origins that browsers may call from, by comma"},
		{"MAX_CONNECTIONS_PER_CLIENT", "open connections per client; loopback and trusted proxies are exempt"},
		{"MAX_IDLE_NAMES", "ended names that are remembered; above it the oldest go early"},
		{"OCTOSTORE_SECRET_KEY", "server key, 32 bytes in base64 or hex; unset: made and kept beside the database"},
		{"OCTOSTORE_SECRET_KEY_FILE", "file with the server key"},
		{"OCTOSTORE_SECRET_KEY_PREVIOUS", "further keys that are still accepted, by comma"},
		{"OCTOSTORE_CA_BUNDLE", "file with further PEM roots for outgoing calls"},
		{"OCTOSTORE_WEBHOOK_ALLOW_PRIVATE_NETWORKS", "1 or true: webhooks may reach private addresses"},
		{"RUST_LOG", "log level as 0.14 had it; OCTOSTORE_LOG_LEVEL goes first"},
		{"OCTOSTORE_ACCEPT_IO_ERRORS", "start although the disk failed twice within 10 minutes"},
		{"OCTOSTORE_SHUTDOWN_TIMEOUT_SECONDS", "time for open requests to end after SIGTERM"},
	}
}

// telemetryTexts explains what telemetry reads by itself.
func telemetryTexts() []explained {
	return []explained{
		{"OCTOSTORE_LOG_LEVEL", "debug, info, warn or error"},
		{"OCTOSTORE_LOG_FORMAT", "json or text"},
		{"OCTOSTORE_TRACE_REMOTE_RATIO", "share of the traces begun by callers that is sampled, 0 to 1"},
		{"OTEL_*", "the standard variables of OpenTelemetry; without them nothing is exported"},
	}
}

// environmentHelp is the text of "octostore help environment".
func environmentHelp() string {
	defaults := make(map[string]string)
	for _, s := range settings() {
		if !s.optional {
			defaults[s.name] = s.fallback
		}
	}
	var b strings.Builder
	b.WriteString("The server reads its settings from these environment variables. A wrong value\nrefuses the start with one line that says what is allowed.\n\n")
	for _, e := range append(environmentTexts(), telemetryTexts()...) {
		fmt.Fprintf(&b, "  %s\n      %s", e.name, e.text)
		if d := defaults[e.name]; d != "" {
			fmt.Fprintf(&b, " (default %s)", d)
		}
		b.WriteByte('\n')
	}
	return strings.TrimRight(b.String(), "\n")
}
