package source

import (
	"bytes"
	"encoding/json"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/memcore/memcore/internal/beneath"
	"github.com/memcore/memcore/internal/filetime"
)

// headBytes is how much of a file is read to tell its format.
const headBytes = 32 << 10

const unknownFormat = "no known conversation format"

// examine finds out what a log is.
func (f *Folder) examine(path string, info fs.FileInfo) fileFacts {
	facts := fileFacts{size: info.Size(), modTime: info.ModTime(), changed: filetime.Changed(info)}
	if info.Size() == 0 {
		return facts // nothing has been said yet
	}
	document := strings.EqualFold(filepath.Ext(path), ".json")
	limit := f.options.MaxLog
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
		facts.format, facts.cwd = sniff(head, document, f.options.SessionsIn != "")
	}
	if document && facts.format == "" { // some JSON file; there are many
		facts.reason = ""
	} else if facts.format == "" && facts.reason == "" {
		facts.reason = unknownFormat
	} else if facts.format != "" && info.Size() > limit {
		facts.reason = tooLarge(info.Size(), limit)
	}
	return facts
}

func readHead(path string) ([]byte, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|beneath.Nonblock, 0)
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

// sniff returns the format of a log that begins with head and, if wanted, where its session ran.
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

// sniffDocument is sniff for a JSON document. Projects have many that are no conversations, so it
// looks for a word before it parses.
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
			return format.name()
		}
	}
	return ""
}

// environmentCwd finds where an early Codex session ran, which only its first message tells.
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

// fields are what a record holds on its first two levels: strings and numbers as they are, other
// values as "{", "[" and so on. Nested fields are named as in "payload.type"; of an array only the first element
// is told, as in "messages[].role".
type fields map[string]string

func (f fields) has(names ...string) bool {
	for _, name := range names {
		if _, ok := f[name]; !ok {
			return false
		}
	}
	return true
}

// holdMessages tells whether a document is an array of messages or an object with one.
func (f fields) holdMessages() bool {
	return f[""] == "[" && f["[]"] == "{" || f["messages"] == "[" && (f["messages[]"] == "{" || f.has("sessionId", "projectHash"))
}

func (f fields) cwd() string {
	if cwd := f["cwd"]; cwd != "" {
		return cwd
	}
	return f["payload.cwd"]
}

// peek reads the fields of a value that may be cut off.
func peek(text []byte) fields {
	f := fields{}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	f.value(decoder, "", 0)
	return f
}

// value reads one value and says whether there is more to come.
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
		return pass(decoder) // nothing in it is told, however deep it is
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
			below = maxPeekDepth + 1 // only the first element is told
		}
		if !f.value(decoder, inner, below) {
			return false
		}
	}
	_, err = decoder.Token()
	return err == nil
}

// pass reads the rest of an array or object and says whether there is more to come.
func pass(decoder *json.Decoder) bool {
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

// maxPeekDepth allows for messages[].role.
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
