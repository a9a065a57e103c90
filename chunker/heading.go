package chunker

import (
	"bytes"
	"slices"
	"strings"
	"sync"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"github.com/memcore/memcore/internal/text/lazy"
)

// maxHeading is how many bytes of a heading enter paths.
const maxHeading = 400

var (
	inlineParser = sync.OnceValue(func() parser.Parser {
		return parser.NewParser(
			parser.WithBlockParsers(parser.DefaultBlockParsers()...),
			parser.WithInlineParsers(append(parser.DefaultInlineParsers(), util.Prioritized(strikethrough{}, 500))...),
			parser.WithParagraphTransformers(parser.DefaultParagraphTransformers()...),
			parser.WithAttribute(),
		)
	})
	// The target of a link does not matter here.
	linkByReference = lazy.Regexp(`\[([^\[\]]+)\]\[[^\[\]]*\]`)
)

// headingText returns a heading without markup, on one line.
func headingText(raw []byte) string {
	if len(raw) > maxHeading {
		raw = raw[:maxHeading]
	}
	line := strings.ToValidUTF8(strings.Join(strings.Fields(string(raw)), " "), "")
	if !strings.ContainsAny(line, "\\`*_[]<>&!{}~") {
		return line
	}
	line = linkByReference().ReplaceAllString(line, "$1")
	src := []byte("# " + line)
	var out strings.Builder
	writeInline(&out, inlineParser().Parse(text.NewReader(src)), src)
	return strings.Join(strings.Fields(out.String()), " ")
}

// writeInline writes the visible text of the nodes inside parent.
func writeInline(out *strings.Builder, parent ast.Node, src []byte) {
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		switch n := n.(type) {
		case *ast.Text:
			value := n.Segment.Value(src)
			if parent.Kind() != ast.KindCodeSpan {
				value = util.ResolveEntityNames(util.ResolveNumericReferences(util.UnescapePunctuations(value)))
			}
			out.Write(bytes.ToValidUTF8(value, nil))
			if n.SoftLineBreak() || n.HardLineBreak() {
				out.WriteByte(' ')
			}
		case *ast.String:
			out.Write(n.Value)
		case *ast.AutoLink:
			out.Write(n.Label(src))
		case *ast.RawHTML:
		default:
			writeInline(out, n, src)
		}
	}
}

// An outline is the headings above a line, outermost first.
type outline struct {
	levels []int
	titles []string
}

// enter also removes headings of its level and below.
func (o *outline) enter(level int, title string) {
	n := len(o.levels)
	for n > 0 && o.levels[n-1] >= level {
		n--
	}
	o.levels = append(o.levels[:n], level)
	o.titles = append(o.titles[:n], title)
}

// path returns the title, unless a heading repeats it, and headings, without outer ones beyond the
// limit.
func (o *outline) path(title string, l limits, limit int) []string {
	path := slices.DeleteFunc(slices.Clone(o.titles), func(t string) bool { return t == "" })
	if title != "" && !slices.ContainsFunc(path, func(t string) bool { return strings.EqualFold(t, title) }) {
		path = slices.Insert(path, 0, title)
	}
	for i, t := range path {
		path[i] = l.shorten(t, limit/2)
	}
	for len(path) > 1 && l.size(joinPath(path)) > limit {
		path = slices.Delete(path, 0, 1)
	}
	return path
}

func joinPath(path []string) string { return strings.Join(path, " > ") }
