package httpapi

import (
	"bytes"
	"strconv"
	"unicode/utf8"
)

// maxDepth is how deep objects and arrays may be nested, the outermost included.
const maxDepth = 32

// kind is the type of a member.
type kind uint8

const (
	textKind   kind = iota + 1
	uint32Kind      // an integer of 0 to 2^32 − 1, written without sign, fraction or exponent
)

// member is one key that a request body may have.
type member struct {
	name     string
	kind     kind
	required bool // absent or null is refused
}

// value is what a body has for a member.
type value struct {
	given  bool // present and not null
	seen   bool
	text   string
	number uint32
}

// decodeObject reads data as one JSON object (RFC 8259) and puts what it has for
// members[i] into values[i]. It is hand-written for two reasons: the standard
// library takes keys in any case and lets the last of two win, where the wire
// contract compares bytes and refuses, and it costs a few times as much as the
// rest of a request.
//
// Text that is not JSON is refused with 400, and so is text that is not UTF-8,
// a lone surrogate, nesting beyond maxDepth, or anything behind the object. Only
// if all of it is JSON is it judged: a value of the wrong type, a missing
// member or a key that occurs twice, at any depth, is refused with 422. Unknown
// members are ignored.
func decodeObject(data []byte, members []member, values []value) *failure {
	if len(data) == 0 {
		return invalid("The request body is empty.")
	}
	if !utf8.Valid(data) {
		return invalid("The request body is not valid UTF-8.")
	}
	p := parser{data: data}
	p.space()
	isObject := p.peek() == '{'
	var ok bool
	if isObject {
		ok = p.object(1, members, values)
	} else {
		ok = p.skip(1)
	}
	p.space()
	if !ok || p.pos != len(data) {
		return invalid("The request body is not valid JSON.")
	}
	if !isObject {
		return unprocessable("The request body must be a JSON object.")
	}
	if p.misfit != "" {
		return unprocessable(p.misfit)
	}
	for i, m := range members {
		if m.required && !values[i].given {
			return unprocessable(m.name + " is missing.")
		}
	}
	return nil
}

// parser walks over JSON text once. Its methods return false where the text is
// not JSON; what is JSON and does not fit is noted in misfit.
type parser struct {
	data   []byte
	pos    int
	misfit string // the first one
}

func (p *parser) note(misfit string) {
	if p.misfit == "" {
		p.misfit = misfit
	}
}

// peek returns the next byte, 0 at the end. JSON has no 0 outside of a string.
func (p *parser) peek() byte {
	if p.pos < len(p.data) {
		return p.data[p.pos]
	}
	return 0
}

func (p *parser) space() {
	for p.pos < len(p.data) {
		switch p.data[p.pos] {
		case ' ', '\t', '\n', '\r':
			p.pos++
		default:
			return
		}
	}
}

// take consumes b if it comes next.
func (p *parser) take(b byte) bool {
	if p.peek() != b {
		return false
	}
	p.pos++
	return true
}

// object reads an object whose brace comes next. The members of all but the
// outermost one are nobody's: members is nil there.
func (p *parser) object(depth int, members []member, values []value) bool {
	if depth > maxDepth || !p.take('{') {
		return false
	}
	p.space()
	if p.take('}') {
		return true
	}
	var unknown map[string]struct{}
	for {
		key, ok := p.text()
		if !ok {
			return false
		}
		p.space()
		if !p.take(':') {
			return false
		}
		p.space()
		i := find(members, key)
		switch {
		case i >= 0:
			if values[i].seen {
				p.note(members[i].name + " occurs twice.")
			}
			values[i].seen = true
			ok = p.value(depth, &members[i], &values[i])
		default:
			if _, twice := unknown[string(key)]; twice {
				p.note("A key occurs twice.")
			}
			if unknown == nil {
				unknown = make(map[string]struct{})
			}
			unknown[string(key)] = struct{}{}
			ok = p.skip(depth + 1)
		}
		if !ok {
			return false
		}
		p.space()
		if p.take('}') {
			return true
		}
		if !p.take(',') {
			return false
		}
		p.space()
	}
}

func find(members []member, key []byte) int {
	for i := range members {
		if string(key) == members[i].name {
			return i
		}
	}
	return -1
}

// value reads the value of a known member.
func (p *parser) value(depth int, m *member, v *value) bool {
	switch b := p.peek(); {
	case b == 'n':
		if m.required {
			p.note(m.name + mustBe(m.kind))
		}
		return p.literal("null")
	case b == '"' && m.kind == textKind:
		text, ok := p.text()
		v.text, v.given = string(text), true
		return ok
	case (b == '-' || '0' <= b && b <= '9') && m.kind == uint32Kind:
		start := p.pos
		if !p.number() {
			return false
		}
		// ParseUint refuses sign, fraction and exponent; JSON had refused
		// leading zeros and underscores.
		n, err := strconv.ParseUint(string(p.data[start:p.pos]), 10, 32)
		if err != nil {
			p.note(m.name + mustBe(m.kind))
			return true
		}
		v.number, v.given = uint32(n), true
		return true
	default:
		p.note(m.name + mustBe(m.kind))
		return p.skip(depth + 1)
	}
}

func mustBe(k kind) string {
	if k == textKind {
		return " must be a string."
	}
	return " must be an integer from 0 to 4294967295."
}

// skip reads any value. depth is the one that it has if it is an object or array.
func (p *parser) skip(depth int) bool {
	switch b := p.peek(); {
	case b == '{':
		return p.object(depth, nil, nil)
	case b == '[':
		return p.array(depth)
	case b == '"':
		_, ok := p.text()
		return ok
	case b == '-' || '0' <= b && b <= '9':
		return p.number()
	case b == 't':
		return p.literal("true")
	case b == 'f':
		return p.literal("false")
	case b == 'n':
		return p.literal("null")
	default:
		return false
	}
}

func (p *parser) array(depth int) bool {
	if depth > maxDepth || !p.take('[') {
		return false
	}
	p.space()
	if p.take(']') {
		return true
	}
	for {
		if !p.skip(depth + 1) {
			return false
		}
		p.space()
		if p.take(']') {
			return true
		}
		if !p.take(',') {
			return false
		}
		p.space()
	}
}

func (p *parser) literal(word string) bool {
	if !bytes.HasPrefix(p.data[p.pos:], []byte(word)) {
		return false
	}
	p.pos += len(word)
	return true
}

// number reads a number by the grammar of RFC 8259, section 6.
func (p *parser) number() bool {
	p.take('-')
	if !p.take('0') && !p.digits() {
		return false
	}
	if p.take('.') && !p.digits() {
		return false
	}
	if p.take('e') || p.take('E') {
		if !p.take('+') {
			p.take('-')
		}
		return p.digits()
	}
	return true
}

func (p *parser) digits() bool {
	start := p.pos
	for p.pos < len(p.data) && '0' <= p.data[p.pos] && p.data[p.pos] <= '9' {
		p.pos++
	}
	return p.pos > start
}
