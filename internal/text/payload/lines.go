package payload

import (
	"strings"
	"unicode"

	"github.com/memcore/memcore/internal/markdown/fence"
	"github.com/memcore/memcore/internal/text/lazy"
)

const (
	// minWidth is the shortest line of base64, without its last: PEM has 64, MIME 76.
	minWidth = 56
	minLines = 3
	// maxRows is how many rows of numbers people read. Of more, sampleRows stay.
	maxRows    = 20
	sampleRows = 3
	// minDrawing is the fewest lines of a drawing.
	minDrawing = 60
)

// bareLine removes what may surround a line of base64, and returns where it begins.
func bareLine(line string) (bare string, from int) {
	bare = strings.TrimLeft(line, " \t>\"'`")
	from = len(line) - len(bare)
	return strings.TrimRight(bare, " \t\r\"'`,;\\"), from
}

// base64Lines is a text in base64 of several lines, with at most one blank line between two.
type base64Lines struct {
	shape       shape
	start, stop int
	width       int // of all lines but the last
	lines       int
	blank       int // lines since the last one
	closed      bool
}

func (b *base64Lines) line(f *finder, line string, at int) {
	bare, from := bareLine(line)
	if bare == "" {
		if b.blank++; b.blank > 1 {
			b.end(f)
		}
		return
	}
	body := strings.TrimRight(bare, "=")
	isCode := len(body) > 0
	for i := 0; i < len(body) && isCode; i++ {
		isCode = isBase64(body[i])
	}
	switch {
	case !isCode, b.closed, b.lines > 0 && len(bare) > b.width, b.lines == 1 && len(bare) < b.width, len(bare) < b.width && isWord(bare):
		b.end(f)
	}
	if !isCode || b.lines == 0 && (len(bare) < minWidth || len(body) < len(bare)) {
		return
	}
	if b.lines == 0 {
		b.start, b.width = at+from, len(bare)
	}
	for i := range len(body) {
		b.shape.add(body[i])
	}
	b.lines++
	b.blank = 0
	b.stop = at + from + len(bare)
	b.closed = len(bare) < b.width || len(body) < len(bare)
}

// isWord tells a word that follows from the last line.
func isWord(s string) bool {
	rest := s[1:]
	return strings.ToLower(rest) == rest && !strings.ContainsAny(rest, "0123456789+/=") || strings.ToUpper(s) == s && !strings.ContainsAny(s, "0123456789+/=")
}

func (b *base64Lines) end(f *finder) {
	if b.lines >= minLines && b.shape.random() {
		f.add(b.start, b.stop)
	}
	*b = base64Lines{}
}

// armour is a key, certificate or message between -----BEGIN and -----END (RFC 7468, RFC 9580).
type armour struct {
	open        bool
	start, stop int
}

var armourHeader = lazy.Regexp(`^[A-Za-z-]+: \S`)

func (a *armour) line(f *finder, line string, at int) {
	bare, from := bareLine(line)
	switch {
	case strings.HasPrefix(bare, "-----BEGIN ") && strings.HasSuffix(bare, "-----"):
		*a = armour{open: true, start: -1}
	case !a.open || bare == "" || armourHeader().MatchString(bare):
	case strings.HasPrefix(bare, "-----END "):
		if a.start >= 0 {
			f.add(a.start, a.stop)
		}
		a.open = false
	case strings.ContainsFunc(bare, func(r rune) bool { return r != '=' && (r >= 0x80 || !isBase64(byte(r))) }):
		a.open = false // an example of what stands there
	default:
		if a.start < 0 {
			a.start = at + from
		}
		a.stop = at + from + len(bare)
	}
}

// numberRows is a run of lines without words.
type numberRows struct {
	rows        int
	start, stop int // of what is left out
}

func (n *numberRows) line(f *finder, line string, at int) {
	digits, ok := numbersOnly(line)
	switch {
	case !ok:
		n.end(f)
	case digits:
		if n.rows++; n.rows == sampleRows+1 {
			n.start = at + len(line) - len(strings.TrimLeft(line, " \t>"))
		}
		n.stop = at + len(strings.TrimRight(line, " \t\r"))
	}
}

func (n *numberRows) end(f *finder) {
	if n.rows > maxRows && n.stop-n.start >= minRun {
		f.add(n.start, n.stop)
	}
	*n = numberRows{}
}

var (
	jsonKey = lazy.Regexp(`^[\s>]*"[^"\\]{1,64}"\s*:`)
	hexDump = lazy.Regexp(`^[\s>]*[0-9a-fA-F]{4,16}:?\s+(?:[0-9a-fA-F]{2,8}\s+){4}`)
)

// numbersOnly reports whether a line has no word, and whether it has a number. A blank line is not
// ok.
func numbersOnly(line string) (digits, ok bool) {
	if len(line) > 1<<10 {
		return false, false // of its own
	}
	marks := false
	before := ' '
	for i, r := range line {
		switch {
		case unicode.IsDigit(r):
			digits = true
		case strings.ContainsRune("eExTZ", r) && unicode.IsDigit(before) && (i+1 == len(line) || strings.IndexByte("0123456789+- |,", line[i+1]) >= 0):
		case unicode.IsLetter(r), r == '`', r == '~':
			isDump := strings.ContainsRune("abcdefABCDEF", r) && hexDump().MatchString(line)
			return isDump, isDump
		default:
			marks = marks || !unicode.IsSpace(r)
		}
		before = r
	}
	return digits, digits || marks
}

// drawing is fenced JSON of shapes: few names, again and again, with numbers.
type drawing struct {
	fence       fence.Fence
	start, stop int
	lines       int
	numbers     int // lines
	wordless    int // lines with a number, a colour, null or brackets
	named       int
	names       map[string]bool
}

func (d *drawing) line(f *finder, line string, at int) {
	was := d.fence.Open()
	next, _ := d.fence.Next(strings.TrimLeft(line, " \t>"))
	switch {
	case next.Open() && !was:
		*d = drawing{fence: next, start: -1, names: map[string]bool{}}
	case was && !next.Open():
		if d.lines >= minDrawing && d.isDrawn() {
			f.add(d.start, d.stop)
		}
		*d = drawing{}
	case was:
		d.inside(line, at)
	}
}

func (d *drawing) isDrawn() bool {
	return 3*d.numbers > d.lines && 5*d.wordless > 3*d.lines && 5*len(d.names) < d.named && 2*d.named > d.lines
}

func (d *drawing) inside(line string, at int) {
	trimmed := strings.TrimSpace(line)
	if trimmed == "" {
		return
	}
	if d.start < 0 {
		d.start = at + len(line) - len(strings.TrimLeft(line, " \t>"))
	}
	d.stop = at + len(strings.TrimRight(line, " \t\r"))
	d.lines++
	if name := jsonKey().FindString(line); name != "" {
		d.named++
		d.names[strings.TrimSpace(name)] = true
		trimmed = strings.TrimSpace(line[len(name):])
	}
	digits, ok := numbersOnly(trimmed)
	if digits && ok {
		d.numbers++
	}
	if ok || strings.HasPrefix(trimmed, `"#`) || strings.HasPrefix(trimmed, "null") {
		d.wordless++
	}
}
