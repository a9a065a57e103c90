// Package setup adds memcore to agents' settings: hooks, an MCP server, a status line and a skill.
//
// It plans changes, and applies a plan as a whole or not at all. It knows memcore's entries by the
// command that they run, and can take them out again even if the agent has rewritten the file; the
// rest stays byte for byte. It refuses files that do not parse, reads no environment and starts no
// program.
package setup

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/memcore/memcore/inject/agents"
	"github.com/memcore/memcore/internal/agenthome"
)

// A Scope says whose files are meant.
type Scope int

// Scopes.
const (
	User    Scope = iota // files in the home folder, for every project
	Project              // files in the project, for all who work in it
)

// Options say where to look. Folders are absolute.
type Options struct {
	Home    string
	Project string
	Path    string // folders of executables, as in PATH
	// Homes are chosen folders of settings, by agent.
	Homes map[string]string
	// Others are folders of settings that were chosen at another time, by agent.
	Others map[string][]string
	// Records is the file in which Apply keeps how to take its changes back; "" for none.
	Records string
}

// A Want says what an agent's settings should have.
type Want struct {
	Hooks bool
	MCP   bool
	// StatusLine adds a status line if the agent has none.
	StatusLine bool
	TrustMCP   bool // tell agents that ask to run the tools without confirmation
	Recall     bool // the skill that answers from memory; it uses the tools of the MCP server
}

// An Agent can use memcore. It is safe for concurrent use.
type Agent struct {
	Name  string `json:"name"`
	Title string `json:"title"`
	// Found are traces such as "~/.claude" or an executable.
	Found []string `json:"found"`
	// Other means that the agent uses these settings only if a variable names their folder, which
	// none does now. Its files in the project are those of another Agent.
	Other bool `json:"other,omitempty"`

	row     agents.Agent
	options Options
}

// Installed reports whether there is a trace.
func (a Agent) Installed() bool { return len(a.Found) > 0 }

// Names returns the names of agents with settings.
func Names() (names []string) {
	for _, a := range Find(Options{}) {
		names = append(names, a.Name)
	}
	return names
}

// Find returns all agents, in a fixed order, and behind each one that has other folders of
// settings, it with those that exist.
func Find(o Options) (all []Agent) {
	for _, row := range agents.All {
		if agenthome.Default(row.Name) == "" {
			continue
		}
		a := Agent{Name: row.Name, Title: row.Title, Found: []string{}, row: row, options: o}
		if folder := a.home(); folder != "" && isFolder(folder) {
			a.Found = append(a.Found, o.shown(folder))
		}
		for _, name := range row.Executables {
			if file := executable(name, o.Path); file != "" {
				a.Found = append(a.Found, o.shown(file))
			}
		}
		all = append(all, a)
		for _, folder := range o.Others[row.Name] {
			if folder != a.home() && isFolder(folder) {
				all = append(all, a.in(folder))
			}
		}
	}
	return all
}

