package source

import (
	"bufio"
	"bytes"
	"cmp"
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
		facts.sniffed = sniff(ctx, in, document, wantCwd)
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

// A sniffed log says what it is.
type sniffed struct {
	format string // name of a format, or ""
	cwd    string // working directory of the session, or ""
	branch string // of the repository there, or ""
}

// sniff returns a log's format and, if wanted, where it began.
func sniff(ctx context.Context, in *bufio.Reader, document, wantCwd bool) (log sniffed) {
	if head, _ := in.Peek(len(byteOrderMark)); bytes.Equal(head, byteOrderMark) {
		_, _ = in.Discard(len(byteOrderMark))
	}
	if document {
		return sniffDocument(in, wantCwd)
	}
	s := skimmer{in: in, lines: true}
	for records := 0; !s.ended && ctx.Err() == nil; records++ {
		if log.format == "" && s.read >= headBytes || records >= sniffRecords && s.read >= sniffBytes {
			break
		}
		f := s.record()
		if log.format == "" {
			log.format = recognise(f)
		}
		if log.take(f); log.isComplete(wantCwd) {
			break
		}
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

// sniffDocument is quick, since JSON documents are rarely logs.
func sniffDocument(in *bufio.Reader, wantCwd bool) (log sniffed) {
	head, _ := in.Peek(headBytes)
	if !bytes.Contains(head, []byte(`"messages"`)) && !bytes.Contains(head, []byte(`"role"`)) {
		return sniffed{}
	}
	s := skimmer{in: in, enough: func(f fields) bool {
		if !f.holdMessages() {
			return false
		}
		log.format = recognise(f)
		log.take(f)
		return log.isComplete(wantCwd)
	}}
	f := s.record()
	if !f.holdMessages() {
		return sniffed{}
	}
	log.format = recognise(f)
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
