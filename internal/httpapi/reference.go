package httpapi

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"

	"github.com/octostore/octostore/web"
)

// document is the OpenAPI document of this binary.
type document struct {
	body []byte
	etag []string
}

func newDocument(body []byte) document {
	sum := sha256.Sum256(body)
	return document{body: body, etag: []string{`"` + hex.EncodeToString(sum[:16]) + `"`}}
}

// openAPI answers GET /openapi.yaml, with 304 for whoever has it already.
func (a *API) openAPI(x *exchange) {
	d := &a.system.document
	h := x.w.Header()
	h["Etag"] = d.etag
	h["Cache-Control"] = noCache
	if hasTag(x.r.Header["If-None-Match"], d.etag[0]) {
		x.WriteHeader(http.StatusNotModified)
		x.complete = true
		return
	}
	x.send(http.StatusOK, contentYAML, d.body)
}

// hasTag compares If-None-Match with tag, weakly (RFC 9110, section 13.1.2). The
// tag holds no comma.
func hasTag(lines []string, tag string) bool {
	for _, line := range lines {
		for candidate := range strings.SplitSeq(line, ",") {
			candidate = strings.TrimSpace(candidate)
			if candidate == "*" || strings.TrimPrefix(candidate, "W/") == tag {
				return true
			}
		}
	}
	return false
}

// pages are the handlers of the interactive reference.
type pages struct{ page, assets http.Handler }

// referencePage answers GET / and GET /docs.
func (a *API) referencePage(x *exchange) { a.system.pages.page.ServeHTTP(x, x.r) }

// referenceAsset answers GET /docs/assets/{asset}.
func (a *API) referenceAsset(x *exchange) {
	if !web.HasAsset(x.param("asset")) {
		notFound(x)
		return
	}
	a.system.pages.assets.ServeHTTP(x, x.r)
}
