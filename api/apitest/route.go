package apitest

import (
	"fmt"
	"net/http"
	"net/url"
	"sort"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

// route is a path of the document. The routers that come with the validator
// hand out parameters while they are still escaped, which makes every pattern
// and length look at the wrong text; so the few lines of matching are here.
type route struct {
	template string
	segments []string
	item     *openapi3.PathItem
}

// routesOf lists the paths so that literal segments are tried before parameters.
func routesOf(document *openapi3.T) []route {
	var routes []route
	for template, item := range document.Paths.Map() {
		routes = append(routes, route{template: template, segments: strings.Split(template, "/"), item: item})
	}
	sort.Slice(routes, func(i, j int) bool {
		a, b := strings.Count(routes[i].template, "{"), strings.Count(routes[j].template, "{")
		if a != b {
			return a < b
		}
		return routes[i].template < routes[j].template
	})
	return routes
}

// match returns the parameters of an escaped path, unescaped once, and whether it fits.
func (r route) match(escapedPath string) (map[string]string, bool) {
	segments := strings.Split(escapedPath, "/")
	if len(segments) != len(r.segments) {
		return nil, false
	}
	parameters := map[string]string{}
	for i, want := range r.segments {
		value, err := url.PathUnescape(segments[i])
		if err != nil {
			return nil, false
		}
		if name, ok := strings.CutPrefix(want, "{"); ok {
			if value == "" {
				return nil, false
			}
			parameters[strings.TrimSuffix(name, "}")] = value
		} else if want != value {
			return nil, false
		}
	}
	return parameters, true
}

// found is what the document says about a request.
type found struct {
	route      route
	method     string // GET for HEAD
	operation  *openapi3.Operation
	parameters map[string]string
}

// find looks a request up. The first result is nil if the path is not documented;
// its operation is nil if only the method is not.
func (c *Checker) find(req *http.Request) (*found, error) {
	method := req.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	for _, r := range c.routes {
		parameters, ok := r.match(req.URL.EscapedPath())
		if !ok {
			continue
		}
		operation := r.item.GetOperation(method)
		if operation == nil {
			return &found{route: r, method: method, parameters: parameters},
				fmt.Errorf("the document has no %s on %s", req.Method, r.template)
		}
		return &found{route: r, method: method, operation: operation, parameters: parameters}, nil
	}
	return nil, fmt.Errorf("the document has no path for %s", req.URL.EscapedPath())
}
