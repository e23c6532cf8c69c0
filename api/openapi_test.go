package api_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/go-cmp/cmp"
	"github.com/octostore/octostore/api"
	"github.com/octostore/octostore/api/apitest"
)

func TestOpenAPIVersion(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"":                  "0.0.0",
		"1.2.3":             "1.2.3",
		"v1.0.0-rc.1+dirty": "v1.0.0-rc.1+dirty",
		"x\"\nservers: []":  "x\"\nservers: []",
	} {
		document, err := openapi3.NewLoader().LoadFromData(api.OpenAPI(given))
		if err != nil {
			t.Fatalf("version %q: %v", given, err)
		}
		if document.Info.Version != want {
			t.Errorf("version %q is told as %q", given, document.Info.Version)
		}
	}
	if document := api.OpenAPI("1.2.3"); bytes.Contains(document, []byte("placeholder")) {
		t.Error("the placeholder is still there")
	}
}

func TestOpenAPIIsACopy(t *testing.T) {
	t.Parallel()
	first := api.OpenAPI("1.2.3")
	clear(first)
	if bytes.Equal(first, api.OpenAPI("1.2.3")) {
		t.Error("one caller's document is another's")
	}
}

// TestTypesMatchSchemas compares the Go types with the document: the same keys, and the
// keys that Go always writes are the required ones.
func TestTypesMatchSchemas(t *testing.T) {
	t.Parallel()
	schemas := apitest.New(t).Document().Components.Schemas
	omit := func(value any, keys ...string) shape {
		s := shapeOf(value)
		for _, key := range keys {
			s.keys = slices.DeleteFunc(s.keys, func(k string) bool { return k == key })
			s.required = slices.DeleteFunc(s.required, func(k string) bool { return k == key })
		}
		return s
	}
	require := func(value any, keys ...string) shape {
		s := shapeOf(value)
		s.required = append(s.required, keys...)
		slices.Sort(s.required)
		return s
	}

	for schema, want := range map[string]shape{
		"Error":                  omit(api.Error{}, "retry_after_ms"),
		"RetryableError":         require(api.Error{}, "retry_after_ms"),
		"CreateElectionResponse": shapeOf(api.CreateElectionResponse{}),
		"CampaignRequest":        shapeOf(api.CampaignRequest{}),
		"Leader":                 shapeOf(api.Leader{}),
		"LeaderResponse":         require(api.LeaderResponse{}, "waited_ms"),
		"RenewResponse":          omit(api.LeaderResponse{}, "waited_ms"),
		"FollowerResponse":       shapeOf(api.FollowerResponse{}),
		"LedElectionStatus":      require(api.ElectionStatus{}, "leader"),
		"VacantElectionStatus":   omit(api.ElectionStatus{}, "leader"),
		"RenewRequest":           shapeOf(api.RenewRequest{}),
		"ResignRequest":          shapeOf(api.ResignRequest{}),
		"ResignResponse":         shapeOf(api.ResignResponse{}),
		"LedElectionState":       shapeOf(api.ElectionState{}),
		"VacantElectionState":    shapeOf(api.ElectionState{}),
		"Health":                 shapeOf(api.Health{}),
		"Status":                 shapeOf(api.Status{}),
		"Metrics":                shapeOf(api.Metrics{}),
		"EndpointMetrics":        shapeOf(api.EndpointMetrics{}),
		"EndpointLatency":        shapeOf(api.EndpointLatency{}),
		"LockStoreMetrics":       shapeOf(api.LockStoreMetrics{}),
	} {
		t.Run(schema, func(t *testing.T) {
			t.Parallel()
			ref := schemas[schema]
			if ref == nil {
				t.Fatal("the document has no such schema")
			}
			got := shape{
				keys:     slices.Sorted(maps.Keys(ref.Value.Properties)),
				required: slices.Sorted(slices.Values(ref.Value.Required)),
			}
			if diff := cmp.Diff(want, got, cmp.AllowUnexported(shape{})); diff != "" {
				t.Errorf("Go type and schema differ (-Go +schema):\n%s", diff)
			}
			if open := strings.HasSuffix(schema, "Request"); open == closed(ref.Value) {
				t.Errorf("additionalProperties false: %v", closed(ref.Value))
			}
		})
	}
}

