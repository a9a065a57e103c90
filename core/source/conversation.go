package source

import (
	"cmp"
	"encoding/json"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/memcore/memcore/chunker"
	"github.com/memcore/memcore/internal/text/prompt"
)

// A record is a line or an element of a JSON array.
type record struct {
	line, endLine int
	index         int    // in a JSON array
	json          []byte // valid until the next record
}

// A message is what a format reads from a record.
type message struct {
	// key joins records: one with the last turn's key extends that turn, or replaces it with again.
	// "" joins nothing.
	key   string
	again bool

	role, speaker string
	typed         bool // the log says that a person wrote it
	time          time.Time
	text          string
	calls         []call
	results       []result
	replies       []reply
	reports       []report
}

// size is about what a turn holds of the message.
func (m message) size() int {
	n := len(m.text) + 256
	for _, c := range m.calls {
		n += min(len(c.input), maxToolText) + min(len(c.output), maxToolText)
	}
	for _, r := range m.results {
		n += min(len(r.output), maxToolText)
	}
	return n
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
	denied           denial
}

// A denial is how a result shows that a person rejected the call.
type denial int

const (
	denialNone   denial = iota // only its text may say so
	denialSaid                 // it begins as the agent's own sentence, which a server could repeat
	denialMarked               // the log marks it
)

// An openCall waits for its result.
type openCall struct {
	id, name string
	about    string // as aboutCall has it
	turn     int    // index of its turn in this reading, or one of the below
	tool     int    // index in Turn.Tools
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
	told    []string // hashes of the last reports
	copied  copied
	plan    plan
	version string           // of the agent
	unknown []UnknownRecords // see passOver
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
	name    string // of the log's file
	file    string // the log on disk; "" if it is not there: then nothing is looked for beside it
	beside  beside
	turns   []chunker.Turn
	grown   []byte // text of the last turn if several records made it
	key     string // of the last turn
	step    int    // for formats that have no keys
	tries   tries
	held    int  // bytes of turns
	limit   int  // of held, where reading stops; 0 is none
	more    bool // it has stopped
	skipped map[string]int
	// skippedAt has the first line by reason.
	skippedAt map[string]int

	start mark    // of this reading
	here  mark    // of the current record
	marks [2]mark // of the last two turns
	// lastAnswer is valid until the user speaks again, dialogs apart.
	lastAnswer *mark
	// Of a subagent's log: what it says of itself, whether the log of the session that asked is
	// there, and what the subagent was asked.
	sub     *subagent
	asker   found
	subtask string
	// parent says of a fork whether the log of the session that it copied is there. Else the copy
	// is all that is left of it.
	parent found
	// replaced is how the conversation was after the last turn that may be written again.
	replaced rewritten
}

// found is whether something is there that is looked for once.
type found struct{ looked, there bool }

func (f *found) is(look func() bool) bool {
	if !f.looked {
		f.looked, f.there = true, look()
	}
	return f.there
}

// copied says which records are copies of another session's, as in a fork. They count in that.
type copied struct {
	below  int       // those with a smaller ordinal; 0 if ordinals do not show it
	before time.Time // those that were written before; zero if times do not show it
}

// has reports whether a record is a copy. ordinal is nil if it has none.
func (c copied) has(ordinal *int, at time.Time) bool {
	if c.below > 0 && ordinal != nil {
		return *ordinal < c.below
	}
	return !at.IsZero() && at.Before(c.before)
}

// A rewritten turn takes what followed from it with it.
type rewritten struct {
	turns      int // up to it; 0 if there is none
	told       []string
	marks      [2]mark
	lastAnswer *mark
}

// skip notes why a line was skipped; "" is no reason.
func (c *conversation) skip(line int, reason string) {
	if reason == "" {
		return
	}
	if c.skipped == nil {
		c.skipped, c.skippedAt = map[string]int{}, map[string]int{}
	}
	if c.skipped[reason]++; c.skipped[reason] == 1 {
		c.skippedAt[reason] = line
	}
}

// begins notes where the record is that is parsed next.
func (c *conversation) begins(r record, offset int64) {
	c.here = mark{offset: offset, line: r.line - 1, turns: len(c.turns), progress: c.progress}
}

