package source

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/memcore/memcore/chunker"
)

// A record is a line or an element of a JSON array.
type record struct {
	line, endLine int
	json          []byte // valid until the next record
}

// A message is what a format reads from a record.
type message struct {
	// key joins records: one with the last turn's key extends that turn, or replaces it with again.
	// "" joins nothing.
	key   string
	again bool

	role, speaker string
	time          time.Time
	text          string
	calls         []call
	results       []result
}

// A call uses a tool. Unless done, it waits for a result.
type call struct {
	id, name, input string
	output          string
	done, failed    bool
}

type result struct {
	id, name, output string
	failed           bool
}

// An openCall waits for its result.
type openCall struct {
	id, name string
	turn     int // index of its turn in this reading, or one of the below
	tool     int // index in Turn.Tools
}

const (
	beforeReading = -1 // the last turn of the earlier reading
	longBefore    = -2
)

const maxOpenCalls = 32

// progress is what later records need to know of earlier ones.
type progress struct {
	session string
	known   bool      // session comes from the log, not from the file's name
	time    time.Time // of the session, for records without one
	agent   bool      // a tool was used
	open    []openCall
}

// A mark is where reading can go on: a turn's beginning.
type mark struct {
	offset int64
	line   int // lines before it
	turns  int // turns before it
	progress
}

// A conversation collects turns. A result joins its call's turn, or makes one of role "tool" if
// another has begun.
type conversation struct {
	progress
	turns   []chunker.Turn
	grown   []byte // text of the last turn if several records made it
	key     string // of the last turn
	step    int    // for formats that have no keys
	skipped map[string]int

	start mark    // of this reading
	here  mark    // of the current record
	marks [2]mark // of the last two turns
	// lastAnswer is valid until the user speaks again.
	lastAnswer *mark
}

func (c *conversation) skip(reason string) {
	if c.skipped == nil {
		c.skipped = map[string]int{}
	}
	c.skipped[reason]++
}

// take parses the record at an offset of the log.
func (c *conversation) take(f format, r record, offset int64) {
	c.here = mark{offset: offset, line: r.line - 1, turns: len(c.turns), progress: c.progress}
	if reason := f.parse(c, r); reason != "" {
		c.skip(reason)
	}
}

// stepKey joins all that precedes a result.
func (c *conversation) stepKey() string { return "step " + strconv.Itoa(c.step) }

func (c *conversation) add(r record, m message) {
	m.text = strings.TrimSpace(m.text)
	tools := c.applyResults(r, m.results)
	for _, call := range m.calls {
		tools = append(tools, chunker.ToolUse{Name: call.name, Input: shorten(call.input), Output: shorten(call.output), Failed: call.failed})
	}
	if m.text == "" && len(tools) == 0 {
		return
	}
	if last := len(c.turns) - 1; m.key != "" && m.key == c.key && last >= 0 && c.turns[last].Role == m.role {
		c.extend(r, m, tools)
	} else {
		c.begin(r, m, tools)
	}
	c.addOpenCalls(m.calls)
	c.agent = c.agent || len(m.calls)+len(m.results) > 0
	switch role := c.turns[len(c.turns)-1].Role; {
	case m.text == "":
	case role == "user":
		c.lastAnswer = nil
	case role == "assistant":
		at := c.marks[1]
		c.lastAnswer = &at
	}
}

// applyResults returns those without a call in the last turn.
func (c *conversation) applyResults(r record, results []result) []chunker.ToolUse {
	var strays []chunker.ToolUse
	for _, got := range results {
		i := slices.IndexFunc(c.open, func(o openCall) bool { return o.id == got.id })
		var asked openCall
		if i >= 0 {
			asked = c.open[i]
			c.open = slices.Concat(c.open[:i], c.open[i+1:]) // marks keep the old one
		}
		switch {
		case i >= 0 && asked.turn == len(c.turns)-1 && asked.turn != beforeReading:
			c.answer(r, asked, got)
		case i >= 0 && asked.turn == beforeReading && len(c.turns) == 0:
			// an earlier reading has it
		default:
			name := got.name
			if name == "" {
				name = asked.name
			}
			strays = append(strays, chunker.ToolUse{Name: name, Output: shorten(got.output), Failed: got.failed})
		}
	}
	return strays
}

