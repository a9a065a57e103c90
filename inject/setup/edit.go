package setup

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
)

// An edit changes an agent's files.
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

func (e *edit) note(format string, args ...any) { e.noteText(fmt.Sprintf(format, args...)) }

// noteText adds a note, unless it is empty.
func (e *edit) noteText(text string) {
	if text != "" {
		e.notes = append(e.notes, Note{e.Name, text})
	}
}

// open returns the same file each time.
func (e *edit) open(path string) (*file, error) {
	if path == "" {
		return nil, errors.New("there is no home folder: set HOME, or use --project")
	}
	shown, place := e.options.shown(path), "the home folder"
	within := []string{e.options.Home, e.home(), e.options.Project}
	mode := fs.FileMode(0o600) // some agents keep accounts in their settings
	if e.scope == Project {    // files of a project must not lead into the home folder
		within, place, mode = []string{e.options.Project}, "the project", 0o644
		if rel, err := filepath.Rel(e.options.Project, path); err == nil {
			shown = filepath.ToSlash(rel)
		}
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

// changed reports whether there is something to write.
func (e *edit) changed() bool {
	return slices.ContainsFunc(e.files, func(f *file) bool { return f.text != f.Before })
}

// json changes a JSON file.
func (e *edit) json(path string, change func(*document) error) error {
	f, err := e.open(path)
	if err != nil {
		return err
	}
	d, err := parseDocument(f.text)
	if err == nil {
		d.exists = !f.Created
		err = change(d)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", f.Path, err)
	}
	f.text = d.String()
	f.Removed = d.emptied && !f.Created
	return nil
}

// remove changes a JSON file if mayHold.
func (e *edit) remove(path string, change func(*document)) error {
	if !e.mayHold(path) {
		return nil
	}
	return e.json(path, func(d *document) error { change(d); return nil })
}

// mayHold reports whether a file may run memcore. Others are not parsed: a broken one stops no
// removal. It notes files outside of the folder.
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
	if has, err := e.hasTOMLHooks(); has || err != nil {
		return err
	}
	err := e.json(e.hooksFile(e.scope), func(d *document) error { return d.addHooks(e.row, e.binary) })
	if err != nil {
		return err
	}
	if e.changed() {
		e.noteText(e.row.Notes.Hooks)
		if e.scope == Project {
			e.noteText(e.row.Notes.ProjectHooks)
		}
	}
	return nil
}

func (e *edit) removeHooks() error {
	if _, err := e.hasTOMLHooks(); err != nil {
		return err
	}
	return e.remove(e.hooksFile(e.scope), func(d *document) { d.removeHooks(e.row, e.binary) })
}

func (e *edit) addServer(trust bool) error {
	file := e.serversFile(e.scope)
	if e.row.TOML {
		return e.addTOMLServer(file)
	}
	return e.json(file, func(d *document) error {
		before := d.text
		other, err := d.addServer(e.row, e.binary, trust)
		if err != nil {
			return err
		}
		e.noteServer(file, other)
		if d.text == before {
			return nil
		}
		if e.scope == Project {
			e.noteText(e.row.Notes.ProjectServers)
		}
		if d.at(ownServer) != nil && d.at(ownServer.to("trust")) == nil {
			e.noteText(e.row.Notes.UntrustedServers)
		}
		return nil
	})
}

// noteServer names a server in the way of ours.
func (e *edit) noteServer(file, other string) {
	switch other {
	case "":
	case serverName:
		e.note("%s has another MCP server named %s, which stays: memcore's was not added", e.options.shown(file), serverName)
	default:
		e.note("%s runs memcore as an MCP server already, named %s", e.options.shown(file), other)
	}
}

func (e *edit) removeServer() error {
	if e.row.TOML {
		return e.removeTOML(func(t *tables) error { return t.removeServer(e.binary) })
	}
	return e.remove(e.serversFile(e.scope), func(d *document) {
		if d.isOurServer(ownServer, e.binary) {
			d.takeOut(ownServer)
		}
	})
}

func (e *edit) addStatusLine() error {
	if !e.row.StatusLine {
		return nil
	}
	file := e.hooksFile(e.scope)
	return e.json(file, func(d *document) error {
		if !d.addStatusLine(e.binary) {
			e.note("%s has another status line, which stays; '%s %s' prints a line for it", e.options.shown(file), serverName, statusCommand)
		}
		return nil
	})
}

func (e *edit) removeStatusLine() error {
	if !e.row.StatusLine {
		return nil
	}
	return e.remove(e.hooksFile(e.scope), func(d *document) {
		if d.isOurStatusLine(e.binary) {
			d.takeOut(statusLine)
		}
	})
}

// OffersStatusLine reports whether the agent can show a status line and has none.
func (a Agent) OffersStatusLine(scope Scope) bool {
	if !a.row.StatusLine {
		return false
	}
	f, err := a.edit(scope, "").open(a.hooksFile(scope))
	if err != nil {
		return false
	}
	d, err := parseDocument(f.text)
	return err == nil && d.at(statusLine) == nil
}
