package source

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"io/fs"
	"strings"

	"github.com/memcore/memcore/internal/safefile"
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
	facts := fileFacts{info: info}
	if info.Size() == 0 {
		return facts
	}
	document := isJSON(path)
	limit := f.maxLog
	if document {
		limit = min(limit, maxJSONLog)
	}
	file, _, err := safefile.OpenPath(path)
	if err != nil {
		facts.reason = "cannot be read: " + cause(err)
		return facts
	}
	defer file.Close()
	wantCwd := f.options.SessionsOf != nil
	in := bufio.NewReaderSize(limited(file, document, wantCwd), headBytes)
	head, err := in.Peek(headBytes)
	switch {
	case err != nil && err != io.EOF:
		facts.reason = "cannot be read: " + cause(err)
		return facts
	case bytes.IndexByte(head, 0) >= 0:
		facts.reason = errBinary.Error()
	default:
		facts.format, facts.cwd = sniff(ctx, in, document, wantCwd)
	}
	if document && facts.format == "" { // a JSON file that is no log
		facts.reason = ""
	} else if facts.format == "" && facts.reason == "" {
		facts.reason = unknownFormat
	} else if facts.format != "" && info.Size() > limit {
		facts.reason, facts.tooLarge = tooLarge(info.Size(), limit), true
	}
	return facts
}

// sniff returns a log's format and, if wanted, working directory.
func sniff(ctx context.Context, in *bufio.Reader, document, wantCwd bool) (name, cwd string) {
	if head, _ := in.Peek(len(byteOrderMark)); bytes.Equal(head, byteOrderMark) {
		_, _ = in.Discard(len(byteOrderMark))
	}
	if document {
		return sniffDocument(in, wantCwd)
	}
	s := skimmer{in: in, lines: true}
	for records := 0; !s.ended && ctx.Err() == nil; records++ {
		if name == "" && s.read >= headBytes || records >= sniffRecords && s.read >= sniffBytes {
			break
		}
		f := s.record()
		if name == "" {
			name = recognise(f)
		}
		if cwd = f.cwd(); name != "" && (cwd != "" || !wantCwd || !namesFolder(name)) {
			return name, cwd
		}
	}
	return name, ""
}

// sniffDocument is quick, since JSON documents are rarely logs.
func sniffDocument(in *bufio.Reader, wantCwd bool) (name, cwd string) {
	head, _ := in.Peek(headBytes)
	if !bytes.Contains(head, []byte(`"messages"`)) && !bytes.Contains(head, []byte(`"role"`)) {
		return "", ""
	}
	s := skimmer{in: in, enough: func(f fields) bool {
		if !f.holdMessages() {
			return false
		}
		name := recognise(f)
		return name != "" && (!wantCwd || f.cwd() != "" || !namesFolder(name))
	}}
	f := s.record()
	if !f.holdMessages() {
		return "", ""
	}
	return recognise(f), f.cwd()
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

func recognise(f fields) string {
	for _, format := range formats {
		if format.sniff(f) {
			return format.name
		}
	}
	return ""
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

// cwd returns the working directory that a record names, or "".
func (f fields) cwd() string {
	for _, name := range []string{"cwd", "payload.cwd"} {
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
