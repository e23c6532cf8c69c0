// Package apitest checks HTTP exchanges of a test against openapi.yaml, so that
// the document, which clients are written from, can not drift from the server.
//
// It owns the comparison of one request and its answer with the document, the
// promises that a schema can not express (the request id in header and body is
// one, a retry hint comes with exactly the codes that have one, a capability is
// never cacheable), and the list of documented operations.
//
// It does not send requests, does not know any route by heart and is not
// imported by anything but tests.
//
// Invariants: an exchange that the document does not allow fails the test; a
// [Checker] is immutable after [New] and safe for parallel tests; neither the
// request nor the answer is read or changed: bodies are passed as bytes.
package apitest
