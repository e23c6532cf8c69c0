// Package ratelimit decides who a client is and how much of the server one client may use.
//
// # What it owns
//
//   - [Proxies] and [Client]: which address a request counts against, and the text that every limiter, log line and
//     metric uses for it. There is one answer to "who is calling", so a log always shows the address that was limited.
//   - [Admission]: how many requests a client may make in a fixed window.
//   - [Slots] and [Ceiling]: how many long-lived things (watch streams, waiting requests) a client, and all clients
//     together, may keep open.
//   - [Conns] and [DescriptorBudget]: how many connections a client, and all clients together, may keep open, and which
//     idle ones make room.
//
// # What it does not own
//
// It never writes an answer. Status codes, error bodies and the choice of the routes that are limited belong to the HTTP
// layer. It knows no principal and no tenant either: a key is a text, and the caller chooses what it stands for.
//
// # Invariants
//
//  1. No header changes who a client is unless its TCP peer is a trusted proxy. Then only X-Forwarded-For is read, from
//     the right, and never past the first address that is not a trusted proxy: that is the last one which someone
//     trusted has seen with its own eyes.
//  2. A window never slides: its end is fixed by its first request, and no refused request moves it.
//  3. Memory is bounded whatever clients do. A newcomer that finds every place taken shares one budget with all other
//     such newcomers, and a client with a running window is never displaced.
//  4. Nothing here starts a goroutine or keeps a timer, so nothing has to be stopped.
//  5. Windows are measured on the monotonic clock: a step of the wall clock neither shortens nor stretches them.
//
// Renewing, releasing, resigning, keeping a session alive and reading a status take no budget. That is decided by the
// routes which call this package, and it is why a spent budget never unseats a leader or a holder.
package ratelimit
