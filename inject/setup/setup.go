// Package setup enters memcore into the configuration of agents: their hooks and their list of MCP servers.
//
// It finds the agents there are, plans changes of their files, and applies a plan whole or not at all. The files belong to
// people: comments, order, indentation and unknown keys stay byte for byte, a file that does not parse is refused, and what was
// entered can be taken out again. Its one rule: only entries that run memcore are changed, whoever else has similar ones.
//
// It reads no environment variable and starts no program; trust, where an agent asks for it, is left to the person.
package setup

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Names of agents.
const (
	ClaudeCode = "claude-code"
	GeminiCLI  = "gemini-cli"
	Codex      = "codex"
	Cursor     = "cursor"
)

// A Scope says whose files are meant.
type Scope int

// Scopes.
const (
	User    Scope = iota // in the home folder: they count in every project
	Project              // in the project: they count there, for whoever works in it
)

// Options say where to look. Folders are absolute.
type Options struct {
	Home    string
	Project string
	Path    string // folders of executables, as in PATH
	// CodexHome and ClaudeHome take the place of .codex and .claude in Home, as CODEX_HOME and CLAUDE_CONFIG_DIR do; "" is not to.
	CodexHome  string
	ClaudeHome string
}

// A Want says what is entered into an agent's configuration.
type Want struct {
	Hooks    bool
	MCP      bool
	TrustMCP bool // tell agents that ask (Gemini CLI) to run the tools without confirmation
}

// An Agent is a program that memory can be given to. It is safe for concurrent use.
type Agent struct {
	Name  string `json:"name"`
	Title string `json:"title"`
	// Found says what of it there is, such as "~/.claude" or the path of its executable; without any it is not installed.
	Found []string `json:"found"`

	kind    *kind
	options Options
}

// Installed tells whether anything of the agent was found.
func (a Agent) Installed() bool { return len(a.Found) > 0 }

// Names are those of all agents that are known.
func Names() []string {
	var names []string
	for _, k := range kinds {
		names = append(names, k.name)
	}
	return names
}

// Find returns all agents that are known, always in the same order, with what was found of each.
func Find(o Options) []Agent {
	var all []Agent
	for i := range kinds {
		k := &kinds[i]
		a := Agent{Name: k.name, Title: k.title, Found: []string{}, kind: k, options: o}
		if folder := k.home(o); folder != "" && isFolder(folder) {
			a.Found = append(a.Found, o.shown(folder))
		}
		for _, name := range k.executables {
			if file := executable(name, o.Path); file != "" {
				a.Found = append(a.Found, o.shown(file))
			}
		}
		all = append(all, a)
	}
	return all
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// executable returns the first file of that name in a list of folders that can be run; "" if there is none.
func executable(name, path string) string {
	for _, folder := range filepath.SplitList(path) {
		if !filepath.IsAbs(folder) {
			continue // a project must not pose as an agent
		}
		for _, extension := range executableExtensions {
			file := filepath.Join(folder, name+extension)
			if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() && canRun(info.Mode()) {
				return file
			}
		}
	}
	return ""
}

// A Note is something a person should know about a plan.
type Note struct {
	Agent string `json:"agent,omitempty"`
	Text  string `json:"text"`
}

// Plan returns what has to change so that the agent runs binary, an absolute path, as wanted; nothing if it does. An entry of memcore that is
// there is changed where it stands. Nothing is written. The error names the file that cannot be changed, and why.
func (a Agent) Plan(scope Scope, binary string, want Want) ([]Change, []Note, error) {
	e := a.edit(scope, binary)
	if want.Hooks {
		if err := e.addHooks(); err != nil {
			return nil, nil, err
		}
	}
	if want.MCP {
		if err := e.addServer(want.TrustMCP); err != nil {
			return nil, nil, err
		}
	}
	changes, err := e.changes()
	if len(changes) > 0 && scope == Project {
		e.note("the project's files have the path of memcore on this machine, %s: keep them out of git if others have it elsewhere", binary)
	}
	return changes, e.notes, err
}

// Removal returns what takes out all that runs memcore from the agent's files. A file that has nothing else is removed.
func (a Agent) Removal(scope Scope, binary string) ([]Change, []Note, error) {
	e := a.edit(scope, binary)
	// The other way round than it was entered, so that every byte finds its place again.
	if err := e.removeServer(); err != nil {
		return nil, nil, err
	}
	if err := e.removeHooks(); err != nil {
		return nil, nil, err
	}
	changes, err := e.changes()
	return changes, e.notes, err
}

// A Proposal is what is to be written, for all agents at once.
type Proposal struct {
	Changes []Change `json:"changes"`
	Notes   []Note   `json:"notes"`
}

// Propose plans for several agents. If hooks of memcore stand in the files of the other scope already, a Note says so.
func Propose(agents []Agent, scope Scope, binary string, want Want) (Proposal, error) {
	var p Proposal
	for _, a := range agents {
		changes, notes, err := a.Plan(scope, binary, want)
		if err != nil {
			return Proposal{}, fmt.Errorf("%s: %w", a.Title, err)
		}
		p.add(changes, notes)
		if want.Hooks {
			p.Notes = append(p.Notes, a.twice(scope, binary)...)
		}
	}
	return p, nil
}

// twice warns of hooks in the other scope, which agents run in addition. A file that cannot be read there is nothing to stop for.
func (a Agent) twice(scope Scope, binary string) []Note {
	other, flag := Project, "--project"
	if scope == Project {
		other, flag = User, "--user"
	}
	e := a.edit(other, binary)
	if err := e.removeHooks(); err != nil || a.kind.hooksFile(a.options, other) == a.kind.hooksFile(a.options, scope) {
		return nil
	}
	for _, f := range e.files {
		if f.text != f.Before {
			return []Note{{a.Name, fmt.Sprintf("hooks of memcore are in %s as well, and would run twice: 'memcore uninstall-hooks --agent %s %s' takes them out there", f.Path, a.Name, flag)}}
		}
	}
	return nil
}

// ProposeRemoval plans to take memcore out of the files of several agents.
func ProposeRemoval(agents []Agent, scopes []Scope, binary string) (Proposal, error) {
	var p Proposal
	for _, a := range agents {
		for _, scope := range scopes {
			changes, notes, err := a.Removal(scope, binary)
			if err != nil {
				return Proposal{}, fmt.Errorf("%s: %w", a.Title, err)
			}
			p.add(changes, notes)
		}
	}
	return p, nil
}

// add takes changes over but for those of a file that has some already: in the home folder, the files of both scopes may be the same.
func (p *Proposal) add(changes []Change, notes []Note) {
	for _, c := range changes {
		if !slices.ContainsFunc(p.Changes, func(d Change) bool { return d.File == c.File }) {
			p.Changes = append(p.Changes, c)
		}
	}
	for _, n := range notes {
		if !slices.Contains(p.Notes, n) {
			p.Notes = append(p.Notes, n)
		}
	}
}

// shown names a path for a person.
func (o Options) shown(path string) string {
	if o.Home != "" {
		if rel, err := filepath.Rel(o.Home, path); err == nil && filepath.IsLocal(rel) {
			return filepath.ToSlash(filepath.Join("~", rel))
		}
	}
	return strings.ToValidUTF8(path, "\ufffd")
}
