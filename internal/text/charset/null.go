package charset

import (
	"bytes"
	"errors"
	"slices"
)

// ErrBinary is the error of a file that is no text.
var ErrBinary = errors.New("not text: it contains NUL bytes")

// leftOut stands for NUL bytes within a line of a text.
const leftOut = " […] "

// CutNULs returns a decoded text without its blocks of NUL bytes, which a crash of a file system
// leaves, and the line of the first; 0 if there are none. Where what they replaced may join two
// words, […] stands for it. The error is ErrBinary if the text is nothing without them, if they are
// all over it, or if it has many characters that no text has.
func CutNULs(text []byte) (rest []byte, line int, err error) {
	at := bytes.IndexByte(text, 0)
	if at < 0 {
		return text, 0, nil
	}
	line = 1 + bytes.Count(text[:at], []byte{'\n'})
	size := len(text) - bytes.Count(text, []byte{0})
	if !readsUTF8(text) || len(bytes.Trim(text, "\x00 \t\r\n")) == 0 {
		return nil, line, ErrBinary
	}
	blocks := 0
	for rest = make([]byte, 0, size); at >= 0; at = bytes.IndexByte(text, 0) {
		rest = append(rest, text[:at]...)
		text = bytes.TrimLeft(text[at:], "\x00")
		if blocks++; !endsLine(rest) && len(text) > 0 && text[0] != '\n' && text[0] != '\r' {
			rest = append(rest, leftOut...)
		}
	}
	if blocks > min(1+size/16, 8+size/8192) {
		return nil, line, ErrBinary
	}
	return append(rest, text...), line, nil
}

func endsLine(text []byte) bool { return len(text) == 0 || text[len(text)-1] == '\n' }

// DropNULs removes all NUL bytes from a record of a log, in place: what they have replaced is no
// JSON in any case.
func DropNULs(text []byte) []byte {
	if bytes.IndexByte(text, 0) < 0 {
		return text
	}
	return slices.DeleteFunc(text, func(b byte) bool { return b == 0 })
}
