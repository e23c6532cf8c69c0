package web_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/octostore/octostore/web"
)

func serve(t *testing.T, handler http.Handler, method, path string, header map[string]string) (*http.Response, []byte) {
	t.Helper()
	req := httptest.NewRequest(method, path, nil)
	for name, value := range header {
		req.Header.Set(name, value)
	}
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, req)
	resp := recorder.Result()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, body
}

func wantHeaders(t *testing.T, header http.Header, want map[string]string) {
	t.Helper()
	for name, value := range want {
		if got := header.Get(name); got != value {
			t.Errorf("%s is %q, want %q", name, got, value)
		}
	}
}

const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; " +
	"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

func secured(more map[string]string) map[string]string {
	want := map[string]string{
		"Content-Security-Policy":      policy,
		"X-Content-Type-Options":       "nosniff",
		"Referrer-Policy":              "no-referrer",
		"Cross-Origin-Resource-Policy": "same-origin",
		"Cache-Control":                "no-cache",
	}
	for name, value := range more {
		want[name] = value
	}
	return want
}

func TestPage(t *testing.T) {
	t.Parallel()
	page := web.Page()
	resp, body := serve(t, page, http.MethodGet, "/docs", nil)

	t.Run("CarriesThePolicy", func(t *testing.T) {
		t.Parallel()
		if resp.StatusCode != http.StatusOK {
			t.Fatalf("status %d", resp.StatusCode)
		}
		wantHeaders(t, resp.Header, secured(map[string]string{"Content-Type": "text/html; charset=utf-8"}))
	})

	t.Run("IsTheSameAtTheRoot", func(t *testing.T) {
		t.Parallel()
		other, root := serve(t, page, http.MethodGet, "/", nil)
		if !bytes.Equal(root, body) || other.Header.Get("ETag") != resp.Header.Get("ETag") {
			t.Error("/ and /docs differ")
		}
	})

	t.Run("HasNothingInline", func(t *testing.T) {
		t.Parallel()
		for _, pattern := range []string{`(?i)<style`, `(?i)<script(?:\s[^>]*)?>\s*[^<\s]`, `(?i)\sstyle\s*=`, `(?i)\son[a-z]+\s*=`, `(?i)javascript:`, `(?i)https?://`} {
			if found := regexp.MustCompile(pattern).Find(body); found != nil {
				t.Errorf("the page has %q", found)
			}
		}
	})

	t.Run("NamesOnlyPartsThatExist", func(t *testing.T) {
		t.Parallel()
		assets := web.Assets()
		links := regexp.MustCompile(`(?:src|href)="([^"]+)"`).FindAllSubmatch(body, -1)
		if len(links) < 5 {
			t.Fatalf("only %d links found", len(links))
		}
		for _, link := range links {
			path := string(link[1])
			if path == "/openapi.yaml" {
				continue
			}
			if resp, _ := serve(t, assets, http.MethodGet, path, nil); resp.StatusCode != http.StatusOK {
				t.Errorf("%s answers %d", path, resp.StatusCode)
			}
			if name, ok := strings.CutPrefix(path, web.AssetsPath); !ok || !web.HasAsset(name) {
				t.Errorf("%s is not an asset", path)
			}
		}
	})

	t.Run("RefusesOtherMethods", func(t *testing.T) {
		t.Parallel()
		resp, _ := serve(t, page, http.MethodPost, "/docs", nil)
		if resp.StatusCode != http.StatusMethodNotAllowed || resp.Header.Get("Allow") != "GET, HEAD" {
			t.Errorf("status %d, Allow %q", resp.StatusCode, resp.Header.Get("Allow"))
		}
	})

	t.Run("AnswersHeadWithoutBody", func(t *testing.T) {
		t.Parallel()
		head, none := serve(t, page, http.MethodHead, "/docs", nil)
		if len(none) != 0 || head.Header.Get("ETag") != resp.Header.Get("ETag") || head.Header.Get("Content-Length") != resp.Header.Get("Content-Length") {
			t.Errorf("%d bytes of body, headers %v", len(none), head.Header)
		}
	})
}

