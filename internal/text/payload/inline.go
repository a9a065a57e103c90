package payload

import (
	"encoding/json"
	"strings"
)

const (
	// minURI is the shortest content of a data URI, in bytes.
	minURI = 64
	// minRun is the shortest run of base64 or hex that is no hash, key or identifier: SHA-512 has
	// 128 hex digits.
	minRun = 160
	// minURLRun is that of a part of a URL. Links with a signature or a state are shorter.
	minURLRun = 1024
	// minMinified is the shortest line of minified code.
	minMinified = 1000
	// minNumbers are the fewest numbers that are no sentence, such as those of a vector.
	minNumbers = 24
)

// inLine finds payloads within the line that begins at byte at of the text.
func (f *finder) inLine(line string, at int) {
	if isMinified(line) {
		trimmed := strings.TrimLeft(line, " \t>")
		start := at + len(line) - len(trimmed)
		f.add(start, start+len(strings.TrimRight(trimmed, " \t\r")))
		return
	}
	f.dataURIs(line, at)
	if len(line) >= minRun {
		f.runs(line, at)
		f.vectors(line, at)
	}
}

// dataURIs finds the content of data URIs (RFC 2397). Other text types than images are kept unless
// they are encoded.
func (f *finder) dataURIs(line string, at int) {
	for from := 0; ; {
		i := strings.Index(line[from:], "data:")
		if i < 0 {
			return
		}
		i += from
		from = i + len("data:")
		head, _, found := strings.Cut(line[from:min(len(line), from+200)], ",")
		kind, _, _ := strings.Cut(head, ";")
		encoded := strings.HasSuffix(head, ";base64")
		if !found || strings.ContainsAny(head, " \t<>()") || !encoded && (strings.HasPrefix(kind, "text/") || !strings.Contains(kind, "/")) {
			continue
		}
		start := from + len(head) + 1
		end := start + uriLength(line[start:], line[:i])
		if end-start >= minURI {
			f.add(at+start, at+end)
		}
		from = end
	}
}

// uriLength returns how far a data URI goes: to what closes the character before it, else to white
// space.
func uriLength(content, before string) int {
	closing := " \t\r\"'`<>)]}|"
	if before != "" {
		switch c := before[len(before)-1]; c {
		case '"', '\'', '`':
			closing = string(c)
		case '<':
			closing = ">"
		}
	}
	if n := strings.IndexAny(content, closing); n >= 0 {
		return n
	}
	return len(content)
}

// runs finds runs of base64 or hex. Escaped line breaks do not end one.
func (f *finder) runs(line string, at int) {
	limit := minRun
	for i := 0; i < len(line); {
		var s shape
		start := i
		for i < len(line) {
			if isBase64(line[i]) && !strings.HasPrefix(line[i:], "-----") {
				s.add(line[i])
				i++
			} else if strings.HasPrefix(line[i:], `\n`) || strings.HasPrefix(line[i:], `\r`) {
				i += 2
			} else {
				break
			}
		}
		if s.size >= limit && s.random() {
			start += len(line[start:i]) - len(strings.TrimLeft(line[start:i], "-"))
			f.add(at+start, at+i+len(line[i:])-len(strings.TrimLeft(line[i:], "=")))
		}
		switch {
		case strings.HasPrefix(line[i:], "://"):
			limit = minURLRun
		case i < len(line) && strings.IndexByte(" \t\"'`<>)]}", line[i]) >= 0:
			limit = minRun
		}
		i++
	}
}

