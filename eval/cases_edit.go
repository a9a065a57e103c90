package eval

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// CasesFile is the usual name of a workspace's cases.
const CasesFile = "memcore-eval.yaml"

// A Wish is what a person wants of the answer to a question.
type Wish string

// Wishes.
const (
	Come      Wish = "come"     // the expectation
	StayAway  Wish = "stayAway" // hits that meet the expectation
	NoneComes Wish = "nothing"  // no hit at all
)

var (
	// ErrWish means an unknown wish, or one that contradicts the case.
	ErrWish = errors.New("this cannot be a case")
	// ErrLayout means that a file cannot be edited without touching more of it.
	ErrLayout = errors.New("its cases are not a plain list; add the case with an editor")
)

// CaseOf returns the case of a question, or a new one.
func CaseOf(cases []Case, query string) Case {
	if i := caseAt(cases, query); i >= 0 {
		return cases[i]
	}
	return Case{Query: strings.TrimSpace(query)}
}

func caseAt(cases []Case, query string) int {
	return slices.IndexFunc(cases, func(c Case) bool { return plain(c.Query) == plain(query) })
}

// Wished returns the case with a wish. One for a hit replaces the opposite one.
func (c Case) Wished(w Wish, e Expectation) (Case, error) {
	switch {
	case w == NoneComes && len(c.Expect)+len(c.ExpectNot) > 0:
		return c, fmt.Errorf("%w: the case expects something; take that back first", ErrWish)
	case w == NoneComes:
		c.ExpectNothing = true
		return c, nil
	case e == Expectation{}:
		return c, fmt.Errorf("%w: want a path, a heading or a text", ErrWish)
	}
	c = c.Without(e)
	c.ExpectNothing = false
	switch w {
	case Come:
		c.Expect = append(c.Expect, e)
	case StayAway:
		c.ExpectNot = append(c.ExpectNot, e)
	default:
		return c, fmt.Errorf("%w: wish is %q, want %q, %q or %q", ErrWish, w, Come, StayAway, NoneComes)
	}
	return c, nil
}

// Without returns the case without an expectation.
func (c Case) Without(e Expectation) Case {
	is := func(other Expectation) bool { return other == e }
	c.Expect = slices.DeleteFunc(slices.Clone(c.Expect), is)
	c.ExpectNot = slices.DeleteFunc(slices.Clone(c.ExpectNot), is)
	return c
}

// empty reports whether the case expects nothing that can be checked.
func (c Case) empty() bool { return !c.ExpectNothing && len(c.Expect)+len(c.ExpectNot) == 0 }

const editHead = `# Cases for 'memcore eval run --data THIS FILE': questions to your memory, and the expected hits.

`

// WithCase sets the case of a question in a file, or removes it if c is empty. Every line of other
// cases stays as it is. ErrLayout means that this cannot be done.
func WithCase(file []byte, c Case) ([]byte, error) {
	cases, err := ParseCases(file)
	if err != nil {
		return nil, err
	}
	var doc yaml.Node
	documents := yaml.NewDecoder(bytes.NewReader(file))
	if err := documents.Decode(&doc); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if err := documents.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, ErrLayout // what follows belongs to no case
	}
	at := caseAt(cases, c.Query)
	want := slices.Clone(cases)
	switch {
	case at < 0 && c.empty():
		return file, nil
	case at < 0:
		want = append(want, c)
	case c.empty():
		want = slices.Delete(want, at, at+1)
	default:
		want[at] = c
	}
	if !utf8.Valid(file) || bytes.ContainsAny(bytes.ReplaceAll(file, []byte("\r\n"), nil), "\r\u0085\u2028\u2029\ufeff") {
		return nil, ErrLayout // YAML counts lines by these, too
	}
	after, err := newCaseText(file, &doc).with(at, c)
	if err != nil {
		return nil, err
	}
	if got, err := ParseCases(after); err != nil || !sameCases(got, want) {
		return nil, ErrLayout
	}
	return after, nil
}

func sameCases(a, b []Case) bool {
	return slices.EqualFunc(a, b, func(a, b Case) bool {
		return a.Query == b.Query && a.ExpectNothing == b.ExpectNothing && slices.Equal(a.Expect, b.Expect) && slices.Equal(a.ExpectNot, b.ExpectNot)
	})
}

// A caseText is a file of cases by its lines.
type caseText struct {
	lines []string // with their ends
	end   string   // of a line
	key   int      // the line of "cases:"; -1 for none
	items []*yaml.Node
}

func newCaseText(file []byte, doc *yaml.Node) caseText {
	t := caseText{lines: slices.Collect(strings.Lines(string(file))), end: "\n", key: -1}
	if bytes.Contains(file, []byte("\r\n")) {
		t.end = "\r\n"
	}
	if n := len(t.lines); n > 0 && !strings.HasSuffix(t.lines[n-1], "\n") {
		t.lines[n-1] += t.end
	}
	if len(doc.Content) > 0 && len(doc.Content[0].Content) == 2 {
		mapping := doc.Content[0].Content
		t.key, t.items = mapping[0].Line-1, mapping[1].Content
	}
	return t
}

