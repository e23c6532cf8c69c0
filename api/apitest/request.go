package apitest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
)

func (c *Checker) checkRequest(req *http.Request, body []byte) error {
	if req.Method == http.MethodOptions {
		return nil
	}
	f, err := c.find(req)
	if err != nil {
		return err
	}
	return wrap("request", openapi3filter.ValidateRequest(context.Background(), c.requestInput(f, req, body)))
}

// requestInput copies the request, so that a validator that reads the body or
// fills in defaults can not change what the test holds.
func (c *Checker) requestInput(f *found, req *http.Request, body []byte) *openapi3filter.RequestValidationInput {
	clone := req.Clone(context.Background())
	clone.Method = f.method
	clone.Body = io.NopCloser(bytes.NewReader(body))
	clone.GetBody = nil
	clone.ContentLength = int64(len(body))
	if isJSON(clone.Header.Get("Content-Type")) {
		// application/*+json is one more spelling of the type that is documented.
		clone.Header.Set("Content-Type", "application/json")
	}
	options := &openapi3filter.Options{
		MultiError:            true,
		IncludeResponseStatus: true,
		SkipSettingDefaults:   true,
		AuthenticationFunc:    carriesCredential,
	}
	options.WithCustomSchemaErrorFunc(brief)
	return &openapi3filter.RequestValidationInput{
		Request:     clone,
		PathParams:  f.parameters,
		QueryParams: clone.URL.Query(),
		Route: &routers.Route{
			Spec:      c.document,
			Path:      f.route.template,
			PathItem:  f.route.item,
			Method:    f.method,
			Operation: f.operation,
		},
		Options: options,
	}
}

// brief keeps the dump of schema and value out of a failure, which otherwise buries
// the one line that matters. "" leaves the message of a composed error as it is.
func brief(err *openapi3.SchemaError) string {
	if err.Origin != nil {
		return ""
	}
	return fmt.Sprintf("at /%s: %s", strings.Join(err.JSONPointer(), "/"), err.Reason)
}

// errNoCredential is the answer to a request without the credential that its operation documents.
var errNoCredential = errors.New("the credential is missing")

// carriesCredential checks that a documented credential is there; whether it is right, the server knows.
func carriesCredential(_ context.Context, in *openapi3filter.AuthenticationInput) error {
	header := in.RequestValidationInput.Request.Header
	switch {
	case in.SecurityScheme.Type == "apiKey" && in.SecurityScheme.In == "header" && header.Get(in.SecurityScheme.Name) != "":
		return nil
	case in.SecurityScheme.Type == "http" && strings.HasPrefix(header.Get("Authorization"), "Bearer "):
		return nil
	default:
		return errNoCredential
	}
}

// isJSON reports whether a Content-Type names JSON or a type that is built on it.
func isJSON(contentType string) bool {
	mediaType, _, err := mime.ParseMediaType(contentType)
	return err == nil &&
		(mediaType == "application/json" || strings.HasPrefix(mediaType, "application/") && strings.HasSuffix(mediaType, "+json"))
}
