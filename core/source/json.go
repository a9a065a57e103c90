package source

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"unicode/utf8"

	"github.com/memcore/memcore/internal/text/charset"
)

// Reasons for skipping a part of a log in one JSON document.
const (
	cutOff     = "document is cut off or not JSON"
	brokenPart = "a part of the document is not JSON"
)

// readJSONLog reads an array, or an object's "messages". path is that of the file, or "".
func readJSONLog(ctx context.Context, file io.Reader, path string, f format, session string) (Content, error) {
	text, err := readDocument(ctx, file)
	if err != nil {
		return Content{}, err
	}
	c := &conversation{progress: progress{session: session}}
	if f.beside != nil && path != "" {
		c.beside = f.beside(path)
		c.session, c.time = cmp.Or(c.beside.session, session), c.beside.time
	}
	d := jsonLog{ctx: ctx, text: text, line: 1, flat: !bytes.ContainsRune(bytes.TrimSpace(text), '\n')}
	if nul := bytes.IndexByte(text, 0); nul >= 0 {
		c.skip(1+bytes.Count(text[:nul], []byte{'\n'}), hasNUL)
		d.text = charset.DropNULs(text)
	}
	d.read(c, f)
	d.readRest(c, f)
	if ctx.Err() != nil {
		return Content{}, ctx.Err()
	}
	return Content{Turns: c.finished(), Agent: c.agent || f.agent, From: 1, Unknown: c.unknown, Skipped: c.skipped, SkippedAt: c.skippedAt}, nil
}

// readDocument drops a byte order mark.
func readDocument(ctx context.Context, file io.Reader) ([]byte, error) {
	var text bytes.Buffer
	for {
		_, err := io.CopyN(&text, file, 1<<20)
		switch {
		case text.Len() > maxJSONLog:
			return nil, errors.New(tooLarge(int64(text.Len()), maxJSONLog))
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case errors.Is(err, io.EOF):
			all := text.Bytes()
			if charset.IsUTF16(all) { // else it is UTF-8, whatever one message is
				all, _ = charset.Decode(all)
			}
			return bytes.TrimPrefix(all, byteOrderMark), nil
		case err != nil:
			return nil, err
		}
	}
}

// A jsonLog walks a document and counts its lines. Of a document on a single line it counts the
// messages instead, because a line is what names a turn. What is broken costs only itself: reading
// goes on at the next message.
type jsonLog struct {
	ctx     context.Context
	text    []byte
	at      int // bytes that are read
	counted int // bytes whose lines are counted
	line    int // of the byte at counted
	flat    bool
}

func (d *jsonLog) read(c *conversation, f format) {
	switch d.next(" \t\r\n") {
	case 0: // an empty file is an empty conversation
	case '[':
		d.at++
		d.array(c, f)
	case '{':
		d.at++
		d.object(c, f)
	default:
		if _, ok := d.value(); !ok {
			c.skip(d.lineAt(d.at), cutOff)
		}
	}
}

// readRest reads the messages behind the end, which is that of one that is broken.
func (d *jsonLog) readRest(c *conversation, f format) {
	for d.next(" \t\r\n") != 0 && d.ctx.Err() == nil {
		c.skip(d.lineAt(d.at), brokenPart)
		if d.next(" \t\r\n,") != '{' && !d.findMessage(f, &c.tries) {
			return
		}
		d.array(c, f)
	}
}

// object reads the document. In all known logs, session and time precede the messages.
func (d *jsonLog) object(c *conversation, f format) {
	for {
		begin := d.at
		switch d.next(" \t\r\n,") {
		case '}':
			d.at++
			return
		case 0:
			c.skip(d.lineAt(begin), cutOff)
			return
		}
		var key string
		raw, ok := d.value()
		ok = ok && json.Unmarshal(raw, &key) == nil && d.next(" \t\r\n:") != 0
		if ok && key == "messages" && d.text[d.at] == '[' {
			d.at++
			d.array(c, f)
			continue
		}
		if ok {
			raw, ok = d.value()
		}
		if ok {
			c.header(key, raw)
			continue
		}
		c.skip(d.lineAt(begin), brokenPart)
		messages := bytes.Index(d.text[begin:], []byte(`"messages"`))
		if messages < 0 {
			return
		}
		if d.at = begin + messages; messages == 0 { // these are what is broken
			return
		}
	}
}

