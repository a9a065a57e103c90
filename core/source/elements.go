package source

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"

	"github.com/memcore/memcore/internal/text/charset"
)

// An elementReader reads the elements of a JSON array, of any length, one after the other. A broken
// one costs only itself: reading goes on at the next object with the keys of an element. One that
// is cut off may take in those that follow. So until an element ends, all objects in it with these
// keys are remembered, and each byte is read about once, whatever is broken.
type elementReader struct {
	in io.Reader
	// marks are keys of an element as they are written, such as `"uuid"`. Only elements have the
	// first.
	marks []string
	// at is the place of an element in the text, in bytes without NULs. value is valid until take
	// returns.
	take func(number int, at int64, value []byte)
	lose func(number int, at int64, why string)
	// below means that the array is a part of what is read.
	below bool

	window []byte // text from base on
	base   int64
	at     int // what is read of window
	ended  bool
	err    error

	open   []bracket
	inside []span // elements in what is open, as they begin
	twice  int    // bytes of those that have others within them
	quote  int    // where the last token began if it was a string, else 0
	number int    // of elements so far
	lost   bool   // between a broken element and the next whole one
	closed bool   // the array has ended
	nul    bool   // there were NUL bytes
}

// A bracket is an open array or object.
type bracket struct {
	kind  byte // '[' or '{'
	begin int  // in window
	want  want
	marks []string // that are not met yet
}

// want is what a bracket may have next.
type want int

const (
	wantFirst want = iota // a key or a value, or the end
	wantKey
	wantColon
	wantValue
	wantComma // or the end
)

type span struct{ begin, end int }

const (
	// maxElement bounds what is held of an array.
	maxElement = 256 << 20
	maxNested  = 10_000
)

var errElement = errors.New("not JSON")

// read reads the whole text. The error is that of reading, or ctx's.
func (e *elementReader) read(ctx context.Context) error {
	e.lost = e.below
	for i := 0; ; i++ {
		if i%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if len(e.open) == 0 {
			e.forget()
			if e.lost {
				e.skipTo('{')
			}
		}
		c, ok := e.token()
		switch {
		case len(e.open) == 0 && !ok:
			return e.err
		case len(e.open) == 0:
			e.between(c)
		case !ok || e.step(c) != nil:
			e.broken()
		}
	}
}

// forget drops what is read.
func (e *elementReader) forget() {
	if e.at > len(e.window)/2 {
		e.base += int64(e.at)
		e.window = e.window[:copy(e.window, e.window[e.at:])]
		e.at = 0
	}
	e.quote = 0
}

// more reads more of the text.
func (e *elementReader) more() bool {
	if e.ended || e.isTooLong() {
		return false
	}
	const piece = 64 << 10
	e.window = slices.Grow(e.window, piece)
	part := e.window[len(e.window) : len(e.window)+piece]
	n, err := e.in.Read(part)
	rest := charset.DropNULs(part[:n])
	e.nul = e.nul || len(rest) < n
	e.window = e.window[:len(e.window)+len(rest)]
	if err != nil {
		e.ended = true
		if !errors.Is(err, io.EOF) {
			e.err = err
		}
	}
	return true
}

// token returns the next byte that is no white space.
func (e *elementReader) token() (byte, bool) {
	for {
		for ; e.at < len(e.window); e.at++ {
			switch c := e.window[e.at]; c {
			case ' ', '\t', '\r', '\n':
			default:
				return c, true
			}
		}
		if !e.more() {
			return 0, false
		}
	}
}

// skipTo skips to a byte, or to the end.
func (e *elementReader) skipTo(c byte) {
	for {
		n := bytes.IndexByte(e.window[e.at:], c)
		if n >= 0 {
			e.at += n
			return
		}
		e.at = len(e.window)
		if e.forget(); !e.more() {
			return
		}
	}
}

// between reads what is no part of an object.
func (e *elementReader) between(c byte) {
	begin := e.at
	var err error
	switch {
	case c == '{':
		e.push(c)
		return
	case c == '[' || c == ']' || c == ',':
		e.closed = e.closed || c == ']'
		e.at++
		return
	case c == byteOrderMark[0] && e.skipMark():
		return
	case c == '"':
		_, err = e.text()
	default:
		err = e.literal()
	}
	if e.drop(begin); err != nil {
		e.lost, e.at = true, begin+1
	}
}

// skipMark skips a byte order mark.
func (e *elementReader) skipMark() bool {
	for e.at+len(byteOrderMark) > len(e.window) && e.more() {
	}
	is := bytes.HasPrefix(e.window[e.at:], byteOrderMark)
	if is {
		e.at += len(byteOrderMark)
	}
	return is
}

func (e *elementReader) push(c byte) {
	e.open = append(e.open, bracket{kind: c, begin: e.at, marks: e.marks})
	e.at++
	e.quote = 0
}

