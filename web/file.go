package web

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// file is one thing to serve, in the encoding in which it is embedded.
type file struct {
	contentType string
	body        []byte
	gzipped     bool   // body is a gzip stream
	size        int64  // of the content, without gzip
	hash        string // of body
}

// newFile describes body. It fails only if a gzipped body is damaged.
func newFile(contentType string, body []byte, gzipped bool) (file, error) {
	sum := sha256.Sum256(body)
	f := file{
		contentType: contentType,
		body:        body,
		gzipped:     gzipped,
		size:        int64(len(body)),
		hash:        hex.EncodeToString(sum[:16]),
	}
	if !gzipped {
		return f, nil
	}
	reader, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		return file{}, fmt.Errorf("gzip: %w", err)
	}
	if f.size, err = io.Copy(io.Discard, reader); err != nil { //nolint:gosec // G110: a file that is built into the program
		return file{}, fmt.Errorf("gzip: %w", err)
	}
	return f, nil
}

// ServeHTTP answers GET and HEAD, with 304 if the client has the present content.
func (f file) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		header.Set("Allow", "GET, HEAD")
		http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
		return
	}
	setPolicy(header)
	// Revalidate always: names do not change when contents do.
	header.Set("Cache-Control", "no-cache")

	encoded := f.gzipped && acceptsGzip(r.Header.Values("Accept-Encoding"))
	tag := `"` + f.hash + `"`
	if f.gzipped {
		header.Set("Vary", "Accept-Encoding")
		if encoded {
			// Two encodings are two representations (RFC 9110, section 8.8.3.3).
			tag = `"` + f.hash + `-gzip"`
		}
	}
	header.Set("ETag", tag)
	if matches(r.Header.Values("If-None-Match"), tag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}

	header.Set("Content-Type", f.contentType)
	if encoded {
		header.Set("Content-Encoding", "gzip")
		header.Set("Content-Length", strconv.Itoa(len(f.body)))
	} else {
		header.Set("Content-Length", strconv.FormatInt(f.size, 10))
	}
	w.WriteHeader(http.StatusOK)
	if r.Method == http.MethodHead {
		return
	}
	if f.gzipped && !encoded {
		// Rare: every browser takes gzip. Unpacking as it goes keeps megabytes of
		// plain text out of memory. A write error means that the client is gone.
		if reader, err := gzip.NewReader(bytes.NewReader(f.body)); err == nil {
			_, _ = io.Copy(w, reader) //nolint:gosec // G110: as above
		}
		return
	}
	_, _ = w.Write(f.body)
}

// acceptsGzip reads Accept-Encoding (RFC 9110, section 12.5.3): an entry for gzip
// decides, then one for "*"; a quality of 0 refuses; without the header the content goes out as it is.
func acceptsGzip(values []string) bool {
	wildcard := false
	for _, value := range values {
		for entry := range strings.SplitSeq(value, ",") {
			coding, parameters, _ := strings.Cut(entry, ";")
			switch coding = strings.ToLower(strings.TrimSpace(coding)); coding {
			case "gzip", "x-gzip":
				return !zeroQuality(parameters)
			case "*":
				wildcard = !zeroQuality(parameters)
			}
		}
	}
	return wildcard
}

// zeroQuality reports whether parameters hold a quality that is 0 or unreadable.
func zeroQuality(parameters string) bool {
	name, value, found := strings.Cut(strings.TrimSpace(parameters), "=")
	if !found || !strings.EqualFold(strings.TrimSpace(name), "q") {
		return false
	}
	quality, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
	return err != nil || quality <= 0
}

// matches compares If-None-Match with tag, weakly (RFC 9110, section 13.1.2). Our
// tags hold no comma, so that splitting at commas is exact for them.
func matches(values []string, tag string) bool {
	for _, value := range values {
		for candidate := range strings.SplitSeq(value, ",") {
			candidate = strings.TrimSpace(candidate)
			if candidate == "*" || strings.TrimPrefix(candidate, "W/") == tag {
				return true
			}
		}
	}
	return false
}
