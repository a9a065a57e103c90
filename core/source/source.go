// Package source is where memory is read from: Markdown files and the conversation logs of agents.
//
// It finds documents, tells which have changed, and reads them into bytes (Markdown) or turns
// (conversations). It writes nothing, follows no link out of a folder it was given, and never opens
// what looks like a secret (DenyReason). Its one rule: what cannot be read is counted and named,
// never fatal to the rest.
package source

import (
	"context"
	"time"

	"github.com/memcore/memcore/chunker"
	"github.com/memcore/memcore/internal/deny"
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
)

// A Source is a set of documents. Its methods are safe for concurrent use.
type Source interface {
	// Name says what the source is, such as the folder it reads; unique among the sources of a memory.
	Name() string
	// List returns the documents there are now, by Path, and what was passed over. It costs a stat a
	// file, never a read of unchanged content. The error is for a source that cannot be listed at all
	// (its folder is gone or unreadable): nothing must be concluded about its documents then.
	List(ctx context.Context) (Listing, error)
	// Read returns the content of a document, from the start or, where Position allows, from where an
	// earlier Read stopped. An error concerns this document only.
	Read(ctx context.Context, doc Document, from Position) (Content, error)
}

// A Document is one file of memory (or what stands for one).
type Document struct {
	// Path is how citations name it: slash-separated, relative to the workspace where it lies inside
	// it, "~/…" inside the home folder, absolute elsewhere. It is unique in a memory.
	Path string
	// File is where it is on disk; empty if it is not a file.
	File string
	// Scope is ScopeProject or ScopeGlobal.
	Scope string
	// Kind is KindMarkdown or KindConversation.
	Kind string
	// Format names the reader, such as "markdown" or "claude-code".
	Format string
	// Size, ModTime and Changed tell whether the document has changed without reading it. Changed is what the system says of a file's
	// last change, which programs cannot set; zero if it does not tell.
	Size    int64
	ModTime time.Time
	Changed time.Time
}

// A Listing is what a source holds.
type Listing struct {
	Documents []Document
	Skipped   []Skip
	// Folders are those on disk that were looked into, absolute: what changes in the source changes one of them.
	Folders []string
}

// A Skip is something that was passed over, and why, in words for a person.
type Skip struct {
	Path   string `json:"path"`
	Reason string `json:"reason"`
}

// A Position is how far a growing log has been read. The zero Position is the start. It is stored
// between runs as JSON.
type Position struct {
	// Offset is the byte after the last whole line that was read, Line the number of lines before it.
	Offset int64 `json:"offset,omitempty"`
	Line   int   `json:"line,omitempty"`
	// Prefix is a hash of the bytes just before Offset: if it no longer fits, the file was rewritten
	// and is read from the start.
	Prefix string `json:"prefix,omitempty"`
	// State carries what a reader must know from earlier lines, such as the session's ID.
	State map[string]string `json:"state,omitempty"`
}

// Content is what Read returns. Exactly one of Markdown and Turns is meant, by the document's Kind.
type Content struct {
	Markdown []byte
	Turns    []chunker.Turn
	// Agent means that the log is of an agent at work, which says much that nobody needs to know.
	Agent bool
	// From is the first line this content covers: 1, or later if the reading went on from a Position.
	// Chunks on earlier lines are still valid.
	From int
	// Resume is where to go on when the log has grown; zero if it must be read whole again. It lies
	// before the last two turns of this content, so that their neighbours can be told again, and
	// before its last answer, which later ones may complete.
	Resume Position
	// Skipped counts lines that were not understood, by reason ("not JSON", "unknown type \"x\"").
	Skipped map[string]int
}

// DenyReason says why the file or folder at path is never opened because of its name or place, in words for a person; empty
// if it may be. It looks at the path as it is written: whoever follows links asks again with what they lead to.
func DenyReason(path string) string { return deny.Reason(path) }
