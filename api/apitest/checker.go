package apitest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sort"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/octostore/octostore/api"
)

// Checker holds the parsed document.
type Checker struct {
	document *openapi3.T
	routes   []route
}

// New parses and validates openapi.yaml, its examples included, and fails the test
// at once if it is not a valid OpenAPI 3.1 document.
func New(t testing.TB) *Checker {
	t.Helper()
	c, err := load(api.OpenAPI("0.0.0-test"))
	if err != nil {
		t.Fatalf("openapi.yaml: %v", err)
	}
	return c
}

func load(document []byte) (*Checker, error) {
	loader := openapi3.NewLoader()
	loader.IsExternalRefsAllowed = false
	parsed, err := loader.LoadFromData(document)
	if err != nil {
		return nil, fmt.Errorf("load: %w", err)
	}
	if !parsed.IsOpenAPI31OrLater() {
		return nil, fmt.Errorf("version %q, want 3.1", parsed.OpenAPI)
	}
	if err := parsed.Validate(context.Background()); err != nil {
		return nil, fmt.Errorf("validate: %w", err)
	}
	return &Checker{document: parsed, routes: routesOf(parsed)}, nil
}

// Document returns the parsed document, to be read only.
func (c *Checker) Document() *openapi3.T { return c.document }

// Operations returns the documented operations as "METHOD /path/{parameter}", sorted. HEAD
// and OPTIONS are not listed: the one works wherever GET does, the other everywhere.
func (c *Checker) Operations() []string {
	var operations []string
	for _, r := range c.routes {
		for method := range r.item.Operations() {
			operations = append(operations, method+" "+r.template)
		}
	}
	sort.Strings(operations)
	return operations
}

// Check validates a request that was meant to be valid, and its answer. Use it for
// every exchange that does not break the rules on purpose.
//
// The bodies are what was sent and received; of a text/event-stream answer only status and headers are looked at.
func (c *Checker) Check(t testing.TB, req *http.Request, reqBody []byte, resp *http.Response, respBody []byte) {
	t.Helper()
	report(t, req, resp, respBody, errors.Join(c.checkRequest(req, reqBody), c.checkResponse(req, resp, respBody)))
}

// CheckResponse validates only the answer: for requests that are invalid on purpose.
// Where the document has no such path the answer must be the standard 404, where it has no such method a 405 with Allow.
func (c *Checker) CheckResponse(t testing.TB, req *http.Request, resp *http.Response, respBody []byte) {
	t.Helper()
	report(t, req, resp, respBody, c.checkResponse(req, resp, respBody))
}

// CheckSchema validates one JSON text against a schema of the document by its name, for
// what travels outside of plain answers: the data lines of an event stream are "ElectionState".
func (c *Checker) CheckSchema(t testing.TB, name string, text []byte) {
	t.Helper()
	if err := c.checkSchema(name, text); err != nil {
		t.Errorf("schema %s: %v\n%s", name, err, text)
	}
}

// maxShown bounds how much of a body a failure prints.
const maxShown = 2048

func report(t testing.TB, req *http.Request, resp *http.Response, respBody []byte, err error) {
	t.Helper()
	if err == nil {
		return
	}
	shown := respBody
	if len(shown) > maxShown {
		shown = shown[:maxShown]
	}
	t.Errorf("%s %s answered %d, which openapi.yaml does not allow:\n\t%s\n%s",
		req.Method, req.URL.EscapedPath(), resp.StatusCode, strings.ReplaceAll(err.Error(), "\n", "\n\t"), shown)
}