// with returns the file with a case in place of the one at a place; -1 is a new one.
func (t caseText) with(at int, c Case) ([]byte, error) {
	if at < 0 {
		return t.add(c)
	}
	if t.indent(at) < 0 {
		return nil, ErrLayout
	}
	from, to := t.items[at].Line-1, t.endOf(at)
	var text []string
	if !c.empty() {
		item := t.items[at]
		if err := edit(item, c); err != nil {
			return nil, err
		}
		var err error
		if text, err = t.encoded([]*yaml.Node{item}, t.indent(at)); err != nil {
			return nil, err
		}
	} else if len(t.items) == 1 {
		t.lines[t.key] = "cases: []" + t.end
	}
	return t.replaced(from, to, text), nil
}

// add appends a case to the list.
func (t caseText) add(c Case) ([]byte, error) {
	indent, place := 2, t.key+1
	switch n := len(t.items); {
	case len(t.lines) == 0:
		t.lines, place = []string{editHead, "cases:\n"}, 2
	case t.key < 0:
		t.lines, place = append(t.lines, "cases:"+t.end), len(t.lines)+1
	case n > 0:
		indent, place = t.indent(n-1), t.endOf(n-1)
	default:
		before, after, _ := strings.Cut(t.lines[t.key], "[]")
		t.lines[t.key] = strings.TrimRight(before, " \r\n") + strings.TrimRight(after, "\r\n") + t.end
	}
	if indent < 0 {
		return nil, ErrLayout
	}
	text, err := t.encoded([]Case{c}, indent)
	return t.replaced(place, place, text), err
}

// indent is how far the dash of a case is from the margin; -1 if it does not begin its line.
func (t caseText) indent(at int) int {
	item := t.items[at]
	before, ok := strings.CutSuffix(strings.TrimRight(t.lines[item.Line-1][:item.Column-1], " "), "-")
	if !ok || strings.Trim(before, " ") != "" {
		return -1
	}
	return len(before)
}

// endOf is the line after a case, before comments of the next.
func (t caseText) endOf(at int) int {
	end := len(t.lines)
	if at+1 < len(t.items) {
		end = t.items[at+1].Line - 1
	}
	last := t.items[at]
	for len(last.Content) > 0 {
		last = last.Content[len(last.Content)-1]
	}
	least := last.Line
	if last.Style&yaml.LiteralStyle != 0 { // what looks like a comment is text
		least += strings.Count(strings.TrimSuffix(last.Value, "\n"), "\n") + 1
	}
	for ; end > least; end-- {
		if line := strings.TrimSpace(t.lines[end-1]); line != "" && line[0] != '#' {
			break
		}
	}
	return end
}

func (t caseText) replaced(from, to int, by []string) []byte {
	return []byte(strings.Join(slices.Concat(t.lines[:from], by, t.lines[to:]), ""))
}

// encoded returns the lines of a list.
func (t caseText) encoded(list any, indent int) ([]string, error) {
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	if err := errors.Join(encoder.Encode(list), encoder.Close()); err != nil {
		return nil, err
	}
	lines := slices.Collect(strings.Lines(out.String()))
	for i, line := range lines {
		if line = strings.TrimRight(line, "\n"); line != "" {
			line = strings.Repeat(" ", indent) + line
		}
		lines[i] = line + t.end
	}
	return lines, nil
}

// edit makes a node say what a case says, and keeps what it can of it.
func edit(item *yaml.Node, c Case) error {
	withoutOuterComments(item)
	if err := errors.Join(setList(item, "expect", c.Expect), setList(item, "expect_not", c.ExpectNot)); err != nil {
		return err
	}
	at := keyAt(item, "expect_nothing")
	switch {
	case at >= 0 && !c.ExpectNothing:
		item.Content = slices.Delete(item.Content, at, at+2)
	case at < 0 && c.ExpectNothing:
		item.Content = append(item.Content, scalar("expect_nothing"), &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: "true"})
	}
	return nil
}

// withoutOuterComments drops the comments around a case, whose lines stay.
func withoutOuterComments(item *yaml.Node) {
	item.HeadComment, item.Content[0].HeadComment = "", ""
	for last := item; last != nil; {
		last.FootComment = ""
		n := len(last.Content)
		if n == 0 {
			return
		}
		if last.Kind == yaml.MappingNode {
			last.Content[n-2].FootComment = ""
		}
		last = last.Content[n-1]
	}
}

// setList makes the list of a key say what is wanted.
func setList(item *yaml.Node, key string, want Expectations) error {
	at := keyAt(item, key)
	if len(want) == 0 {
		if at >= 0 {
			item.Content = slices.Delete(item.Content, at, at+2)
		}
		return nil
	}
	if at < 0 {
		at = len(item.Content)
		item.Content = append(item.Content, scalar(key), &yaml.Node{Kind: yaml.SequenceNode})
	}
	list := item.Content[at+1]
	if list.Kind != yaml.SequenceNode {
		list = &yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{list}}
		item.Content[at+1] = list
	}
	kept, have := []*yaml.Node{}, Expectations{}
	for _, n := range list.Content {
		var one Expectations
		if err := one.UnmarshalYAML(n); err != nil {
			return err
		}
		if len(one) == 1 && slices.Contains(want, one[0]) && !slices.Contains(have, one[0]) {
			kept, have = append(kept, n), append(have, one[0])
		}
	}
	for _, e := range want[len(have):] {
		var n yaml.Node
		if err := n.Encode(e); err != nil {
			return err
		}
		kept = append(kept, &n)
	}
	list.Content, list.Style = kept, 0
	return nil
}

func keyAt(mapping *yaml.Node, key string) int {
	for i := 0; i < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == key {
			return i
		}
	}
	return -1
}

func scalar(text string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Value: text} }
