package chunker

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// It agrees with goldmark's own extension.
func TestStruck(t *testing.T) {
	theirs := goldmark.New(goldmark.WithExtensions(extension.Strikethrough), goldmark.WithParserOptions(parser.WithAttribute())).Parser()
	for _, line := range []string{
		"~~gone~~ stays", "~gone~", "~~~not~~~", "a~b~c", "~~a~", "~~ a ~~", "~~**a** b~~", "*~~a*~~", "~~a `~~` b~~", "~~~~", "~", "~~a", "x ~~~y~~", "[~~a~~](b)", "~~a~~~~b~~",
		"~/.config and ~/.cache", "\\~~a~~", "~~é~~", "a~~b~~c~~d~~",
	} {
		src := []byte("# " + line)
		require.Equal(t, inlineText(theirs, src), inlineText(inlineParser(), src), "%q", line)
	}
	require.Equal(t, "gone stays", headingText([]byte("~~gone~~ stays")))
	require.Equal(t, "~~~not~~~", headingText([]byte("~~~not~~~")))
}

func FuzzStruck(f *testing.F) {
	theirs := goldmark.New(goldmark.WithExtensions(extension.Strikethrough), goldmark.WithParserOptions(parser.WithAttribute())).Parser()
	f.Add("~~a~b~~ *c~*")
	f.Fuzz(func(t *testing.T, line string) {
		src := []byte("# " + line)
		if want, got := inlineText(theirs, src), inlineText(inlineParser(), src); got != want {
			t.Errorf("%q is %q, goldmark's is %q", line, got, want)
		}
	})
}

func inlineText(p parser.Parser, src []byte) string {
	var out []byte
	_ = ast.Walk(p.Parse(text.NewReader(src)), func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if t, ok := n.(*ast.Text); ok && entering {
			out = append(append(out, t.Segment.Value(src)...), '|')
		}
		return ast.WalkContinue, nil
	})
	return string(out)
}
