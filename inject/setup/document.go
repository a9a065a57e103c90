package setup

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// A document is a JSON file, comments and trailing commas allowed, that is changed by replacing pieces of its text.
//
// What was put in has to come out again without a trace. A comma, a line break and an indentation can be told from what was there, but
// not whether an empty object was there or was made for us. So one that was there is filled right behind its opening brace, and
// one that is made begins with white space; taking out removes only those that it empties and that begin so. A client that
// formats its file anew takes this mark with it, and then an empty object more is removed, which means nothing.
type document struct {
	text string // without byte order mark
	mark string // the byte order mark, if there is one
	root hujson.Value
	// made says that there was no document, or none any more: text is "" or white space.
	made bool
	// exists says that there is a file, if only an empty one. What is made begins with a line break in it, which tells it from a file of ours.
	exists bool
	// emptied says that nothing is left of a document that was made.
	emptied bool
}

// An object is a JSON object in the order in which it is written.
type object []member

type member struct {
	key   string
	value any
}

func (o object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	for i, m := range o {
		b.WriteByte("{,"[min(i, 1)])
		key, err := marshal(m.key, "", "")
		if err != nil {
			return nil, err
		}
		value, err := marshal(m.value, "", "")
		if err != nil {
			return nil, err
		}
		b.WriteString(key + ":" + value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// marshal is json.MarshalIndent, without escapes that are only for HTML.
func marshal(v any, prefix, indent string) (string, error) {
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent(prefix, indent)
	err := encoder.Encode(v)
	return strings.TrimSuffix(b.String(), "\n"), err
}

const blanks = " \t\r\n"

func parseDocument(text string) (*document, error) {
	d := &document{text: text}
	if rest, ok := strings.CutPrefix(text, "\ufeff"); ok {
		d.mark, d.text = "\ufeff", rest
	}
	if strings.Trim(d.text, blanks) == "" {
		d.made = true
		return d, nil
	}
	if err := d.parse(); err != nil {
		return nil, fmt.Errorf("it is not valid JSON: %w", err)
	}
	if d.root.Value.Kind() != '{' {
		return nil, errors.New("it is not a JSON object")
	}
	return d, nil
}

// maxDepth is how deep values may be nested; the parser calls itself for each level.
const maxDepth = 1000

func (d *document) parse() (err error) {
	if depth(d.text) > maxDepth {
		return fmt.Errorf("it is nested deeper than %d levels", maxDepth)
	}
	d.root, err = hujson.Parse([]byte(d.text))
	return err
}

// String is the text of the file.
func (d *document) String() string { return d.mark + d.text }

// create makes a document where there was none.
func (d *document) create(root object) error {
	text, err := marshal(root, "", "  ")
	if err != nil {
		return err
	}
	if d.exists {
		d.text += "\n"
	}
	d.text += text + "\n"
	d.made = false
	return d.parse()
}

// A path leads to a value: keys of objects and indexes of lists.
type path []any

func (p path) to(more ...any) path { return append(slices.Clone(p), more...) }

// An item is a member of an object or an element of a list.
type item struct {
	start, end int // from its name on, if it has one
	key        string
	before     hujson.Extra // between the brace or comma before it and start
	after      hujson.Extra // between end and the comma after it, if there is one
	comma      bool
	value      hujson.Value
}

func items(v hujson.Value) []item {
	var all []item
	switch t := v.Value.(type) {
	case *hujson.Object:
		for _, m := range t.Members {
			name, _ := m.Name.Value.(hujson.Literal)
			all = append(all, item{m.Name.StartOffset, m.Value.EndOffset, name.String(), m.Name.BeforeExtra, m.Value.AfterExtra, m.Value.AfterExtra != nil, m.Value})
		}
	case *hujson.Array:
		for _, e := range t.Elements {
			all = append(all, item{e.StartOffset, e.EndOffset, "", e.BeforeExtra, e.AfterExtra, e.AfterExtra != nil, e})
		}
	}
	for i := range len(all) - 1 {
		all[i].comma = true // of the last one, the parser tells
	}
	return all
}

// at returns the value at a path. Of members with the same key the last one counts, as it does for those who read the file.
func (d *document) at(p path) (hujson.Value, bool) {
	v := d.root
	for _, step := range p {
		i := index(v, step)
		if i < 0 {
			return hujson.Value{}, false
		}
		v = items(v)[i].value
	}
	return v, !d.made
}

// index returns which item of a value a step of a path leads to, -1 if none.
func index(v hujson.Value, step any) int {
	if v.Value == nil {
		return -1
	}
	all := items(v)
	if i, ok := step.(int); ok {
		if v.Value.Kind() != '[' || i >= len(all) {
			return -1
		}
		return i
	}
	if v.Value.Kind() != '{' {
		return -1
	}
	for i, one := range slices.Backward(all) {
		if one.key == step {
			return i
		}
	}
	return -1
}

// stringAt returns the string at a path.
func (d *document) stringAt(p path) (string, bool) {
	v, ok := d.at(p)
	if !ok || v.Value.Kind() != '"' {
		return "", false
	}
	return v.Value.(hujson.Literal).String(), true
}

func (d *document) splice(start, end int, with string) {
	d.text = d.text[:start] + with + d.text[end:]
}

// replace puts another value in the place of the one at a path.
func (d *document) replace(p path, value any) error {
	v, _ := d.at(p)
	text, err := d.render(value, d.lineIndent(v.StartOffset))
	if err != nil {
		return err
	}
	d.splice(v.StartOffset, v.EndOffset, text)
	return d.parse()
}

// add puts a member (key is not "") or an element at the end of what is at a path.
func (d *document) add(p path, key string, value any) error {
	v, _ := d.at(p)
	indent := d.indentIn(v)
	text, err := d.render(value, indent)
	if err != nil {
		return err
	}
	if key != "" {
		name, err := marshal(key, "", "")
		if err != nil {
			return err
		}
		text = name + ": " + text
	}
	all := items(v)
	if len(all) == 0 {
		d.splice(v.StartOffset+1, v.StartOffset+1, text)
		return d.parse()
	}
	last, end := all[len(all)-1], v.EndOffset-1
	at := last.end + len(strings.TrimRight(d.text[last.end:end], blanks)) // after comments
	text = d.lineBreak() + indent + text
	if last.comma { // a comma is there, and stays the style
		d.splice(at, at, text+",")
		return d.parse()
	}
	d.splice(at, at, text)
	d.splice(last.end, last.end, ",")
	return d.parse()
}

// render writes a value whose lines but the first have an indentation.
func (d *document) render(value any, indent string) (string, error) {
	if d.oneLine() {
		text, err := marshal(value, "", "\t")
		return strings.ReplaceAll(strings.ReplaceAll(text, "\t", ""), "\n", " "), err
	}
	text, err := marshal(value, indent, d.unit())
	return strings.ReplaceAll(text, "\n", d.lineBreak()), err
}

func (d *document) oneLine() bool {
	return len(items(d.root)) > 0 && !strings.Contains(d.text[d.root.StartOffset:d.root.EndOffset], "\n")
}

// lineBreak separates our lines from others; in a document of one line a space does.
func (d *document) lineBreak() string {
	if d.oneLine() {
		return " "
	}
	if at := strings.IndexByte(d.text, '\n'); at > 0 && d.text[at-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

// unit is one step of indentation.
func (d *document) unit() string {
	if all := items(d.root); len(all) > 0 {
		if indent, ok := indentOf(all[0]); ok && indent != "" {
			return indent
		}
	}
	return "  "
}

// indentOf is the white space before an item that begins a line.
func indentOf(it item) (string, bool) {
	_, last, ok := cutLast(string(it.before), "\n")
	return last[:len(last)-len(strings.TrimLeft(last, " \t"))], ok
}

func cutLast(text, sep string) (before, after string, ok bool) {
	at := strings.LastIndex(text, sep)
	if at < 0 {
		return text, "", false
	}
	return text[:at], text[at+len(sep):], true
}

// indentIn is the indentation of what is added to a value.
func (d *document) indentIn(v hujson.Value) string {
	if d.oneLine() {
		return ""
	}
	if all := items(v); len(all) > 0 {
		if indent, ok := indentOf(all[0]); ok {
			return indent
		}
	}
	return d.lineIndent(v.StartOffset) + d.unit()
}

// lineIndent is the white space at the beginning of the line that a byte is in.
func (d *document) lineIndent(at int) string {
	line := d.text[strings.LastIndexByte(d.text[:at], '\n')+1 : at]
	return line[:len(line)-len(strings.TrimLeft(line, " \t"))]
}

// takeOut removes what is at a path, and what was made to hold it and is empty then.
func (d *document) takeOut(p path) error {
	for ; len(p) > 0; p = p[:len(p)-1] {
		holder, ok := d.at(p[:len(p)-1])
		if !ok || index(holder, p[len(p)-1]) < 0 {
			return nil
		}
		if !d.madeFor(holder) {
			return d.remove(holder, index(holder, p[len(p)-1]))
		}
	}
	if strings.Trim(d.text[:d.root.StartOffset], blanks) == "" && strings.Trim(d.text[d.root.EndOffset:], blanks) == "" {
		d.empty()
		return nil
	}
	return d.remove(d.root, 0) // there are comments around it
}

// empty takes out the whole of a document that was made.
func (d *document) empty() {
	d.emptied = d.root.StartOffset == 0 && d.mark == ""
	d.text = strings.TrimSuffix(d.text[:d.root.StartOffset], "\n")
	d.root, d.made = hujson.Value{}, true
}

// madeFor tells whether an object or list was made to hold its only item.
func (d *document) madeFor(holder hujson.Value) bool {
	all := items(holder)
	if len(all) != 1 || len(all[0].before) == 0 {
		return false
	}
	around := string(all[0].before) + d.text[all[0].end:holder.EndOffset-1]
	return strings.Trim(around, blanks+",") == "" && strings.IndexByte(blanks, d.text[holder.StartOffset+1]) >= 0
}

// remove takes one item out, with the white space before it and one comma.
func (d *document) remove(holder hujson.Value, i int) error {
	all := items(holder)
	it := all[i]
	start := it.start - len(it.before) + len(strings.TrimRight(string(it.before), blanks))
	if endsInLineComment(string(it.before)) && !strings.HasPrefix(strings.TrimLeft(d.text[it.end:], " \t\r,"), "\n") {
		start = it.start // the line break ends a comment
	}
	switch {
	case it.comma:
		comma := it.end + len(it.after)
		d.splice(comma, comma+1, "")
		d.splice(start, it.end, "")
	case i > 0:
		d.splice(start, it.end, "")
		comma := all[i-1].end + len(all[i-1].after)
		d.splice(comma, comma+1, "")
	default:
		d.splice(start, it.end, "")
	}
	return d.parse()
}

// endsInLineComment tells whether the last comment of those between two items needs a line break behind it.
func endsInLineComment(extra string) bool {
	line := false
	for extra = strings.TrimLeft(extra, blanks); extra != ""; extra = strings.TrimLeft(extra, blanks) {
		end := "*/"
		if line = strings.HasPrefix(extra, "//"); line {
			end = "\n"
		}
		_, extra, _ = strings.Cut(extra[2:], end)
	}
	return line
}

// depth is how deep a text nests objects and lists, not counting what stands in strings and comments.
func depth(text string) int {
	deepest, now := 0, 0
	for i := 0; i < len(text); i++ {
		switch rest := text[i:]; {
		case rest[0] == '{' || rest[0] == '[':
			now++
			deepest = max(deepest, now)
		case rest[0] == '}' || rest[0] == ']':
			now--
		case rest[0] == '"':
			for i++; i < len(text) && text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
		case strings.HasPrefix(rest, "//"):
			i += len(rest[:max(strings.IndexByte(rest, '\n'), 1)])
		case strings.HasPrefix(rest, "/*"):
			i += 2 + max(strings.Index(rest[2:], "*/"), 0) + 1
		}
	}
	return deepest
}
