package source

import (
	"bytes"
	"encoding/json"
	"io"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/memcore/memcore/internal/safefile"
)

// headBytes are read to find a file's format.
const headBytes = 32 << 10

const unknownFormat = "no known conversation format"

// examine finds the format of a log.
func (f *Folder) examine(path string, info fs.FileInfo) fileFacts {
	facts := fileFacts{info: info}
	if info.Size() == 0 {
		return facts
	}
	document := strings.EqualFold(filepath.Ext(path), ".json")
	limit := f.maxLog
	if document {
		limit = min(limit, maxJSONLog)
	}
	head, err := readHead(path)
	switch {
	case err != nil:
		facts.reason = "cannot be read: " + cause(err)
		return facts
	case bytes.IndexByte(head, 0) >= 0:
		facts.reason = errBinary.Error()
	default:
		facts.format, facts.cwd = sniff(head, document, len(f.options.SessionsIn) > 0)
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

// sniff returns a log's format and, if wanted, working directory.
func sniff(head []byte, document, wantCwd bool) (name, cwd string) {
	if document {
		return sniffDocument(head)
	}
	for line := range bytes.Lines(head) {
		f := peek(line)
		if name == "" {
			name = recognise(f)
		}
		if cwd = f.cwd(); name != "" && (cwd != "" || !wantCwd) {
			return name, cwd
		}
	}
	return name, environmentCwd(head)
}

// sniffDocument is quick, since most JSON documents are no logs.
func sniffDocument(head []byte) (name, cwd string) {
	if !bytes.Contains(head, []byte(`"messages"`)) && !bytes.Contains(head, []byte(`"role"`)) {
		return "", ""
	}
	f := peek(head)
	if !f.holdMessages() {
		return "", ""
	}
	return recognise(f), f["cwd"]
}

func recognise(f fields) string {
	for _, format := range formats {
		if format.sniff(f) {
			return format.name
		}
	}
	return ""
}

// environmentCwd reads an early Codex session's first message.
func environmentCwd(head []byte) string {
	_, rest, ok := bytes.Cut(head, []byte("<cwd>"))
	if !ok {
		return ""
	}
	cwd, _, ok := bytes.Cut(rest, []byte("</cwd>"))
	if !ok {
		return ""
	}
	return unquote([]byte(`"` + string(cwd) + `"`))
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

func (f fields) cwd() string {
	if cwd := f["cwd"]; cwd != "" {
		return cwd
	}
	return f["payload.cwd"]
}

// peek reads the fields of a value that may be truncated.
func peek(text []byte) fields {
	f := fields{}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	f.value(decoder, "", 0)
	return f
}

// value reports whether the value was complete.
func (f fields) value(decoder *json.Decoder, name string, depth int) bool {
	token, err := decoder.Token()
	if err != nil {
		return false
	}
	delim, ok := token.(json.Delim)
	if !ok {
		f.set(name, token, depth)
		return true
	}
	f.set(name, delim.String(), depth)
	if depth >= maxPeekDepth {
		return skipRest(decoder)
	}
	for i := 0; decoder.More(); i++ {
		inner := name + "[]"
		if delim == '{' {
			key, err := decoder.Token()
			if err != nil {
				return false
			}
			inner = strings.TrimPrefix(name+"."+key.(string), ".")
		}
		below := depth + 1
		if delim == '[' && i > 0 {
			below = maxPeekDepth + 1
		}
		if !f.value(decoder, inner, below) {
			return false
		}
	}
	_, err = decoder.Token()
	return err == nil
}

// skipRest reports whether an array or object has an end.
func skipRest(decoder *json.Decoder) bool {
	for open := 1; open > 0; {
		token, err := decoder.Token()
		if err != nil {
			return false
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			open++
		case json.Delim('}'), json.Delim(']'):
			open--
		}
	}
	return true
}

// maxPeekDepth is that of messages[].role.
const maxPeekDepth = 3

func (f fields) set(name string, value any, depth int) {
	if depth > maxPeekDepth {
		return
	}
	switch v := value.(type) {
	case string:
		f[name] = v
	case json.Number:
		f[name] = v.String()
	case nil:
		f[name] = ""
	default:
		f[name] = "bool"
	}
}
