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

// A document is a JSON file with comments and trailing commas. Changes keep every other byte;
// hujson.Patch would lose some comments.
type document struct {
	mark string // the byte order mark, if there is one
	root hujson.Value
	text string // without mark
	// emptied means that taking out entries has left nothing in the file.
	emptied bool
}

const blanks = " \t\r\n"

// maxBrackets bounds the nesting, since the parser is recursive.
const maxBrackets = 100_000

// parseDocument takes white space as an empty object.
func parseDocument(text string) (*document, error) {
	d := &document{}
	if rest, ok := strings.CutPrefix(text, "\ufeff"); ok {
		d.mark, text = "\ufeff", rest
	}
	d.text = text
	if strings.Trim(text, blanks) == "" {
		text = "{}\n"
	}
	if strings.Count(text, "{")+strings.Count(text, "[") > maxBrackets {
		return nil, fmt.Errorf("it has more than %d objects and lists", maxBrackets)
	}
	var err error
	if d.root, err = hujson.Parse([]byte(text)); err != nil {
		return nil, fmt.Errorf("it is not valid JSON: %w", err)
	}
	if d.root.Value.Kind() != '{' {
		return nil, errors.New("it is not a JSON object")
	}
	return d, nil
}

// String returns the text of the file.
func (d *document) String() string { return d.mark + d.text }

// changed brings text in step with root.
func (d *document) changed() {
	d.root.UpdateOffsets()
	d.text = d.root.String()
}

// A path has keys and indexes.
type path []any

func (p path) to(more ...any) path { return append(slices.Clone(p), more...) }

func (p path) String() string {
	var steps []string
	for _, step := range p {
		steps = append(steps, fmt.Sprint(step))
	}
	return strings.Join(steps, "/")
}

// An item is a member or an element.
type item struct {
	key    string
	before *hujson.Extra // between the brace or comma before it and its name or value
	value  *hujson.Value // its AfterExtra is nil if no comma follows the last item
}

func items(v *hujson.Value) (all []item) {
	switch t := v.Value.(type) {
	case *hujson.Object:
		for i := range t.Members {
			m := &t.Members[i]
			all = append(all, item{m.Name.Value.(hujson.Literal).String(), &m.Name.BeforeExtra, &m.Value})
		}
	case *hujson.Array:
		for i := range t.Elements {
			all = append(all, item{"", &t.Elements[i].BeforeExtra, &t.Elements[i]})
		}
	}
	return all
}

// end returns what stands before the closing brace.
func end(v *hujson.Value) *hujson.Extra {
	if list, ok := v.Value.(*hujson.Array); ok {
		return &list.AfterExtra
	}
	return &v.Value.(*hujson.Object).AfterExtra
}

// at returns a value, or nil. Of equal keys the last counts.
func (d *document) at(p path) *hujson.Value {
	v := &d.root
	for _, step := range p {
		i := index(v, step)
		if i < 0 {
			return nil
		}
		v = items(v)[i].value
	}
	return v
}

// index returns the place of an item, or -1.
func index(v *hujson.Value, step any) int {
	all := items(v)
	if i, ok := step.(int); ok {
		if v.Value.Kind() == '[' && i < len(all) {
			return i
		}
		return -1
	}
	if v.Value.Kind() == '{' {
		for i, one := range slices.Backward(all) {
			if one.key == step {
				return i
			}
		}
	}
	return -1
}

// list returns the list at a path, or nil.
func (d *document) list(p path) *hujson.Value {
	if v := d.at(p); v != nil && v.Value.Kind() == '[' {
		return v
	}
	return nil
}

// stringAt returns the string at a path, or "".
func (d *document) stringAt(p path) string {
	if v := d.at(p); v != nil && v.Value.Kind() == '"' {
		return v.Value.(hujson.Literal).String()
	}
	return ""
}

func (d *document) setString(p path, text string) {
	d.at(p).Value = hujson.Literal(marshal(text, "", ""))
	d.changed()
}

// add appends a member or, with key "", an element.
func (d *document) add(p path, key string, value any) {
	v := d.at(p)
	all, last := items(v), end(v)
	style := layout{&d.root, d.root.String()}
	indent := style.indentIn(v)
	added, _ := hujson.Parse([]byte(style.render(value, indent)))
	var before hujson.Extra
	if len(all) > 0 { // behind the comments after the last item
		comments := bytes.TrimRight(*last, blanks)
		before = slices.Concat(comments, []byte(style.lineBreak()+indent))
		*last = (*last)[len(comments):]
		added.AfterExtra = all[len(all)-1].value.AfterExtra // a comma at the end stays the style
		if added.AfterExtra != nil {
			added.AfterExtra = hujson.Extra{}
		}
	} else if comments := bytes.TrimRight(*last, blanks); len(comments) == 0 {
		before = []byte(style.lineBreak() + indent)
		*last = []byte(style.lineBreak() + style.indentOf(v))
	}
	switch t := v.Value.(type) {
	case *hujson.Object:
		added.BeforeExtra = hujson.Extra(" ")
		name := hujson.Value{BeforeExtra: before, Value: hujson.Literal(marshal(key, "", ""))}
		t.Members = append(t.Members, hujson.ObjectMember{Name: name, Value: added})
	case *hujson.Array:
		added.BeforeExtra = before
		t.Elements = append(t.Elements, added)
	}
	d.changed()
}

