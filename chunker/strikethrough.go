package chunker

import (
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// strikethrough parses ~text~ and ~~text~~ as GitHub does. goldmark's own doubles the time goldmark
// takes to start.
type strikethrough struct{}

func (strikethrough) Trigger() []byte { return []byte{'~'} }

func (strikethrough) Parse(_ ast.Node, block text.Reader, pc parser.Context) ast.Node {
	before := block.PrecendingCharacter()
	line, segment := block.PeekLine()
	run := parser.ScanDelimiter(line, before, 1, strikethrough{})
	if run == nil || run.OriginalLength > 2 || before == '~' {
		return nil
	}
	run.Segment = segment.WithStop(segment.Start + run.OriginalLength)
	block.Advance(run.OriginalLength)
	pc.PushDelimiter(run)
	return run
}

func (strikethrough) IsDelimiter(b byte) bool { return b == '~' }

func (strikethrough) CanOpenCloser(opener, closer *parser.Delimiter) bool {
	return opener.Char == closer.Char
}

// OnMatch makes an emphasis: only a heading's text counts.
func (strikethrough) OnMatch(consumes int) ast.Node { return ast.NewEmphasis(consumes) }