// take parses the record at an offset of the log.
func (c *conversation) take(f format, r record, offset int64) {
	c.begins(r, offset)
	if reason := f.parse(c, r); reason != "" {
		c.skip(r.line, reason)
	}
}

// stepKey joins all that precedes a result.
func (c *conversation) stepKey() string { return "step " + strconv.Itoa(c.step) }

func (c *conversation) add(r record, m message) {
	m.text = strings.TrimSpace(m.text)
	c.held += m.size()
	if m.role == "user" && !m.typed && prompt.ByMachine(m.text) {
		m.reports = append(m.reports, reportsIn(m.text)...)
		m.text = ""
	}
	tools, before := c.applyResults(r, m.results)
	var after []heard
	for _, call := range m.calls {
		tool := chunker.ToolUse{Name: call.name, Input: shorten(call.input), Output: shorten(call.output), Failed: call.failed}
		if call.done {
			h := hear(call.name, aboutCall(call.name, call.input), result{name: call.name, output: call.output, failed: call.failed})
			tool.Refused, after = h.refused, append(after, h)
		}
		tools = append(tools, tool)
		c.plan = planOf(call, c.plan)
	}
	c.agent = c.agent || len(m.calls)+len(m.results) > 0
	c.listen(r, m.time, before)
	if m.text != "" || len(tools) > 0 {
		c.turn(r, m, tools)
		// What follows stands on the lines of the turn, which earlier records may have begun.
		r.line, c.here = c.turns[len(c.turns)-1].Line, c.marks[1]
	}
	c.listen(r, m.time, append(after, heard{replies: m.replies, reports: m.reports}))
}

// turn begins a turn, or extends the last one.
func (c *conversation) turn(r record, m message, tools []chunker.ToolUse) {
	joins := m.key != "" && m.key == c.key
	if was := c.replaced; joins && m.again && was.turns > 0 {
		// Turns that are written again grow: one that lacks what it had is broken, or an old copy.
		former := &c.turns[was.turns-1]
		if m.text == "" {
			m.text = former.Text
		}
		if len(tools) == 0 && len(former.Tools) > 0 {
			former.Text = m.text
			return
		}
		c.turns, c.told, c.marks, c.lastAnswer = c.turns[:was.turns], was.told, was.marks, was.lastAnswer
	}
	if last := len(c.turns) - 1; joins && last >= 0 && c.turns[last].Role == m.role {
		c.extend(r, m, tools)
	} else {
		c.begin(r, m, tools)
	}
	c.addOpenCalls(m.calls)
	switch role := c.turns[len(c.turns)-1].Role; {
	case m.text == "":
	case role == "user":
		c.lastAnswer, c.plan = nil, plan{}
	case role == "assistant":
		at := c.marks[1]
		c.lastAnswer = &at
	}
	if c.replaced = (rewritten{}); m.again {
		c.replaced = rewritten{len(c.turns), c.told, c.marks, c.lastAnswer}
	}
}

// listen adds what users and subagents said in results of calls.
func (c *conversation) listen(r record, at time.Time, all []heard) {
	say := func(turn chunker.Turn) {
		key := c.key
		c.append(r, turn)
		if c.key = ""; c.replaced.turns > 0 {
			c.key = key // the turn before may be written again
		}
	}
	for _, h := range all {
		for _, said := range h.replies {
			if said.file != "" && path.Base(said.file) == c.plan.file {
				said.text = c.plan.text
			}
			if said.text != "" {
				say(chunker.Turn{Role: "user", Time: at, Text: said.text, Dialog: said.dialog, Asked: said.asked})
			}
		}
		for _, found := range h.reports {
			if !c.toldBefore(found) {
				say(chunker.Turn{Role: "subagent", Speaker: subagentSpeaker(found.name), Time: at, Text: found.text, Asked: found.asked})
			}
		}
	}
}

