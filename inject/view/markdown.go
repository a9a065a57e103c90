package view

import (
	"bytes"
	"html/template"
	"net/url"
	"path"
	"strings"
	"sync"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"github.com/memcore/memcore/internal/text/plain"
)

const (
	// maxRendered is the longest block that is rendered, in bytes. Longer ones stay Markdown.
	maxRendered = 8 << 10
	// maxBlock bounds a block on a page, in bytes.
	maxBlock = 24 << 10
)

// markdown renders blocks. Headings are one level lower, since h1 is the page's, and lines end
// where those of the file do.
var markdown = sync.OnceValue(func() goldmark.Markdown {
	return goldmark.New(goldmark.WithExtensions(extension.Strikethrough),
		goldmark.WithParserOptions(parser.WithASTTransformers(util.Prioritized(lowered{}, 1))),
		goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(guarded{}, 1)), html.WithHardWraps()))
})

// render returns a block of Markdown as HTML. Markup in the text stays text, links lead to own
// pages or nowhere, and images become names.
func render(document, block string) template.HTML {
	if len(block) > maxRendered || strings.HasPrefix(strings.TrimSpace(block), "|") {
		return verbatim(block)
	}
	source := []byte(block)
	root := markdown().Parser().Parse(text.NewReader(source))
	root.(*ast.Document).AddMeta("folder", path.Dir(document))
	var out bytes.Buffer
	if markdown().Renderer().Render(&out, source, root) != nil {
		return verbatim(block)
	}
	return template.HTML(strings.TrimSpace(clean(out.String()))) // the renderer escapes text
}

// verbatim shows a block, or its beginning, unrendered.
func verbatim(block string) template.HTML {
	shown := block
	if len(block) > maxBlock {
		shown = strings.ToValidUTF8(block[:maxBlock], "")
	}
	out := "<pre>" + escaped(shown) + "</pre>"
	if left := len(block) - len(shown); left > 0 {
		out += "<p>" + escaped("… and "+plain.Count(left, "more byte")+": an editor shows them.") + "</p>"
	}
	return template.HTML(out) // escaped above
}

func escaped(s string) string { return template.HTMLEscapeString(clean(s)) }

// lowered lowers headings.
type lowered struct{}

// Transform implements parser.ASTTransformer.
func (lowered) Transform(root *ast.Document, _ text.Reader, _ parser.Context) {
	_ = ast.Walk(root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if h, ok := n.(*ast.Heading); ok && entering {
			h.Level = min(h.Level+1, 6)
		}
		return ast.WalkContinue, nil
	})
}

// guarded renders what could lead elsewhere or run.
type guarded struct{}

// RegisterFuncs implements renderer.NodeRenderer.
func (guarded) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(ast.KindLink, link)
	r.Register(ast.KindImage, image)
	r.Register(ast.KindAutoLink, func(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering {
			_, _ = w.WriteString(escaped(string(n.(*ast.AutoLink).Label(source))))
		}
		return ast.WalkContinue, nil
	})
	r.Register(ast.KindRawHTML, func(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering {
			_, _ = w.WriteString("<code>" + escaped(string(n.(*ast.RawHTML).Segments.Value(source))) + "</code>")
		}
		return ast.WalkSkipChildren, nil
	})
	r.Register(ast.KindHTMLBlock, func(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		if b := n.(*ast.HTMLBlock); entering {
			markup := string(b.Lines().Value(source))
			if b.HasClosure() {
				markup += string(b.ClosureLine.Value(source))
			}
			_, _ = w.WriteString("<pre>" + escaped(markup) + "</pre>\n")
		}
		return ast.WalkContinue, nil
	})
}

// link leads to a Markdown document here, or nowhere.
func link(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	to := string(n.(*ast.Link).Destination)
	folder, _ := n.OwnerDocument().Meta()["folder"].(string)
	switch document := documentAt(folder, to); {
	case document == "" && !entering:
		writeAddress(w, to)
	case document != "" && entering:
		_, _ = w.WriteString(`<a href="` + template.HTMLEscapeString("document?path="+url.QueryEscape(document)) + `">`)
	case document != "":
		_, _ = w.WriteString("</a>")
	}
	return ast.WalkContinue, nil
}

// documentAt returns the Markdown document that a link of a document in a folder means, or "".
func documentAt(folder, to string) string {
	target, err := url.Parse(to)
	if err != nil || target.Scheme != "" || target.Host != "" || strings.HasPrefix(target.Path, "/") || !strings.HasSuffix(strings.ToLower(target.Path), ".md") {
		return ""
	}
	document := path.Join(folder, target.Path)
	if document == ".." || strings.HasPrefix(document, "../") {
		return ""
	}
	return document
}

// image names an image.
func image(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if entering {
		_, _ = w.WriteString("[image: ")
	} else {
		_, _ = w.WriteString("]")
		writeAddress(w, string(n.(*ast.Image).Destination))
	}
	return ast.WalkContinue, nil
}

// writeAddress shows where a link would lead.
func writeAddress(w util.BufWriter, to string) {
	_, _ = w.WriteString(` <span class="address">(` + escaped(to) + ")</span>")
}
