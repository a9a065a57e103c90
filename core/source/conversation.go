package source

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/memcore/memcore/chunker"
)

// A format is one kind of conversation log. Formats keep nothing between records: what a later
// record must know of earlier ones is in the conversation, so that reading can go on anywhere.
type format interface {
	// name is the Document.Format of its logs.
	name() string
	// sniff tells whether a record with these fields is one of this format.
	sniff(f fields) bool
	// parse adds what a record says to the conversation. It returns why it could not ("unknown type
	// \"x\""), or "" for a record that is understood, even if it says nothing.
	parse(c *conversation, r record) (skipped string)
}

// formats in the order in which they are tried; the last one is the least particular.
var formats = []format{claudeCode{}, codex{}, gemini{}, pi{}, openAI{}}

func formatNamed(name string) (format, bool) {
	i := slices.IndexFunc(formats, func(f format) bool { return f.name() == name })
	if i < 0 {
		return nil, false
	}
	return formats[i], true
}

// A record is one entry of a log: a line of JSONL, or an element of a JSON array.
type record struct {
	line, endLine int
	json          []byte // valid until the next record
}

// A message is what a record says.
type message struct {
	// key joins records that are parts of one message: those with the key of the turn before are
	// added to it. Empty joins nothing. With again, the record is that message once more, complete.
	key   string
	again bool

	role, speaker string
	time          time.Time
	text          string
	calls         []call
	results       []result
}

// A call is a use of a tool. Calls with an output are complete; others wait for their result.
type call struct {
	id, name, input string
	output          string
	done, failed    bool
}

// A result is what a tool returned.
type result struct {
	id, name, output string
	failed           bool
}

// An openCall waits for its result. turn is the index of its turn, counted from the start of this
// reading; beforeReading and longBefore are turns of an earlier one.
type openCall struct {
	id, name   string
	turn, tool int // tool is its place in Turn.Tools
}

const (
	beforeReading = -1 // the last turn of the earlier reading
	longBefore    = -2
)

// maxOpenCalls is how many calls are remembered that never got a result.
const maxOpenCalls = 32

// progress is all that reading must know to go on.
type progress struct {
	session string
	known   bool      // session is the log's word, not the file's name
	time    time.Time // of the session, for records that tell none
	agent   bool      // a tool was used
	open    []openCall
}

// A mark is a place where a turn begins and reading can go on.
type mark struct {
	offset int64
	line   int // lines before it
	turns  int // turns before it
	progress
}

// A conversation is the turns of a log as they are put together. A tool's result joins the turn that
// called it as long as no other turn has begun; later, it is a turn of its own, of role "tool".
type conversation struct {
	progress
	turns   []chunker.Turn
	grown   []byte // text of the last turn, if several records made it; see told
	key     string // of the last turn
	step    int    // for formats that have no keys
	skipped map[string]int

	start mark    // of this reading
	here  mark    // the record that is being parsed
	marks [2]mark // where the last two turns begin
	// answered is where the last turn begins that answers, if nobody has said anything since: whether
	// it was the last word on what was asked is known only then.
	answered *mark
}

func (c *conversation) skip(reason string) {
	if c.skipped == nil {
		c.skipped = map[string]int{}
	}
	c.skipped[reason]++
}

// take parses the record that starts at an offset of the log.
func (c *conversation) take(f format, r record, offset int64) {
	c.here = mark{offset: offset, line: r.line - 1, turns: len(c.turns), progress: c.progress}
	if reason := f.parse(c, r); reason != "" {
		c.skip(reason)
	}
}

// stepKey joins what an agent says and calls before it sees a result, in formats without keys.
func (c *conversation) stepKey() string { return "step " + strconv.Itoa(c.step) }

// add puts a message into the conversation.
func (c *conversation) add(r record, m message) {
	m.text = strings.TrimSpace(m.text)
	tools := c.settle(r, m.results)
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
	c.wait(m.calls)
	c.agent = c.agent || len(m.calls)+len(m.results) > 0
	switch role := c.turns[len(c.turns)-1].Role; {
	case m.text == "":
	case role == "user":
		c.answered = nil
	case role == "assistant":
		at := c.marks[1]
		c.answered = &at
	}
}

// settle gives results to the calls of the last turn and returns those that belong nowhere.
func (c *conversation) settle(r record, results []result) []chunker.ToolUse {
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
			// the earlier reading has it
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
	if asked.tool < len(turn.Tools) { // always, unless the turn was told again with fewer
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

// told are the turns. One that a log tells in many pieces gets its text once it is whole: nobody knows how many there will be.
func (c *conversation) told() []chunker.Turn {
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
	c.turns = append(c.told(), turn)
	c.key = m.key
	c.marks[0], c.marks[1] = c.marks[1], c.here
}

// wait remembers the calls of the last turn that have no result yet.
func (c *conversation) wait(calls []call) {
	last := len(c.turns) - 1
	for i, call := range calls {
		if call.id == "" || call.done {
			continue
		}
		place := len(c.turns[last].Tools) - len(calls) + i // they were put last
		c.open = append(slices.Clip(c.open), openCall{id: call.id, name: call.name, turn: last, tool: place})
	}
	if over := len(c.open) - maxOpenCalls; over > 0 {
		c.open = c.open[over:]
	}
}

// resume is the place to go on from: before the last two turns and the last answer, or where this
// reading started if it brought fewer.
func (c *conversation) resume() mark {
	switch {
	case len(c.turns) < 2:
		return c.start
	case c.answered != nil && c.answered.offset < c.marks[0].offset:
		return *c.answered
	}
	return c.marks[0]
}

// maxToolText bounds what is kept of a tool's input or output. The chunker reduces both to much
// less; this keeps a log of gigabytes of output from filling the memory.
const maxToolText = 64 << 10

// shorten cuts the middle out of a long text.
func shorten(text string) string {
	if len(text) <= maxToolText {
		return text
	}
	head := strings.ToValidUTF8(text[:maxToolText*3/4], "")
	tail := strings.ToValidUTF8(text[len(text)-maxToolText/4:], "")
	return head + "\n[…]\n" + tail
}

// state is progress as it is stored in a Position.
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

// restore is the reverse of state. What it does not understand it leaves out.
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
