// Package web holds the pages that the binary serves by itself: today the
// interactive API reference.
//
// It owns the page, its script and style, the delivery of the embedded Swagger UI
// files, and the security headers of all of these. It does not own the
// OpenAPI document, which the page loads from /openapi.yaml, nor the routes:
// [Page] belongs at / and /docs, [Assets] at [AssetsPath].
//
// Invariants:
//
//   - The page works offline: everything it needs is in the binary, and the
//     content security policy forbids everything that is not of its own origin.
//   - No inline script and no inline style element: there is nothing that a
//     policy with 'unsafe-inline' or a nonce would be needed for.
//   - Whatever is served has an ETag and is revalidated, so that a new binary is
//     never seen through the files of an old one.
//   - Handlers are immutable after construction and hold no state between requests.
package web
