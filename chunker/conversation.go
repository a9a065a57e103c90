package chunker

import (
	"strconv"
	"strings"

	"github.com/memcore/memcore/internal/text/payload"
)

// neighbourSize is in tokens, of Before and of After.
const neighbourSize = 60

// Conversation cuts a log into its turns. name identifies the log and enters the IDs.
//
// A turn is one chunk if it fits Max, else it is cut like Markdown, each piece with the turn's
// lines. Tool calls are reduced to what one would search for. Before and After are the nearest
// turns with text. It is safe for concurrent use.
func Conversation(name string, turns []Turn, o Options) []Chunk {
	c := &conversation{name: name, limits: newLimits(o), seen: ordinals{}}
	reduced := make([]turnText, len(turns))
	for i, t := range turns {
		reduced[i] = c.reduce(t)
	}
	before, after := neighbours(turns, reduced)
	for i, t := range turns {
		from := len(c.chunks)
		c.turn(t, reduced[i])
		var first, last string
		if k := before[i]; k >= 0 {
			first = c.endOf(c.speaker(turns[k]), reduced[k])
		}
		if k := after[i]; k >= 0 {
			last = c.startOf(c.speaker(turns[k]), reduced[k])
		}
		for j := from; j < len(c.chunks); j++ {
			c.chunks[j].Before, c.chunks[j].After = first, last
		}
	}
	return c.chunks
}

type conversation struct {
	limits
	name   string
	chunks []Chunk
	seen   ordinals
}

// A turnText is a turn's text, and tools in brief.
type turnText struct {
	text  string
	tools []string
}

func (s turnText) empty() bool { return s.text == "" && len(s.tools) == 0 }

// whole returns all text, and the blocks of tools.
func (s turnText) whole() (text string, tools []block) {
	var b strings.Builder
	b.WriteString(s.text)
	for i, tool := range s.tools {
		if b.Len() > 0 {
			b.WriteByte('\n')
			if i == 0 {
				b.WriteByte('\n')
			}
		}
		tools = append(tools, block{span: span{b.Len(), b.Len() + len(tool)}, kind: lines})
		b.WriteString(tool)
	}
	return b.String(), tools
}

func (c *conversation) reduce(t Turn) turnText {
	text := payload.Without(strings.TrimSpace(cleanString(t.Said())))
	tools := t.Tools
	if t.Role == "tool" && len(tools) == 0 && text != "" {
		text, tools = "", []ToolUse{{Output: text}}
	}
	s := turnText{text: text}
	for _, use := range tools {
		s.tools = append(s.tools, c.toolUse(use))
	}
	return s
}

// maxSpeaker is how many bytes of a name are read.
const maxSpeaker = 400

func (c *conversation) speaker(t Turn) string {
	speaker := strings.TrimSpace(t.Speaker)
	if speaker == "" {
		speaker = t.Role
	}
	return c.shorten(oneLine(cleanString(head(speaker, maxSpeaker))), c.max/6)
}

func (c *conversation) turn(t Turn, reduced turnText) {
	if reduced.empty() {
		return
	}
	text, tools := reduced.whole()
	about := newSection(c.limits, nil, c.speaker(t), t.Time)
	number := 0
	c.cut(text, len(reduced.text), tools, about, func(p piece) {
		number++
		c.chunk(t, about.speaker, p, p.of(text), number)
	})
}

// cut emits a text that does not fit along the Markdown of its first bytes and the blocks that
// follow.
func (c *conversation) cut(text string, markdown int, follow []block, about *section, emit func(piece)) {
	p := newPacker(c.limits, text, emit)
	if whole := (piece{span: span{0, len(text)}, section: about}); p.fits(whole) {
		emit(whole)
		return
	}
	s := splitter{c.limits, text, about, p.add}
	eachBlock(text[:markdown], 0, s.block)
	for _, b := range follow {
		s.block(b)
	}
	p.finish()
}

func (c *conversation) chunk(t Turn, speaker string, p piece, text string, number int) {
	chunk := Chunk{
		Text: text, StartLine: t.Line, EndLine: t.EndLine, Headings: p.section.headings,
		Speaker: speaker, Session: t.Session, Time: t.Time,
		Tokens: c.count(text),
	}
	embedded := p.section.embed("", text)
	place := strconv.Itoa(t.Line) + "." + strconv.Itoa(number)
	if n := c.seen.next(place, embedded); n > 1 {
		place += "." + strconv.Itoa(n) // several turns on one line
	}
	chunk.identify(c.name, place, embedded)
	c.chunks = append(c.chunks, chunk)
}

// neighbours are the nearest turns with text, or -1.
func neighbours(turns []Turn, reduced []turnText) (before, after []int) {
	before, after = make([]int, len(turns)), make([]int, len(turns))
	last := map[string]int{}
	for i, t := range turns {
		before[i], after[i] = -1, -1
		if reduced[i].empty() {
			continue
		}
		if k, ok := last[t.Session]; ok {
			before[i], after[k] = k, i
		}
		last[t.Session] = i
	}
	return before, after
}

// neighbourBytes is how many bytes of a neighbour are read.
const neighbourBytes = 2 * neighbourSize * bytesPerToken

func (s turnText) neighbour() string {
	if s.text != "" {
		return s.text
	}
	return strings.Join(s.tools, "; ")
}

func (c *conversation) startOf(speaker string, s turnText) string {
	text := head(s.neighbour(), neighbourBytes)
	return c.shorten(speaker+": "+oneLine(text), neighbourSize)
}

// endOf is the part that the next turn answers.
func (c *conversation) endOf(speaker string, s turnText) string {
	text := s.neighbour()
	if len(text) > neighbourBytes {
		text = text[characterBorder(text, len(text)-neighbourBytes):]
	}
	line := oneLine(text)
	if whole := speaker + ": " + line; c.size(whole) <= neighbourSize && len(text) == len(s.neighbour()) {
		return whole
	}
	room := neighbourSize - c.size(speaker+": …")
	at := len(line)
	for next := wordBefore(line, 0, at); next >= 0 && c.size(line[next:]) <= room; next = wordBefore(line, 0, at) {
		at = next
	}
	return speaker + ": …" + line[at:]
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
