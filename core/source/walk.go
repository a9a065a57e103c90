package source

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/memcore/memcore/internal/filetime"
	"github.com/memcore/memcore/internal/git/gitignore"
	"github.com/memcore/memcore/internal/paths"
	"github.com/memcore/memcore/internal/safefile"
	"github.com/memcore/memcore/internal/safefile/secretfile"
)

// ignoredFolders hold dependencies and generated files.
var ignoredFolders = map[string]bool{
	"node_modules": true, "bower_components": true, "jspm_packages": true, "vendor": true, "target": true,
	"dist": true, "__pycache__": true, "site-packages": true, "venv": true, "Pods": true, "DerivedData": true,
}

// fileFacts are known about a file while it is unchanged.
type fileFacts struct {
	info   fs.FileInfo
	format string // of a log, or ""
	cwd    string // working directory of the session
	reason string // why the file is skipped

	tooLarge bool // which is the reason
}

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

func (w *walker) skipLarge(file, reason string) {
	w.skip(file, reason)
	w.found.Skipped[len(w.found.Skipped)-1].TooLarge = true
}

// skipUnreadable passes over what has been removed since its folder was listed.
func (w *walker) skipUnreadable(path, what string, err error) {
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	w.skip(path, what+cause(err))
	w.found.Skipped[len(w.found.Skipped)-1].Unreadable = true
}

// rootFolder fails on an unreadable root; below that is no error.
func (w *walker) rootFolder() error {
	entries, err := w.folder.readDir(w.root.real)
	if err != nil {
		return fmt.Errorf("folder %s cannot be read: check its permissions: %w", w.root.path, err)
	}
	w.entries("", entries, nil)
	return nil
}

// prefix is relative to the root and ends in a slash.
func (w *walker) dir(prefix string, above *gitignore.Stack) {
	path := w.path(prefix)
	entries, err := w.folder.readDir(path)
	if err != nil {
		w.skipUnreadable(path, "folder cannot be read: ", err)
		return
	}
	w.entries(prefix, entries, above)
}

func (w *walker) path(rel string) string {
	return filepath.Join(w.root.path, filepath.FromSlash(rel))
}

func (w *walker) entries(prefix string, entries []fs.DirEntry, above *gitignore.Stack) {
	w.found.Folders = append(w.found.Folders, w.path(prefix))
	above = above.Push(prefix, w.folder.ignores.In(w.path(prefix)))
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
		} else if w.onlyRules(rel) && !leadsToRules(rel) {
			return
		} else if w.enters(rel, name) && !above.Ignores(rel, true) {
			w.dir(rel+"/", above)
		}
	case w.onlyRules(rel) && !IsRules(rel):
	case mode&fs.ModeSymlink != 0:
		w.link(rel, name)
	case !isDocument(name) && !IsRules(rel) || !w.wants(rel) || !paths.IsPrivate(rel) && above.Ignores(rel, false):
	case !mode.IsRegular():
		w.skip(w.path(rel), "it is "+safefile.KindOf(mode)+", not a file")
	default:
		w.file(w.path(rel), entry.Info)
	}
}

// onlyRules reports whether a path is hidden: only rules are read.
func (w *walker) onlyRules(rel string) bool {
	for name := range strings.SplitSeq(rel, "/") {
		if strings.HasPrefix(name, ".") && name != w.folder.options.Hidden {
			return true
		}
	}
	return false
}

// enters reports whether name and options let a folder be walked.
func (w *walker) enters(rel, name string) bool {
	if ignoredFolders[name] || name == ".git" {
		return false
	}
	if excluded, _ := w.folder.exclude.Match(rel, true); excluded {
		return false
	}
	if reason := secretfile.Name(name); reason != "" {
		w.skip(w.path(rel), "never opened: "+reason)
		return false
	}
	return true
}

// wants reports whether the options let a file in.
func (w *walker) wants(rel string) bool {
	excluded, _ := w.folder.exclude.Match(rel, false)
	return !excluded && (w.folder.options.Private || !paths.IsPrivate(rel))
}

