// Package curated builds the curated memory of an agent: Markdown files for its system prompt.
//
// Global memory comes first, then plugins', then the project's, from its root down to the agent's
// folder. Files may import others. Rules apply only to some requests or paths. The text acts as
// instruction, so all files but global ones must lie in trusted folders.
//
// The same files make the same bytes, because providers cache prompts by their beginning.
// Memory.Files and Memory.Warnings say what was left out and why.
//
// discover.go and plugins.go find candidates; read.go, parse.go and imports.go read them; expand.go
// makes bodies; budget.go cuts these to the limits; assemble.go makes the Memory.
package curated

import (
	"fmt"
	"strings"
)

// A Tier is a level of the hierarchy. Later tiers override earlier ones.
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

// A File is a memory file, given or not.
type File struct {
	Path     string   `json:"path"` // relative to the project, or "~/…"; slash-separated
	File     string   `json:"file"` // absolute
	Tier     Tier     `json:"tier"`
	Kind     Kind     `json:"kind"`
	Head     Head     `json:"head"`
	Imported []string `json:"imported,omitempty"` // absolute paths of files whose text is in it
	Lines    int      `json:"lines"`              // given, imports included
	Tokens   int      `json:"tokens"`             // of these lines
	// Reason says why the file is not given; "" if it is.
	Reason string `json:"reason,omitempty"`
	// Applies says why a conditional file applies at a moment (Layer.Now).
	Applies string `json:"-"`
	// Has means that the session has the file already (Moment.Has).
	Has bool `json:"-"`
	// Untrusted means that the folder of the file is not trusted.
	Untrusted bool `json:"untrusted,omitempty"`
	// Plugin is the folder to trust, for a plugin outside of the project.
	Plugin string `json:"plugin,omitempty"`
	// Cut means that only a part of the file is given.
	Cut bool `json:"cut,omitempty"`
	// LeftOut names the lines that are not given, and their sections.
	LeftOut string `json:"leftOut,omitempty"`
}

// IsWhole reports whether the whole text of the file is given.
func (f File) IsWhole() bool { return f.Reason == "" && !f.Cut }

// A Segment is given text of one file.
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

// A Warning is about a line of a file; Line 0 is the whole file.
type Warning struct {
	Path string `json:"path"`
	Line int    `json:"line,omitempty"`
	Text string `json:"text"`
	// Secret means that the person should know of it before the next session.
	Secret bool `json:"-"`
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

// Usage measures what is given.
type Usage struct {
	Files  int `json:"files"`
	Lines  int `json:"lines"`
	Bytes  int `json:"bytes"`
	Tokens int `json:"tokens"`
}

// Percent returns the share of Window.
func (u Usage) Percent() float64 { return 100 * float64(u.Tokens) / Window }

// Memory is the text for the agent and its provenance. Do not change it.
type Memory struct {
	Project string `json:"project"` // root of the project, absolute, links resolved
	Trusted bool   `json:"trusted"`
	// Files are all files found, in the order of the text.
	Files    []File    `json:"files"`
	Segments []Segment `json:"segments"`
	Warnings []Warning `json:"warnings"`
	Usage    Usage     `json:"usage"`

	sections []Section
	// See Versions, Folders, Changed and Gone.
	versions map[string]string
	folders  []string
	changed  []string
	gone     []string
}

// A Section is text under a heading: the user's instructions or the project's context. Priorities
// can mix the tiers into more than two sections.
type Section struct {
	Context bool // of the project
	Text    string
}

// Headings of sections.
const (
	InstructionsHeading = "## User Instructions"
	ContextHeading      = "## Memory Core: Project Context"
)

// Heading returns the heading of a section.
func (s Section) Heading() string { return heading(s.Context) }

func heading(context bool) string {
	if context {
		return ContextHeading
	}
	return InstructionsHeading
}

// Sections returns all the text. Later sections have the higher priority.
func (m Memory) Sections() []Section { return m.sections }

// Instructions returns the text of global and plugin memory without a heading; "" for none.
func (m Memory) Instructions() string { return m.join(false) }

// ProjectContext returns the project's text without a heading; "" for none.
func (m Memory) ProjectContext() string { return m.join(true) }

func (m Memory) join(context bool) string {
	var texts []string
	for _, s := range m.sections {
		if s.Context == context {
			texts = append(texts, s.Text)
		}
	}
	return strings.Join(texts, "\n\n")
}

// Given returns the absolute paths of wholly given files and their imports.
func (m Memory) Given() []string {
	var files []string
	for _, f := range m.Files {
		if f.IsWhole() {
			files = append(append(files, f.File), f.Imported...)
		}
	}
	return files
}

// Versions returns the versions of the files that are given, or apply now (Layer.Now), and of their
// imports, by path, also of those that did not fit: the text names them. Those of Gone are "".
func (m Memory) Versions() map[string]string { return m.versions }

// Changed returns the files, as shown, that are given because a running session has another
// version.
func (m Memory) Changed() []string { return m.changed }

// Gone returns the files, as shown, that a running session was given and that no longer hold: they
// are missing, not trusted or turned off.
func (m Memory) Gone() []string { return m.gone }

// Folders returns the folders, as shown, whose memory is given because a tool touches them.
func (m Memory) Folders() []string { return m.folders }
