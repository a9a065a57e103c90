package workspace

import (
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/memcore/memcore/internal/git/repository"
	"github.com/memcore/memcore/internal/paths"
)

// A Project is what one memory is about: a git repository with all its working directories, a
// folder with .beans in it, or any other folder. Paths are absolute, with links resolved. It is
// safe for concurrent use.
type Project struct {
	// Folder names the project: its main checkout, or the folder itself. The files that it shares,
	// such as saved facts, are below.
	Folder string
	// Checkout is the working directory that the project was looked up from: Folder, or one beside.
	Checkout string

	repository repository.Repository
	below      string // where the project's folder is in each working directory; "." for the root
	known      Sources
	note       func(other string)
}

// ProjectOf returns the project of a folder, as Find returns it.
func ProjectOf(folder string) Project {
	folder = paths.Resolve(folder)
	p := Project{Folder: folder, Checkout: folder, below: "."}
	root := folder
	if !marks(root, repository.Marker) && marks(root, beans) {
		for at := range upFrom(folder) {
			if marks(at, repository.Marker) {
				root = at
				break
			}
		}
	}
	r, ok := repository.Of(root)
	if !ok {
		return p
	}
	if root == folder {
		p.Folder, p.repository = r.Folder, r
		return p
	}
	// A folder with .beans inside of a working directory is the same folder in all of them.
	below, err := filepath.Rel(root, folder)
	if main := filepath.Join(r.Primary(), below); err == nil && r.Primary() != "" && !repository.IsLinked(main) && marks(main, beans) {
		p.Folder, p.repository, p.below = main, r, below
	}
	return p
}

// With returns the project with what memcore has seen of it before. note is called for each folder
// of another project in those of this one that is found; it may be nil.
func (p Project) With(known Sources, note func(other string)) Project {
	p.known, p.note = known, note
	return p
}

// marks reports whether a marker is in a folder.
func marks(folder, marker string) bool { return exists(filepath.Join(folder, marker)) }

// IsMarked reports whether a folder is a repository or has .beans in it.
func IsMarked(folder string) bool { return marks(folder, repository.Marker) || marks(folder, beans) }

// IsRepository reports whether the project is a git repository.
func (p Project) IsRepository() bool { return p.below == "." && p.repository.Folder != "" }

// Checkouts returns the project's folder in each working directory that exists, without Folder.
func (p Project) Checkouts() (all []string) {
	for _, root := range p.repository.Linked() {
		if at := filepath.Join(root, p.below); at != p.Folder {
			all = append(all, at)
		}
	}
	return all
}

// Documents returns the folder whose files are the project's documents: Folder, or a working
// directory of a bare repository; "" if that has none.
func (p Project) Documents() string {
	if p.below != "." || !p.repository.Bare {
		return p.Folder
	}
	return p.repository.Primary()
}

// OriginalOf returns the working directory of Documents for a folder in another working directory
// of the repository, or "".
func (p Project) OriginalOf(folder string) string {
	original := p.Documents()
	if !p.IsRepository() || original == "" {
		return ""
	}
	for _, root := range p.repository.Linked() {
		if _, inside := paths.Within(root, folder); inside && root != original {
			return original
		}
	}
	return ""
}

// Folders returns all folders in which agents have worked on the project: Folder, those of
// Checkouts, and those seen before, also if one is something else now.
func (p Project) Folders() []string {
	all := append([]string{p.Folder}, p.Checkouts()...)
	for _, folder := range p.known.Folders {
		if !slices.Contains(all, folder) {
			all = append(all, folder)
		}
	}
	return all
}

// left returns when a folder that was the project's before became something else; zero if it did
// not. A working directory that git has forgotten still names the repository. Of an ordinary folder
// nothing tells when it was made: then it is now, until Sources.Left says when memcore saw it.
// checkouts are those of Checkouts.
func (p Project) left(folder string, checkouts []string) time.Time {
	switch at, known := p.known.Left[folder]; {
	case folder == p.Folder || slices.Contains(checkouts, folder) || p.repository.Names(folder):
		return time.Time{}
	case known:
		return at
	case !exists(folder):
		return time.Time{}
	}
	if began := ProjectOf(folder).Began(); !began.IsZero() {
		return began
	}
	return time.Now()
}

