package view

import (
	"html"
	"html/template"
	"net/url"
	"path"
	"strconv"
	"strings"
	"sync"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"github.com/memcore/memcore/internal/text/plain"
)

const (
	// mostRendered is the longest block that is rendered, in bytes. Longer ones stay Markdown.
	mostRendered = 8 << 10
	// mostOfBlock bounds a block on a page, in bytes.
	mostOfBlock = 24 << 10
)

// markdownParser parses a block with its inline markup.
var markdownParser = sync.OnceValue(func() parser.Parser {
	return parser.NewParser(parser.WithBlockParsers(parser.DefaultBlockParsers()...), parser.WithInlineParsers(parser.DefaultInlineParsers()...))
})

// render returns a block of Markdown as HTML. Markup in the text stays text, links lead to own
// pages or nowhere, and images become names.
func render(document, block string) template.HTML {
	r := renderer{folder: path.Dir(document), source: []byte(block)}
	if len(block) > mostRendered || strings.HasPrefix(strings.TrimSpace(block), "|") {
		r.verbatim(block)
	} else {
		r.children(markdownParser().Parse(text.NewReader(r.source)))
	}
	return template.HTML(r.out.String()) // escaped below
}

type renderer struct {
	folder string // of the document
	source []byte
	out    strings.Builder
}

// text writes text: the only way in for data.
func (r *renderer) text(s string) { r.out.WriteString(template.HTMLEscapeString(clean(s))) }

// verbatim shows a block, or its beginning, unrendered.
func (r *renderer) verbatim(block string) {
	shown := block
	if len(block) > mostOfBlock {
		shown = strings.ToValidUTF8(block[:mostOfBlock], "")
	}
	r.element("pre", func() { r.text(shown) })
	if left := len(block) - len(shown); left > 0 {
		r.element("p", func() { r.text("… and " + plain.Count(left, "more byte") + ": an editor shows them.") })
	}
}

func (r *renderer) element(name string, inner func()) {
	r.out.WriteString("<" + name + ">")
	inner()
	r.out.WriteString("</" + name + ">")
}

func (r *renderer) children(n ast.Node) {
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		r.node(c)
	}
}

func (r *renderer) node(n ast.Node) {
	inner := func() { r.children(n) }
	switch n := n.(type) {
	case *ast.Heading:
		r.element("h"+strconv.Itoa(min(n.Level+1, 6)), inner) // h1 is the page's
	case *ast.Paragraph:
		r.element("p", inner)
	case *ast.Blockquote:
		r.element("blockquote", inner)
	case *ast.List:
		r.list(n)
	case *ast.ListItem:
		r.element("li", inner)
	case *ast.ThematicBreak:
		r.out.WriteString("<hr>")
	case *ast.CodeBlock, *ast.FencedCodeBlock:
		r.element("pre", func() { r.lines(n) })
	case *ast.HTMLBlock:
		r.element("pre", func() {
			r.lines(n)
			if n.HasClosure() {
				r.text(string(n.ClosureLine.Value(r.source)))
			}
		})
	default:
		r.inline(n)
	}
}

func (r *renderer) list(n *ast.List) {
	if !n.IsOrdered() {
		r.element("ul", func() { r.children(n) })
		return
	}
	r.out.WriteString(`<ol start="` + strconv.Itoa(n.Start) + `">`)
	r.children(n)
	r.out.WriteString("</ol>")
}

func (r *renderer) lines(n ast.Node) {
	for i := range n.Lines().Len() {
		line := n.Lines().At(i)
		r.text(string(line.Value(r.source)))
	}
}

func (r *renderer) inline(n ast.Node) {
	inner := func() { r.children(n) }
	switch n := n.(type) {
	case *ast.Text:
		r.struck(string(n.Segment.Value(r.source)))
		switch {
		case n.HardLineBreak():
			r.out.WriteString("<br>")
		case n.SoftLineBreak():
			r.out.WriteString("\n")
		}
	case *ast.String:
		r.text(string(n.Value))
	case *ast.CodeSpan:
		r.element("code", func() {
			for c := n.FirstChild(); c != nil; c = c.NextSibling() {
				if t, ok := c.(*ast.Text); ok {
					r.text(string(t.Segment.Value(r.source)))
				}
			}
		})
	case *ast.Emphasis:
		r.element(map[bool]string{true: "strong", false: "em"}[n.Level > 1], inner)
	case *ast.RawHTML:
		r.element("code", func() {
			for i := range n.Segments.Len() {
				segment := n.Segments.At(i)
				r.text(string(segment.Value(r.source)))
			}
		})
	case *ast.AutoLink:
		r.text(string(n.Label(r.source)))
	case *ast.Link:
		r.link(string(n.Destination), inner)
	case *ast.Image:
		r.out.WriteString("[image: ")
		inner()
		r.out.WriteString("]")
		r.address(string(n.Destination))
	default:
		r.children(n)
	}
}

// struck resolves escapes and strikes out ~~parts~~.
func (r *renderer) struck(s string) {
	parts := strings.Split(s, "~~")
	for i, part := range parts {
		part = unescape(part)
		switch {
		case i%2 == 1 && i < len(parts)-1:
			r.element("s", func() { r.text(part) })
		case i%2 == 1:
			r.text("~~" + part)
		default:
			r.text(part)
		}
	}
}

// unescape resolves backslashes and entities.
func unescape(s string) string {
	if !strings.ContainsAny(s, `\&`) {
		return s
	}
	var b strings.Builder
	from := 0
	for i := 0; i+1 < len(s); i++ {
		if s[i] == '\\' && util.IsPunct(s[i+1]) {
			b.WriteString(html.UnescapeString(s[from:i]))
			b.WriteByte(s[i+1])
			i++
			from = i + 1
		}
	}
	b.WriteString(html.UnescapeString(s[from:]))
	return b.String()
}

// link leads to a Markdown document here, or nowhere.
func (r *renderer) link(to string, inner func()) {
	target, err := url.Parse(to)
	local := err == nil && target.Scheme == "" && target.Host == "" && strings.HasSuffix(strings.ToLower(target.Path), ".md") && !strings.HasPrefix(target.Path, "/")
	document := ""
	if local {
		document = path.Join(r.folder, target.Path)
		local = document != ".." && !strings.HasPrefix(document, "../")
	}
	if !local {
		inner()
		r.address(to)
		return
	}
	r.out.WriteString(`<a href="` + template.HTMLEscapeString("document?path="+url.QueryEscape(document)) + `">`)
	inner()
	r.out.WriteString("</a>")
}

// address shows where a link would lead.
func (r *renderer) address(to string) {
	r.out.WriteString(` <span class="address">(`)
	r.text(to)
	r.out.WriteString(")</span>")
}
