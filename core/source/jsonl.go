package source

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/klauspost/compress/zstd"

	"github.com/memcore/memcore/internal/text/charset"
)

const (
	// maxLogLine bounds a line without the middle of its long strings.
	maxLogLine = 16 << 20
	// maxHeld bounds the text of the turns of one reading: then Content.More is set.
	maxHeld = 32 << 20
	// prefixBytes is how much before a Position must be unchanged.
	prefixBytes = 1024
)

// Reasons for skipping a line of any format, or a part of it.
const (
	notJSON     = "not JSON"
	lineTooLong = "line longer than 16 MB, images and other long strings not counted"
	textTooLong = "text longer than 256 KB, whose middle is left out"
	notUTF8     = "characters that are not UTF-8, replaced"
	hasNUL      = "NUL bytes, left out"

	unpackedTooLong = "the rest of a packed log of more than 512 MB"
)

// readConversation goes on, or starts again if the file was rewritten. It stops when the turns take
// more than limit bytes.
func readConversation(ctx context.Context, file logBytes, size int64, doc Document, from Position, limit int) (Content, error) {
	f, ok := formatNamed(doc.Format)
	if !ok {
		return Content{}, fmt.Errorf("unknown format %q", doc.Format)
	}
	if f.read != nil {
		c := &conversation{progress: progress{session: sessionOf(doc)}}
		if err := f.read(ctx, c, file, size, doc.name()); err != nil {
			return Content{}, err
		}
		return Content{Turns: c.finished(), Agent: f.agent, From: 1, Unknown: c.unknown, Skipped: c.skipped, SkippedAt: c.skippedAt}, nil
	}
	if isJSON(doc.name()) {
		return readJSONLog(ctx, file, doc.File, f, sessionOf(doc))
	}
	log := newLogFile(file, size, doc.name())
	if !log.fits(from) {
		from = Position{}
	}
	c := &conversation{name: doc.name(), file: doc.File, limit: limit}
	if from.Offset > 0 {
		c.progress = restore(from.State)
	}
	if err := c.readFrom(ctx, log, f, doc, from); err != nil {
		return Content{}, err
	}
	if c.agent && !c.start.agent && from.Offset > 0 && !f.agent { // earlier turns are an agent's, too
		c, from = &conversation{name: doc.name(), file: doc.File, limit: limit, progress: progress{agent: true}}, Position{}
		if err := c.readFrom(ctx, log, f, doc, from); err != nil {
			return Content{}, err
		}
	}
	content := Content{Turns: c.finished(), Agent: c.agent || f.agent, From: from.Line + 1, More: c.more, Unknown: c.unknown, Skipped: c.skipped, SkippedAt: c.skippedAt}
	if content.Resume = log.position(c.resume()); log.wide {
		content.Encoding = charset.UTF16
	}
	return content, nil
}

func (c *conversation) readFrom(ctx context.Context, log logFile, f format, doc Document, from Position) error {
	if c.session == "" {
		c.session = sessionOf(doc)
	}
	if f.beside != nil && doc.File != "" {
		c.beside = f.beside(doc.File)
		if from.Offset == 0 {
			c.session, c.time = cmp.Or(c.beside.session, c.session), c.beside.time
		}
	}
	c.start = mark{offset: from.Offset, line: from.Line, progress: c.progress}
	return c.readLines(ctx, log, f)
}

// sessionOf names the session of a log after its folder or its file.
func sessionOf(doc Document) string {
	if doc.Session != "" {
		return doc.Session
	}
	name := filepath.Base(doc.name())
	if isPacked(name) {
		name = strings.TrimSuffix(name, filepath.Ext(name))
	}
	name = strings.TrimSuffix(name, filepath.Ext(name))
	if name == "messages" {
		return filepath.Base(filepath.Dir(doc.name()))
	}
	return name
}

// readLines parses the lines from c.start to the last whole line, or until it holds enough.
func (c *conversation) readLines(ctx context.Context, log logFile, f format) error {
	text, err := log.from(ctx, c.start.offset)
	if err != nil {
		return err
	}
	defer text.Close()
	lines := lineReader{from: bufio.NewReaderSize(text, 1<<18), offset: c.start.offset}
	for number := c.start.line + 1; ; number++ {
		if number%256 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		line, err := lines.next()
		switch {
		case errors.Is(err, io.EOF):
			if log.packed && lines.offset >= maxUnpacked {
				c.skip(number, unpackedTooLong)
			}
			return ctx.Err()
		case errors.Is(err, errLongLine):
			c.skip(number, lineTooLong)
			continue
		case err != nil:
			return err
		}
		c.takeLine(f, line, number, lines)
		if c.limit > 0 && c.held > c.limit && c.resume().offset > c.start.offset {
			c.more = true
			return nil
		}
	}
}