// answer puts a result into the last turn.
func (c *conversation) answer(r record, asked openCall, got result) {
	turn := &c.turns[len(c.turns)-1]
	if asked.tool < len(turn.Tools) { // always, unless the turn was replaced by one with fewer
		tool := &turn.Tools[asked.tool]
		tool.Output, tool.Failed = shorten(got.output), got.failed
	}
	turn.EndLine = r.endLine
}

func (c *conversation) extend(r record, m message, tools []chunker.ToolUse) {
	turn := &c.turns[len(c.turns)-1]
	turn.EndLine = r.endLine
	if m.again {
		c.grown = c.grown[:0]
		turn.Text, turn.Tools = m.text, tools
		return
	}
	turn.Tools = append(turn.Tools, tools...)
	if m.text == "" {
		return
	}
	if len(c.grown) == 0 {
		c.grown = append(c.grown, turn.Text...)
	}
	if len(c.grown) > 0 {
		c.grown = append(c.grown, "\n\n"...)
	}
	c.grown = append(c.grown, m.text...)
}

// finished joins the last turn's pieces.
func (c *conversation) finished() []chunker.Turn {
	if len(c.grown) > 0 {
		c.turns[len(c.turns)-1].Text = string(c.grown)
		c.grown = c.grown[:0]
	}
	return c.turns
}

func (c *conversation) begin(r record, m message, tools []chunker.ToolUse) {
	turn := chunker.Turn{
		Line: r.line, EndLine: r.endLine,
		Role: m.role, Speaker: m.speaker, Session: c.session, Time: m.time,
		Text: m.text, Tools: tools,
	}
	if turn.Text == "" && len(m.calls) == 0 { // strays only
		turn.Role, turn.Speaker = "tool", ""
	}
	if turn.Time.IsZero() {
		turn.Time = c.time
	}
	c.turns = append(c.finished(), turn)
	c.key = m.key
	c.marks[0], c.marks[1] = c.marks[1], c.here
}

func (c *conversation) addOpenCalls(calls []call) {
	last := len(c.turns) - 1
	for i, call := range calls {
		if call.id == "" || call.done {
			continue
		}
		place := len(c.turns[last].Tools) - len(calls) + i
		c.open = append(slices.Clip(c.open), openCall{id: call.id, name: call.name, turn: last, tool: place})
	}
	if over := len(c.open) - maxOpenCalls; over > 0 {
		c.open = c.open[over:]
	}
}

// resume precedes the last two turns and the last answer.
func (c *conversation) resume() mark {
	switch {
	case len(c.turns) < 2:
		return c.start
	case c.lastAnswer != nil && c.lastAnswer.offset < c.marks[0].offset:
		return *c.lastAnswer
	}
	return c.marks[0]
}

// maxToolText is in bytes. The chunker keeps much less.
const maxToolText = 64 << 10

// shorten removes the middle of a long text.
func shorten(text string) string {
	if len(text) <= maxToolText {
		return text
	}
	head := strings.ToValidUTF8(text[:maxToolText*3/4], "")
	tail := strings.ToValidUTF8(text[len(text)-maxToolText/4:], "")
	return head + "\n[…]\n" + tail
}

func (m mark) state() map[string]string {
	state := map[string]string{}
	if m.session != "" {
		state["session"] = m.session
	}
	if m.known {
		state["known"] = "yes"
	}
	if m.agent {
		state["agent"] = "yes"
	}
	if !m.time.IsZero() {
		state["time"] = m.time.Format(time.RFC3339Nano)
	}
	if len(m.open) > 0 {
		var open [][3]string
		for _, o := range m.open {
			when := ""
			if o.turn == m.turns-1 {
				when = "last"
			}
			open = append(open, [3]string{o.id, o.name, when})
		}
		text, _ := json.Marshal(open) // strings always marshal
		state["open"] = string(text)
	}
	if len(state) == 0 {
		return nil
	}
	return state
}

// restore reverses state. It ignores what it does not know.
func restore(state map[string]string) progress {
	p := progress{session: state["session"], known: state["known"] != "", agent: state["agent"] != ""}
	p.time, _ = time.Parse(time.RFC3339Nano, state["time"])
	var open [][3]string
	if json.Unmarshal([]byte(state["open"]), &open) != nil {
		return p
	}
	for _, o := range open {
		turn := longBefore
		if o[2] == "last" {
			turn = beforeReading
		}
		p.open = append(p.open, openCall{id: o[0], name: o[1], turn: turn})
	}
	return p
}
