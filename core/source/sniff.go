package source

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/memcore/memcore/internal/safefile"
	"github.com/memcore/memcore/internal/text/charset"
)

// Bounds of what is read of a log to find its format and its working directory. A record is read to
// its end, however long it is, since a first message with pictures can stand before both.
const (
	headBytes    = 32 << 10 // the first record of a known format begins in them
	sniffRecords = 256      // the working directory stands in them,
	sniffBytes   = 1 << 20  // or in those that begin in these
	sniffLimit   = 64 << 20 // of a log whose working directory does not matter
)

const unknownFormat = "no known conversation format"

// noFolder is the reason to skip a log that may be of any project.
const noFolder = "no record says in which folder the session ran, so it is of no known project"

// examine finds the format of a log.
func (f *Folder) examine(ctx context.Context, path string, info fs.FileInfo) fileFacts {
	facts := fileFacts{fileState: stateOf(info)}
	if info.Size() == 0 {
		return facts
	}
	document := !isLines(path)
	file, _, err := safefile.OpenPath(path)
	if err != nil {
		facts.reason, facts.passing = "cannot be read: "+cause(err), true
		return facts
	}
	defer file.Close()
	facts.sniffed, err = sniffLog(ctx, file, info.Size(), path, f.options.SessionsOf != nil)
	found, _ := formatNamed(facts.format)
	facts.passing = err != nil || found.beside != nil
	if found.beside != nil && f.options.SessionsOf != nil {
		facts.cwd = cmp.Or(found.beside(path).cwd, facts.cwd)
	}
	switch {
	case err != nil:
		facts.reason = "cannot be read: " + cause(err)
	case facts.format == "" && !document: // other JSON documents are no logs
		facts.reason = unknownFormat
	case facts.format != "" && !found.export && (document || found.read != nil) && info.Size() > f.maxJSONLog:
		facts.reason, facts.tooLarge = tooLarge(info.Size(), f.maxJSONLog), true
	}
	return facts
}

// sniffLog sniffs an open file from its beginning. It leaves out NUL bytes, as a crash of a file
// system leaves them, and unpacks a log that is packed.
func sniffLog(ctx context.Context, file logBytes, size int64, path string, wantCwd bool) (log sniffed, err error) {
	var text io.ReadCloser
	if isArchive(path) {
		var head []byte
		head, err = archiveHead(file, size)
		text = io.NopCloser(bytes.NewReader(head))
	} else {
		text, err = newLogFile(file, size, path).from(ctx, 0)
	}
	if err != nil {
		return sniffed{}, err
	}
	defer text.Close()
	in := bufio.NewReaderSize(&withoutNULs{Reader: limited(text, !isLines(path), wantCwd)}, headBytes)
	if _, err := in.Peek(1); err != nil && err != io.EOF {
		return sniffed{}, err
	}
	return sniff(ctx, in, path, wantCwd), nil
}

// withoutNULs leaves out the NUL bytes of a text.
type withoutNULs struct {
	io.Reader
	dropped bool
}

func (r *withoutNULs) Read(p []byte) (n int, err error) {
	for n == 0 && err == nil && len(p) > 0 {
		n, err = r.Reader.Read(p)
		rest := charset.DropNULs(p[:n])
		r.dropped = r.dropped || len(rest) < n
		n = len(rest)
	}
	return n, err
}

// A sniffed log says what it is.
type sniffed struct {
	format string // name of a format, or ""
	cwd    string // working directory of the session, or ""
	branch string // of the repository there, or ""
	copyOf string // as Document has it
}

// sniff returns a log's format and, if wanted, where it began.
func sniff(ctx context.Context, in *bufio.Reader, path string, wantCwd bool) (log sniffed) {
	if head, _ := in.Peek(len(byteOrderMark)); bytes.Equal(head, byteOrderMark) {
		_, _ = in.Discard(len(byteOrderMark))
	}
	head, _ := in.Peek(headBytes)
	candidates := candidatesFor(path, head)
	if isMarkdown(path) {
		if i := slices.IndexFunc(candidates, func(f format) bool { return f.sniff == nil && f.marked(head) }); i >= 0 {
			log.format = candidates[i].name
			if copyOf := candidates[i].copyOf; copyOf != nil {
				log.copyOf = copyOf(head)
			}
		}
		return log
	}
	if !isLines(path) {
		return sniffDocument(in, candidates, wantCwd)
	}
	s := skimmer{in: in, lines: true}
	partial := ""
	for records := 0; !s.ended && ctx.Err() == nil; records++ {
		if log.format == "" && s.read >= headBytes || records >= sniffRecords && s.read >= sniffBytes {
			break
		}
		f := s.record()
		if log.format == "" {
			name := recognise(f, candidates)
			if s.whole { // half a record of one format may look like one of another
				log.format = name
			}
			partial = cmp.Or(partial, name)
		}
		if log.take(f); log.isComplete(wantCwd) {
			break
		}
	}
	if log.format == "" || log.format == formats[len(formats)-1].name { // the least specific
		log.format = cmp.Or(partial, log.format)
	}
	return log
}

// take takes from a record where the session began.
func (log *sniffed) take(f fields) {
	if log.cwd = f.cwd(); log.cwd != "" {
		log.branch = cmp.Or(f["gitBranch"], f["payload.git.branch"])
	}
}

// isComplete reports whether further records say nothing more.
func (log *sniffed) isComplete(wantCwd bool) bool {
	return log.format != "" && (log.cwd != "" || !wantCwd || !namesFolder(log.format))
}

