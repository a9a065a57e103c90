// Package source finds and reads documents: Markdown files and the conversation logs of agents.
//
// It writes nothing but KnownOptions.Facts, follows no link out of a folder, and never opens a file
// that looks like a secret (DenyReason). An unreadable document is reported and does not affect the
// others.
//
// folder.go and walk.go find documents, sniff.go recognises logs, jsonl.go and json.go read them.
// Each format of a log has a file format_NAME.go; formats.go is their table. database.go reads
// sessions that agents keep in databases.
package source

import (
	"cmp"
	"context"
	"time"

	"github.com/memcore/memcore/chunker"
	"github.com/memcore/memcore/internal/safefile/secretfile"
)

// Scopes of memory.
const (
	ScopeProject = "project"
	ScopeGlobal  = "global"
)

// Kinds of document.
const (
	KindMarkdown     = "markdown"
	KindConversation = "conversation"
	KindDocument     = "document" // of a memory service
)

// Kinds lists all kinds.
var Kinds = []string{KindMarkdown, KindConversation, KindDocument}

// A Source is a set of documents. It is safe for concurrent use.
type Source interface {
	// Name names the source, such as its folder. It is unique in a memory.
	Name() string
	// List returns the current documents, sorted by Path. It does not read unchanged files. After
	// an error the documents may still exist.
	List(ctx context.Context) (Listing, error)
	// Read returns the content of a document, if possible from where Read stopped before. An error
	// concerns this document only.
	Read(ctx context.Context, doc Document, from Position) (Content, error)
}

// A Document is a file or a log that is indexed.
type Document struct {
	// Path is its name in citations, unique in a memory: relative to the workspace, "~/…" in the
	// home folder, absolute elsewhere, "session:ID/…" in the folder of a session.
	Path string
	// File is its path on disk, or "".
	File string
	// Scope is ScopeProject or ScopeGlobal.
	Scope string
	// Kind is one of Kinds.
	Kind string
	// Format names the reader, such as "markdown" or "claude-code".
	Format string
	// Session is the conversation in whose folder it is, or "".
	Session string
	// CopyOf is the session of another agent whose log this one repeats, or "". If that log is
	// there, it is the one to read.
	CopyOf string
	// Branch is the branch of the repository on which an agent's session began, or "".
	Branch string
	// Rotated means that its agent deletes it some day without asking, which does not mean that it
	// shall be forgotten.
	Rotated bool
	// Packed means that Size does not bound the text, of which unpacking makes any number of bytes.
	Packed bool
	// Size, ModTime and Changed show whether the document has changed. Changed is the system's own
	// time of change; zero if unknown.
	Size    int64
	ModTime time.Time
	Changed time.Time
}

// name is by what a document is known that is no file.
func (d Document) name() string { return cmp.Or(d.File, d.Path) }

// A Listing is the result of Source.List.
type Listing struct {
	Documents []Document
	Skipped   []Skip
	// Folders are the absolute paths to watch for changes.
	Folders []string
}

// A Skip is a skipped file or folder, and why, for a person.
type Skip struct {
	Path   string `json:"path"`
	Reason string `json:"reason"`
	// TooLarge means that it would be a document if it were smaller.
	TooLarge bool `json:"tooLarge,omitempty"`
	// Unreadable means that the documents there, or below a folder, are unknown: those that an
	// index has may still exist.
	Unreadable bool `json:"unreadable,omitempty"`
}

// A Position is how far a growing log was read; zero is the start. It is stored as JSON.
type Position struct {
	// Offset is the byte after the last line that was read, Line the number of lines before it.
	Offset int64 `json:"offset,omitempty"`
	Line   int   `json:"line,omitempty"`
	// Prefix is a hash of the bytes before Offset. If it differs, the file was rewritten.
	Prefix string `json:"prefix,omitempty"`
	// State is what a reader needs from earlier lines, such as the session's ID.
	State map[string]string `json:"state,omitempty"`
}

// Content is Markdown or Turns, depending on the document's Kind.
type Content struct {
	Markdown []byte // UTF-8
	// Encoding names that of the file, as package charset has it, if it is not UTF-8.
	Encoding string
	Turns    []chunker.Turn
	// Agent means that the log is of an agent at work.
	Agent bool
	// Noted means that it is all that is known of that agent's session (FolderOptions.OfAgent): a
	// search finds each word of it.
	Noted bool
	// From is the first line of this content. Chunks of earlier lines are still valid.
	From int
	// Resume is where to go on when the log has grown; zero means from the start. It lies before
	// the last two turns and the last answer, whose chunks may still change.
	Resume Position
	// More means that the log goes on behind Resume: read again from there. A log is read in pieces
	// whose turns take some 32 MB.
	More bool
	// Unknown are the records up to the end of this content whose kind is not known, also those of
	// earlier readings.
	Unknown []UnknownRecords
	// Skipped counts unreadable lines, and parts of lines, by reason ("not JSON"). SkippedAt is the
	// first line of each reason.
	Skipped   map[string]int
	SkippedAt map[string]int
}

// DenyReason says why a path is never opened (secretfile.Reason), or returns "".
func DenyReason(path string) string { return secretfile.Reason(path) }
