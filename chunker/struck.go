package chunker

import (
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// struck parses ~text~ and ~~text~~ as GitHub does. goldmark's own is in a package with all its extensions, whose expressions
// cost every process that starts as much as the rest of goldmark.
type struck struct{}

func (struck) Trigger() []byte { return []byte{'~'} }

func (struck) Parse(_ ast.Node, block text.Reader, pc parser.Context) ast.Node {
	before := block.PrecendingCharacter()
	line, segment := block.PeekLine()
	run := parser.ScanDelimiter(line, before, 1, struck{})
	if run == nil || run.OriginalLength > 2 || before == '~' {
		return nil
	}
	run.Segment = segment.WithStop(segment.Start + run.OriginalLength)
	block.Advance(run.OriginalLength)
	pc.PushDelimiter(run)
	return run
}

func (struck) IsDelimiter(b byte) bool { return b == '~' }

func (struck) CanOpenCloser(opener, closer *parser.Delimiter) bool {
	return opener.Char == closer.Char
}

// OnMatch makes it an emphasis: of a heading only the text counts.
func (struck) OnMatch(consumes int) ast.Node { return ast.NewEmphasis(consumes) }
