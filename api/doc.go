// Package api is the wire: the JSON bodies, error codes, header names and
// limits that clients and server share, and the OpenAPI document that tells
// them to everyone else.
//
// It owns the shape of what travels: field names, their order, whether they may
// be absent, the format of times, the closed set of error codes, and the plain
// syntax rules that a value must meet before anybody looks it up.
//
// It does not own what the values mean, which HTTP status a code travels under
// (the HTTP layer has that table, the Go client its inverse), how a request body
// is read, or any rule that needs a clock or a record. It knows no package of
// this module and only the standard library, so that a client can import it
// without importing a server.
//
// Invariants:
//
//   - Fields are added, never renamed, retyped or removed: clients that were
//     written years ago read these bodies.
//   - Keys are written in the order of the struct fields, older keys first.
//   - In a request type a pointer with omitempty is optional and may be null; every
//     other field is required. In a response type a field without omitempty is
//     always present.
//   - Integers in requests are unsigned and 32 bits wide, so that decoding alone
//     refuses negatives, fractions, strings and overflow. Integers in answers
//     are int64 and stay below 2^53, so that JavaScript reads them exactly.
//   - openapi.yaml and the Go types describe the same bodies; a test compares
//     them property by property.
package api