// takeLine parses the records of a line, mostly one.
func (c *conversation) takeLine(f format, line []byte, number int, lines lineReader) {
	if lines.nul || bytes.IndexByte(line, 0) >= 0 {
		line = charset.DropNULs(line)
		if c.skip(number, hasNUL); len(line) == 0 {
			return
		}
	}
	if lines.cut {
		c.skip(number, textTooLong)
	}
	if line = bytes.TrimSpace(bytes.TrimPrefix(line, byteOrderMark)); len(line) == 0 {
		return
	}
	if !utf8.Valid(line) {
		c.skip(number, notUTF8)
	}
	r := record{line: number, endLine: number, json: line}
	c.begins(r, lines.start)
	here := c.here
	reason := f.parse(c, r)
	if reason == notJSON {
		var lost bool
		for _, one := range c.tries.wholeRecords(f, line, &lost) {
			r.json, c.here = one, here
			if reason := f.parse(c, r); reason != "" {
				c.skip(number, reason)
			}
		}
		if !lost {
			reason = "" // all of it was read
		}
	}
	if reason != "" {
		c.skip(number, reason)
	}
}

// wholeRecords returns the records of a line that is not one: two agents wrote at once, or one was
// killed while it wrote and went on. lost is set if a part is none.
func (t *tries) wholeRecords(f format, line []byte, lost *bool) (records [][]byte) {
	key := line // up to its first key, as records of one program begin
	if quotes := bytes.SplitAfterN(line, []byte{'"'}, 3); len(quotes) == 3 {
		key = line[:len(quotes[0])+len(quotes[1])]
	}
	for begins, field := true, false; len(line) > 0; { // a record begins here, unless it is broken
		one, n := t.object(line)
		if n > 0 && (begins || (!field || bytes.HasPrefix(line, key)) && endsRecord(line[n:]) && (f.sniff(fieldsOf(one)) || makesTurn(f, one))) {
			records, begins = append(records, one), true
			line = bytes.TrimSpace(line[n:])
			continue
		}
		*lost, begins = true, false
		next := bytes.Index(line[1:], []byte(`{"`))
		if next < 0 || t.exhausted() {
			break
		}
		field = line[next] == ':' // of what is broken
		line = line[1+next:]
	}
	return records
}

// endsRecord reports whether no bracket of an object follows, in which the record would stand.
func endsRecord(rest []byte) bool {
	rest = bytes.TrimSpace(rest)
	return len(rest) == 0 || rest[0] == '{'
}

// makesTurn reports whether a value is a message.
func makesTurn(f format, value []byte) bool {
	alone := &conversation{}
	return f.parse(alone, record{line: 1, endLine: 1, json: value}) == "" && len(alone.turns) > 0
}

// tries bounds the bytes of a log that are read to find where a value begins behind what is broken.
type tries struct{ spent int }

// maxTried is some seconds of reading.
const maxTried = 256 << 20

func (t *tries) exhausted() bool { return t.spent > maxTried }

// object returns the object that a text begins with, and its length; 0 if there is none.
func (t *tries) object(text []byte) (value json.RawMessage, length int) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	err := decoder.Decode(&value)
	length = int(decoder.InputOffset())
	if broken := (*json.SyntaxError)(nil); errors.As(err, &broken) {
		t.spent += int(broken.Offset)
	} else if err != nil {
		t.spent += len(text)
	} else if t.spent += length; first(value) == '{' {
		return value, length
	}
	return nil, 0
}

var errLongLine = errors.New("line too long")

// A lineReader reads lines. In one that is longer than its buffer, long strings lose their middle.
type lineReader struct {
	from   *bufio.Reader
	start  int64 // where the last line began
	offset int64 // where the next line begins
	long   shortener
	cut    bool // the last line has lost text
	nul    bool // the last line had NUL bytes
}

// next returns a line, valid until the next call, errLongLine or io.EOF. An unfinished last line
// must be a whole object.
func (l *lineReader) next() ([]byte, error) {
	l.start, l.cut, l.nul = l.offset, false, false
	line, err := l.from.ReadSlice('\n')
	l.offset += int64(len(line))
	if errors.Is(err, bufio.ErrBufferFull) {
		line, err = l.rest(line)
	}
	if err == nil {
		return line, nil
	}
	if whole := bytes.Trim(line, "\x00 \t\r\n"); errors.Is(err, io.EOF) && len(whole) > 0 && whole[0] == '{' && json.Valid(whole) {
		return line, nil
	}
	return nil, err
}