// isDocument judges by the name.
func isDocument(name string) bool { return isMarkdown(name) || isLog(name) }

func isLog(name string) bool {
	ext := strings.ToLower(extension(name))
	return ext == ".jsonl" || ext == ".json"
}

// link reports a link, unless its target is in the root.
func (w *walker) link(rel, name string) {
	path := w.path(rel)
	info, err := os.Stat(path)
	if isDir := err == nil && info.IsDir(); !isDir && !isDocument(name) || !w.wants(rel) {
		return
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		w.skip(path, "broken symbolic link")
		return
	}
	if _, ok := paths.Within(w.root.real, real); !ok {
		w.skip(path, "symbolic link out of the folder; name its target to read it")
	}
}

// rootFile lists a root that is a file.
func (w *walker) rootFile() {
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
	if reason := secretfile.Name(filepath.Base(path)); reason != "" {
		w.skip(path, "never opened: "+reason)
		return
	}
	info, err := stat()
	if err != nil {
		w.skipUnreadable(path, "cannot be read: ", err)
		return
	}
	if isLog(path) {
		w.log(path, info)
		return
	}
	w.markdown(path, info)
}

func (w *walker) markdown(path string, info fs.FileInfo) {
	if limit := w.folder.maxMarkdown; info.Size() > limit {
		w.skipLarge(path, tooLarge(info.Size(), limit))
		return
	}
	if facts, ok := w.unchanged(path, info); ok && facts.reason != "" { // Read has found it binary
		w.skip(path, facts.reason)
		w.found.Skipped[len(w.found.Skipped)-1].Unreadable = true
		return
	}
	w.add(path, info, KindMarkdown, KindMarkdown)
}

func (w *walker) log(path string, info fs.FileInfo) {
	facts, ok := w.unchanged(path, info)
	if !ok {
		facts = w.folder.examine(w.real(path), info)
		w.facts[path] = facts
	}
	switch {
	case facts.cwd != "" && !w.folder.ranHere(facts.cwd): // another workspace's log
	case facts.tooLarge:
		w.skipLarge(path, facts.reason)
	case facts.reason != "":
		w.skip(path, facts.reason)
	case facts.format == "" || !w.folder.ranHere(facts.cwd):
	default:
		w.add(path, info, KindConversation, facts.format)
	}
}

// ranHere reports whether SessionsIn includes a working directory.
func (f *Folder) ranHere(cwd string) bool {
	return len(f.options.SessionsIn) == 0 || isPartOf(f.options.SessionsIn, filepath.Clean(cwd))
}

func (w *walker) unchanged(path string, info fs.FileInfo) (fileFacts, bool) {
	facts, ok := w.folder.known[path]
	if !ok || !filetime.Same(facts.info, info) || !filetime.Changed(facts.info).Equal(filetime.Changed(info)) {
		return fileFacts{}, false
	}
	w.facts[path] = facts
	return facts, true
}

// real resolves the links of the root.
func (w *walker) real(path string) string {
	return w.root.real + path[len(w.root.path):]
}

func (w *walker) add(path string, info fs.FileInfo, kind, format string) {
	d := Document{
		Path:    w.folder.names.Of(path),
		File:    path,
		Scope:   w.folder.options.Scope,
		Kind:    kind,
		Format:  format,
		Size:    info.Size(),
		ModTime: filetime.Modified(info),
		Changed: filetime.Changed(info),
	}
	if w.folder.options.Dated {
		d.Changed = time.Time{}
	}
	if rel, ok := paths.Within(w.root.path, path); ok && w.folder.options.Sessions {
		name, _, inFolder := strings.Cut(filepath.ToSlash(rel), "/")
		if !inFolder {
			return
		}
		d.Session = name
	}
	w.found.Documents = append(w.found.Documents, d)
}

// cause returns the text of an error without its path.
func cause(err error) string {
	if pathErr, ok := err.(*fs.PathError); ok {
		return pathErr.Err.Error()
	}
	return err.Error()
}
