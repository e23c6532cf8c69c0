// Package telemetry shows what happened: traces, metrics and logs of one server process.
//
// # What it owns
//
//   - The set-up and the ordered shutdown of the OpenTelemetry SDK, from the standard OTEL_* variables ([Start], [Telemetry.Shutdown]).
//   - A private Prometheus registry and every metric of the product ([Metrics]).
//   - The log handler: JSON, UTC milliseconds, request id and trace id from the context ([Telemetry.Logger], [WithRequestID]).
//   - What keeps hostile text out of all three ([Clip]). Secrets are kept out by their own type, auth.Secret.
//
// # What it does not own
//
// It imports no other package of this module and no HTTP framework. Packages that want to report something declare a
// small interface of their own in built-in types and [time.Duration]; *[Metrics] and *[Telemetry] satisfy it. Which
// routes, codes and lanes exist is decided by those packages, not here. Nothing here decides about a lease: if every
// exporter hangs, no request waits for it.
//
// # Invariants
//
//  1. Off is free. Without an OTEL_* variable that asks for it, there is no goroutine, no connection and no allocation
//     for tracing; [Telemetry.StartRequest], [Telemetry.EndRequest], [Telemetry.GroupTraced] and the tracer's Start
//     allocate nothing.
//  2. Bounded. The number of series is bounded whatever the label values are: a value outside its closed set, or one more
//     than a set has room for, is counted under "other" (routes: "unmatched", methods: "OTHER"). No lock, room, tenant,
//     principal, token or address is ever a label.
//  3. No secrets. Spans carry route templates and numbers only: no path, query, header value, client address or user
//     agent, and no panic text. What the SDK says about its own settings is logged without the values, because a badly
//     written OTEL_EXPORTER_OTLP_HEADERS is a credential.
//  4. Hot methods do not allocate: the children of all vectors are resolved once and found by one lock-free map look-up.
//  5. A caller can not force work on the server: the sampled flag of a remote parent is a wish, granted at a ratio that
//     the operator sets and by a draw that the caller can not influence.
//
// # Variables
//
//	OCTOSTORE_LOG_LEVEL          debug | info | warn | error (info)
//	OCTOSTORE_LOG_FORMAT         json | text (json)
//	RUST_LOG                     from 0.14: honoured where it is one level word or octostore=level, otherwise ignored
//	OCTOSTORE_TRACE_REMOTE_RATIO 0 to 1 (the ratio of OTEL_TRACES_SAMPLER_ARG), see below
//	OTEL_*                       as OpenTelemetry specifies; the exporters read them from the process environment
//
// A signal (traces, metrics, logs) is exported only if OTEL_EXPORTER_OTLP_ENDPOINT, its own
// OTEL_EXPORTER_OTLP_{TRACES,METRICS,LOGS}_ENDPOINT or OTEL_{TRACES,METRICS,LOGS}_EXPORTER is set; the exporter "none" and
// OTEL_SDK_DISABLED=true switch it off again. OTEL_METRICS_EXPORTER=prometheus opens a listener of its own, without
// authentication, at OTEL_EXPORTER_PROMETHEUS_HOST and _PORT (localhost:9464). OTEL_METRICS_PRODUCERS replaces the product's metrics by what it names;
// leave it unset.
//
// # Sampling
//
// Without OTEL_TRACES_SAMPLER, a request with no parent is sampled with the ratio OTEL_TRACES_SAMPLER_ARG (1 by default).
// A remote parent that is not sampled is followed, because it only saves work. A remote parent that is sampled is
// followed with the probability OCTOSTORE_TRACE_REMOTE_RATIO, by default that same ratio, so that no caller gets more
// sampling by asking for it. The draw is independent of the trace id: the caller chooses that too. Set
// OCTOSTORE_TRACE_REMOTE_RATIO=1 where every caller is trusted and traces must be whole. The samplers that
// OTEL_TRACES_SAMPLER can name are the SDK's own and, when chosen, trust callers as OpenTelemetry defines it.
package telemetry