// shape is what a Go type and a schema can be compared by.
type shape struct{ keys, required []string }

func shapeOf(value any) shape {
	var s shape
	typ := reflect.TypeOf(value)
	for i := range typ.NumField() {
		key, options, _ := strings.Cut(typ.Field(i).Tag.Get("json"), ",")
		s.keys = append(s.keys, key)
		if options != "omitempty" {
			s.required = append(s.required, key)
		}
	}
	slices.Sort(s.keys)
	slices.Sort(s.required)
	return s
}

func closed(schema *openapi3.Schema) bool {
	return schema.AdditionalProperties.Has != nil && !*schema.AdditionalProperties.Has
}

func TestEveryObjectInAnAnswerIsClosed(t *testing.T) {
	t.Parallel()
	for name, ref := range apitest.New(t).Document().Components.Schemas {
		if ref.Value.Type.Is("object") && !strings.HasSuffix(name, "Request") && !closed(ref.Value) {
			t.Errorf("schema %s allows further properties", name)
		}
	}
}

func TestErrorCodesMatch(t *testing.T) {
	t.Parallel()
	document := apitest.New(t).Document()
	var got []string
	for _, value := range document.Components.Schemas["ErrorCode"].Value.Enum {
		got = append(got, value.(string))
	}
	var want []string
	for _, code := range api.Codes() {
		want = append(want, string(code))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("codes (-Go +document):\n%s", diff)
	}
}

// TestErrorExamples: the examples are what a reader copies, so label, hint and
// code have to fit each other in them as well.
func TestErrorExamples(t *testing.T) {
	t.Parallel()
	seen := map[api.Code]bool{}
	for name, ref := range apitest.New(t).Document().Components.Responses {
		media := ref.Value.Content.Get("application/json")
		if media == nil {
			continue
		}
		if len(media.Examples) == 0 {
			t.Errorf("response %s has no example", name)
		}
		for example, e := range media.Examples {
			text, err := json.Marshal(e.Value.Value)
			if err != nil {
				t.Fatal(err)
			}
			var body api.Error
			if err := json.Unmarshal(text, &body); err != nil {
				t.Fatalf("%s/%s: %v", name, example, err)
			}
			seen[body.Code] = true
			if body.Label != body.Code.Label() {
				t.Errorf("%s/%s: label %q, want %q", name, example, body.Label, body.Code.Label())
			}
			if (body.RetryAfterMs != 0) != body.Code.CarriesRetryAfter() {
				t.Errorf("%s/%s: retry_after_ms is %d", name, example, body.RetryAfterMs)
			}
		}
	}
	for _, code := range []api.Code{
		api.CodeAuthenticationRequired, api.CodeAuthenticationFailed, api.CodeForbidden, api.CodeInvalidInput, api.CodeInvalidTTL,
		api.CodeNotFound, api.CodeLeaseNotCurrent, api.CodeConflict, api.CodeCapacityExceeded, api.CodeRateLimited,
		api.CodeUnavailable, api.CodeOutcomeUnknown, api.CodeInternalError,
	} {
		if !seen[code] {
			t.Errorf("no response has an example of %s", code)
		}
	}
}

// TestOperationsAreComplete: what every operation owes its reader.
func TestOperationsAreComplete(t *testing.T) {
	t.Parallel()
	for path, item := range apitest.New(t).Document().Paths.Map() {
		for method, operation := range item.Operations() {
			where := method + " " + path
			if operation.Summary == "" || operation.Description == "" || operation.OperationID == "" {
				t.Errorf("%s lacks a summary, a description or an operationId", where)
			}
			if samples, ok := operation.Extensions["x-codeSamples"].([]any); !ok || len(samples) == 0 {
				t.Errorf("%s has no code sample", where)
			}
			if operation.Responses.Status(500) == nil {
				t.Errorf("%s does not tell of 500", where)
			}
			if strings.HasPrefix(path, "/elections") && operation.Responses.Status(403) == nil {
				t.Errorf("%s does not tell what happens when elections are off", where)
			}
			for status, ref := range operation.Responses.Map() {
				if header := ref.Value.Headers["X-Request-Id"]; header == nil || !header.Value.Required {
					t.Errorf("%s %s does not promise X-Request-Id", where, status)
				}
			}
		}
	}
}

