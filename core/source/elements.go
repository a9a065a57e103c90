package source

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// elements are the objects of a JSON array of any length. A broken one costs only itself: reading
// goes on at the next object with the keys of an element.
type elements struct {
	// marks are keys of an element as they are written, such as `"uuid"`. Only elements have the
	// first.
	marks []string
	// at is the place of an element in the text, in bytes.
	take func(number int, at int64, value []byte)
	lose func(number int, at int64, why string)
	// below means that the array is a part of what is read.
	below bool

	number int // of elements so far
	lost   bool
	closed bool // the array has ended
}

// maxElement bounds an element, and what is held of an array behind a broken one.
const maxElement = 256 << 20

// betweenElements are bytes that stand between elements, also where two arrays meet.
const betweenElements = " \t\r\n,[]\ufeff"

// read reads an array. The error is that of reading, or ctx's.
func (e *elements) read(ctx context.Context, in io.Reader) error {
	text := bufio.NewReader(in)
	begin := int64(0)
	if head, _ := text.Peek(len(byteOrderMark)); bytes.Equal(head, byteOrderMark) {
		n, _ := text.Discard(len(head))
		begin = int64(n)
	}
	limit := &io.LimitedReader{R: text, N: maxElement}
	d := json.NewDecoder(limit)
	for open, err := d.Token(); err == nil && open == json.Delim('[') && d.More(); {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		limit.N = maxElement
		var value json.RawMessage
		if d.Decode(&value) != nil {
			break
		}
		e.number++
		if at := begin + d.InputOffset() - int64(len(value)); value[0] == '{' {
			e.take(e.number, at, value)
		} else {
			e.lose(e.number, at, "")
		}
	}
	at := begin + d.InputOffset()
	if limit.N <= 0 {
		e.lost = true
		e.lose(e.number+1, at, fmt.Sprintf("longer than %d MB; what follows is not read", maxElement>>20))
		return nil
	}
	limit.N = maxElement
	rest, err := io.ReadAll(io.MultiReader(d.Buffered(), limit))
	if err != nil {
		return err
	}
	return e.resume(ctx, rest, at)
}

// resume reads elements in a text behind which nothing else is known, at a place of the whole.
func (e *elements) resume(ctx context.Context, text []byte, place int64) error {
	e.lost = e.below
	var tries tries
	for at := 0; ctx.Err() == nil; {
		rest := bytes.TrimLeft(text[at:], betweenElements)
		e.closed = e.closed || bytes.IndexByte(text[at:len(text)-len(rest)], ']') >= 0
		if at = len(text) - len(rest); len(rest) == 0 {
			return nil
		}
		if tries.exhausted() {
			e.lose(e.number+1, place+int64(at), "behind too much that is broken, and not read")
			return nil
		}
		value, n := tries.object(rest)
		switch {
		case n > 0 && (!e.lost || e.isElement(value)):
			e.number++
			e.take(e.number, place+int64(at), value)
			if e.lost = e.below; bytes.Count(value, []byte(e.marks[0])) > 1 { // it was cut off, and took in others
				e.lost, n = true, 1
			}
			at += n
		case n > 0: // a part of what is broken
			at += n
		default:
			if begin := bytes.TrimLeft(rest[1:], betweenElements); !e.lost || rest[0] == '{' && bytes.HasPrefix(begin, []byte(e.marks[0])) {
				e.number++
				e.lose(e.number, place+int64(at), "")
			}
			e.lost = true
			next := bytes.IndexByte(rest[1:], '{')
			if next < 0 {
				return nil
			}
			at += 1 + next
		}
	}
	return ctx.Err()
}

// isElement reports whether an object has all marks.
func (e *elements) isElement(value []byte) bool {
	var members map[string]json.RawMessage
	_ = json.Unmarshal(value, &members) // it is JSON
	for _, mark := range e.marks {
		if _, ok := members[strings.Trim(mark, `"`)]; !ok {
			return false
		}
	}
	return true
}
