package web

import (
	"embed"
	"fmt"
	"io/fs"
	"net/http"
	"strings"

	swagger "github.com/swaggest/swgui/v5/static"
)

// AssetsPath is the path prefix at which the page looks for its parts.
const AssetsPath = "/docs/assets/"

//go:embed assets
var own embed.FS

// source tells where an asset is embedded and what it is.
type source struct {
	name        string // behind AssetsPath
	files       fs.FS
	path        string // in files; a name that ends in .gz is a gzip stream
	contentType string
}

const (
	javascript = "text/javascript; charset=utf-8"
	stylesheet = "text/css; charset=utf-8"
	picture    = "image/svg+xml"
	markup     = "text/html; charset=utf-8"
)

// sources lists all parts of the page. Swagger UI ships more files; what the page
// does not ask for is not served.
func sources() []source {
	return []source{
		{"swagger-ui-bundle.js", swagger.FS, "swagger-ui-bundle.js.gz", javascript},
		{"swagger-ui.css", swagger.FS, "swagger-ui.css.gz", stylesheet},
		{"docs.js", own, "assets/docs.js", javascript},
		{"docs.css", own, "assets/docs.css", stylesheet},
		{"icon.svg", own, "assets/icon.svg", picture},
	}
}

// Page returns the handler of the API reference. It answers the same page whatever the
// path, GET and HEAD only. The server has to have [Assets] at [AssetsPath] and the document at /openapi.yaml.
func Page() http.Handler {
	return load(source{name: "docs.html", files: own, path: "assets/docs.html", contentType: markup})
}

// Assets returns the handler of the page's parts. It takes requests with their full
// path, [AssetsPath] included, and answers 404 in plain text for names that it does not have;
// a server with an error body of its own asks [HasAsset] first.
func Assets() http.Handler {
	files := make(map[string]file)
	for _, s := range sources() {
		files[s.name] = load(s)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, ok := strings.CutPrefix(r.URL.Path, AssetsPath)
		f, found := files[name]
		if !ok || !found {
			http.NotFound(w, r)
			return
		}
		f.ServeHTTP(w, r)
	})
}

// HasAsset reports whether name, the last element of a path below [AssetsPath], is
// one that [Assets] serves.
func HasAsset(name string) bool {
	for _, s := range sources() {
		if s.name == name {
			return true
		}
	}
	return false
}

// load reads an embedded file. A failure is a mistake in the build of the binary
// that every start would hit, so it panics where the handler is made, not where it is used.
func load(s source) file {
	body, err := fs.ReadFile(s.files, s.path)
	if err != nil {
		panic(fmt.Sprintf("web: embedded file: %v", err))
	}
	f, err := newFile(s.contentType, body, strings.HasSuffix(s.path, ".gz"))
	if err != nil {
		panic(fmt.Sprintf("web: embedded file %s: %v", s.path, err))
	}
	return f
}
