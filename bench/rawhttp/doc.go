// Package rawhttp is the least HTTP/1.1 client that can drive a load: one
// persistent connection, requests whose bytes were made before, answers framed by
// Content-Length alone.
//
// It exists because the load program shares its two cores with what it measures:
// net/http's client would take more of them than the server. It is no client for
// anything else: no chunked answers, no redirects, no TLS, no pipelining, no
// retries; whatever it does not understand is an error.
//
// Invariants: an answer is read to its last byte before the next request is sent,
// and bytes beyond it are an error; nothing is allocated after the buffers have
// grown to the size of the answers.
package rawhttp
