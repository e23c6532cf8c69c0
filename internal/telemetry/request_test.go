package telemetry

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

const campaignRoute = "/elections/{id}/campaign"

// attributesOf is a span's attributes as a map of Go values.
func attributesOf(list []attribute.KeyValue) map[string]any {
	out := map[string]any{}
	for _, a := range list {
		out[string(a.Key)] = a.Value.AsInterface()
	}
	return out
}

// capabilityRequest is full of things that must not show.
func capabilityRequest(t *testing.T, method string) *http.Request {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, "http://s3cret.example/elections/s3cret/campaign?token=s3cret", nil)
	r.RemoteAddr = "192.0.2.77:1"
	r.Header.Set("User-Agent", "s3cret")
	r.Header.Set("Authorization", "Bearer s3cret")
	r.Header.Set("X-Forwarded-For", "192.0.2.77")
	return r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 3000}))
}

func TestRequestSpan(t *testing.T) {
	t.Parallel()
	t.Run("CarriesTheAllowedAttributesAndNothingElse", func(t *testing.T) {
		t.Parallel()
		tel, spans := recorded(t, Config{})
		r := capabilityRequest(t, http.MethodPost)
		ctx, span := tel.StartRequest(r.Context(), r, campaignRoute)
		if trace.SpanFromContext(ctx) != span {
			t.Error("the span is not in the context")
		}
		tel.EndRequest(span, 200)

		got := spans.Ended()[0]
		if got.Name() != "POST "+campaignRoute || got.SpanKind() != trace.SpanKindServer || got.Status().Code != codes.Unset {
			t.Errorf("name %q, kind %v, status %v", got.Name(), got.SpanKind(), got.Status())
		}
		want := map[string]any{
			"http.request.method": "POST", "http.route": campaignRoute, "url.scheme": "http",
			"server.address": "127.0.0.1", "http.response.status_code": int64(200),
		}
		if diff := cmp.Diff(want, attributesOf(got.Attributes())); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("DoesNotTakeAPathForARoute", func(t *testing.T) {
		t.Parallel()
		tel, spans := recorded(t, Config{Routes: []string{campaignRoute}})
		r := capabilityRequest(t, http.MethodPost)
		_, span := tel.StartRequest(r.Context(), r, "/elections/s3cret/campaign")
		tel.EndRequest(span, 200)
		if got := spans.Ended()[0]; got.Name() != "POST unmatched" || attributesOf(got.Attributes())["http.route"] != unmatched {
			t.Fatalf("name %q, attributes %v", got.Name(), got.Attributes())
		}
	})
	t.Run("DoesNotTakeAnUnknownMethodForAName", func(t *testing.T) {
		t.Parallel()
		tel, spans := recorded(t, Config{})
		r := capabilityRequest(t, "S3CRET")
		_, span := tel.StartRequest(r.Context(), r, campaignRoute)
		tel.EndRequest(span, 405)
		got := spans.Ended()[0]
		if got.Name() != "HTTP "+campaignRoute || attributesOf(got.Attributes())["http.request.method"] != "_OTHER" {
			t.Fatalf("name %q, attributes %v", got.Name(), got.Attributes())
		}
	})
	t.Run("TellsTLS", func(t *testing.T) {
		t.Parallel()
		tel, spans := recorded(t, Config{})
		r := capabilityRequest(t, http.MethodGet)
		r.TLS = &tls.ConnectionState{}
		_, span := tel.StartRequest(r.Context(), r, campaignRoute)
		tel.EndRequest(span, 200)
		if got := attributesOf(spans.Ended()[0].Attributes())["url.scheme"]; got != "https" {
			t.Fatalf("scheme %v", got)
		}
	})
	for status, want := range map[int]codes.Code{0: codes.Unset, 404: codes.Unset, 499: codes.Unset, 500: codes.Error, 503: codes.Error} {
		t.Run("StatusOf"+http.StatusText(status), func(t *testing.T) {
			t.Parallel()
			tel, spans := recorded(t, Config{})
			r := capabilityRequest(t, http.MethodGet)
			_, span := tel.StartRequest(r.Context(), r, campaignRoute)
			tel.EndRequest(span, status)
			got := spans.Ended()[0]
			code, told := attributesOf(got.Attributes())["http.response.status_code"]
			if got.Status().Code != want || got.Status().Description != "" || told != (status != 0) || (told && code != int64(status)) {
				t.Fatalf("status %v, attribute %v", got.Status(), code)
			}
		})
	}
	t.Run("JoinsTheTraceOfTheCaller", func(t *testing.T) {
		t.Parallel()
		tel, spans := recorded(t, Config{})
		r := capabilityRequest(t, http.MethodGet)
		r.Header.Set("Traceparent", parentHeader)
		_, span := tel.StartRequest(r.Context(), r, campaignRoute)
		tel.EndRequest(span, 200)
		got := spans.Ended()[0]
		if got.SpanContext().TraceID().String() != "0af7651916cd43dd8448eb211c80319c" || got.Parent().SpanID().String() != "b7ad6b7169203331" {
			t.Fatalf("span %v, parent %v", got.SpanContext(), got.Parent())
		}
	})
	t.Run("DoesNotLetACallerForceASample", func(t *testing.T) {
		t.Parallel()
		tel, spans := recorded(t, Config{}, sdktrace.WithSampler(guardedSampler(0, 0, func() float64 { return 0 })))
		r := capabilityRequest(t, http.MethodGet)
		r.Header.Set("Traceparent", parentHeader)
		_, span := tel.StartRequest(r.Context(), r, campaignRoute)
		tel.EndRequest(span, 200)
		if n := len(spans.Ended()); n != 0 {
			t.Fatalf("%d spans", n)
		}
	})
	t.Run("DoesNotRecordThePanicThatPassesIt", func(t *testing.T) {
		t.Parallel()
		tel, spans := recorded(t, Config{})
		r := capabilityRequest(t, http.MethodGet)
		func() {
			defer func() { _ = recover() }()
			_, span := tel.StartRequest(r.Context(), r, campaignRoute)
			defer span.End()
			panic("s3cret")
		}()
		if events := spans.Ended()[0].Events(); len(events) != 0 {
			t.Fatalf("events %v", events)
		}
	})
}