// vectors finds lists of numbers within a line.
func (f *finder) vectors(line string, at int) {
	for i := 0; i < len(line); {
		start, end, numbers := i, i, 0
		for i < len(line) {
			c := line[i]
			if c >= '0' && c <= '9' {
				if i == start || line[i-1] < '0' || line[i-1] > '9' {
					numbers++
				}
				end = i + 1
			} else if strings.IndexByte(" \t.,;:+-eE[](){}|MLHVCSQTAZmlhvcsqtaz", c) < 0 || isLetter(c) && i > start && isLetter(line[i-1]) {
				break
			}
			i++
		}
		// "1.5" has two runs of digits.
		if numbers/2 >= minNumbers {
			start += len(line[start:end]) - len(strings.TrimLeft(line[start:end], " \t"))
			f.add(at+start, at+end)
		}
		i++
	}
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

func isBase64(c byte) bool {
	return isLetter(c) || c >= '0' && c <= '9' || c == '+' || c == '/' || c == '-' || c == '_'
}

// A shape counts the characters of a run of base64.
type shape struct {
	size                 int
	upper, lower, digits int
	changes              int // from one of these kinds to another
	joined, maxJoined    int // characters without + / - _ between them
	last                 byte
}

func (s *shape) add(c byte) {
	s.size++
	kind := byte(0)
	switch {
	case c >= 'A' && c <= 'Z':
		s.upper++
		kind = 'A'
	case c >= 'a' && c <= 'z':
		s.lower++
		kind = 'a'
	case c >= '0' && c <= '9':
		s.digits++
		kind = '0'
	default:
		s.joined = 0
		return
	}
	if s.last != 0 && s.last != kind {
		s.changes++
	}
	s.last = kind
	s.joined++
	s.maxJoined = max(s.maxJoined, s.joined)
}

// random tells base64 from words. In random base64 the kind changes at 0.62 of the characters, of
// which 0.16 are digits; in hex and base32 fewer change, but nothing parts the characters. Paths
// and identifiers change at each word, and have few digits.
func (s *shape) random() bool {
	n := float64(s.upper + s.lower + s.digits)
	changes, digits := float64(s.changes)/n, float64(s.digits)/n
	if min(s.upper, s.lower) > s.size/8 {
		return changes >= 0.4 && digits >= 0.03
	}
	return s.maxJoined >= minRun && changes >= 0.2 && digits >= 0.1
}

// maxData is how long a line of JSON may be that people read, such as a setting, in bytes.
const maxData = 16 << 10

// isData reports whether a line is JSON that says something: settings or records, and not the
// shapes of a drawing, whose few names come again and again with numbers.
func isData(line string) bool {
	line = strings.Trim(line, " \t\r>`|")
	if len(line) > maxData || !strings.HasPrefix(line, "{") && !strings.HasPrefix(line, "[") || !json.Valid([]byte(line)) {
		return false
	}
	d := drawing{names: map[string]bool{}}
	for from, inText := 0, false; from < len(line); {
		i := from
		for ; i < len(line) && (inText || strings.IndexByte(",{}[]", line[i]) < 0); i++ {
			if line[i] == '\\' && inText {
				i++
			} else if line[i] == '"' {
				inText = !inText
			}
		}
		if i = min(i, len(line)); i > from {
			d.inside(line[from:i], from)
		}
		from = i + 1
	}
	return d.lines > 0 && !d.isDrawn()
}

// isMinified reports whether a line is code without spaces. Of prose in Latin script 0.13 is white
// space, of minified code 0.02 to 0.05. Scripts without spaces are not ASCII.
func isMinified(line string) bool {
	if len(line) < minMinified || saysInTags(line) || isData(line) {
		return false
	}
	size, blank, letters, code, foreign := 0, 0, 0, 0, 0
	for i := 0; i < len(line); i++ {
		if line[i] == ':' && strings.HasPrefix(line[i:], "://") { // the rest of a URL
			n := strings.IndexAny(line[i:], " \t\"'`<>)]}|")
			if n < 0 {
				break
			}
			i += n
		}
		size++
		switch c := line[i]; {
		case c == ' ' || c == '\t':
			blank++
		case isLetter(c):
			letters++
		case c >= 0x80:
			foreign++
		case strings.IndexByte("{};=:\"'", c) >= 0:
			code++
		}
	}
	return size >= minMinified && float64(blank) < 0.06*float64(size) && float64(foreign) < 0.05*float64(size) &&
		float64(letters) > 0.25*float64(size) && float64(code) > 0.06*float64(size)
}

// saysInTags reports whether a line of HTML has text between its tags that is no code.
func saysInTags(line string) bool {
	if !strings.HasPrefix(strings.TrimLeft(line, " \t>|"), "<") {
		return false
	}
	letters, code, inTag := 0, 0, false
	for i := range len(line) {
		switch c := line[i]; {
		case c == '<' || c == '>':
			inTag = c == '<'
		case inTag:
		case isLetter(c) || c >= 0x80:
			letters++
		case strings.IndexByte("{}();=", c) >= 0:
			code++
		}
	}
	return 8*letters > len(line) && 20*code < letters
}
