package source

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/memcore/memcore/internal/beneath"
	"github.com/memcore/memcore/internal/deny"
	"github.com/memcore/memcore/internal/filetime"
	"github.com/memcore/memcore/internal/gitignore"
	"github.com/memcore/memcore/internal/paths"
)

// ignoredFolders hold what others wrote or machines made.
var ignoredFolders = map[string]bool{
	"node_modules": true, "bower_components": true, "jspm_packages": true, "vendor": true, "target": true,
	"dist": true, "__pycache__": true, "site-packages": true, "venv": true, "Pods": true, "DerivedData": true,
}

// fileFacts are what was found out about a file's content while it had this size and time.
type fileFacts struct {
	size    int64
	modTime time.Time
	changed time.Time
	format  string // of a conversation; empty if it is none
	cwd     string // where the session ran
	reason  string // why the file is passed over
}

// A walker makes one Listing.
type walker struct {
	ctx    context.Context
	folder *Folder
	root   root
	facts  map[string]fileFacts
	found  Listing
}

func (w *walker) skip(file, reason string) {
	w.found.Skipped = append(w.found.Skipped, Skip{Path: w.folder.names.Of(file), Reason: reason})
}

// top walks the root. That it cannot be read is an error; what is below is only passed over.
func (w *walker) top() error {
	entries, err := w.folder.readDir(w.root.real)
	if err != nil {
		return fmt.Errorf("folder %s cannot be read: check its permissions: %w", w.root.path, err)
	}
	w.entries("", entries, nil)
	return nil
}

// dir walks a folder below the root. prefix is its path relative to the root with a slash at its end.
func (w *walker) dir(prefix string, above *gitignore.Stack) {
	path := w.path(prefix)
	entries, err := w.folder.readDir(path)
	if err != nil {
		w.skip(path, "folder cannot be read: "+cause(err))
		return
	}
	w.entries(prefix, entries, above)
}

// path is where something below the root is on disk.
func (w *walker) path(rel string) string {
	return filepath.Join(w.root.path, filepath.FromSlash(rel))
}

func (w *walker) entries(prefix string, entries []fs.DirEntry, above *gitignore.Stack) {
	w.found.Folders = append(w.found.Folders, w.path(prefix))
	if !w.folder.options.NoGitignore {
		above = above.Push(prefix, w.folder.ignores.In(w.path(prefix)))
	}
	for _, entry := range entries {
		if w.ctx.Err() != nil {
			return
		}
		w.entry(prefix+entry.Name(), entry, above)
	}
}

func (w *walker) entry(rel string, entry fs.DirEntry, above *gitignore.Stack) {
	name, mode := entry.Name(), entry.Type()
	switch {
	case mode.IsDir():
		if name == w.folder.options.Hidden {
			w.dir(rel+"/", nil)
		} else if w.enters(rel, name) && !above.Ignores(rel, true) {
			w.dir(rel+"/", above)
		}
	case strings.HasPrefix(name, "."):
	case mode&fs.ModeSymlink != 0:
		w.link(rel, name)
	case !isDocument(name) || !w.wants(rel) || above.Ignores(rel, false):
	case !mode.IsRegular():
		w.skip(w.path(rel), "it is "+beneath.KindOf(mode)+", not a file")
	default:
		w.file(w.path(rel), entry.Info)
	}
}

// enters tells whether a folder is walked, as far as its name and the options decide.
func (w *walker) enters(rel, name string) bool {
	if ignoredFolders[name] || name == ".git" || strings.HasPrefix(name, ".") && !w.folder.shown[name] {
		return false
	}
	if excluded, _ := w.folder.exclude.Match(rel, true); excluded {
		return false
	}
	if reason := deny.Name(name); reason != "" {
		w.skip(w.path(rel), "never opened: "+reason)
		return false
	}
	return true
}

// wants tells whether the options let a file in. An Include pattern that matches a folder above it
// does, as in a .gitignore file.
func (w *walker) wants(rel string) bool {
	if excluded, _ := w.folder.exclude.Match(rel, false); excluded || !w.folder.options.Private && paths.IsPrivate(rel) {
		return false
	}
	if len(w.folder.include) == 0 {
		return true
	}
	included, decided := w.folder.include.Match(rel, false)
	for up := parent(rel); !decided && up != ""; up = parent(up) {
		included, decided = w.folder.include.Match(up, true)
	}
	return included
}

