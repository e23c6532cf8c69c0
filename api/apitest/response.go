package apitest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/octostore/octostore/api"
)

func (c *Checker) checkResponse(req *http.Request, resp *http.Response, body []byte) error {
	errs := []error{checkRequestID(resp), checkNoBody(req, resp, body)}
	if req.Method == http.MethodOptions {
		return errors.Join(append(errs, wantStatus(resp, http.StatusOK), wantEmpty(body))...)
	}

	f, err := c.find(req)
	switch {
	case f == nil:
		errs = append(errs, c.checkUndocumented(req, resp, body, http.StatusNotFound, api.CodeNotFound))
	case err != nil:
		errs = append(errs, c.checkUndocumented(req, resp, body, http.StatusMethodNotAllowed, api.CodeInvalidInput))
		if resp.Header.Get("Allow") == "" {
			errs = append(errs, errors.New("405 without an Allow header"))
		}
	default:
		errs = append(errs, c.checkDocumented(f, req, resp, body))
	}

	if req.Method != http.MethodHead && isJSON(resp.Header.Get("Content-Type")) {
		errs = append(errs, checkPromises(resp, body))
	}
	return errors.Join(errs...)
}

// checkDocumented compares with the response that the operation has for this status.
func (c *Checker) checkDocumented(f *found, req *http.Request, resp *http.Response, body []byte) error {
	ref := f.operation.Responses.Status(resp.StatusCode)
	if ref == nil {
		return fmt.Errorf("status %d is not documented for %s %s", resp.StatusCode, f.method, f.route.template)
	}
	documented := ref.Value
	contentType := resp.Header.Get("Content-Type")

	var errs []error
	bodied := req.Method != http.MethodHead && resp.StatusCode != http.StatusNotModified
	switch {
	case len(documented.Content) == 0:
		if len(body) != 0 {
			errs = append(errs, errors.New("a body where none is documented"))
		}
	case bodied && documented.Content.Get(contentType) == nil:
		errs = append(errs, fmt.Errorf("Content-Type %q is not documented for status %d", contentType, resp.StatusCode))
	}

	input := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: c.requestInput(f, req, nil),
		Status:                 resp.StatusCode,
		Header:                 resp.Header,
	}
	input.SetBodyBytes(body)
	options := *input.RequestValidationInput.Options
	// Only JSON has schemas that say more than "text".
	options.ExcludeResponseBody = !bodied || !isJSON(contentType)
	input.Options = &options
	errs = append(errs, wrap("response", openapi3filter.ValidateResponse(context.Background(), input)))
	if resp.StatusCode == http.StatusNotModified {
		// The validator lets redirects and 304 pass unseen.
		errs = append(errs, requireHeaders(documented, resp.Header))
	}
	return errors.Join(errs...)
}

// checkUndocumented is for paths and methods that the document lacks: they have one
// answer, the same for all.
func (c *Checker) checkUndocumented(req *http.Request, resp *http.Response, body []byte, status int, code api.Code) error {
	if err := wantStatus(resp, status); err != nil {
		return err
	}
	if req.Method == http.MethodHead {
		return nil
	}
	if !isJSON(resp.Header.Get("Content-Type")) {
		return fmt.Errorf("Content-Type %q, want application/json", resp.Header.Get("Content-Type"))
	}
	if err := c.checkSchema("Error", body); err != nil {
		return err
	}
	var standard api.Error
	if err := json.Unmarshal(body, &standard); err != nil {
		return fmt.Errorf("standard error body: %w", err)
	}
	if standard.Code != code {
		return fmt.Errorf("code %q, want %q", standard.Code, code)
	}
	return nil
}

func (c *Checker) checkSchema(name string, text []byte) error {
	ref := c.document.Components.Schemas[name]
	if ref == nil {
		return errors.New("the document has no such schema")
	}
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		return fmt.Errorf("not JSON: %w", err)
	}
	return wrap("value", ref.Value.VisitJSON(value,
		openapi3.EnableJSONSchema2020(), openapi3.MultiErrors(), openapi3.SetSchemaErrorMessageCustomizer(brief)))
}

// checkPromises looks at what holds for every JSON answer and no schema can tell.
func checkPromises(resp *http.Response, body []byte) error {
	var seen struct {
		Code         *api.Code `json:"code"`
		Label        string    `json:"error"`
		RequestID    string    `json:"request_id"`
		RetryAfterMs *int64    `json:"retry_after_ms"`
		LeaderToken  *string   `json:"leader_token"`
		LeaseID      *string   `json:"lease_id"`
	}
	if err := json.Unmarshal(body, &seen); err != nil {
		return nil //nolint:nilerr // Not an object, or not JSON: the schema check says which.
	}
	var errs []error
	if seen.LeaderToken != nil || seen.LeaseID != nil {
		if got := resp.Header.Get("Cache-Control"); got != "no-store" {
			errs = append(errs, fmt.Errorf("an answer with a capability has Cache-Control %q, want no-store", got))
		}
	}
	if resp.StatusCode < http.StatusBadRequest || seen.Code == nil {
		return errors.Join(errs...)
	}
	if got := resp.Header.Get(api.HeaderRequestID); got != seen.RequestID {
		errs = append(errs, errors.New("request_id in the body differs from the X-Request-Id header"))
	}
	if want := seen.Code.Label(); seen.Label != want {
		errs = append(errs, fmt.Errorf("error %q, want %q for code %s", seen.Label, want, *seen.Code))
	}
	return errors.Join(append(errs, checkRetryAfter(*seen.Code, resp.Header.Get("Retry-After"), seen.RetryAfterMs))...)
}

// checkRetryAfter: the hint is in header and body, in one and the same size, or in neither.
func checkRetryAfter(code api.Code, header string, ms *int64) error {
	if !code.CarriesRetryAfter() {
		if header != "" || ms != nil {
			return fmt.Errorf("code %s carries a retry hint", code)
		}
		return nil
	}
	if ms == nil {
		return fmt.Errorf("code %s lacks retry_after_ms", code)
	}
	if *ms != api.ClampRetryAfterMs(*ms) {
		return fmt.Errorf("retry_after_ms %d is outside of %d to %d", *ms, api.MinRetryAfterMs, api.MaxRetryAfterMs)
	}
	if want := strconv.FormatInt(api.RetryAfterSeconds(*ms), 10); header != want {
		return fmt.Errorf("Retry-After %q, want %q for %d ms", header, want, *ms)
	}
	return nil
}

func checkRequestID(resp *http.Response) error {
	if got := resp.Header.Get(api.HeaderRequestID); !api.ValidRequestID(got) {
		return fmt.Errorf("X-Request-Id is %q, want req_ and 32 hex digits", got)
	}
	return nil
}

func checkNoBody(req *http.Request, resp *http.Response, body []byte) error {
	if req.Method == http.MethodHead || resp.StatusCode == http.StatusNotModified || resp.StatusCode == http.StatusNoContent {
		return wantEmpty(body)
	}
	return nil
}

func requireHeaders(documented *openapi3.Response, header http.Header) error {
	var errs []error
	for name, ref := range documented.Headers {
		if ref.Value.Required && header.Get(name) == "" {
			errs = append(errs, fmt.Errorf("header %s is missing", name))
		}
	}
	return errors.Join(errs...)
}

func wantStatus(resp *http.Response, status int) error {
	if resp.StatusCode != status {
		return fmt.Errorf("status %d, want %d", resp.StatusCode, status)
	}
	return nil
}

func wantEmpty(body []byte) error {
	if len(body) != 0 {
		return fmt.Errorf("%d bytes of body where none belong", len(body))
	}
	return nil
}

func wrap(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}
