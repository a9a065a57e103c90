package turn

import (
	"bytes"
	"encoding/json"
	"iter"
)

// A span is where in a text a JSON value is: text[start:end], without the white space around it.
//
// The functions here find spans in a text that is known to be valid JSON; in any other they may panic. Decoding instead would read a
// long history several times over and forget where its parts were.
type span struct{ start, end int }

func (s span) of(text []byte) []byte { return text[s.start:s.end] }

// valueAt is the span of the value that begins at text[i] or behind white space there.
func valueAt(text []byte, i int) span {
	i = skipSpace(text, i)
	return span{i, valueEnd(text, i)}
}

// elements are the values of an array.
func elements(text []byte, array span) iter.Seq[span] {
	return func(yield func(span) bool) {
		for i := skipSpace(text, array.start+1); text[i] != ']'; i = nextItem(text, i) {
			value := valueAt(text, i)
			if !yield(value) {
				return
			}
			i = value.end
		}
	}
}

// members are the values of an object by key. Of a key that comes twice the last counts, as it does for most who will read the request.
func members(text []byte, object span) map[string]span {
	values := map[string]span{}
	for i := skipSpace(text, object.start+1); text[i] != '}'; i = nextItem(text, i) {
		key := valueAt(text, i)
		value := valueAt(text, skipSpace(text, key.end)+1) // behind the colon
		values[stringOf(key.of(text))] = value
		i = value.end
	}
	return values
}

// nextItem goes from the end of a value of an array or object to the next one, or to the closing bracket.
func nextItem(text []byte, i int) int {
	i = skipSpace(text, i)
	if text[i] == ',' {
		i = skipSpace(text, i+1)
	}
	return i
}

func skipSpace(text []byte, i int) int {
	for i < len(text) && (text[i] == ' ' || text[i] == '\t' || text[i] == '\r' || text[i] == '\n') {
		i++
	}
	return i
}

func valueEnd(text []byte, i int) int {
	switch text[i] {
	case '"':
		return stringEnd(text, i)
	case '{', '[':
		return bracketEnd(text, i)
	}
	if n := bytes.IndexAny(text[i:], " \t\r\n,]}"); n >= 0 {
		return i + n
	}
	return len(text)
}

func bracketEnd(text []byte, i int) int {
	for depth := 0; ; i++ {
		switch text[i] {
		case '"':
			i = stringEnd(text, i) - 1
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
}

func stringEnd(text []byte, i int) int {
	for i++; text[i] != '"'; i++ {
		if text[i] == '\\' {
			i++
		}
	}
	return i + 1
}

// stringOf is the string that a value is; "" if it is none.
func stringOf(value []byte) string {
	if len(value) == 0 || value[0] != '"' {
		return ""
	}
	var s string
	_ = json.Unmarshal(value, &s) // it is valid
	return s
}
