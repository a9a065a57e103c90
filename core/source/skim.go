package source

import (
	"bufio"
	"bytes"
	"encoding/json"
	"strings"
)

// Bounds of the fields that a skimmer keeps.
const (
	maxPeekDepth = 3       // that of messages[].role
	maxPeekText  = 8 << 10 // bytes of a string as it is written; a path may have half of them
	maxPeekNames = 1 << 10 // fields of a record
	maxPeekName  = 1 << 8  // bytes of a field's name
)

// A skimmer reads the fields of JSON values one after the other, in constant memory: it keeps the
// beginning of long strings only, and nothing of what is deeper than maxPeekDepth.
type skimmer struct {
	in    *bufio.Reader
	lines bool // each value is on a line of its own
	read  int64
	ended bool // no value follows
	whole bool // the last value was complete

	// enough, if set, reports whether the fields that are known suffice. It is asked behind each
	// member of the value.
	enough func(fields) bool

	fields  fields
	newline bool // the line of the value has ended
}

// fieldsOf returns the fields of a value that may be truncated.
func fieldsOf(value []byte) fields {
	s := skimmer{in: bufio.NewReader(bytes.NewReader(value))}
	return s.record()
}

// record returns the fields of the next value, which may be truncated or broken.
func (s *skimmer) record() fields {
	s.fields, s.newline = fields{}, false
	s.whole = s.value("", 0)
	for s.lines && !s.newline && !s.ended { // what is left of the line
		s.skipTo("\n")
		s.next()
	}
	return s.fields
}

// next returns the next byte; ok is false at the end of the value's line or of the file.
func (s *skimmer) next() (c byte, ok bool) {
	if s.newline || s.ended {
		return 0, false
	}
	c, err := s.in.ReadByte()
	if err != nil {
		s.ended = true
		return 0, false
	}
	s.read++
	if c == '\n' && s.lines {
		s.newline = true
		return 0, false
	}
	return c, true
}

// token returns the next byte that is no white space.
func (s *skimmer) token() (c byte, ok bool) {
	for {
		c, ok = s.next()
		if !ok || c != ' ' && c != '\t' && c != '\r' && c != '\n' {
			return c, ok
		}
	}
}

// skipTo skips up to the next of some bytes, or to the end of what is buffered, and returns what it
// skipped, which is valid until the next read.
func (s *skimmer) skipTo(some string) []byte {
	if s.in.Buffered() == 0 {
		_, _ = s.in.Peek(1) // next reports an error
	}
	ahead, _ := s.in.Peek(s.in.Buffered())
	if i := bytes.IndexAny(ahead, some); i >= 0 {
		ahead = ahead[:i]
	}
	_, _ = s.in.Discard(len(ahead))
	s.read += int64(len(ahead))
	return ahead
}

// value reads a value, and reports whether it was complete.
func (s *skimmer) value(name string, depth int) bool {
	c, ok := s.token()
	return ok && s.valueFrom(c, name, depth)
}

func (s *skimmer) valueFrom(c byte, name string, depth int) bool {
	switch c {
	case '"':
		text, ok := s.text(depth <= maxPeekDepth)
		if ok {
			s.set(name, text, depth)
		}
		return ok
	case '{', '[':
		s.set(name, string(c), depth)
		if depth >= maxPeekDepth {
			return s.skipRest()
		}
		return s.inside(c, name, depth+1)
	case '}', ']', ',', ':':
		return false
	}
	return s.literal(c, name, depth)
}

// inside reads the members of an object or the elements of an array. Of these it keeps the first.
func (s *skimmer) inside(open byte, name string, depth int) bool {
	for i := 0; ; i++ {
		c, ok := s.token()
		if ok && i > 0 && c == ',' {
			c, ok = s.token()
		} else if ok && i > 0 && c != '}' && c != ']' {
			return false
		}
		switch {
		case !ok:
			return false
		case c == '}' || c == ']':
			return c == open+2 // as ASCII has them
		case open == '[' && i == 0:
			ok = s.valueFrom(c, name+"[]", depth)
		case open == '[':
			ok = s.valueFrom(c, "", maxPeekDepth+1)
		default:
			ok = c == '"' && s.member(name, depth)
		}
		if !ok {
			return false
		}
	}
}

// member reads a member of an object behind its first quote.
func (s *skimmer) member(of string, depth int) bool {
	key, ok := s.text(true)
	if !ok {
		return false
	}
	if c, ok := s.token(); !ok || c != ':' {
		return false
	}
	ok = s.value(strings.TrimPrefix(of+"."+key, "."), depth)
	return ok && (depth > 1 || s.enough == nil || !s.enough(s.fields))
}

// text reads a string behind its first quote, and returns its beginning if it is wanted.
func (s *skimmer) text(wanted bool) (text string, complete bool) {
	var kept []byte
	whole := true
	keep := func(raw ...byte) {
		if whole = whole && len(kept)+len(raw) <= maxPeekText; wanted && whole {
			kept = append(kept, raw...)
		}
	}
	for {
		part := s.skipTo("\"\\\n")
		if room := maxPeekText - len(kept); len(part) > room && whole {
			keep(part[:room]...)
			whole = false
		} else {
			keep(part...)
		}
		c, ok := s.next()
		switch {
		case !ok:
			return "", false
		case c == '"':
			return unquote(append(append([]byte{'"'}, kept...), '"')), true
		case c != '\\':
			keep(c)
			continue
		}
		escaped, ok := s.next()
		if !ok {
			return "", false
		}
		escape := []byte{'\\', escaped}
		for range 4 * strings.Count("u", string(escaped)) {
			digit, ok := s.next()
			if !ok {
				return "", false
			}
			escape = append(escape, digit)
		}
		keep(escape...)
	}
}

// literal reads a number, true, false or null from its first byte.
func (s *skimmer) literal(first byte, name string, depth int) bool {
	raw := []byte{first}
	for len(raw) < 64 {
		ahead, err := s.in.Peek(1)
		if err != nil || bytes.IndexByte([]byte(",]} \t\r\n"), ahead[0]) >= 0 {
			break
		}
		c, _ := s.next()
		raw = append(raw, c)
	}
	switch text := string(raw); {
	case !json.Valid(raw):
		return false
	case text == "null":
		s.set(name, "", depth)
	case text == "true" || text == "false":
		s.set(name, "bool", depth)
	default:
		s.set(name, text, depth)
	}
	return true
}

// skipRest skips what is left of an array or object, and reports whether it has an end.
func (s *skimmer) skipRest() bool {
	for open := 1; open > 0; {
		s.skipTo("\"[]{}\n")
		c, ok := s.next()
		switch {
		case !ok:
			return false
		case c == '"':
			if _, ok := s.text(false); !ok {
				return false
			}
		case c == '[' || c == '{':
			open++
		case c == ']' || c == '}':
			open--
		}
	}
	return true
}

func (s *skimmer) set(name, value string, depth int) {
	if depth <= maxPeekDepth && len(s.fields) < maxPeekNames && len(name) <= maxPeekName {
		s.fields[name] = value
	}
}
