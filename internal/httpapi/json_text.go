package httpapi

import (
	"unicode/utf16"
	"unicode/utf8"
)

// text reads a string and returns it without escapes. The result is a part of the
// data where nothing was escaped.
func (p *parser) text() ([]byte, bool) {
	if !p.take('"') {
		return nil, false
	}
	start := p.pos
	for p.pos < len(p.data) {
		switch b := p.data[p.pos]; {
		case b == '"':
			p.pos++
			return p.data[start : p.pos-1], true
		case b == '\\':
			return p.escapedText(start)
		case b < ' ':
			return nil, false
		default:
			p.pos++
		}
	}
	return nil, false
}

// escapedText goes on with a string from its first escape.
func (p *parser) escapedText(start int) ([]byte, bool) {
	out := append(make([]byte, 0, p.pos-start+32), p.data[start:p.pos]...)
	for p.pos < len(p.data) {
		b := p.data[p.pos]
		p.pos++
		switch {
		case b == '"':
			return out, true
		case b < ' ':
			return nil, false
		case b != '\\':
			out = append(out, b)
			continue
		}
		escape := p.peek()
		p.pos++
		switch escape {
		case '"', '\\', '/':
			out = append(out, escape)
		case 'b':
			out = append(out, '\b')
		case 'f':
			out = append(out, '\f')
		case 'n':
			out = append(out, '\n')
		case 'r':
			out = append(out, '\r')
		case 't':
			out = append(out, '\t')
		case 'u':
			r, ok := p.codePoint()
			if !ok {
				return nil, false
			}
			out = utf8.AppendRune(out, r)
		default:
			return nil, false
		}
	}
	return nil, false
}

// codePoint reads the digits behind \u, and a second escape if they are the first
// half of a surrogate pair. Half a pair names no character.
func (p *parser) codePoint() (rune, bool) {
	first, ok := p.hex4()
	if !ok || !utf16.IsSurrogate(first) {
		return first, ok
	}
	if !p.take('\\') || !p.take('u') {
		return 0, false
	}
	second, ok := p.hex4()
	if !ok {
		return 0, false
	}
	r := utf16.DecodeRune(first, second)
	return r, r != utf8.RuneError
}

func (p *parser) hex4() (rune, bool) {
	if p.pos+4 > len(p.data) {
		return 0, false
	}
	var r rune
	for _, b := range p.data[p.pos : p.pos+4] {
		switch {
		case '0' <= b && b <= '9':
			b -= '0'
		case 'a' <= b && b <= 'f':
			b -= 'a' - 10
		case 'A' <= b && b <= 'F':
			b -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(b)
	}
	p.pos += 4
	return r, true
}
