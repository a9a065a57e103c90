package chunker

import (
	"strconv"
	"strings"
)

// neighbourSize is the size to which the turns before and after a chunk are cut.
const neighbourSize = 60

// Conversation cuts a log into its turns. name is how the log is known; it enters the IDs.
//
// A turn is one chunk if it fits Max; a longer one is cut like Markdown, each piece with the lines
// of the whole turn. What tools were asked and what they answered is reduced to what one would
// search for. A turn without text and tools has no chunk. Before and After are the nearest turns of
// the same session that have text: of the one before its end, of the one after its start.
//
// Its result is the caller's. It is safe for concurrent use.
func Conversation(name string, turns []Turn, o Options) []Chunk {
	c := &conversation{name: name, limits: newLimits(o), seen: ordinals{}}
	said := make([]saying, len(turns))
	for i, t := range turns {
		said[i] = c.reduce(t)
	}
	before, after := neighbours(turns, said)
	for i, t := range turns {
		from := len(c.chunks)
		c.turn(t, said[i])
		var first, last string
		if k := before[i]; k >= 0 {
			first = c.endOf(c.speaker(turns[k]), said[k])
		}
		if k := after[i]; k >= 0 {
			last = c.startOf(c.speaker(turns[k]), said[k])
		}
		for j := from; j < len(c.chunks); j++ {
			c.chunks[j].Before, c.chunks[j].After = first, last
		}
	}
	return c.chunks
}

// conversation is one call of Conversation.
type conversation struct {
	limits
	name   string
	chunks []Chunk
	seen   ordinals
}

// A saying is what a turn says: its text, and each use of a tool in a few words.
type saying struct {
	text  string
	tools []string
}

func (s saying) empty() bool { return s.text == "" && len(s.tools) == 0 }

// whole is all of it, and where in it the uses of tools are.
func (s saying) whole() (text string, tools []block) {
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

func (c *conversation) reduce(t Turn) saying {
	text := strings.TrimSpace(cleanString(t.Text))
	tools := t.Tools
	if t.Role == "tool" && len(tools) == 0 && text != "" {
		text, tools = "", []ToolUse{{Output: text}}
	}
	s := saying{text: text}
	for _, use := range tools {
		s.tools = append(s.tools, c.toolUse(use))
	}
	return s
}

// longestSpeaker is how many bytes of a name are looked at.
const longestSpeaker = 400

func (c *conversation) speaker(t Turn) string {
	speaker := strings.TrimSpace(t.Speaker)
	if speaker == "" {
		speaker = t.Role
	}
	return c.shorten(oneLine(cleanString(head(speaker, longestSpeaker))), c.max/6)
}

// turn makes the chunks of a turn.
func (c *conversation) turn(t Turn, said saying) {
	if said.empty() {
		return
	}
	text, tools := said.whole()
	about := newSection(c.limits, nil, c.speaker(t), t.Time)
	number := 0
	p := newPacker(c.limits, text, func(p piece) {
		number++
		c.chunk(t, about.speaker, p, p.of(text), number)
	})
	s := splitter{c.limits, text, about, p.add}
	if whole := (piece{span: span{0, len(text)}, section: about}); p.fits(whole) {
		p.emit(whole)
		return
	}
	eachBlock(said.text, 0, s.block)
	for _, b := range tools {
		s.block(b)
	}
	p.finish()
}

// chunk makes a chunk of a piece of a turn.
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

// neighbours returns, for each turn, the nearest ones before and after it in its session that say
// something, -1 where there is none.
func neighbours(turns []Turn, said []saying) (before, after []int) {
	before, after = make([]int, len(turns)), make([]int, len(turns))
	last := map[string]int{}
	for i, t := range turns {
		before[i], after[i] = -1, -1
		if said[i].empty() {
			continue
		}
		if k, ok := last[t.Session]; ok {
			before[i], after[k] = k, i
		}
		last[t.Session] = i
	}
	return before, after
}

// look is how many bytes of a neighbour are looked at.
const look = 2 * neighbourSize * bytesPerToken

func (s saying) neighbour() string {
	if s.text != "" {
		return s.text
	}
	return strings.Join(s.tools, "; ")
}

// startOf is the beginning of what a neighbour says, on one line.
func (c *conversation) startOf(speaker string, s saying) string {
	text := head(s.neighbour(), look)
	return c.shorten(speaker+": "+oneLine(text), neighbourSize)
}

// endOf is the end of what a neighbour says, on one line: what the next turn answers stands there.
func (c *conversation) endOf(speaker string, s saying) string {
	text := s.neighbour()
	if len(text) > look {
		text = text[characterBorder(text, len(text)-look):]
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
