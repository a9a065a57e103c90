package setup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
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
	// restores makes files begin as they were before memcore, if they are still as memcore left
	// them.
	restores bool
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
	if e.restores {
		f.restore(e.options.recordOf(f.File))
	}
	e.files = append(e.files, f)
	return f, nil
}

// added returns the changes that add entries.
func (e *edit) added() ([]Change, error) {
	return e.changes(func(f *file) (Change, bool, error) { return f.added(e.options, e.holds(f.Before)) })
}

// removed returns the changes that take entries out.
func (e *edit) removed() ([]Change, error) { return e.changes((*file).change) }

func (e *edit) changes(of func(*file) (Change, bool, error)) (all []Change, err error) {
	for _, f := range e.files {
		c, ok, err := of(f)
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
func (e *edit) json(path string, change func(*document, *file) error) error {
	f, err := e.open(path)
	if err != nil {
		return err
	}
	d, err := parseDocument(f.text)
	if err == nil {
		if f.text == f.Before { // else they are known
			f.empty = d.emptyOnes(e.row)
		}
		err = change(d, f)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", f.Path, err)
	}
	f.text = d.String()
	if d.emptied && !f.Created {
		if r := e.options.recordOf(f.File); r == nil || r.Created {
			f.text, f.Removed = "", true
		}
	}
	return nil
}

// remove changes a JSON file if mayHold. keep are the places that stay although they are empty.
func (e *edit) remove(path string, change func(d *document, f *file, keep []string)) error {
	if !e.mayHold(path) {
		return nil
	}
	return e.json(path, func(d *document, f *file) error {
		var keep []string
		if r := e.options.recordOf(f.File); r != nil {
			keep = r.Empty
		}
		change(d, f, keep)
		return nil
	})
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
	return e.holds(f.text)
}

// holds reports whether a text may have entries of memcore.
func (e *edit) holds(text string) bool {
	base := e.binary[strings.LastIndexAny(e.binary, `/\`)+1:]
	return strings.Contains(text, serverName) || base != "" && strings.Contains(text, base)
}

func (e *edit) addHooks() error {
	err := e.json(e.hooksFile(e.scope), func(d *document, f *file) error {
		before := d.text
		added, err := d.addHooks(e.row, e.binary)
		switch {
		case added > 0:
			f.did(fmt.Sprintf("+%d hooks", added))
		case d.text != before:
			f.did("hooks updated")
		}
		return err
	})
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
	return e.remove(e.hooksFile(e.scope), func(d *document, f *file, keep []string) {
		if n := d.removeHooks(e.row, e.binary, keep); n > 0 {
			f.did(fmt.Sprintf("-%d hooks", n))
		}
	})
}

func (e *edit) addServer(trust bool) error {
	path := e.serversFile(e.scope)
	if e.row.TOML {
		return e.toml(path, func(t *tables, f *file) error {
			before := t.text
			added, other, err := t.addServer(e.binary, f.Created)
			f.didServer(added, t.text != before)
			e.noteServer(path, other)
			return err
		})
	}
	return e.json(path, func(d *document, f *file) error {
		before := d.text
		there := d.at(ownServer) != nil
		other, err := d.addServer(e.row, e.binary, trust)
		if err != nil {
			return err
		}
		e.noteServer(path, other)
		if d.text == before {
			return nil
		}
		f.didServer(!there, true)
		if e.scope == Project {
			e.noteText(e.row.Notes.ProjectServers)
		}
		if d.at(ownServer) != nil && d.at(ownServer.to("trust")) == nil {
			e.noteText(e.row.Notes.UntrustedServers)
		}
		return nil
	})
}

func (f *file) didServer(added, updated bool) {
	switch {
	case added:
		f.did("+MCP server")
	case updated:
		f.did("MCP server updated")
	}
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
	path := e.serversFile(e.scope)
	if !e.row.TOML {
		return e.remove(path, func(d *document, f *file, keep []string) {
			if d.isOurServer(ownServer, e.binary) {
				d.takeOut(ownServer, keep)
				f.did("-MCP server")
			}
		})
	}
	if !e.mayHold(path) {
		return nil
	}
	return e.toml(path, func(t *tables, f *file) error {
		removed, err := t.removeServer(e.binary)
		if removed {
			f.did("-MCP server")
		}
		if r := e.options.recordOf(f.File); strings.Trim(t.text, blanks) == "" && (r == nil || r.Created) {
			t.text, f.Removed = "", removed
		}
		return err
	})
}

// toml changes a TOML file.
func (e *edit) toml(path string, change func(*tables, *file) error) error {
	f, err := e.open(path)
	if err != nil {
		return err
	}
	t, err := parseTables(f.text)
	if err == nil {
		err = change(t, f)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", f.Path, err)
	}
	f.text = t.text
	return nil
}

// addStatusLine keeps another status line.
func (e *edit) addStatusLine() error {
	if !e.row.StatusLine {
		return nil
	}
	return e.json(e.hooksFile(e.scope), func(d *document, f *file) error {
		before, other := d.text, ""
		if d.at(statusLine) == nil {
			other = e.usersStatusLine()
		}
		if other == "" && !d.addStatusLine(e.binary) {
			other = f.Path
		}
		switch {
		case other != "":
			e.note("%s has another status line, which stays; '%s %s' prints a line for it", other, serverName, statusCommand)
		case d.text != before:
			f.did("+status line")
		}
		return nil
	})
}

// usersStatusLine returns the user's own settings, as shown, if they have another status line that
// one of the project would take the place of; else "".
func (e *edit) usersStatusLine() string {
	path := e.hooksFile(User)
	if e.scope != Project || path == "" {
		return ""
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	d, err := parseDocument(string(text))
	if err != nil || d.at(statusLine) == nil || d.isOurStatusLine(e.binary) {
		return ""
	}
	return e.options.shown(path)
}

func (e *edit) removeStatusLine() error {
	if !e.row.StatusLine {
		return nil
	}
	return e.remove(e.hooksFile(e.scope), func(d *document, f *file, keep []string) {
		if d.isOurStatusLine(e.binary) {
			d.takeOut(statusLine, keep)
			f.did("-status line")
		}
	})
}