// documentMarks are keys of which a document that is a log has one.
var documentMarks = []string{`"messages"`, `"role"`, `"mapping"`, `"chat_messages"`, `"requests"`, `"session_id"`}

// sniffDocument is quick, since JSON documents are rarely logs.
func sniffDocument(in *bufio.Reader, candidates []format, wantCwd bool) (log sniffed) {
	head, _ := in.Peek(headBytes)
	head = bytes.Clone(head)        // the buffer goes on
	isOwned := len(candidates) == 1 // by the file's name
	var start shortener
	if start.add(head); !isOwned && !start.inString && !slices.ContainsFunc(documentMarks, func(mark string) bool { return bytes.Contains(head, []byte(mark)) }) {
		return sniffed{}
	}
	s := skimmer{in: in, enough: func(f fields) bool {
		if !f.holdMessages() && f["requests"] != "[" {
			return false
		}
		log.format = recognise(f, candidates)
		log.take(f)
		return log.isComplete(wantCwd)
	}}
	f := s.record()
	if !f.mayHoldMessages() {
		return sniffed{}
	}
	if log.format = ""; f.holdMessages() || f["requests"] == "[" {
		log.format = recognise(f, candidates)
	}
	if log.format == "" {
		log.format = recogniseLater(head, candidates)
	}
	if i := slices.IndexFunc(candidates, func(f format) bool { return f.export && f.marked(head) }); log.format == "" && i >= 0 {
		log.format = candidates[i].name // its first conversation is broken, or longer than the head
	}
	log.take(f)
	return log
}

// limited bounds how much is read of a log. Most files beside a project's documents are no logs.
func limited(file io.Reader, document, wantCwd bool) io.Reader {
	switch {
	case wantCwd:
		return file
	case document:
		return io.LimitReader(file, sniffBytes)
	}
	return io.LimitReader(file, sniffLimit)
}

// namesFolder reports whether records of a format say in which folder the session ran.
func namesFolder(format string) bool {
	f, ok := formatNamed(format)
	return !ok || !f.homeless
}

// recogniseLater finds the format by the first message that shows it, if those before it are
// broken.
func recogniseLater(head []byte, candidates []format) string {
	at := 0
	if first(head) == '{' {
		at = bytes.Index(head, []byte(`"messages"`))
	}
	begin := bytes.IndexByte(head[max(at, 0):], '[')
	if at < 0 || begin < 0 {
		return ""
	}
	d, tries := jsonLog{text: head, at: max(at, 0) + begin + 1}, tries{}
	before := slices.Clip(head[:d.at]) // what the document says first of itself
	for range maxSniffed {
		if d.next(" \t\r\n,]}") == 0 { // brackets may be those of what is broken
			return ""
		}
		if value, n := tries.object(head[d.at:]); n > 0 {
			if name := recognise(fieldsOf(append(before, value...)), candidates); name != "" {
				return name
			}
			d.at += n
		} else if _, ok := d.value(); !ok { // go on in what is broken
			next := bytes.IndexByte(head[d.at+1:], '{')
			if next < 0 || tries.exhausted() {
				return ""
			}
			d.at += 1 + next
		}
	}
	return ""
}

// maxSniffed bounds the values that are looked at for a message.
const maxSniffed = 1000

// candidatesFor returns the formats that a file may have, by its name and marks.
func candidatesFor(path string, head []byte) []format {
	owns := func(f format) bool { return f.owns != nil && f.owns(path) }
	if i := slices.IndexFunc(formats, owns); i >= 0 {
		return formats[i : i+1]
	}
	return slices.DeleteFunc(slices.Clone(formats), func(f format) bool {
		return f.owns != nil && (f.sniff == nil || !f.marked(head))
	})
}

// marked reports whether a log begins as one of the format does.
func (f format) marked(head []byte) bool {
	return slices.ContainsFunc(f.marks, func(mark string) bool { return bytes.Contains(head, []byte(mark)) })
}

func recognise(f fields, candidates []format) string {
	for _, format := range candidates {
		if format.sniff(f) {
			return format.name
		}
	}
	return ""
}

// readHead returns the beginning of a file.
func readHead(path string) ([]byte, error) {
	file, _, err := safefile.OpenPath(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	head := make([]byte, headBytes)
	n, err := io.ReadFull(file, head)
	if err == io.ErrUnexpectedEOF || err == io.EOF {
		err = nil
	}
	return bytes.TrimPrefix(head[:n], byteOrderMark), err
}

// fields are the first levels of a record; other values than strings and numbers are "{", "[" or
// "bool". Names are like "payload.type", or "messages[].role" for an array's first element.
type fields map[string]string

func (f fields) has(names ...string) bool {
	for _, name := range names {
		if _, ok := f[name]; !ok {
			return false
		}
	}
	return true
}

// holdMessages reports whether a document is or has messages.
func (f fields) holdMessages() bool {
	return f[""] == "[" && f["[]"] == "{" || f["messages"] == "[" && (f["messages[]"] == "{" || f.has("sessionId", "projectHash"))
}

// mayHoldMessages reports whether a document has a list, whose first element may be broken.
func (f fields) mayHoldMessages() bool {
	return f[""] == "[" || f["messages"] == "[" || f["requests"] == "["
}

// cwd returns the working directory that a record names, or "".
func (f fields) cwd() string {
	for _, name := range []string{"cwd", "payload.cwd", "data.context.cwd"} {
		if cwd := f[name]; cwd != "" {
			return cwd
		}
	}
	if early := f["content[].text"]; strings.HasPrefix(early, "<environment_context>") { // of Codex in 2025
		cwd, _ := tagged(early, "cwd")
		return cwd
	}
	return ""
}