// applyResults returns those without a call in the last turn, and what they all say beside their
// output.
func (c *conversation) applyResults(r record, results []result) (strays []chunker.ToolUse, all []heard) {
	for _, got := range results {
		i := slices.IndexFunc(c.open, func(o openCall) bool { return o.id == got.id })
		var asked openCall
		if i >= 0 {
			asked = c.open[i]
			c.open = slices.Concat(c.open[:i], c.open[i+1:]) // marks keep the old one
		}
		name := cmp.Or(got.name, asked.name)
		h := hear(name, asked.about, got)
		all = append(all, h)
		switch {
		case i >= 0 && asked.turn == len(c.turns)-1 && asked.turn != beforeReading:
			c.answer(r, asked, got, h.refused)
		case i >= 0 && asked.turn == beforeReading && len(c.turns) == 0:
			// an earlier reading has it
		default:
			strays = append(strays, chunker.ToolUse{Name: name, Output: shorten(got.output), Failed: got.failed, Refused: h.refused})
		}
	}
	return strays, all
}

// answer puts a result into the last turn.
func (c *conversation) answer(r record, asked openCall, got result, refused bool) {
	turn := &c.turns[len(c.turns)-1]
	if asked.tool < len(turn.Tools) { // always, unless the turn was replaced by one with fewer
		tool := &turn.Tools[asked.tool]
		tool.Output, tool.Failed, tool.Refused = shorten(got.output), got.failed, refused
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
	turn := chunker.Turn{Role: m.role, Speaker: m.speaker, Time: m.time, Text: m.text, Tools: tools}
	if turn.Text == "" && len(m.calls) == 0 { // strays only
		turn.Role, turn.Speaker = "tool", ""
	}
	c.append(r, turn)
	c.key = m.key
}

// append adds a turn that stands in a record.
func (c *conversation) append(r record, turn chunker.Turn) {
	turn.Line, turn.EndLine, turn.Session = r.line, r.endLine, c.session
	if turn.Time.IsZero() {
		turn.Time = c.time
	}
	c.turns = append(c.finished(), turn)
	c.marks[0], c.marks[1] = c.marks[1], c.here
}

func (c *conversation) addOpenCalls(calls []call) {
	last := len(c.turns) - 1
	for i, call := range calls {
		if call.id == "" || call.done {
			continue
		}
		place := len(c.turns[last].Tools) - len(calls) + i
		c.open = append(slices.Clip(c.open), openCall{id: call.id, name: call.name, about: aboutCall(call.name, call.input), turn: last, tool: place})
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
const maxToolText = 16 << 10

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
		var open [][4]string
		for _, o := range m.open {
			when := ""
			if o.turn == m.turns-1 {
				when = "last"
			}
			open = append(open, [4]string{o.id, o.name, when, o.about})
		}
		text, _ := json.Marshal(open) // strings always marshal
		state["open"] = string(text)
	}
	if len(m.told) > 0 {
		state["told"] = strings.Join(m.told, " ")
	}
	if m.copied.below > 0 {
		state["copiedBelow"] = strconv.Itoa(m.copied.below)
	}
	if !m.copied.before.IsZero() {
		state["copiedBefore"] = m.copied.before.Format(time.RFC3339Nano)
	}
	if m.plan.file != "" {
		state["plan"] = m.plan.file + "\n" + m.plan.text
	}
	if m.version != "" {
		state["version"] = m.version
	}
	if len(m.unknown) > 0 {
		text, _ := json.Marshal(m.unknown) // strings and numbers always marshal
		state["unknown"] = string(text)
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
	p.told = strings.Fields(state["told"])
	p.copied.below, _ = strconv.Atoi(state["copiedBelow"])
	p.copied.before, _ = time.Parse(time.RFC3339Nano, state["copiedBefore"])
	p.plan.file, p.plan.text, _ = strings.Cut(state["plan"], "\n")
	p.version = state["version"]
	_ = json.Unmarshal([]byte(state["unknown"]), &p.unknown) // else they are counted from here
	var open [][4]string
	if json.Unmarshal([]byte(state["open"]), &open) != nil {
		return p
	}
	for _, o := range open {
		turn := longBefore
		if o[2] == "last" {
			turn = beforeReading
		}
		p.open = append(p.open, openCall{id: o[0], name: o[1], about: o[3], turn: turn})
	}
	return p
}
