package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/memcore/memcore/core/curated"
	"github.com/memcore/memcore/core/forgotten"
	"github.com/memcore/memcore/core/source"
	"github.com/memcore/memcore/inject/setup"
	"github.com/memcore/memcore/internal/app"
	"github.com/memcore/memcore/internal/app/config"
	"github.com/memcore/memcore/internal/jsonfile"
	"github.com/memcore/memcore/internal/text/plain"
	"github.com/memcore/memcore/internal/userdir"
	"github.com/memcore/memcore/internal/workspace"
)

// configuration reports whether it could be read.
func (d *doctor) configuration() bool {
	w := d.w
	if err := w.Locate(); err != nil {
		d.problem("workspace", "name a folder that exists", "%v", err)
		return false
	}
	d.ok("workspace", "%s", w.Project)
	if w.Flags.Workspace == "" {
		_, passed, _ := workspace.Look(w.From(), w.Home)
		for _, strange := range passed {
			d.warn("workspace", "if its folder is where you work, name it with --workspace", "skipped %s", strange)
		}
	}
	err := w.Load()
	d.settings()
	if err != nil {
		d.problem("configuration", "correct the value; docs/config.md lists the choices", "%v", err)
		return false
	}
	d.ok("configuration", "%s", cmp.Or(strings.Join(append(w.Loaded.Files, w.Loaded.Variables()...), ", "), "no file and no variable; defaults apply"))
	return true
}

// settings checks the configuration that was read.
func (d *doctor) settings() {
	w := d.w
	for _, text := range w.Loaded.Mistakes {
		d.warn("configuration", "correct it; docs/config.md lists the settings", "%s", text)
	}
	for _, text := range w.Loaded.Ignored {
		d.warn("configuration", "delete it, or set it where it counts", "%s", text)
	}
	for _, file := range w.Loaded.Files {
		if info, err := os.Stat(file); err == nil && openToOthers(info, 0o022) {
			d.warn("configuration", "chmod go-w "+file, "%s can be changed by other users", file)
		}
	}
}

// openToOthers reports whether others have a permission.
func openToOthers(info fs.FileInfo, permissions fs.FileMode) bool {
	return runtime.GOOS != "windows" && info.Mode().Perm()&permissions != 0
}

// layer checks curated memory that was loaded.
func (d *doctor) layer(ctx context.Context, layer *curated.Layer, m curated.Memory) {
	w := d.w
	if _, err := w.Trust().All(); err != nil {
		d.problem("trust", "correct or delete the file", "%v", err)
	}
	d.exposed(layer, m)
	if _, decided, _ := w.Trust().Of(m.Project); !decided {
		if n := len(w.Curated().Untrusted(ctx, m)); n > 0 {
			d.warn("trust", "check it with memcore trust list "+setup.Quoted(m.Project)+", then: memcore trust add", "%s of the workspace not used: it is not trusted", plain.Count(n, "memory file"))
		}
	}
	if err := w.NotCurated(); err != nil {
		d.problem("curated memory", "correct the configuration", "the workspace's memory files are not used: %v", err)
	}
	for _, w := range m.Warnings {
		d.warn("curated memory", "memcore memory list", "%s", w)
	}
	if !w.Settings.Enabled {
		d.warn("curated memory", "set memory.enabled to true", "%s", app.TurnedOff)
		return
	}
	d.ok("curated memory", "%s", app.Footer(m))
}

// sources opens all files. It returns core's messages for failures.
func (d *doctor) sources(ctx context.Context, at config.Folders) (failed []string) {
	registered, err := workspace.Load(at.Sources())
	if err != nil {
		d.problem("sources", "delete the file, and name the memory of this workspace again: memcore index PATH", "%v", err)
		return nil
	}
	total := 0
	all := append(d.w.Index().ProjectSources(registered), d.w.Index().GlobalSources()...)
	for _, from := range all {
		listing, err := from.List(ctx)
		if err != nil {
			do := "bring it back, or: memcore index --forget PATH"
			if d.w.NotIndexed() != nil {
				do = "correct the configuration"
			}
			d.problem("sources", do, "%s: %v", from.Name(), err)
			failed = append(failed, fmt.Sprintf("%s: %v", from.Name(), err))
			continue
		}
		total += len(listing.Documents)
		if len(listing.Documents) > 0 {
			d.files(from.Name(), listing)
		}
	}
	if total == 0 && len(failed) == 0 {
		d.warn("sources", "name a folder that has some: memcore index PATH", "no Markdown file and no conversation log in %s", plain.Count(len(all), "place"))
	}
	return failed
}