// TestLimitsMatch compares the numbers in the document with the constants.
func TestLimitsMatch(t *testing.T) {
	t.Parallel()
	document := apitest.New(t).Document()
	schema := func(name string) *openapi3.Schema { return document.Components.Schemas[name].Value }
	property := func(name, key string) *openapi3.Schema { return schema(name).Properties[key].Value }

	lengths := map[string]struct {
		schema   *openapi3.Schema
		min, max uint64
		grammar  string
	}{
		"election_id":     {schema("ElectionID"), api.MinElectionIDLength, api.MaxElectionIDLength, electionIDGrammar},
		"candidate_id":    {schema("CandidateID"), 1, api.MaxCandidateIDLength, candidateIDGrammar},
		"Idempotency-Key": {document.Components.Parameters["IdempotencyKey"].Value.Schema.Value, api.MinIdempotencyKeyLength, api.MaxIdempotencyKeyLength, idempotencyKeyGrammar},
		"metadata":        {property("CampaignRequest", "metadata"), 0, api.MaxMetadataRunes, ""},
		"leader.metadata": {schema("Metadata"), 0, api.MaxMetadataRunes, ""},
	}
	for name, tc := range lengths {
		if tc.schema.MinLength != tc.min || tc.schema.MaxLength == nil || *tc.schema.MaxLength != tc.max {
			t.Errorf("%s: lengths %d to %v, want %d to %d", name, tc.schema.MinLength, tc.schema.MaxLength, tc.min, tc.max)
		}
		if tc.grammar != "" && "^"+strings.TrimSuffix(strings.TrimPrefix(tc.grammar, `\A`), `\z`)+"$" != tc.schema.Pattern {
			t.Errorf("%s: pattern %s, want the grammar %s", name, tc.schema.Pattern, tc.grammar)
		}
	}

	ranges := map[string]struct {
		schema   *openapi3.Schema
		min, max float64
	}{
		"ttl_seconds":          {schema("ElectionTTL"), api.MinElectionTTLSeconds, api.MaxElectionTTLSeconds},
		"wait_ms":              {property("CampaignRequest", "wait_ms"), 0, api.MaxWaitMs},
		"error retry_after_ms": {property("RetryableError", "retry_after_ms"), float64(api.MinRetryAfterMs), float64(api.MaxRetryAfterMs)},
		"renew_after_ms":       {schema("RenewAfterMs"), api.MinElectionTTLSeconds * 500, api.MaxElectionTTLSeconds * 500},
		"term":                 {schema("Term"), 1, 1<<53 - 1},
	}
	for name, tc := range ranges {
		if tc.schema.Min == nil || *tc.schema.Min != tc.min || tc.schema.Max == nil || *tc.schema.Max != tc.max {
			t.Errorf("%s: range %v to %v, want %v to %v", name, tc.schema.Min, tc.schema.Max, tc.min, tc.max)
		}
	}
	if !regexp.MustCompile(schema("Time").Pattern).MatchString(instant().String()) {
		t.Errorf("the pattern of times does not match %s", instant())
	}
}

// TestStreamExample: the frames that readers copy hold what the schema promises.
func TestStreamExample(t *testing.T) {
	t.Parallel()
	c := apitest.New(t)
	media := c.Document().Paths.Find("/elections/{election_id}/watch").Get.Responses.Status(200).Value.Content["text/event-stream"]
	states := 0
	for line := range strings.Lines(media.Examples["frames"].Value.Value.(string)) {
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			c.CheckSchema(t, "ElectionState", []byte(data))
			states++
		}
	}
	if states != 2 {
		t.Errorf("%d states in the example, want 2", states)
	}
}
