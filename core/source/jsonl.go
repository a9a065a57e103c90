package source

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

const (
	// maxLogLine bounds parsed lines. Longer ones hold images or files.
	maxLogLine = 16 << 20
	// prefixBytes is how much before a Position must be unchanged.
	prefixBytes = 1024
)

// Reasons for skipping a line of any format.
const (
	notJSON     = "not JSON"
	lineTooLong = "line longer than 16 MB"
)

// readConversation goes on, or starts again if the file was rewritten.
func readConversation(ctx context.Context, file *os.File, size int64, doc Document, from Position) (Content, error) {
	f, ok := formatNamed(doc.Format)
	if !ok {
		return Content{}, fmt.Errorf("unknown format %q", doc.Format)
	}
	if strings.EqualFold(filepath.Ext(doc.File), ".json") {
		return readJSONLog(ctx, file, f, sessionOf(doc))
	}
	if !from.fits(file, size) {
		from = Position{}
	}
	c := &conversation{file: doc.File}
	if from.Offset > 0 {
		c.progress = restore(from.State)
	}
	if c.session == "" {
		c.session = sessionOf(doc)
	}
	c.start = mark{offset: from.Offset, line: from.Line, progress: c.progress}
	if err := c.readLines(ctx, file, f); err != nil {
		return Content{}, err
	}
	if c.agent && !c.start.agent && from.Offset > 0 && !f.agent {
		return readConversation(ctx, file, size, doc, Position{}) // earlier turns are an agent's, too
	}
	content := Content{Turns: c.finished(), Agent: c.agent || f.agent, From: from.Line + 1, Skipped: c.skipped}
	content.Resume = position(file, c.resume())
	return content, nil
}

// sessionOf names the session of a log after its folder or its file.
func sessionOf(doc Document) string {
	if doc.Session != "" {
		return doc.Session
	}
	name := strings.TrimSuffix(filepath.Base(doc.File), filepath.Ext(doc.File))
	if name == "messages" {
		return filepath.Base(filepath.Dir(doc.File))
	}
	return name
}

// readLines parses the lines from c.start to the last whole line.
func (c *conversation) readLines(ctx context.Context, file *os.File, f format) error {
	if _, err := file.Seek(c.start.offset, io.SeekStart); err != nil {
		return err
	}
	lines := lineReader{from: bufio.NewReaderSize(file, 1<<18), offset: c.start.offset}
	for number := c.start.line + 1; ; number++ {
		if number%256 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		line, err := lines.next()
		switch {
		case errors.Is(err, io.EOF):
			return ctx.Err()
		case errors.Is(err, errLongLine):
			c.skip(lineTooLong)
			continue
		case err != nil:
			return err
		}
		if number == 1 {
			line = bytes.TrimPrefix(line, byteOrderMark)
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			c.take(f, record{line: number, endLine: number, json: line}, lines.start)
		}
	}
}

var errLongLine = errors.New("line too long")

// A lineReader reads lines of bounded length.
type lineReader struct {
	from   *bufio.Reader
	start  int64 // where the last line began
	offset int64 // where the next line begins
	long   []byte
}

// next returns a line, valid until the next call, errLongLine or io.EOF. An unfinished last line
// must be a whole object.
func (l *lineReader) next() ([]byte, error) {
	l.start = l.offset
	line, err := l.from.ReadSlice('\n')
	l.offset += int64(len(line))
	if errors.Is(err, bufio.ErrBufferFull) {
		line, err = l.rest(line)
	}
	if err == nil {
		return line, nil
	}
	if whole := bytes.TrimSpace(line); errors.Is(err, io.EOF) && len(whole) > 0 && whole[0] == '{' && json.Valid(whole) {
		return line, nil
	}
	return nil, err
}

// rest reads the rest of a line that began with part.
func (l *lineReader) rest(part []byte) ([]byte, error) {
	l.long = append(l.long[:0], part...)
	for {
		part, err := l.from.ReadSlice('\n')
		l.offset += int64(len(part))
		if room := maxLogLine + 1 - len(l.long); len(part) > room {
			part = part[:room]
		}
		l.long = append(l.long, part...)
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case err == nil && len(l.long) > maxLogLine:
			return nil, errLongLine
		case len(l.long) > maxLogLine: // too long, and no end yet
			return nil, err
		default:
			return l.long, err
		}
	}
}

func position(file *os.File, at mark) Position {
	if at.offset == 0 {
		return Position{}
	}
	prefix, err := prefixHash(file, at.offset)
	if err != nil {
		return Position{}
	}
	return Position{Offset: at.offset, Line: at.line, Prefix: prefix, State: at.state()}
}

// fits reports whether the bytes before a Position are unchanged.
func (p Position) fits(file *os.File, size int64) bool {
	if p.Offset <= 0 || p.Offset > size || p.Line <= 0 {
		return false
	}
	prefix, err := prefixHash(file, p.Offset)
	return err == nil && prefix == p.Prefix
}

func prefixHash(file *os.File, offset int64) (string, error) {
	before := make([]byte, min(offset, prefixBytes))
	if _, err := file.ReadAt(before, offset-int64(len(before))); err != nil {
		return "", err
	}
	sum := sha256.Sum256(before)
	return hex.EncodeToString(sum[:16]), nil
}