// step reads a token in the innermost bracket.
func (e *elementReader) step(c byte) error {
	in := &e.open[len(e.open)-1]
	switch {
	case (c == '}' || c == ']') && c == in.kind+2 && (in.want == wantFirst || in.want == wantComma): // as ASCII has them
		e.at++
		e.quote = 0
		e.pop()
	case in.want == wantComma && c == ',':
		e.at++
		e.quote = 0
		if in.want = wantValue; in.kind == '{' {
			in.want = wantKey
		}
	case in.want == wantColon && c == ':':
		e.at++
		e.quote = 0
		in.want = wantValue
	case in.want == wantColon || in.want == wantComma:
		return errElement
	case in.kind == '{' && in.want != wantValue:
		if c != '"' {
			return errElement
		}
		key, err := e.text()
		if err != nil {
			return err
		}
		if i := slices.Index(in.marks, string(key)); i >= 0 {
			in.marks = slices.Concat(in.marks[:i], in.marks[i+1:])
		}
		in.want = wantColon
	default:
		in.want = wantComma
		switch c {
		case '"':
			_, err := e.text()
			return err
		case '{', '[':
			if len(e.open) >= maxNested {
				return errElement
			}
			e.push(c)
		default:
			e.quote = 0
			return e.literal()
		}
	}
	return nil
}

// text reads a string, with its quotes.
func (e *elementReader) text() ([]byte, error) {
	e.quote = e.at
	for i := e.at + 1; ; i++ {
		for i >= len(e.window) {
			if !e.more() {
				return nil, errElement
			}
		}
		switch c := e.window[i]; {
		case c == '\\':
			i++
		case c == '"':
			e.at = i + 1
			return e.window[e.quote:e.at], nil
		case c < ' ':
			return nil, errElement
		}
	}
}

// literal reads a number, true, false or null.
func (e *elementReader) literal() error {
	for n := 1; ; n++ {
		for e.at+n >= len(e.window) && e.more() {
		}
		if raw := e.window[e.at:]; n >= len(raw) || bytes.IndexByte([]byte(",]}:\"[{ \t\r\n"), raw[n]) >= 0 {
			if raw = raw[:min(n, len(raw))]; !json.Valid(raw) {
				return errElement
			}
			e.at += n
			return nil
		}
	}
}

// pop closes the innermost bracket.
func (e *elementReader) pop() {
	last := e.open[len(e.open)-1]
	e.open = e.open[:len(e.open)-1]
	here := span{last.begin, e.at}
	isElement := last.kind == '{' && len(last.marks) == 0
	switch {
	case len(e.open) > 0 && isElement:
		e.remember(here)
	case len(e.open) > 0:
	case isElement || !e.lost:
		e.give(here)
		e.inside = nil
	default: // a part of what is broken
		e.giveInside(len(e.window))
	}
}

// remember remembers an element within what is open. If it has others within it, it may have been
// cut off and have taken them in.
func (e *elementReader) remember(s span) {
	n := len(e.inside)
	for n > 0 && e.inside[n-1].begin > s.begin {
		n--
	}
	if n < len(e.inside) {
		if e.twice += s.end - s.begin; e.twice > maxElement {
			e.inside = e.inside[:n]
		}
	}
	e.inside = slices.Insert(e.inside, n, s)
}

func (e *elementReader) give(s span) {
	e.number++
	e.lost = e.below
	e.take(e.number, e.base+int64(s.begin), e.window[s.begin:s.end])
}

// giveInside gives those elements that begin before a place.
func (e *elementReader) giveInside(before int) {
	for len(e.inside) > 0 && e.inside[0].begin < before {
		e.give(e.inside[0])
		e.inside = e.inside[1:]
	}
}

// drop notes that an element is lost.
func (e *elementReader) drop(begin int) {
	e.number++
	why := ""
	if e.isTooLong() {
		why = "longer than 256 MB"
	}
	e.lose(e.number, e.base+int64(begin), why)
}

func (e *elementReader) isTooLong() bool {
	return len(e.open) > 0 && len(e.window)-e.open[0].begin > maxElement
}

// broken leaves all that is open, in which something is no JSON, too long or cut off. It gives the
// elements in it, and goes on behind them, or in a string whose end may be the beginning of
// another.
func (e *elementReader) broken() {
	at := e.at
	if e.quote > 0 {
		at = e.quote + 1
	}
	end := 0 // of the elements in it
	for _, one := range e.inside {
		end = max(end, one.end)
	}
	for i, b := range e.open {
		isElement := b.kind == '{' && !slices.Contains(b.marks, e.marks[0])
		isLast := end > 0 && b.begin >= end && b.kind == '{'
		if isLast && e.isTooLong() {
			at = b.begin // it can be whole
			break
		}
		// Another may be a part of what is named already.
		if isElement || isLast || i == 0 && !e.lost {
			e.giveInside(b.begin)
			e.drop(b.begin)
		}
		if isLast {
			break
		}
	}
	e.giveInside(len(e.window))
	e.lost, e.open, e.at, e.quote = true, e.open[:0], at, 0
}
