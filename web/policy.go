package web

import "net/http"

// contentSecurityPolicy allows the page its own scripts, styles, pictures and calls
// to its own origin, and nothing else. Swagger UI sets styles through the DOM, which a
// policy does not govern, so that no form of 'unsafe-inline' is needed; the
// small pictures in its style sheet are data: URLs.
const contentSecurityPolicy = "default-src 'none'; " +
	"script-src 'self'; " +
	"style-src 'self'; " +
	"img-src 'self' data:; " +
	"connect-src 'self'; " +
	"base-uri 'none'; " +
	"form-action 'none'; " +
	"frame-ancestors 'none'"

// setPolicy puts the security headers on an answer. HSTS is missing on purpose: this
// server speaks plain HTTP, where browsers have to ignore it (RFC 6797, section
// 8.1); it belongs into the proxy that has the certificate.
func setPolicy(header http.Header) {
	header.Set("Content-Security-Policy", contentSecurityPolicy)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
}
