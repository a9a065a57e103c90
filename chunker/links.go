package chunker

import (
	"strings"

	"github.com/memcore/memcore/internal/markdown/fence"
)

// A Link names another document in its own words: "[the retry budget](b.md)", "[[b|retry budget]]".
type Link struct {
	Target string // as written, without title and fragment
	Text   string // on one line, without markup
}

// Bounds of what is searched for the end of a link or a code span, in bytes, so that time is
// linear.
const (
	maxParagraph = 64 << 10
	maxLink      = 512
)

// Links returns the links of a Markdown document that have a text of their own and a target on the
// same disk, in its order. Code, images, and links by reference have none.
func Links(src []byte) (links []Link) {
	text, _ := clean(src)
	if !strings.Contains(text, "](") && !strings.Contains(text, "[[") {
		return nil
	}
	var open fence.Fence
	from, to := 0, 0 // the paragraph
	flush := func() {
		links = appendLinks(links, text[from:to])
		from = to
	}
	for at := 0; at < len(text); {
		end := windowEnd(text, at)
		var code bool
		open, code = open.Next(withoutMarkers(text[at : end-len(newlineOf(text[at:end]))]))
		if code || isBlank(text[at:end]) || end-from > maxParagraph {
			flush()
			from = at
			if code {
				from = end
			}
		}
		at, to = end, end
	}
	flush()
	return links
}

// newlineOf returns the line break that a line ends with, if any.
func newlineOf(line string) string { return line[len(trimNewline(line)):] }

// withoutMarkers removes indentation and the markers of quotes and list items.
func withoutMarkers(line string) string {
	for range deepestNest {
		line = strings.TrimLeft(line, " \t")
		n := markerLength(line)
		if n == 0 {
			break
		}
		line = line[n:]
	}
	return line
}

func appendLinks(links []Link, text string) []Link {
	for i := 0; i < len(text); {
		rest := text[i:min(len(text), i+maxLink)]
		switch {
		case rest[0] == '\\':
			i += 2
		case rest[0] == '`':
			i += codeSpan(rest)
		case rest[0] == '!' && strings.HasPrefix(rest[1:], "["): // an image, or an embedded document
			n := 1
			if _, size := link(rest[1:]); size > 0 {
				n += size
			}
			i += n
		case rest[0] == '[':
			l, size := link(rest)
			if l.Text != "" && l.Target != "" && !strings.Contains(l.Target, "://") && !strings.HasPrefix(l.Target, "mailto:") {
				links = append(links, l)
			}
			i += max(size, 1)
		default:
			i++
		}
	}
	return links
}

// codeSpan returns the length of the code span, or of the backticks, at the start of a text.
func codeSpan(text string) int {
	ticks := text[:len(text)-len(strings.TrimLeft(text, "`"))]
	for at := len(ticks); ; {
		next := strings.Index(text[at:], ticks)
		if next < 0 {
			return len(ticks)
		}
		at += next
		run := len(text[at:]) - len(strings.TrimLeft(text[at:], "`"))
		if at += run; run == len(ticks) {
			return at
		}
	}
}

// link returns the link at the start of a text and its length, which is 0 if there is none.
func link(text string) (Link, int) {
	if inner, ok := strings.CutPrefix(text, "[["); ok {
		inner, _, ok := strings.Cut(inner, "]]")
		if !ok || strings.ContainsAny(inner, "[\n") {
			return Link{}, 0
		}
		target, name, _ := strings.Cut(inner, "|")
		return Link{targetOf(strings.TrimSuffix(target, `\`)), headingText([]byte(name))}, len(inner) + 4
	}
	end := closing(text, '[', ']')
	if end < 0 || !strings.HasPrefix(text[end+1:], "(") {
		return Link{}, 0
	}
	size := end + 1
	last := closing(text[size:], '(', ')')
	if last < 0 {
		return Link{}, 0
	}
	target := strings.TrimSpace(text[size+1 : size+last])
	if inner, ok := strings.CutPrefix(target, "<"); ok {
		target, _, _ = strings.Cut(inner, ">")
	} else if fields := strings.Fields(target); len(fields) > 0 {
		target = fields[0]
	}
	name := text[1:end]
	if strings.Contains(name, "](") { // of an image
		name = ""
	}
	return Link{targetOf(target), headingText([]byte(name))}, size + last + 1
}

// targetOf removes a fragment.
func targetOf(target string) string {
	target, _, _ = strings.Cut(target, "#")
	return strings.TrimSpace(target)
}

// closing returns where the bracket at the start of a text is closed, or -1.
func closing(text string, open, closed byte) int {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case open:
			depth++
		case closed:
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}