// Left returns those of the folders seen before that are something else now, with since when.
func (p Project) Left() map[string]time.Time {
	all, checkouts := map[string]time.Time{}, p.Checkouts()
	for _, folder := range p.known.Folders {
		if at := p.left(folder, checkouts); !at.IsZero() {
			all[folder] = at
		}
	}
	return all
}

// A tenure is when a folder was the project's: from a time to another; zero does not bound it.
type tenure struct {
	held        bool
	from, until time.Time
}

func (t tenure) includes(at time.Time) bool {
	return t.held && (at.IsZero() || !at.Before(t.from) && (t.until.IsZero() || at.Before(t.until)))
}

// Holder returns a function that reports whether an agent that worked in a folder, which may be
// gone, and last said something at a time, worked on the project as it is now. With the zero time
// it reports whether any did. The nearest folder upwards that is known decides. Each folder is
// looked at once. The function is not safe for concurrent use.
func (p Project) Holder() func(folder string, last time.Time) bool {
	own, infos, checkouts := map[string]tenure{}, []os.FileInfo{}, p.Checkouts()
	for _, folder := range p.Folders() {
		t := tenure{held: true, from: p.known.Since, until: p.left(folder, checkouts)}
		if own[folder] = t; !t.until.IsZero() {
			continue
		}
		if info, err := os.Stat(folder); err == nil {
			infos = append(infos, info)
		}
	}
	// isOwn also knows folders whose name is written in another case, on systems that ignore it.
	isOwn := func(folder string) bool {
		info, err := os.Stat(folder)
		return err == nil && slices.ContainsFunc(infos, func(known os.FileInfo) bool { return os.SameFile(known, info) })
	}
	decided := own
	var decide func(at string) tenure
	decide = func(at string) (t tenure) {
		if t, ok := decided[at]; ok {
			return t
		}
		defer func() { decided[at] = t }()
		all := tenure{held: true, from: p.known.Since}
		switch {
		case isOwn(at):
			return all
		case IsMarked(at):
			if ProjectOf(at).Folder == p.Folder || p.noteOther(at) {
				return all
			}
			return tenure{}
		case slices.Contains(p.known.Others, at) && !exists(at), at == filepath.Dir(at):
			return tenure{}
		}
		return decide(filepath.Dir(at))
	}
	// resolve is paths.Resolve. Most folders of other projects are gone, and have the same parents.
	resolved := map[string]string{}
	var resolve func(folder string) string
	resolve = func(folder string) string {
		real, ok := resolved[folder]
		if !ok && (len(folder) > paths.Longest || exists(folder) || folder == filepath.Dir(folder)) {
			real = paths.Resolve(folder)
		} else if !ok {
			real = filepath.Join(resolve(filepath.Dir(folder)), filepath.Base(folder))
		}
		resolved[folder] = real
		return real
	}
	return func(folder string, last time.Time) bool {
		return decide(resolve(paths.Absolute(folder))).includes(last)
	}
}

// noteOther returns false. It notes another project's folder, which would be taken for one of this
// project once it is gone.
func (p Project) noteOther(folder string) bool {
	inside := func(own string) bool { _, ok := paths.Within(own, folder); return ok }
	if p.note != nil && slices.ContainsFunc(p.Folders(), inside) && !slices.Contains(p.known.Others, folder) {
		p.note(folder)
	}
	return false
}

// Began returns when the working directory was made, by a file that git writes once; zero if it is
// none of a repository.
func (p Project) Began() time.Time {
	if p.repository.Folder == "" {
		return time.Time{}
	}
	if info, err := os.Lstat(filepath.Join(p.Checkout, repository.Marker)); err == nil && info.Mode().IsRegular() {
		return info.ModTime()
	}
	if info := p.firstFile(); info != nil {
		return info.ModTime()
	}
	return time.Time{}
}

// firstFile returns a file that git writes once, when it makes a repository; nil if there is none.
func (p Project) firstFile() os.FileInfo {
	if p.repository.Shared == "" {
		return nil
	}
	for _, name := range []string{"description", filepath.Join("info", "exclude")} {
		if info, err := os.Lstat(filepath.Join(p.repository.Shared, name)); err == nil && info.Mode().IsRegular() {
			return info
		}
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