// header reads a field beside the messages.
func (c *conversation) header(key string, value json.RawMessage) {
	switch key {
	case "sessionId", "session_id", "conversation_id", "thread_id", "id":
		var id string
		if json.Unmarshal(value, &id) == nil && id != "" {
			c.session = id
		}
	case "startTime", "created_at", "createdAt", "create_time", "created", "timestamp":
		if at := parseTime(value); !at.IsZero() {
			c.time = at
		}
	}
}

// next skips the given characters and returns the byte after them; 0 at the end.
func (d *jsonLog) next(skip string) byte {
	rest := bytes.TrimLeft(d.text[d.at:], skip)
	if d.at = len(d.text) - len(rest); len(rest) == 0 {
		return 0
	}
	return rest[0]
}

// value reads a value; if it cannot, it stays before it.
func (d *jsonLog) value() (raw json.RawMessage, ok bool) {
	decoder := json.NewDecoder(bytes.NewReader(d.text[d.at:]))
	if decoder.Decode(&raw) != nil {
		return nil, false
	}
	d.at += int(decoder.InputOffset())
	return raw, true
}

// array reads the messages, up to its end.
func (d *jsonLog) array(c *conversation, f format) {
	var last jsonLog // before the last message
	for i := 0; d.ctx.Err() == nil; i++ {
		switch d.next(" \t\r\n,") {
		case ']':
			d.at++
			return
		case 0:
			c.skip(d.lineAt(d.at), cutOff)
			if last.text == nil || !last.findTakenIn(f, d.at) {
				return
			}
			*d, last = last, jsonLog{} // it was cut off, and took in those that follow
		}
		last = *d
		r := record{line: i + 1, endLine: i + 1, index: i}
		if !d.flat {
			r.line = d.lineAt(d.at)
		}
		value, ok := d.value()
		if ok {
			if !utf8.Valid(value) {
				c.skip(r.line, notUTF8)
			}
			if r.json = value; !d.flat {
				r.endLine = d.lineAt(d.at - 1)
			}
			c.take(f, r, 0)
			continue
		}
		c.skip(r.line, brokenPart)
		if !d.findMessage(f, &c.tries) {
			d.at = len(d.text)
			return
		}
	}
}

// findMessage goes to the next message after a broken one: an object that makes a turn, unlike
// those in a message, and is followed by another value or the end.
func (d *jsonLog) findMessage(f format, tries *tries) bool {
	for begin := d.at; !tries.exhausted() && d.ctx.Err() == nil; {
		next := bytes.IndexByte(d.text[begin+1:], '{')
		if next < 0 {
			return false
		}
		begin += 1 + next
		value, n := tries.object(d.text[begin:])
		if n == 0 {
			continue
		}
		d.at = begin + n
		after := d.next(" \t\r\n")
		if d.at = begin; (after == ',' || after == ']' || after == 0) && makesTurn(f, value) {
			return true
		}
	}
	return false
}

// findTakenIn goes to the first message within a whole one that ends at end: a message that was cut
// off takes those that follow into a list of its own. What lies deeper is what a tool was called
// with, or has answered, and may look like a message of the user.
func (d *jsonLog) findTakenIn(f format, end int) bool {
	depth, inList, quoted := 0, false, false
	for at := d.at; at < end; at++ {
		switch c := d.text[at]; {
		case quoted && c == '\\':
			at++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			if c == '{' && depth == 2 && inList {
				found := *d
				found.at = at
				if value, ok := found.value(); ok && makesTurn(f, value) {
					d.at = at
					return true
				}
			}
			if depth++; depth == 2 {
				inList = c == '['
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return false
}

// lineAt returns the line at offset. Offsets must not decrease.
func (d *jsonLog) lineAt(offset int) int {
	d.line += bytes.Count(d.text[d.counted:max(d.counted, offset)], []byte{'\n'})
	d.counted = max(d.counted, offset)
	return d.line
}