func TestAssets(t *testing.T) {
	t.Parallel()
	assets := web.Assets()

	for name, contentType := range map[string]string{
		"swagger-ui-bundle.js": "text/javascript; charset=utf-8",
		"swagger-ui.css":       "text/css; charset=utf-8",
		"docs.js":              "text/javascript; charset=utf-8",
		"docs.css":             "text/css; charset=utf-8",
		"icon.svg":             "image/svg+xml",
	} {
		t.Run("Serves/"+name, func(t *testing.T) {
			t.Parallel()
			resp, body := serve(t, assets, http.MethodGet, web.AssetsPath+name, nil)
			if resp.StatusCode != http.StatusOK || len(body) == 0 {
				t.Fatalf("status %d, %d bytes", resp.StatusCode, len(body))
			}
			wantHeaders(t, resp.Header, secured(map[string]string{"Content-Type": contentType, "Content-Encoding": ""}))
			if got := resp.ContentLength; got != int64(len(body)) {
				t.Errorf("Content-Length %d for %d bytes", got, len(body))
			}

			again, none := serve(t, assets, http.MethodGet, web.AssetsPath+name, map[string]string{"If-None-Match": resp.Header.Get("ETag")})
			if again.StatusCode != http.StatusNotModified || len(none) != 0 {
				t.Errorf("revalidation answers %d with %d bytes", again.StatusCode, len(none))
			}
			wantHeaders(t, again.Header, secured(map[string]string{"ETag": resp.Header.Get("ETag"), "Content-Type": ""}))
		})
	}

	t.Run("GzipIsTheSameContent", func(t *testing.T) {
		t.Parallel()
		for _, name := range []string{"swagger-ui-bundle.js", "swagger-ui.css"} {
			plain, want := serve(t, assets, http.MethodGet, web.AssetsPath+name, nil)
			packed, body := serve(t, assets, http.MethodGet, web.AssetsPath+name, map[string]string{"Accept-Encoding": "gzip, br"})
			wantHeaders(t, packed.Header, map[string]string{"Content-Encoding": "gzip", "Vary": "Accept-Encoding"})
			wantHeaders(t, plain.Header, map[string]string{"Vary": "Accept-Encoding"})
			if plain.Header.Get("ETag") == packed.Header.Get("ETag") {
				t.Errorf("%s: both encodings have one ETag", name)
			}
			if packed.ContentLength != int64(len(body)) || len(body) >= len(want) {
				t.Errorf("%s: %d bytes packed, Content-Length %d, %d bytes plain", name, len(body), packed.ContentLength, len(want))
			}
			reader, err := gzip.NewReader(bytes.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(reader)
			if err != nil || !bytes.Equal(got, want) {
				t.Errorf("%s: the encodings hold different content (%v)", name, err)
			}
		}
	})

	t.Run("AnswersHeadLikeGet", func(t *testing.T) {
		t.Parallel()
		path := web.AssetsPath + "swagger-ui-bundle.js"
		full, body := serve(t, assets, http.MethodGet, path, nil)
		head, none := serve(t, assets, http.MethodHead, path, nil)
		if len(none) != 0 || head.Header.Get("ETag") != full.Header.Get("ETag") || head.ContentLength != int64(len(body)) {
			t.Errorf("%d bytes of body, ETag %s, Content-Length %d", len(none), head.Header.Get("ETag"), head.ContentLength)
		}
	})

	t.Run("RefusesUnknownNames", func(t *testing.T) {
		t.Parallel()
		for _, path := range []string{
			web.AssetsPath, web.AssetsPath + "docs.html", web.AssetsPath + "../reference.go", web.AssetsPath + "swagger-ui.js",
			web.AssetsPath + "swagger-ui-bundle.js.gz", web.AssetsPath + "a/docs.js", "/docs.js", "docs.js",
		} {
			req := httptest.NewRequest(http.MethodGet, "/", nil)
			req.URL.Path = path
			recorder := httptest.NewRecorder()
			assets.ServeHTTP(recorder, req)
			if recorder.Code != http.StatusNotFound {
				t.Errorf("%s answers %d", path, recorder.Code)
			}
		}
		for _, name := range []string{"", "docs.html", "../docs.js", "DOCS.JS"} {
			if web.HasAsset(name) {
				t.Errorf("%q passes for an asset", name)
			}
		}
	})
}

func TestNegotiation(t *testing.T) {
	t.Parallel()
	assets := web.Assets()
	path := web.AssetsPath + "swagger-ui.css"
	for accept, want := range map[string]string{
		"":                      "",
		"identity":              "",
		"gzip":                  "gzip",
		"GZIP":                  "gzip",
		"x-gzip":                "gzip",
		"br, gzip;q=0.5":        "gzip",
		"deflate , gzip ; q=1":  "gzip",
		"gzip;q=0":              "",
		"gzip;q=0.000":          "",
		"gzip;q=much":           "",
		"*":                     "gzip",
		"*;q=0":                 "",
		"gzip;q=0, *":           "",
		"*;q=0, gzip;q=1":       "gzip",
		"not-gzip, gzipped;q=1": "",
	} {
		resp, _ := serve(t, assets, http.MethodGet, path, map[string]string{"Accept-Encoding": accept})
		if got := resp.Header.Get("Content-Encoding"); got != want {
			t.Errorf("Accept-Encoding %q is answered with %q, want %q", accept, got, want)
		}
	}
}

func TestRevalidation(t *testing.T) {
	t.Parallel()
	page := web.Page()
	resp, _ := serve(t, page, http.MethodGet, "/", nil)
	tag := resp.Header.Get("ETag")
	for given, want := range map[string]int{
		tag:                     http.StatusNotModified,
		"W/" + tag:              http.StatusNotModified,
		`"other", ` + tag:       http.StatusNotModified,
		"*":                     http.StatusNotModified,
		`"other"`:               http.StatusOK,
		strings.Trim(tag, `"`):  http.StatusOK,
		"":                      http.StatusOK,
		tag[:len(tag)-1] + `x"`: http.StatusOK,
	} {
		if got, _ := serve(t, page, http.MethodGet, "/", map[string]string{"If-None-Match": given}); got.StatusCode != want {
			t.Errorf("If-None-Match %s answers %d, want %d", given, got.StatusCode, want)
		}
	}
}