// in returns the agent with another folder of settings.
func (a Agent) in(folder string) Agent {
	shown := a.options.shown(folder)
	a.Other, a.Title, a.Found = true, a.Title+" ("+shown+")", []string{shown}
	a.options.Homes = maps.Clone(a.options.Homes)
	if folder == filepath.Join(a.options.Home, agenthome.Default(a.Name)) {
		delete(a.options.Homes, a.Name) // its files are those of the default
	} else if a.options.Homes == nil {
		a.options.Homes = map[string]string{a.Name: folder}
	} else {
		a.options.Homes[a.Name] = folder
	}
	return a
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// executable returns the first of a name, or "". A relative folder could make a project look like
// an agent.
func executable(name, path string) string {
	for _, folder := range filepath.SplitList(path) {
		if !filepath.IsAbs(folder) {
			continue
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

// A Note tells a person something about a plan.
type Note struct {
	Agent string `json:"agent,omitempty"`
	Text  string `json:"text"`
}

// Plan returns what makes the agent run binary, an absolute path, as wanted. It writes nothing. An
// error names the file in the way.
func (a Agent) Plan(scope Scope, binary string, want Want) ([]Change, []Note, error) {
	if a.Other && scope == Project {
		return nil, nil, nil
	}
	e := a.edit(scope, binary)
	for _, step := range []struct {
		wanted bool
		add    func() error
	}{
		{want.Hooks, e.addHooks},
		{want.StatusLine, e.addStatusLine},
		{want.MCP, func() error { return e.addServer(want.TrustMCP) }},
		{want.Recall, e.addRecall},
	} {
		if !step.wanted {
			continue
		}
		if err := step.add(); err != nil {
			return nil, nil, err
		}
	}
	changes, err := e.added()
	if len(changes) > 0 && scope == Project {
		e.note("the project's files have the path of memcore on this machine, %s: keep them out of git if others have it elsewhere", binary)
	}
	return changes, e.notes, err
}

// Removal returns what takes memcore out again. A file that is still as memcore left it becomes
// what it was, byte for byte.
func (a Agent) Removal(scope Scope, binary string) ([]Change, []Note, error) {
	if a.Other && scope == Project {
		return nil, nil, nil
	}
	e := a.edit(scope, binary)
	e.restores = true
	for _, remove := range []func() error{e.removeServer, e.removeStatusLine, e.removeHooks, e.removeRecall} {
		if err := remove(); err != nil {
			return nil, nil, err
		}
	}
	changes, err := e.removed()
	return changes, e.notes, err
}

// IsSetUp reports whether the agent runs memcore, by its files or memcore's plugin.
func (a Agent) IsSetUp(binary string) bool {
	for _, scope := range []Scope{User, Project} {
		if changes, _, err := a.Removal(scope, binary); err == nil && len(changes) > 0 {
			return true
		}
	}
	return a.Plugin() != ""
}

// A Proposal is a plan for several agents.
type Proposal struct {
	Changes []Change `json:"changes"`
	Notes   []Note   `json:"notes"`
}

// Propose plans for agents, with notes on hooks in the other scope or in a plugin.
func Propose(agents []Agent, scope Scope, binary string, want Want) (Proposal, error) {
	var p Proposal
	for _, a := range agents {
		changes, notes, err := a.Plan(scope, binary, want)
		if err != nil {
			return Proposal{}, fmt.Errorf("%s: %w", a.Title, err)
		}
		p.add(changes, notes)
		if want.Hooks {
			p.add(nil, a.hooksElsewhere(scope, binary))
		}
	}
	return p, nil
}

func (a Agent) hooksElsewhere(scope Scope, binary string) []Note {
	other, flag := Project, "--project"
	if scope == Project {
		other, flag = User, "--user"
	}
	if plugin := a.Plugin(); plugin != "" {
		return []Note{{a.Name, fmt.Sprintf("memcore's plugin for %s is installed (%s), and hooks would run twice: remove the plugin, or leave these out with --no-hooks --no-mcp", a.Title, plugin)}}
	}
	e := a.edit(other, binary)
	if err := e.removeHooks(); err != nil || a.hooksFile(other) == a.hooksFile(scope) {
		return nil
	}
	for _, f := range e.files {
		if f.text != f.Before {
			return []Note{{a.Name, fmt.Sprintf("hooks of memcore are in %s as well, and would run twice: 'memcore uninstall --agent %s %s' takes them out there", f.Path, a.Name, flag)}}
		}
	}
	return nil
}

// ProposeRemoval takes memcore out of agents' files.
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

// add adds once: both scopes may have the same file.
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

// shown returns a path as a person reads it.
func (o Options) shown(path string) string {
	if o.Home != "" {
		if rel, err := filepath.Rel(o.Home, path); err == nil && filepath.IsLocal(rel) {
			return filepath.ToSlash(filepath.Join("~", rel))
		}
	}
	return strings.ToValidUTF8(path, "\ufffd")
}
