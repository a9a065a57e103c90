package app

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/notes"
	"github.com/memcore/memcore/core/session"
	"github.com/memcore/memcore/core/source"
	"github.com/memcore/memcore/internal/app/config"
	"github.com/memcore/memcore/internal/app/guard"
	"github.com/memcore/memcore/internal/kind"
	"github.com/memcore/memcore/internal/paths"
)

// Notes are what agents save, and the statements in all memory files.
type Notes struct{ w *Workspace }

// Notes returns what agents save in the workspace.
func (w *Workspace) Notes() Notes { return Notes{w} }

// files returns facts and episodes for models.
func (n Notes) files() (guard.Files, error) {
	data, err := n.Data()
	if err != nil {
		return guard.Files{}, err
	}
	filter, err := n.w.Index().injectionFilter()
	return guard.Files{Data: data.ForAgent(), Guard: guard.Guard{Filter: filter, Trusted: n.w.Trusted}}, err
}

// guarded are the files of the workspace and its mounts, as a model may see and change them.
func (n Notes) guarded(files guard.Files) notes.Mounted {
	return n.withMounts(files.Data, func(data *notes.Data) notes.Files { return guard.Files{Data: data, Guard: files.Guard} })
}

// unguarded are the files of the workspace and its mounts as they are.
func (n Notes) unguarded(data *notes.Data) notes.Mounted {
	return n.withMounts(data, func(data *notes.Data) notes.Files { return data })
}

func (n Notes) withMounts(data *notes.Data, files func(*notes.Data) notes.Files) notes.Mounted {
	all := notes.Mounted{Files: files(data), Mounts: map[string]notes.Files{}}
	for _, p := range n.places()[1:] {
		all.Mounts[p.name] = files(p.of(data))
	}
	return all
}

// Find returns the place of a citation, or the one with a text.
func (n Notes) Find(ctx context.Context, text string) (notes.Statement, error) {
	place, ok, err := n.cited(text)
	if err != nil || ok {
		return place, err
	}
	return n.statement(ctx, text)
}

// cited returns a citation's place; ok is false for other text.
func (n Notes) cited(text string) (p notes.Statement, ok bool, err error) {
	name, first, last, ok := paths.ParseCitation(strings.TrimSpace(text))
	file := n.w.FileNamed(name)
	if !ok || !isMarkdown(file) {
		return notes.Statement{}, false, nil
	}
	p = notes.Statement{Path: name, First: first, Last: last}
	if config.IsNoFile(name) && !strings.HasPrefix(name, session.PathPrefix) {
		return p, true, kind.Usagef("%s is in no file here, so memcore does not change it", name)
	}
	if reason := source.DenyReason(file); reason != "" {
		return p, true, kind.Usagef("%s is never touched: %s", name, reason)
	}
	if source.IsMarkdownLog(paths.Resolve(file)) {
		return p, true, kind.Hint(kind.Usagef("%s is the log of an agent, so memcore does not change it", name),
			"'memcore forget --from-index' with the same citation hides it from search")
	}
	folders := []string{n.w.Project, n.w.Beans(), n.w.DataDir()}
	for _, m := range n.w.Mounts() {
		folders = append(folders, m.Folder)
	}
	for _, folder := range folders {
		if folder == "" {
			continue
		}
		dir, real := paths.Resolve(folder), paths.Resolve(file)
		if reason := source.DenyReason(real); reason != "" || !isMarkdown(real) {
			return p, true, kind.Usagef("%s leads to a file that is never touched", name)
		}
		if within, inside := paths.Within(dir, real); inside && within != "." {
			p.Dir, p.Name = dir, filepath.ToSlash(within)
			return p, true, nil
		}
	}
	return p, true, kind.Hint(kind.Usagef("%s is neither in the workspace nor in your own memory, so memcore does not change it", name),
		"change it with an editor; 'memcore forget --from-index' with the same citation hides it from search")
}

func isMarkdown(file string) bool { return strings.EqualFold(filepath.Ext(file), ".md") }