// rest reads the rest of a line that began with part.
func (l *lineReader) rest(part []byte) ([]byte, error) {
	l.long.reset()
	l.add(part)
	for {
		part, err := l.from.ReadSlice('\n')
		l.offset += int64(len(part))
		l.add(part)
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		l.cut = l.long.lost
		if l.long.full && err == nil {
			err = errLongLine
		}
		if l.long.full {
			return nil, err
		}
		return l.long.text, err
	}
}

// add adds a part of a long line, without its NUL bytes: they can be many.
func (l *lineReader) add(part []byte) {
	rest := charset.DropNULs(part)
	l.nul = l.nul || len(rest) < len(part)
	l.long.add(rest)
}

// logBytes are those of a log, in a file or in memory.
type logBytes interface {
	io.Reader
	io.Seeker
	io.ReaderAt
}

// A logFile is a log of lines. One that is packed (.jsonl.zst) or in UTF-16 is read from its
// beginning each time; offsets are those of its text.
type logFile struct {
	logBytes
	size   int64
	packed bool
	wide   bool // in UTF-16, as a shell of Windows redirects
}

func newLogFile(file logBytes, size int64, path string) logFile {
	log := logFile{logBytes: file, size: size, packed: isPacked(path)}
	if !log.packed {
		head := make([]byte, 4)
		n, _ := file.ReadAt(head, 0) // an error is met again
		log.wide = charset.BeginsUTF16(head[:n])
	}
	return log
}

func isPacked(name string) bool { return strings.HasSuffix(strings.ToLower(name), ".jsonl.zst") }

// from returns the text from an offset on.
func (l logFile) from(ctx context.Context, offset int64) (io.ReadCloser, error) {
	if !l.packed && !l.wide {
		_, err := l.Seek(offset, io.SeekStart)
		return io.NopCloser(l.logBytes), err
	}
	_, err := l.Seek(0, io.SeekStart)
	if err != nil {
		return nil, err
	}
	var text io.ReadCloser
	left := int64(math.MaxInt64)
	if l.wide {
		text = io.NopCloser(charset.UTF16Reader(l.logBytes))
	} else {
		unpacked, err := zstd.NewReader(l.logBytes, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, err
		}
		text, left = unpacked.IOReadCloser(), maxUnpacked-offset
	}
	for offset > 0 && err == nil && ctx.Err() == nil {
		var n int64
		n, err = io.CopyN(io.Discard, text, min(offset, 16<<20))
		offset -= n
	}
	if err = cmp.Or(err, ctx.Err()); err != nil {
		text.Close()
		return nil, fmt.Errorf("unpack: %w", err)
	}
	return struct {
		io.Reader
		io.Closer
	}{io.LimitReader(text, left), text}, nil
}

// maxUnpacked bounds the text of a packed log, of which 100 KB may hold gigabytes.
var maxUnpacked int64 = 512 << 20

// maxWindow bounds the memory of unpacking. zstd --ultra --long=27 makes the largest window that it
// unpacks without being told to.
const maxWindow = 128 << 20

func (l logFile) position(at mark) Position {
	if at.offset == 0 {
		return Position{}
	}
	prefix, err := l.prefix(at.offset)
	if err != nil {
		return Position{}
	}
	return Position{Offset: at.offset, Line: at.line, Prefix: prefix, State: at.state()}
}

// fits reports whether the bytes before a Position are unchanged.
func (l logFile) fits(p Position) bool {
	if p.Offset <= 0 || p.Offset > l.size && !l.packed && !l.wide || p.Line <= 0 {
		return false
	}
	prefix, err := l.prefix(p.Offset)
	return err == nil && prefix == p.Prefix
}

// prefix returns a hash of the bytes before an offset; of a packed log, which does not grow, of its
// end and size.
func (l logFile) prefix(offset int64) (string, error) {
	name := ""
	if l.packed || l.wide {
		offset, name = l.size, fmt.Sprintf("packed %d", l.size)
	}
	before := make([]byte, min(offset, prefixBytes))
	if _, err := l.ReadAt(before, offset-int64(len(before))); err != nil {
		return "", err
	}
	sum := sha256.Sum256(append(before, name...))
	return hex.EncodeToString(sum[:16]), nil
}