// takeOut removes a value, and the objects and lists around it that are empty then, unless they are
// among those to keep.
func (d *document) takeOut(p path, keep []string) {
	if d.at(p) == nil {
		return
	}
	for ; len(p) > 0; p = p[:len(p)-1] {
		above := p[:len(p)-1]
		holder := d.at(above)
		d.remove(holder, index(holder, p[len(p)-1]))
		rest := end(holder)
		if len(items(holder)) > 0 || len(bytes.Trim(*rest, blanks)) > 0 {
			return
		}
		if *rest = nil; len(above) > 0 && slices.Contains(keep, above.String()) {
			d.changed()
			return
		}
	}
	d.changed()
	around := string(d.root.BeforeExtra) + string(d.root.AfterExtra)
	d.emptied = strings.Trim(around, blanks) == "" // there is no comment either
}

// remove takes out white space and a comma too. Comments stay.
func (d *document) remove(holder *hujson.Value, i int) {
	all := items(holder)
	it, last := all[i], i == len(all)-1
	next := end(holder)
	if !last {
		next = all[i+1].before
	}
	after := slices.Concat(it.value.AfterExtra, *next)
	kept := bytes.TrimRight(*it.before, blanks)
	if endsInLineComment(string(*it.before)) && !bytes.HasPrefix(bytes.TrimLeft(after, " \t\r"), []byte("\n")) {
		kept = *it.before // the line break ends a comment
	}
	after = slices.Concat(kept, after)
	if last && i > 0 {
		previous := &all[i-1].value.AfterExtra
		if it.value.AfterExtra == nil { // the comma before goes
			after = slices.Concat(*previous, after)
			*previous = nil
		} else if *previous == nil {
			*previous = hujson.Extra{}
		}
	}
	*next = after
	switch t := holder.Value.(type) {
	case *hujson.Object:
		t.Members = slices.Delete(t.Members, i, i+1)
	case *hujson.Array:
		t.Elements = slices.Delete(t.Elements, i, i+1)
	}
	d.changed()
}

// endsInLineComment reports whether a line break must follow.
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

// A layout is a document's lines.
type layout struct {
	root *hujson.Value
	text string
}

// render indents all lines but the first.
func (l layout) render(value any, indent string) string {
	if l.oneLine() {
		text := marshal(value, "", "\t")
		return strings.ReplaceAll(strings.ReplaceAll(text, "\t", ""), "\n", " ")
	}
	return strings.ReplaceAll(marshal(value, indent, l.unit()), "\n", l.lineBreak())
}

func (l layout) oneLine() bool {
	return len(items(l.root)) > 0 && !strings.Contains(l.text[l.root.StartOffset:l.root.EndOffset], "\n")
}

// lineBreak separates lines; a space if there is one line.
func (l layout) lineBreak() string {
	if l.oneLine() {
		return " "
	}
	return lineBreakOf(l.text)
}

func lineBreakOf(text string) string {
	if at := strings.IndexByte(text, '\n'); at > 0 && text[at-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

// unit returns one step of indentation.
func (l layout) unit() string {
	if all := items(l.root); len(all) > 0 {
		if indent, ok := indentOf(all[0]); ok && indent != "" {
			return indent
		}
	}
	return "  "
}

// indentIn returns the indentation of items of a value.
func (l layout) indentIn(v *hujson.Value) string {
	if l.oneLine() {
		return ""
	}
	if all := items(v); len(all) > 0 {
		if indent, ok := indentOf(all[0]); ok {
			return indent
		}
	}
	return l.indentOf(v) + l.unit()
}

// indentOf returns the indentation of the line that a value begins on.
func (l layout) indentOf(v *hujson.Value) string {
	if l.oneLine() {
		return ""
	}
	before := l.text[:v.StartOffset]
	return leadingBlanks(before[strings.LastIndexByte(before, '\n')+1:])
}

// indentOf returns the indentation of an item that begins a line.
func indentOf(it item) (string, bool) {
	before := string(*it.before)
	at := strings.LastIndexByte(before, '\n')
	return leadingBlanks(before[at+1:]), at >= 0
}

func leadingBlanks(line string) string {
	return line[:len(line)-len(strings.TrimLeft(line, " \t"))]
}

// An object is a JSON object with ordered members.
type object []member

type member struct {
	key   string
	value any
}

// MarshalJSON implements json.Marshaler.
func (o object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	for i, m := range o {
		b.WriteByte("{,"[min(i, 1)])
		b.WriteString(marshal(m.key, "", "") + ":" + marshal(m.value, "", ""))
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// marshal does not escape for HTML. Its values always encode.
func marshal(v any, prefix, indent string) string {
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent(prefix, indent)
	_ = encoder.Encode(v)
	return strings.TrimSuffix(b.String(), "\n")
}