// statement returns the one statement with a text.
func (n Notes) statement(ctx context.Context, text string) (notes.Statement, error) {
	found, err := n.statements(ctx, text)
	if err != nil {
		return notes.Statement{}, err
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		if waiting, err := n.Proposals().About(text); err == nil && len(waiting) > 0 {
			return notes.Statement{}, kind.Hint(kind.Usagef("no memory file says %q yet; it waits as a proposal", text), "to drop it: memcore memory pending --decline "+waiting[0].ID)
		}
		return notes.Statement{}, kind.Hint(kind.Usagef("no memory file says %q", text), "'memcore search' finds it elsewhere; 'memcore forget --from-index' with its citation hides it there")
	}
	for _, p := range found {
		n.w.Note("%s: %s", p.Citation(), p.Text)
	}
	return notes.Statement{}, kind.Hint(kind.Usagef("%d statements are about %q", len(found), text), "name one of them: memcore forget '"+found[0].Citation()+"'")
}

// statements returns all statements with a text.
func (n Notes) statements(ctx context.Context, text string) ([]notes.Statement, error) {
	files, err := n.memoryFiles(ctx)
	if err != nil {
		return nil, err
	}
	var found []notes.Statement
	for _, file := range files {
		some, err := notes.StatementsAbout(file, text)
		if err != nil {
			return nil, err
		}
		found = append(found, some...)
	}
	return found, nil
}

// memoryFiles are the files that saves write to.
func (n Notes) memoryFiles(ctx context.Context) ([]notes.Statement, error) {
	layer := n.w.Curated().Layer()
	var files []notes.Statement
	for _, global := range []bool{false, true} {
		for _, private := range []bool{false, true} {
			target, err := layer.Target(global, private)
			if err != nil {
				continue // there is no home folder
			}
			dir, name, err := target.Place()
			if err != nil {
				return nil, err
			}
			files = append(files, notes.Statement{Path: target.Path, Dir: dir, Name: name})
		}
	}
	data, err := n.Data()
	if err != nil {
		return nil, err
	}
	names := n.w.Names()
	for _, p := range n.places() {
		items, err := p.of(data).List(ctx)
		if err != nil {
			return nil, err
		}
		for _, item := range items {
			files = append(files, notes.Statement{Path: names.Of(filepath.Join(p.folder, filepath.FromSlash(item.Path))), Dir: paths.Resolve(p.folder), Name: item.Path})
		}
	}
	return files, nil
}

// A place is a folder of facts and episodes. Its name begins the paths of its files: that of a
// mount, or "" for the workspace's.
type place struct{ name, within, folder string }

// places returns the workspace's place, then those of mounts.
func (n Notes) places() []place {
	all := []place{{folder: n.w.DataDir()}}
	for _, m := range n.w.Mounts() {
		all = append(all, place{m.Name, m.Folder, filepath.Join(m.Folder, n.w.Settings.DataDir)})
	}
	return all
}

// of returns the files of the place; own are the workspace's.
func (p place) of(own *notes.Data) *notes.Data {
	if p.name == "" {
		return own
	}
	return own.In(p.within, p.folder)
}

// folders returns the shown names of folders of facts and episodes.
func (n Notes) folders() []string {
	names := n.w.Names()
	var all []string
	for _, p := range n.places() {
		all = append(all, names.Of(p.folder))
	}
	return all
}

// dataFile returns the file with a path of List.
func (n Notes) dataFile(name string) string {
	all := n.places()
	folder := all[0].folder
	for _, p := range all[1:] {
		if within, ok := strings.CutPrefix(name, p.name+"/"); ok {
			folder, name = p.folder, within
		}
	}
	return filepath.Join(folder, filepath.FromSlash(name))
}

// Journal records all changes of memory files.
func (n Notes) Journal() (*notes.Journal, error) {
	at, err := n.w.Folders()
	if err != nil {
		return nil, err
	}
	return notes.OpenJournal(at.Undo()).For(n.w.Project), nil
}

// Settle rolls back a killed command. Later writes report errors.
func (n Notes) Settle(ctx context.Context) {
	if journal, err := n.Journal(); err == nil {
		_ = journal.Settle(ctx)
	}
}

// Proposals wait for the user.
func (n Notes) Proposals() *notes.Proposals {
	return notes.OpenProposals(n.w.SessionsDir(), core.StatedFile, core.SolvedFile)
}

// Data is the folder of facts and episodes.
func (n Notes) Data() (*notes.Data, error) {
	journal, err := n.Journal()
	if err != nil {
		return nil, err
	}
	within := n.w.Project
	if filepath.IsAbs(n.w.Expand(n.w.Settings.DataDir)) {
		within = "" // the user's own choice
	}
	return notes.OpenData(within, n.w.DataDir(), journal, n.w.Settings.FileNames...), nil
}
