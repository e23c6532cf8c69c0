package httpapi

import (
	"bytes"
	"encoding/json"
	"math"
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestDecodeObject(t *testing.T) {
	t.Parallel()
	members := []member{
		{name: "text", kind: textKind, required: true},
		{name: "number", kind: uint32Kind},
	}
	t.Run("ReadsEscapes", func(t *testing.T) {
		t.Parallel()
		var v [2]value
		f := decodeObject([]byte(` { "te\u0078t" : "a\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00z" , "number" : 4294967295 } `), members, v[:])
		if f != nil || v[0].text != "a\"\\/\b\f\n\r\té😀z" || v[1].number != math.MaxUint32 {
			t.Fatalf("%+v %+v", f, v)
		}
	})
	t.Run("TellsAbsentFromEmpty", func(t *testing.T) {
		t.Parallel()
		var v [2]value
		if f := decodeObject([]byte(`{"text":"","number":null}`), members, v[:]); f != nil || !v[0].given || v[1].given {
			t.Fatalf("%+v %+v", f, v)
		}
	})
	t.Run("NamesTheFirstMisfit", func(t *testing.T) {
		t.Parallel()
		for text, want := range map[string]string{
			`{"number":-1,"text":7}`:             "number must be an integer from 0 to 4294967295.",
			`{"text":true}`:                      "text must be a string.",
			`{"text":null}`:                      "text must be a string.",
			`{"number":1}`:                       "text is missing.",
			`{"text":"a","text":"b"}`:            "text occurs twice.",
			`{"text":"a","text":null}`:           "text occurs twice.",
			`{"text":"a","secret":1,"secret":2}`: "A key occurs twice.",
		} {
			var v [2]value
			if f := decodeObject([]byte(text), members, v[:]); f == nil || f.status != http.StatusUnprocessableEntity || f.details != want {
				t.Errorf("%s: %+v, want %q", text, f, want)
			}
		}
	})
	t.Run("RefusesWhatIsNotJSON", func(t *testing.T) {
		t.Parallel()
		for _, text := range []string{
			"", " ", "{", "}", `{"text"}`, `{"text":}`, `{"text":"a",}`, `{,}`, `{"text":"a"}x`, `{"text":"a"}{}`, `{text:"a"}`, `{'text':'a'}`,
			`{"text":"a","x":01}`, `{"text":"a","x":1.}`, `{"text":"a","x":.5}`, `{"text":"a","x":1e}`, `{"text":"a","x":+1}`, `{"text":"a","x":-}`,
			`{"text":"a","x":--1}`, `{"text":"a","number":1_0}`, `{"text":"a","number":0x10}`, `{"text":"a","number":00}`, `{"text":"a","x":NaN}`,
			`{"text":"a","x":nul}`, `{"text":"a","x":TRUE}`, `{"text":"a","x":[1,]}`, `{"text":"a","x":[1 2]}`, `{"text":"a","x":[}`, "{\"text\":\"a\nb\"}",
			`{"text":"\x41"}`, `{"text":"\u12"}`, `{"text":"\u12g4"}`, `{"text":"\`, `{"text":"a`, `{"text":"\ud83d\u0041"}`, `{"text":"\ude00"}`,
			`{"text":"\ud83d\ud83d"}`, `{"text":"a"} // x`, "{\"text\":\"\xc3\"}", "\xef\xbb\xbf{}",
		} {
			var v [2]value
			if f := decodeObject([]byte(text), members, v[:]); f == nil || f.status != 0 {
				t.Errorf("%q: %+v, want a 400", text, f)
			}
		}
	})
}

func TestDecodingAllocatesOnlyTexts(t *testing.T) {
	members := []member{{name: "text", kind: textKind, required: true}, {name: "number", kind: uint32Kind}}
	body := []byte(`{"text":"worker-a","number":30}`)
	if n := testing.AllocsPerRun(100, func() {
		var v [2]value
		_ = decodeObject(body, members, v[:])
	}); n > 1 {
		t.Fatalf("%v allocations", n)
	}
}

// FuzzDecodeBody compares with the standard library: what it takes for JSON is
// JSON here, the two kinds of text that it lets pass aside, and the values agree.
func FuzzDecodeBody(f *testing.F) {
	for _, seed := range []string{
		`{"candidate_id":"worker-a","ttl_seconds":30,"metadata":"x","wait_ms":0}`, `{"candidate_id":"\ud83d\ude00"}`, `{"ttl_seconds":1e400}`,
		`{"a":{"b":[1,2,{"c":null}]},"candidate_id":"a"}`, `[[[[]]]]`, `"text"`, `{"candidate_id":"a","candidate_id":"b"}`, `{"wait_ms":-0}`,
		`{"a":"\ud83d"}`, "{\"a\":\"\xff\"}", strings.Repeat("[", 40), `{} {}`, `{"TTL_SECONDS":7,"candidate_id":"a"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var v [campaignCount]value
		got := decodeObject(data, campaignMembers, v[:])
		isJSON := json.Valid(data) && utf8.Valid(data) && !hasLoneSurrogate(data) && depthOf(data) <= maxDepth
		if refused := got != nil && got.status == 0; refused == isJSON {
			t.Fatalf("JSON: %v, refused: %v", isJSON, refused)
		}
		if got != nil {
			if got.status != 0 && got.status != http.StatusUnprocessableEntity {
				t.Fatalf("%+v", got)
			}
			return
		}
		var want map[string]any
		d := json.NewDecoder(bytes.NewReader(data))
		d.UseNumber()
		if err := d.Decode(&want); err != nil {
			t.Fatalf("it was taken, and is no object: %v", err)
		}
		for i, m := range campaignMembers {
			switch w := want[m.name].(type) {
			case string:
				if v[i].text != w {
					t.Fatalf("%s is %q, want %q", m.name, v[i].text, w)
				}
			case json.Number:
				if n, err := w.Int64(); err != nil || int64(v[i].number) != n {
					t.Fatalf("%s is %d, want %s", m.name, v[i].number, w)
				}
			case nil:
				if v[i].given {
					t.Fatalf("%s was not given", m.name)
				}
			default:
				t.Fatalf("%s was taken from a %T", m.name, w)
			}
		}
	})
}

// hasLoneSurrogate finds escapes of half a pair in valid JSON, by a reading of its
// own: the standard library makes U+FFFD of them.
func hasLoneSurrogate(data []byte) bool {
	for i := 0; i < len(data); i++ {
		if data[i] != '\\' {
			continue
		}
		if i+5 >= len(data) || data[i+1] != 'u' {
			i++
			continue
		}
		first := strings.ToLower(string(data[i+2 : i+6]))
		i += 5
		switch {
		case first >= "dc00" && first <= "dfff":
			return true
		case first >= "d800" && first <= "dbff":
			if i+6 >= len(data) || data[i+1] != '\\' || data[i+2] != 'u' {
				return true
			}
			if second := strings.ToLower(string(data[i+3 : i+7])); second < "dc00" || second > "dfff" {
				return true
			}
			i += 6
		}
	}
	return false
}

func depthOf(data []byte) int {
	depth, deepest, inText := 0, 0, false
	for i := 0; i < len(data); i++ {
		switch b := data[i]; {
		case inText && b == '\\':
			i++
		case b == '"':
			inText = !inText
		case inText:
		case b == '{' || b == '[':
			depth++
			deepest = max(deepest, depth)
		case b == '}' || b == ']':
			depth--
		}
	}
	return deepest
}