func parent(rel string) string { return rel[:max(0, strings.LastIndexByte(rel, '/'))] }

// isDocument tells by its name whether a file may be one.
func isDocument(name string) bool { return isMarkdown(name) || isLog(name) }

func isLog(name string) bool {
	ext := strings.ToLower(extension(name))
	return ext == ".jsonl" || ext == ".json"
}

// link reports a symbolic link whose target is not found elsewhere in the root.
func (w *walker) link(rel, name string) {
	path := w.path(rel)
	info, err := os.Stat(path)
	if isDir := err == nil && info.IsDir(); !isDir && !isDocument(name) || !w.wants(rel) {
		return
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		w.skip(path, "symbolic link that leads nowhere")
		return
	}
	if _, ok := paths.Within(w.root.real, real); !ok {
		w.skip(path, "symbolic link out of the folder; name its target to read it")
	}
}

// only lists a root that is one file.
func (w *walker) only() {
	path := w.root.path
	w.found.Folders = append(w.found.Folders, filepath.Dir(path))
	if isLog(path) {
		before := len(w.found.Documents) + len(w.found.Skipped)
		w.file(path, func() (fs.FileInfo, error) { return w.root.info, nil })
		if len(w.found.Documents)+len(w.found.Skipped) == before {
			w.skip(path, unknownFormat)
		}
		return
	}
	w.markdown(path, w.root.info)
}

// file lists a regular file that may be a document.
func (w *walker) file(path string, stat func() (fs.FileInfo, error)) {
	if reason := deny.Name(filepath.Base(path)); reason != "" {
		w.skip(path, "never opened: "+reason)
		return
	}
	info, err := stat()
	if err != nil {
		w.skip(path, "cannot be read: "+cause(err))
		return
	}
	if isLog(path) {
		w.log(path, info)
		return
	}
	w.markdown(path, info)
}

func (w *walker) markdown(path string, info fs.FileInfo) {
	if limit := w.folder.options.MaxMarkdown; info.Size() > limit {
		w.skip(path, tooLarge(info.Size(), limit))
		return
	}
	if facts, ok := w.recall(path, info); ok && facts.reason != "" { // Read has seen it
		w.skip(path, facts.reason)
		return
	}
	w.add(path, info, KindMarkdown, KindMarkdown)
}

func (w *walker) log(path string, info fs.FileInfo) {
	facts, ok := w.recall(path, info)
	if !ok {
		facts = w.folder.examine(w.real(path), info)
		w.facts[path] = facts
	}
	switch {
	case facts.cwd != "" && !w.folder.ranHere(facts.cwd): // whatever else is wrong with it
	case facts.reason != "":
		w.skip(path, facts.reason)
	case facts.format == "" || !w.folder.ranHere(facts.cwd):
	default:
		w.add(path, info, KindConversation, facts.format)
	}
}

// ranHere tells whether a session with this working directory is wanted.
func (f *Folder) ranHere(cwd string) bool {
	if f.ranIn == nil {
		return true
	}
	for _, folder := range f.ranIn {
		if _, ok := paths.Within(folder, filepath.Clean(cwd)); ok {
			return true
		}
	}
	return false
}

// recall returns what is known of a file that has not changed since.
func (w *walker) recall(path string, info fs.FileInfo) (fileFacts, bool) {
	facts, ok := w.folder.known[path]
	if !ok || facts.size != info.Size() || !facts.modTime.Equal(info.ModTime()) || !facts.changed.Equal(filetime.Changed(info)) {
		return fileFacts{}, false
	}
	w.facts[path] = facts
	return facts, true
}

// real is the path of a file with the links in the root resolved.
func (w *walker) real(path string) string {
	return w.root.real + path[len(w.root.path):]
}

func (w *walker) add(path string, info fs.FileInfo, kind, format string) {
	w.found.Documents = append(w.found.Documents, Document{
		Path:    w.folder.names.Of(path),
		File:    path,
		Scope:   w.folder.options.Scope,
		Kind:    kind,
		Format:  format,
		Size:    info.Size(),
		ModTime: filetime.Modified(info),
		Changed: filetime.Changed(info),
	})
}

// cause is an error without the path that stands beside it anyway.
func cause(err error) string {
	if pathErr, ok := err.(*fs.PathError); ok {
		return pathErr.Err.Error()
	}
	return err.Error()
}
