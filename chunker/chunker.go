// Package chunker cuts documents into chunks, which are embedded, indexed and shown.
//
// It cuts Markdown along its structure and conversations along their turns. It reads no files; the
// caller counts tokens. The same input gives the same chunks with the same IDs, every line range
// lies inside the input, and Markdown loses no text.
//
// Of Markdown, parse.go makes blocks, split.go cuts these into atoms, and pack.go joins atoms to
// chunks. conversation.go does the same for turns, and session.go for the turns worth keeping of
// agents at work.
package chunker

import (
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Options bound the size of chunks. The zero value suits a model that reads 256 tokens.
type Options struct {
	// Target is the size of EmbeddingText, in tokens, at which a chunk is full. It is at most Max;
	// 0 means 160, or less: two thirds of Max.
	Target int
	// Max is the largest EmbeddingText, in tokens, from 32 to 1<<20; 0 means 240, or Target if that
	// is more. Sixteen bytes count as at least one token.
	Max int
	// Overlap is how many tokens the next chunk repeats at most, where prose is split. It is at
	// most a quarter of Target; 0 means 24, a negative number none.
	Overlap int
	// Count counts tokens as the embedding model does, without special ones, concurrently. nil
	// estimates one token for four bytes.
	Count func(text string) int
	// Redact removes secrets from the answers that Session keeps, by the line of the turn; may be
	// nil.
	Redact func(line int, text string) string
}

// A Chunk is a piece of a document.
type Chunk struct {
	// ID is 32 lower-case hex digits, a hash of the document's name and the chunk's text, context
	// and place. The place is the turn's first line in a conversation. In Markdown it is the number
	// among equal chunks, so that a line inserted above changes no ID.
	ID string
	// Text is the lines from StartLine to EndLine, or a part of long ones, valid UTF-8 without
	// carriage returns before line breaks. Of a conversation it is the turn with its reduced tool
	// calls.
	Text string
	// Context is the heading path in Markdown, joined by " > ". It is embedded with Text.
	Context string
	// Before and After are the neighbouring turns as "speaker: text", cut to about 60 tokens.
	Before, After string
	// StartLine and EndLine are the first and last line in the document, from 1.
	StartLine, EndLine int
	// Headings are those above the chunk and at the beginning of Text, outermost first, without
	// markup. The title of the frontmatter comes first, unless a heading repeats it. Later chunks
	// of a split table end with its header row.
	Headings []string
	// Speaker, Session and Time are those of a turn, if known.
	Speaker string
	Session string
	Time    time.Time
	// Hash is the SHA-256 of EmbeddingText in hex: equal hashes mean equal vectors.
	Hash string
	// Tokens is the size of Text by Options.Count.
	Tokens int
}

// A Document is what Markdown returns.
type Document struct {
	// Title is "title" or "name" of the frontmatter, else the first level-1 heading, or "".
	Title string
	// Meta is the frontmatter, or nil. It is not part of a chunk.
	Meta map[string]any
	// Chunks are in the order of the document.
	Chunks []Chunk
	// Warnings name problems such as broken frontmatter, which is treated as text.
	Warnings []Warning
}

// A Warning is a problem on a line of a document.
type Warning struct {
	Line int // from 1
	Text string
}

// A Turn is one message of a conversation.
type Turn struct {
	// Line and EndLine are its first and last line in the log, from 1.
	Line, EndLine int
	// Role is "user", "assistant", "subagent", "system" or "tool". It says who spoke, whatever the
	// record of the log is called. A subagent's turn is its report to the agent that asked it.
	Role string
	// Speaker is the name to show; empty means Role.
	Speaker string
	// Session identifies the conversation. A log may hold several.
	Session string
	// Time is zero if the log has none.
	Time time.Time
	// Text is the message without tool calls; may be empty.
	Text string
	// Dialog says how a user spoke in a dialog of the agent; "" if they wrote a message.
	Dialog Dialog `json:",omitempty"`
	// Asked is what the text answers if that is no turn: the question of a dialog, the task of a
	// subagent.
	Asked string `json:",omitempty"`
	// Tools are the tool calls of this turn with their results.
	Tools []ToolUse
}

// isTakenOut reports whether a user wrote a message that was forgotten: others say something.
func (t Turn) isTakenOut() bool {
	return t.Role == "user" && t.Dialog == "" && strings.TrimSpace(t.Text) == ""
}

// Said returns the text of a turn; of a dialog, behind what the user was asked, since either alone
// says little.
func (t Turn) Said() string {
	text, asked := strings.TrimSpace(t.Text), oneLine(t.Asked)
	if t.Dialog == "" || text == "" || asked == "" {
		return text
	}
	last, _ := utf8.DecodeLastRuneInString(asked)
	if unicode.IsLetter(last) || unicode.IsDigit(last) || last == ')' {
		asked += ":"
	}
	if strings.ContainsRune("#-*+|>`~1", rune(text[0])) {
		return asked + "\n" + text // a heading or a list begins a line
	}
	return asked + " " + text
}

// A Dialog is the kind of a dialog in which an agent asked its user.
type Dialog string

// Kinds of dialogs.
const (
	DialogChoice    Dialog = "choice"    // the user chose among the agent's answers to its question
	DialogAnswer    Dialog = "answer"    // the user answered a question in their own words
	DialogPlan      Dialog = "plan"      // the user approved a plan of the agent, or edited it
	DialogRejection Dialog = "rejection" // the user rejected a call, and said why
)

// A ToolUse is a call of a tool, its result, or both.
type ToolUse struct {
	Name   string
	Input  string // JSON or free text, empty if this is only a result
	Output string // free text, empty if this is only a call
	Failed bool
	// Refused means that a person did not allow the call, or stopped it.
	Refused bool `json:",omitempty"`
}
