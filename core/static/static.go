// Package static is the curated memory of an agent: a hierarchy of Markdown files for its system prompt.
//
// Global memory comes first, then plugins', then the project's from its root down to the folder the agent works in; what is
// more specific stands later. Files may import others, rules apply to some requests or paths only, and memory of other folders
// is there just in time. Text of these files acts as instruction, so all but global memory is read from trusted folders
// only, nothing is read that looks like a secret, and no path leads out of where it may (package internal/beneath). One rule: the
// same files make the same text, byte for byte, since providers cache prompts by their beginning.
//
// What was left out, and why, is in Memory.Files and Memory.Warnings; where each line comes from, in Memory.Segments.
package static

import (
	"context"
	"fmt"
	"sync"
)

// A Tier is where in the hierarchy a file stands; later ones override earlier ones.
type Tier string

// Tiers, in order.
const (
	Global    Tier = "global"
	Plugin    Tier = "plugin"
	Project   Tier = "project"
	Directory Tier = "directory" // below the folder the agent works in
)

// A Kind is what a file is for.
type Kind string

// Kinds of file.
const (
	Instructions Kind = "instructions"
	Private      Kind = "private" // ".local.md", kept out of git
	Note         Kind = "note"    // saved memories, plugins' other files
	Rule         Kind = "rule"    // in a folder "rules"
)

// A File is a memory file that was found.
type File struct {
	Path     string   `json:"path"` // relative to the project, or "~/…"; slash-separated
	File     string   `json:"file"` // absolute
	Tier     Tier     `json:"tier"`
	Kind     Kind     `json:"kind"`
	Head     Head     `json:"head"`
	Imported []string `json:"imported,omitempty"` // absolute paths of files whose text is in it
	Lines    int      `json:"lines"`              // that are given, imports included
	Tokens   int      `json:"tokens"`             // of them
	// Reason says why nothing of it is given; "" if something is.
	Reason string `json:"reason,omitempty"`
	// Untrusted is true if that is because its folder is not trusted.
	Untrusted bool `json:"untrusted,omitempty"`
	// Cut is true if only a part of it is given.
	Cut bool `json:"cut,omitempty"`
}

// A Segment is text of one file, as it is given.
type Segment struct {
	Tier         Tier   `json:"tier"`
	Path         string `json:"path"`
	ImportedFrom string `json:"importedFrom,omitempty"`
	FirstLine    int    `json:"firstLine"` // in the file, from 1
	LastLine     int    `json:"lastLine"`
	Tokens       int    `json:"tokens"`
	Hash         string `json:"hash"` // of the whole file: the first 16 digits of its SHA-256
	Text         string `json:"text"`
}

// A Warning is about a line of a file; 0 is the file as a whole.
type Warning struct {
	Path string `json:"path"`
	Line int    `json:"line,omitempty"`
	Text string `json:"text"`
}

func (w Warning) String() string {
	switch {
	case w.Path == "":
		return w.Text
	case w.Line == 0:
		return fmt.Sprintf("%s: %s", w.Path, w.Text)
	}
	return fmt.Sprintf("%s:%d: %s", w.Path, w.Line, w.Text)
}

// Usage is how much is given.
type Usage struct {
	Files   int `json:"files"`
	Lines   int `json:"lines"`
	Bytes   int `json:"bytes"`
	Tokens  int `json:"tokens"`
	Context int `json:"context"` // window of the model in tokens, negative if it does not count
	// Within is false if the tokens are more than Limits.Percent of Context.
	Within bool `json:"within"`
}

// Percent is the share of the context window, 0 if that does not count.
func (u Usage) Percent() float64 {
	if u.Context <= 0 {
		return 0
	}
	return 100 * float64(u.Tokens) / float64(u.Context)
}

// Memory is what is given to the agent, and how it came about. It must not be changed.
type Memory struct {
	Project string `json:"project"` // root of the project, absolute, links resolved
	Trusted bool   `json:"trusted"`
	// Files that were found, in the order they are given; others than those given tell a Reason.
	Files    []File    `json:"files"`
	Segments []Segment `json:"segments"`
	Warnings []Warning `json:"warnings"`
	Usage    Usage     `json:"usage"`

	instructions, context string
}

// Instructions is the text of global and plugin memory, without a heading; "" if there is none.
func (m Memory) Instructions() string { return m.instructions }

// ProjectContext is the text of the project's memory, without a heading; "" if there is none.
func (m Memory) ProjectContext() string { return m.context }

// Given are the absolute paths of the files whose whole text is given, imported ones among them.
func (m Memory) Given() []string {
	var files []string
	for _, f := range m.Files {
		if f.Reason == "" && !f.Cut {
			files = append(append(files, f.File), f.Imported...)
		}
	}
	return files
}

// A Layer is the curated memory of one session. It is safe for concurrent use.
type Layer struct {
	options Options

	mu    sync.Mutex
	start *Memory // of the last Load
	key   string  // of what start was made of
	// What the session was given: real paths of files, and bytes and tokens beside start's.
	given map[string]bool
	spent Usage
}

// New returns a layer. Nothing is read before it is asked for.
func New(o Options) *Layer {
	return &Layer{options: o.withDefaults(), given: map[string]bool{}}
}

// Load returns the memory for the start of a session. Files that have not changed since the last time are not read again. The
// only errors are those of ctx: what cannot be read is a Warning, and the rest is used.
func (l *Layer) Load(ctx context.Context) (Memory, error) {
	m, _, err := l.load(ctx)
	return m, err
}

// load also returns the folders that were looked at.
func (l *Layer) load(ctx context.Context) (m Memory, looked []string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.reading(ctx)
	found, err := r.discover()
	if err == nil {
		err = r.read(found)
	}
	if err != nil {
		return Memory{}, nil, err
	}
	if key := r.key(found); l.start == nil || l.key != key {
		m := r.assemble(found, l.options.Limits, nil, func(c candidate) string { return c.conditional() })
		if err := ctx.Err(); err != nil {
			return Memory{}, nil, err
		}
		l.begin(&m, key, found)
	}
	return *l.start, r.folders(found), nil
}

// begin takes over what is given at the start.
func (l *Layer) begin(m *Memory, key string, found []candidate) {
	l.start, l.key, l.spent = m, key, Usage{}
	clear(l.given)
	for _, c := range found {
		if c.content != nil && c.conditional() == "" { // also those left out for another reason: they were considered
			l.given[c.content.real] = true
		}
	}
	l.give(*m)
	log := l.options.Log
	log.Debug("static memory is loaded", "files", m.Usage.Files, "tokens", m.Usage.Tokens, "project", m.Project, "trusted", m.Trusted)
	for _, s := range m.Segments {
		log.Debug("provenance", "source", s.Path, "tier", s.Tier, "importedFrom", s.ImportedFrom, "lines", fmt.Sprintf("%d-%d", s.FirstLine, s.LastLine), "tokens", s.Tokens, "hash", s.Hash)
	}
}

// give remembers what is imported by files that are given.
func (l *Layer) give(m Memory) {
	for _, f := range m.Files {
		for _, real := range f.Imported {
			l.given[real] = true
		}
	}
}

// Refresh forgets what was read and given, and loads anew.
func (l *Layer) Refresh(ctx context.Context) (Memory, error) {
	l.options.Cache.clear()
	l.mu.Lock()
	l.start = nil
	l.mu.Unlock()
	return l.Load(ctx)
}

// CacheStats tells how the cache has served so far.
func (l *Layer) CacheStats() CacheStats { return l.options.Cache.stats() }

// Project returns the root of the project.
func (l *Layer) Project() string { return projectOf(l.options) }
