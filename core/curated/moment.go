package curated

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/memcore/memcore/internal/paths"
)

// A Moment is a turn, or a tool's call in it.
type Moment struct {
	// Request is the text of the turn, for triggers.
	Request string
	// Named are files in the request, for globs. Touched are a tool's, also for folders. They may
	// be missing, and relative to Options.Dir.
	Named, Touched []string
	// Has is what the session was given before (Memory.Versions).
	Has map[string]string
	// Started means that Has includes what Load gave. Then Now also gives those of its files that
	// have changed since, and Memory.Gone names those that no longer apply.
	Started bool
	// Spent bytes were given before; Room is left, in characters; 0 is no limit.
	Spent, Room int
	// Own are names of files that the agent reads itself.
	Own []string
}

// Now returns what applies beyond Load: conditional files whose triggers or globs match, memory of
// folders that a tool touches, and with Moment.Started what Load gives, unless Moment.Has has it
// unchanged. File.Applies says why.
//
// The same moment gets the same answer.
func (l *Layer) Now(ctx context.Context, at Moment) (Memory, error) {
	r := newReader(ctx, l.options)
	found, err := r.discover()
	if err != nil {
		return Memory{}, err
	}
	atStart := map[string]bool{}
	for _, c := range found {
		atStart[c.file] = true
	}
	// later returns a path's memory without the start's.
	later := func(folders []string) (late []candidate) {
		for _, dir := range folders {
			if _, above := below(dir, r.o.Dir); !above {
				late = append(late, slices.DeleteFunc(r.folder(dir, Directory), func(c candidate) bool { return atStart[c.file] })...)
			}
		}
		return late
	}
	for _, path := range at.Named {
		found = append(found, slices.DeleteFunc(later(r.foldersTo(path)), func(c candidate) bool { return c.kind != Rule })...)
	}
	touched := map[string]bool{}
	for _, path := range at.Touched {
		folders := r.foldersTo(path)
		found = append(found, later(folders)...)
		for _, dir := range folders {
			touched[dir] = true
		}
	}
	found = distinct(found)
	if err := r.read(found); err != nil {
		return Memory{}, err
	}
	m := r.assembleAt(found, at, atStart, touched)
	return m, ctx.Err()
}

// distinct keeps the first candidate of each file.
func distinct(all []candidate) []candidate {
	seen := map[string]bool{}
	return slices.DeleteFunc(all, func(c candidate) bool {
		known := seen[c.file]
		seen[c.file] = true
		return known
	})
}

const hasAlready = "the session has it already"

func (r *reader) assembleAt(found []candidate, at Moment, atStart, touched map[string]bool) Memory {
	words := wordsOf(at.Request)
	files := r.absolute(slices.Concat(at.Named, at.Touched))
	why, already := map[string]string{}, map[string]bool{}
	var folders, changed []string
	for _, c := range found {
		if c.parsed != nil && atStart[c.file] && c.conditional() == "" {
			already[c.real] = true
		}
	}
	r.addImports(already)
	isNew := func(file, hash string) bool { return at.Started && at.Has[file] != hash }
	// hasNew reports whether the session has another version of a file, or of what it imports.
	hasNew := func(c candidate) bool {
		if isNew(c.file, c.hash) {
			return true
		}
		for file, hash := range r.importsOf(c) {
			if isNew(file, hash) {
				return true
			}
		}
		return false
	}
	// A present text without an import would say that the import no longer holds.
	for _, c := range found {
		if c.parsed != nil && atStart[c.file] && c.conditional() == "" && hasNew(c) {
			for file := range r.importsOf(c) {
				delete(already, file)
			}
		}
	}
	has := func(c candidate) bool { version, ok := at.Has[c.file]; return ok && version == c.hash }
	m := r.assemble(found, r.o.Limits.remaining(at), already, func(c candidate) string {
		folder := c.base
		switch reason := c.why(at.Request, words, files); {
		case slices.Contains(at.Own, filepath.Base(c.file)):
			return "the agent reads it itself"
		case !c.head.Conditional() && atStart[c.file] && hasNew(c):
			changed = append(changed, r.names.Of(c.file))
			why[c.file] = "it has changed since the session began"
			return ""
		case !c.head.Conditional() && atStart[c.file]:
			return "it belongs to the start of a session"
		case !c.head.Conditional() && !touched[folder]:
			return "it is given when a tool touches its folder"
		case c.head.Conditional() && reason == "":
			return c.conditional()
		case has(c):
			return hasAlready
		case reason == "":
			reason = "a tool touches " + r.names.Of(folder)
			if name := r.names.Of(folder); !slices.Contains(folders, name) {
				folders = append(folders, name)
			}
			fallthrough
		default:
			why[c.file] = reason
			return ""
		}
	})
	m.versions, m.folders, m.changed = map[string]string{}, folders, changed
	if at.Started {
		for _, file := range gone(found, at.Has) {
			m.versions[file], m.gone = "", append(m.gone, r.names.Of(file))
		}
	}
	for i := range m.Files {
		f := &m.Files[i]
		f.Applies, f.Has = why[f.File], f.Reason == hasAlready
	}
	for _, c := range found {
		switch {
		case why[c.file] == "":
		case atStart[c.file] && !c.head.Conditional():
			r.addVersions(m.versions, c)
		default:
			m.versions[c.file] = c.hash
		}
	}
	return m
}

// gone returns which of the files that a session has, as far as it does not know, no longer hold:
// those that are missing, not trusted or turned off.
func gone(found []candidate, has map[string]string) (files []string) {
	off := map[string]bool{}
	for _, c := range found {
		off[c.file] = c.untrusted || c.parsed != nil && !c.head.Enabled
	}
	for _, file := range slices.Sorted(maps.Keys(has)) {
		if has[file] == "" {
			continue
		}
		if _, err := os.Lstat(file); off[file] || isMissing(err) {
			files = append(files, file)
		}
	}
	return files
}

// addVersions adds the versions of a file and its imports.
func (r *reader) addVersions(versions map[string]string, c candidate) {
	versions[c.file] = c.hash
	maps.Copy(versions, r.importsOf(c))
}

// importsOf returns the versions of all that a file imports, by real path.
func (r *reader) importsOf(c candidate) map[string]string {
	files := map[string]bool{c.real: true}
	r.addImports(files)
	delete(files, c.real)
	return r.imported(files)
}

// imported returns the versions of those files (real paths) that others import.
func (r *reader) imported(files map[string]bool) map[string]string {
	versions := map[string]string{}
	for _, t := range r.targets {
		if t.parsed != nil && files[t.parsed.real] {
			versions[t.parsed.real] = t.parsed.hash
		}
	}
	return versions
}

// addImports adds all that the files (real paths) import.
func (r *reader) addImports(files map[string]bool) {
	for grown := true; grown; {
		grown = false
		for at, t := range r.targets {
			if t.parsed != nil && files[at.from] && !files[t.parsed.real] {
				files[t.parsed.real], grown = true, true
			}
		}
	}
}

// absolute also resolves links.
func (r *finder) absolute(all []string) []string {
	var absolute []string
	for _, path := range all {
		if !filepath.IsAbs(path) {
			path = filepath.Join(r.o.Dir, path)
		}
		absolute = append(absolute, paths.Resolve(path))
	}
	return absolute
}

func (l Limits) remaining(at Moment) Limits {
	l.Lines = -1
	if l.Tokens >= 0 {
		l.Tokens = max(l.Tokens-(at.Spent+3)/4, 1)
	}
	if at.Room > 0 {
		l.Runes = at.Room
	}
	return l
}
