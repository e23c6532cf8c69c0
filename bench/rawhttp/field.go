package rawhttp

import "bytes"

// Field finds a member of a JSON object by the text before its value. It does
// not parse: the answers that it looks at are known, and hold the member once, in
// this spelling, without white space and without escapes in its value.
type Field []byte

// StringField is the member of this name, which has a string.
func StringField(name string) Field { return Field(`"` + name + `":"`) }

// In returns the value of the first such member of a body, nil if it has none.
func (f Field) In(body []byte) []byte {
	i := bytes.Index(body, f)
	if i < 0 {
		return nil
	}
	value := body[i+len(f):]
	end := bytes.IndexByte(value, '"')
	if end < 0 {
		return nil
	}
	return value[:end]
}