func (d *doctor) files(name string, listing source.Listing) {
	var unreadable []error
	for _, doc := range listing.Documents {
		if err := tryReading(doc.File); err != nil {
			unreadable = append(unreadable, err)
		}
	}
	if n := len(unreadable); n > 0 {
		d.warn("sources", "make them readable, or leave them out with memory.exclude", "%s: %s cannot be read, such as: %v", name, plain.Count(n, "file"), unreadable[0])
		return
	}
	text := fmt.Sprintf("%s: %s", name, plain.Count(len(listing.Documents), "document"))
	if n := len(listing.Skipped); n > 0 {
		text += fmt.Sprintf("; %d skipped ('memcore index' says why)", n)
	}
	d.ok("sources", "%s", text)
}

// tryReading opens a file, unless the name is "".
func tryReading(path string) error {
	if path == "" {
		return nil
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return f.Close()
}

// folder does not make the index's folder.
func (d *doctor) folder(at config.Folders) {
	const name = "index folder"
	const do = "correct its permissions, or name another folder with --index-dir or memory.indexDir"
	there, info, err := nearest(at.Index)
	switch {
	case err != nil:
		d.problem(name, do, "%v", err)
		return
	case !info.IsDir():
		d.problem(name, "move that file away, or name another folder with --index-dir", "%s is a file", there)
		return
	}
	if err := tryWriting(there); err != nil {
		d.problem(name, do, "%v", err)
		return
	}
	if there == at.Index && openToOthers(info, 0o077) {
		d.warn(name, "chmod 700 "+at.Index, "%s holds the text of your memory and is open to other users", at.Index)
	}
	d.ok(name, "%s can be written", there)
}

// state checks its folder. sources has checked the list of sources.
func (d *doctor) state(at config.Folders) {
	const name, do = "state folder", "mend its permissions"
	there, info, err := nearest(at.Own())
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is a file", there)
	}
	if err == nil {
		err = tryWriting(there)
	}
	if err != nil {
		d.problem(name, do, "%v", err)
		return
	}
	n := len(d.checks)
	if config.IsInside(at.Root, at.State) {
		d.warn(name, "name different folders for indexes and state", "%s is in %s: deleting the indexes deletes it", at.State, at.Root)
	}
	_, badList := forgotten.Load(at.Forgotten(), at.Name())
	_, badUndo := jsonfile.Load[map[string]any](filepath.Join(at.Undo(), "journal.json"))
	for _, err := range []error{badList, badUndo} {
		if err != nil {
			d.problem(name, "bring it back from a backup, or delete it, which forgets what it holds", "%v", err)
		}
	}
	if len(d.checks) == n {
		d.ok(name, "%s can be written", at.State)
	}
}

// private checks whether other users can enter memcore's folders.
func (d *doctor) private() {
	const name = "private folders"
	all := append(d.w.OwnFolders(), filepath.Dir(d.w.SessionsDir()))
	if beans := d.w.Beans(); beans != "" {
		all = append(all, beans)
	}
	n := len(d.checks)
	for _, dir := range all {
		note, err := userdir.Look(dir)
		if err != nil {
			d.problem(name, config.ForeignHint, "%v", err)
		} else if note != "" {
			d.warn(name, "chmod 700 "+dir, "%s", note)
		}
	}
	if len(d.checks) == n {
		d.ok(name, "no other user can enter %s", strings.Join(all, ", "))
	}
}

// nearest is the nearest existing path at or above.
func nearest(path string) (string, fs.FileInfo, error) {
	for {
		info, err := os.Stat(path)
		if err == nil || path == filepath.Dir(path) {
			return path, info, err
		}
		if _, linkErr := os.Lstat(path); linkErr == nil {
			return path, nil, err // it exists and cannot be entered
		}
		path = filepath.Dir(path)
	}
}

func tryWriting(dir string) error {
	f, err := os.CreateTemp(dir, ".memcore-doctor-*")
	if failed := (*fs.PathError)(nil); errors.As(err, &failed) {
		return fmt.Errorf("%s cannot be written: %w", dir, failed.Err) // without the temporary name
	}
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// exposed reports private files that git would commit.
func (d *doctor) exposed(layer *curated.Layer, m curated.Memory) {
	exposed, err := layer.Exposed(m)
	if err != nil {
		d.warn("private memory", "correct the .gitignore file", "%v", err)
	}
	for _, e := range exposed {
		do := "memcore memory show, which adds it to " + e.Ignore
		if !e.Trusted {
			do = "add it to " + e.Ignore + " yourself, or trust the folder: memcore trust add"
		}
		d.warn("private memory", do, "git would commit %s, which is private", strings.Join(e.Names, ", "))
	}
}
