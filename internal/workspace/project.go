package workspace

import (
	"os"
	"path/filepath"
	"slices"

	"github.com/memcore/memcore/internal/git/repository"
	"github.com/memcore/memcore/internal/paths"
)

// A Project is what one memory is about: a git repository with all its working directories, a
// folder with .beans in it, or any other folder. Paths are absolute, with links resolved. It is safe
// for concurrent use.
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

// With returns the project with what memcore has seen of it before. note is called for each folder of
// another project in those of this one that is found; it may be nil.
func (p Project) With(known Sources, note func(other string)) Project {
	p.known, p.note = known, note
	return p
}

// marks reports whether a marker is in a folder.
func marks(folder, marker string) bool { return exists(filepath.Join(folder, marker)) }

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

// OriginalOf returns the working directory of Documents for a folder in another working directory of
// the repository, or "".
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
// Checkouts, and those seen before that nothing else has taken since.
func (p Project) Folders() []string {
	all := append([]string{p.Folder}, p.Checkouts()...)
	for _, folder := range p.known.Folders {
		if !slices.Contains(all, folder) && !p.isTaken(folder) {
			all = append(all, folder)
		}
	}
	return all
}

// isTaken reports whether a folder that was the project's is another one now. A working directory
// that git has forgotten still names the repository.
func (p Project) isTaken(folder string) bool {
	return exists(folder) && !p.repository.Names(folder)
}

// Holder returns a function that reports whether an agent that works in a folder, which may be gone,
// works on the project as it is now. The nearest folder upwards that is known decides.
func (p Project) Holder() func(folder string) bool {
	own, infos := map[string]bool{}, []os.FileInfo{}
	for _, folder := range p.Folders() {
		own[folder] = true
		if info, err := os.Stat(folder); err == nil {
			infos = append(infos, info)
		}
	}
	// isOwn also knows folders whose name is written in another case, on systems that ignore it.
	isOwn := func(folder string) bool {
		if own[folder] {
			return true
		}
		info, err := os.Stat(folder)
		return err == nil && slices.ContainsFunc(infos, func(known os.FileInfo) bool { return os.SameFile(known, info) })
	}
	return func(folder string) bool {
		for at := range upFrom(paths.Resolve(folder)) {
			if isOwn(at) {
				return true
			}
			if marks(at, repository.Marker) || marks(at, beans) {
				return ProjectOf(at).Folder == p.Folder || p.noteOther(at)
			}
			if slices.Contains(p.known.Others, at) && !exists(at) {
				return false
			}
		}
		return false
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

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
