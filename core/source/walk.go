package source

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/memcore/memcore/internal/filetime"
	"github.com/memcore/memcore/internal/git/gitignore"
	"github.com/memcore/memcore/internal/git/repository"
	"github.com/memcore/memcore/internal/paths"
	"github.com/memcore/memcore/internal/safefile"
	"github.com/memcore/memcore/internal/safefile/secretfile"
)

// ignoredFolders hold dependencies and generated files.
var ignoredFolders = map[string]bool{
	"node_modules": true, "bower_components": true, "jspm_packages": true, "vendor": true, "target": true,
	"dist": true, "__pycache__": true, "site-packages": true, "venv": true, "Pods": true, "DerivedData": true,
}

type walker struct {
	ctx    context.Context
	folder *Folder
	root   root
	facts  map[string]fileFacts
	found  Listing

	examined int // logs that were new or changed

	// Of FolderOptions.SessionsOf:
	belongs func(name string) (_ belonging, cwd string) // of a folder in the root; nil for all
	holds   func(folder string, last time.Time) bool
	strange map[string]string // another project's working directory, by folder in the root
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
	if prefix != "" && isOtherCheckout(w.path(prefix), entries) {
		return
	}
	w.found.Folders = append(w.found.Folders, w.path(prefix))
	above = above.Push(prefix, w.folder.ignores.In(w.path(prefix)))
	for _, entry := range entries {
		if w.ctx.Err() != nil {
			return
		}
		w.entry(prefix+entry.Name(), entry, above)
	}
}

// isOtherCheckout reports whether a folder is a working directory of a repository that has another
// one as its main checkout ("git worktree"). Its files are second copies.
func isOtherCheckout(path string, entries []fs.DirEntry) bool {
	i := slices.IndexFunc(entries, func(e fs.DirEntry) bool { return e.Name() == repository.Marker })
	return i >= 0 && !entries[i].IsDir() && repository.IsLinked(path)
}

func (w *walker) entry(rel string, entry fs.DirEntry, above *gitignore.Stack) {
	name, mode := entry.Name(), entry.Type()
	switch {
	case mode.IsDir():
		if w.belongs != nil && name == rel {
			if to, _ := w.belongs(name); to != elsewhere {
				w.dir(rel+"/", above)
			}
		} else if name == w.folder.options.Hidden {
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
	return ext == ".jsonl" || ext == ".json" || isPacked(name) && !strings.HasPrefix(name, ".")
}

// mayBeLog reports whether a file that was named, or found, is to be examined.
func mayBeLog(path string) bool { return isLog(path) || isArchive(path) || isMarkdownLog(path) }

// link reports a link, unless its target is in the root. Logs that were known in a folder which was
// moved behind a link are not deleted.
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
		w.found.Skipped[len(w.found.Skipped)-1].Unreadable = w.folder.options.Rotated && info.IsDir()
	}
}

// rootFile lists a root that is a file.
func (w *walker) rootFile() {
	path := w.root.path
	w.found.Folders = append(w.found.Folders, filepath.Dir(path))
	if mayBeLog(path) {
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
	if mayBeLog(path) {
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
	w.add(path, info, Document{Kind: KindMarkdown, Format: KindMarkdown})
}

func (w *walker) log(path string, info fs.FileInfo) {
	facts, ok := w.unchanged(path, info)
	if !ok {
		facts = w.folder.examine(w.ctx, w.real(path), info)
		if w.ctx.Err() != nil {
			return
		}
		w.facts[path] = facts
		w.examined++
	}
	found, _ := formatNamed(facts.format)
	if found.homeless && facts.cwd == "" && w.belongs != nil {
		_, facts.cwd = w.belongs(w.top(path))
	}
	switch {
	case found.export && w.root.info.IsDir():
		w.skip(path, "it holds all of a person's conversations; name the file to read it")
	case facts.cwd != "" && !w.ranHere(facts.cwd, info.ModTime()):
		if top := w.top(path); w.strange != nil && w.strange[top] == "" {
			w.strange[top] = facts.cwd
		}
	case facts.format == "" && isMarkdownLog(path): // Markdown of a person
		w.markdown(path, info)
	case facts.tooLarge:
		w.skipLarge(path, facts.reason)
	case facts.reason != "":
		w.skip(path, facts.reason)
	case facts.format == "":
	case w.folder.options.SessionsOf != nil && facts.cwd == "" && (namesFolder(facts.format) || !w.isNamed(w.top(path))):
		if !w.folder.options.shared {
			w.skip(path, noFolder)
		}
	default:
		w.add(path, info, Document{Kind: KindConversation, Format: facts.format, Branch: facts.branch, CopyOf: facts.copyOf})
	}
}

// ranHere reports whether a session that began in a folder, and last said something at a time, is
// of the project.
func (w *walker) ranHere(cwd string, last time.Time) bool {
	return w.holds == nil || filepath.IsAbs(cwd) && w.holds(cwd, last)
}

// top returns the name of the folder in the root that a path is in.
func (w *walker) top(path string) string {
	rel, _ := paths.Within(w.root.path, path)
	name, _, _ := strings.Cut(filepath.ToSlash(rel), "/")
	return name
}

// isNamed reports whether a folder in the root is named after a working directory of the project.
func (w *walker) isNamed(top string) bool {
	if w.belongs == nil {
		return false
	}
	to, _ := w.belongs(top)
	return to == named
}

// leaveStrange takes out Markdown files that may be of another project: an agent gave its folder
// the same name, or one that begins like it.
func (w *walker) leaveStrange() {
	if w.folder.options.SessionsOf == nil {
		return
	}
	w.found.Documents = slices.DeleteFunc(w.found.Documents, func(d Document) bool {
		if d.Kind != KindMarkdown {
			return false
		}
		top := w.top(d.File)
		other := w.strange[top]
		if w.isNamed(top) && other != "" {
			w.skip(d.File, "the agent keeps notes of two projects in one folder; the other is "+w.folder.names.Of(other))
		}
		return !w.isNamed(top) || other != ""
	})
}

func (w *walker) unchanged(path string, info fs.FileInfo) (fileFacts, bool) {
	facts, ok := w.folder.known[path]
	if !ok || !facts.isOf(info) {
		return fileFacts{}, false
	}
	w.facts[path] = facts
	return facts, true
}

// real resolves the links of the root.
func (w *walker) real(path string) string {
	return w.root.real + path[len(w.root.path):]
}

// add lists a document of a kind, format and branch.
func (w *walker) add(path string, info fs.FileInfo, d Document) {
	d.Path, d.File, d.Scope = w.folder.names.Of(path), path, w.folder.options.Scope
	d.Size, d.ModTime, d.Changed = info.Size(), filetime.Modified(info), filetime.Changed(info)
	d.Rotated, d.Packed = w.folder.options.Rotated && d.Kind == KindConversation, isPacked(path) || isArchive(path)
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
