package setup

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
)

// An edit changes the files of one agent in one scope.
type edit struct {
	Agent
	scope  Scope
	binary string
	files  []*file
	notes  []Note
}

func (a Agent) edit(scope Scope, binary string) *edit {
	return &edit{Agent: a, scope: scope, binary: binary}
}

func (e *edit) note(format string, args ...any) {
	e.notes = append(e.notes, Note{e.Name, fmt.Sprintf(format, args...)})
}

// open returns a file of the agent, the same one every time.
func (e *edit) open(path string) (*file, error) {
	if path == "" {
		return nil, errors.New("there is no home folder: set HOME, or use --project")
	}
	shown, place := e.options.shown(path), "the home folder"
	within := []string{e.options.Home, e.kind.home(e.options), e.options.Project}
	if e.scope == Project { // what comes with a project must not lead into the home folder
		within, place = []string{e.options.Project}, "the project"
		if rel, err := filepath.Rel(e.options.Project, path); err == nil {
			shown = filepath.ToSlash(rel)
		}
	}
	mode := fs.FileMode(0o600) // Claude Code, for one, keeps accounts in its own
	if e.scope == Project {
		mode = 0o644
	}
	f, err := openFile(path, shown, within, place, mode)
	if err != nil {
		return nil, err
	}
	for _, other := range e.files {
		if other.File == f.File {
			return other, nil
		}
	}
	f.Agent = e.Name
	e.files = append(e.files, f)
	return f, nil
}

func (e *edit) changes() ([]Change, error) {
	var all []Change
	for _, f := range e.files {
		c, ok, err := f.change()
		if err != nil {
			return nil, err
		}
		if ok {
			all = append(all, c)
		}
	}
	return all, nil
}

// json changes a JSON file.
func (e *edit) json(path string, change func(*document) error) error {
	f, err := e.open(path)
	if err != nil {
		return err
	}
	d, err := parseDocument(f.text)
	if err != nil {
		return fmt.Errorf("%s: %w", f.Path, err)
	}
	d.exists = !f.Created
	if err := change(d); err != nil {
		return fmt.Errorf("%s: %w", f.Path, err)
	}
	f.text = d.String()
	f.Removed = d.emptied && !f.Created
	return nil
}

// mayHold tells whether a file can have anything of ours: one that has not is nobody's business when memcore is taken out, broken or not. Nor can one that
// memcore would not have written to, which is said.
func (e *edit) mayHold(path string) bool {
	if path == "" {
		return false
	}
	f, err := e.open(path)
	if err != nil {
		e.note("not looked at: %v", err)
		return false
	}
	base := e.binary[strings.LastIndexAny(e.binary, `/\`)+1:]
	return strings.Contains(f.text, serverName) || base != "" && strings.Contains(f.text, base)
}

func (e *edit) addHooks() error {
	file := e.kind.hooksFile(e.options, e.scope)
	done := false
	if e.Name == Codex {
		var err error
		if done, err = e.addCodexHooks(file); err != nil {
			return err
		}
	}
	if !done {
		if err := e.json(file, func(d *document) error { return d.addHooks(e.kind, e.binary) }); err != nil {
			return err
		}
	}
	if e.changed() {
		e.noteHooks()
	}
	return nil
}

// changed tells whether there is anything to write so far.
func (e *edit) changed() bool {
	return slices.ContainsFunc(e.files, func(f *file) bool { return f.text != f.Before })
}

// noteHooks says what it takes for hooks that were entered to run.
func (e *edit) noteHooks() {
	switch e.Name {
	case Codex:
		e.note("Codex runs new hooks only after you have trusted them: start codex and type /hooks")
		if e.scope == Project {
			e.note("Codex reads .codex only in a project that it trusts")
		}
	case GeminiCLI:
		if e.scope == Project {
			e.note("Gemini CLI reads .gemini/settings.json only in a folder that it trusts")
		}
	case Cursor:
		e.note("Cursor's files are written after its documentation; this was not tried with Cursor itself")
	}
}

func (e *edit) removeHooks() error {
	if e.Name == Codex {
		if err := e.removeTOML(path{"hooks"}); err != nil {
			return err
		}
	}
	file := e.kind.hooksFile(e.options, e.scope)
	if !e.mayHold(file) {
		return nil
	}
	return e.json(file, func(d *document) error { return d.removeHooks(e.kind, e.binary) })
}

func (e *edit) addServer(trust bool) error {
	file := e.kind.serversFile(e.options, e.scope)
	if e.Name == Codex {
		return e.addCodexServer(file)
	}
	return e.json(file, func(d *document) error {
		before := d.text
		other, err := d.addServer(e.kind, e.binary, trust)
		switch {
		case err != nil:
			return err
		case other == serverName:
			e.note("%s has another MCP server named %s, which stays as it is: memcore's is not entered", e.options.shown(file), serverName)
		case other != "":
			e.note("%s runs memcore as an MCP server already, named %s", e.options.shown(file), other)
		}
		if e.Name == ClaudeCode && e.scope == Project && d.text != before {
			e.note("Claude Code asks for your approval of .mcp.json: start claude in the project")
		}
		if entry, ok := d.at(ownServer); e.Name == GeminiCLI && ok && index(entry, "trust") < 0 && d.text != before {
			e.note("without trust, gemini asks before it uses memcore's tools, and gemini -p does not show them to the model; --trust-mcp trusts them")
		}
		return nil
	})
}

func (e *edit) removeServer() error {
	if e.Name == Codex {
		return e.removeTOML(path{"mcp_servers"})
	}
	file := e.kind.serversFile(e.options, e.scope)
	if !e.mayHold(file) {
		return nil
	}
	return e.json(file, func(d *document) error {
		if !d.isOurServer(ownServer, e.binary) {
			return nil
		}
		return d.takeOut(ownServer)
	})
}
