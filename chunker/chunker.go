// Package chunker cuts documents into the pieces that are embedded, indexed and shown.
//
// Markdown is cut along its structure, conversations along their turns. The package reads no files
// and knows no model: text comes in as bytes or turns, tokens are counted by a function the caller
// gives. Its one rule: the same input gives the same chunks with the same IDs, every line range
// lies inside the input, and no text is lost between the first chunk and the last.
package chunker

import "time"

// Options says how large a chunk may grow. The zero value suits a model that reads 256 tokens.
type Options struct {
	// Target is the size, in tokens, at which a chunk that has to be cut is considered full, its
	// EmbeddingText counted; 0 means 160, or two thirds of Max if that is less. At most Max.
	Target int
	// Max is the size that no EmbeddingText of a chunk exceeds, in tokens; 0 means 240, or Target if
	// that is more. Below 32 it is taken as 32, above 1<<20 as that. Sixteen bytes count as a token at least, so that a
	// text that is long but has few tokens is cut as well.
	Max int
	// Overlap is how many tokens of the end of a piece are repeated, at most, at the start of the next
	// one where a long run of prose has to be split; 0 means 24, negative means none. At most a
	// quarter of Target. Nothing else ever overlaps.
	Overlap int
	// Count tells how many tokens a text has for the embedding model, special tokens left out.
	// It must be safe for concurrent use. nil means an estimate of one token per four bytes.
	Count func(text string) int
	// Redact takes out of an answer that Session keeps what nobody may keep, before it is cut, and again
	// out of what is left if parts of it have come together. nil means that nothing is taken out.
	Redact func(text string) string
}

// A Chunk is a piece of a document.
type Chunk struct {
	// ID is 32 lower-case hex digits: a hash of the document's name, the chunk's text and context
	// and its place. The place is the position among equal chunks of a Markdown document (so that
	// a line inserted above moves no ID), and the first line of a turn in a conversation (logs only
	// grow).
	ID string
	// Text is what the chunk says: for Markdown the bytes of the lines from StartLine to EndLine as
	// they stand (invalid UTF-8 replaced by U+FFFD, \r\n by \n), or a part of them where long lines
	// had to be split; for a conversation the turn, its tool calls reduced to what one would search
	// for.
	Text string
	// Context helps to understand and to find Text but is not part of it: the heading path of a
	// Markdown chunk joined by " > ", empty for a conversation.
	Context string
	// Before and After are the neighbouring turns, cut to about 60 tokens each, each as
	// "speaker: text". Markdown chunks have none.
	Before, After string
	// StartLine and EndLine are the first and last line of the chunk in its document, from 1, both
	// included.
	StartLine, EndLine int
	// Headings is the path of headings above the chunk, outermost first, without markup; those that
	// Text begins with are among them. It begins with the title of the frontmatter, unless a heading
	// says the same, and ends, in the later chunks of a table that had to be split, with its header row.
	Headings []string
	// Speaker, Session and Time say who spoke, in which session and when; empty and zero for
	// Markdown or where the log does not tell.
	Speaker string
	Session string
	Time    time.Time
	// Hash is the SHA-256 of everything that is embedded (Text, Context, Speaker and Time as they
	// enter EmbeddingText), 64 lower-case hex digits: chunks with equal hashes have equal vectors.
	Hash string
	// Tokens is the size of Text by Options.Count.
	Tokens int
}

// A Document is what Markdown returns.
type Document struct {
	// Title is the "title" or "name" of the frontmatter, else the first level-1 heading, else "".
	Title string
	// Meta is the YAML frontmatter, nil if there is none. It is not part of any chunk.
	Meta map[string]any
	// Chunks are in the order of the document.
	Chunks []Chunk
	// Warnings tell what was odd but survived, with line numbers, such as a broken frontmatter
	// (its lines are then treated as text).
	Warnings []Warning
}

// A Warning is something odd in a document that did not stop the chunking.
type Warning struct {
	Line int // from 1
	Text string
}

// A Turn is one message of a conversation as a log holds it.
type Turn struct {
	// Line and EndLine are the lines of the log the turn stands on, from 1, both included.
	Line, EndLine int
	// Role is "user", "assistant", "system" or "tool".
	Role string
	// Speaker is the name to show; empty means Role.
	Speaker string
	// Session identifies the conversation; turns of one call may belong to several.
	Session string
	// Time is when it was said; zero if the log does not tell.
	Time time.Time
	// Text is what was said, without tool traffic; may be empty.
	Text string
	// Tools are the tool calls of this turn and what came back, unreduced.
	Tools []ToolUse
}

// A ToolUse is a call of a tool, its result, or both.
type ToolUse struct {
	Name   string
	Input  string // JSON or free text, empty if this is only a result
	Output string // free text, empty if this is only a call
	Failed bool
}
