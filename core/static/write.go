package static

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/memcore/memcore/internal/beneath"
	"github.com/memcore/memcore/internal/deny"
	"github.com/memcore/memcore/internal/gitignore"
	"github.com/memcore/memcore/internal/gitindex"
	"github.com/memcore/memcore/internal/paths"
	"github.com/memcore/memcore/internal/private"
)

// A Target is a memory file that may be written to. There are four: of the user and of the project, each to be shared or private.
type Target struct {
	File    string // absolute
	Path    string // as shown
	Private bool
	Global  bool   // of the user, not of the project
	folder  string // that File is beneath, links resolved
}

// Mode is what permissions the file gets if it is made, as far as the umask and its folder leave them: what is shared with a project may be read by who may
// read the project.
func (t Target) Mode() fs.FileMode {
	if t.Private || t.Global {
		return 0o600
	}
	return 0o644
}

// Target returns where the user's or the project's memory is written to: the first of Names that is there, else the first of
// them, in the project's root before its hidden folder; private is the ".local.md" file beside it.
func (l *Layer) Target(global, private bool) (Target, error) {
	o := l.options
	folders, root := []string{o.Beans}, o.Beans
	if !global {
		root = projectOf(o)
		folders = []string{root, filepath.Join(root, o.Folder)}
	}
	if root == "" {
		return Target{}, errors.New("there is no home folder, and so no global memory")
	}
	file := filepath.Join(folders[0], o.Names[0])
	for _, at := range candidatesFor(folders, o.Names) {
		if _, err := os.Lstat(at); err == nil {
			file = at
			break
		}
	}
	if private {
		file = filepath.Join(filepath.Dir(file), LocalName(filepath.Base(file)))
	}
	return Target{File: file, Path: paths.NewNames(projectOf(o), o.Home).Of(file), Private: private, Global: global, folder: root}, nil
}

func candidatesFor(folders, names []string) []string {
	var all []string
	for _, folder := range folders {
		for _, name := range names {
			all = append(all, filepath.Join(folder, name))
		}
	}
	return all
}

// Place returns the folder that the target is beneath and its name there, slash-separated, links resolved. A link of the target may lead
// only to a Markdown file below the same folder, and to none that looks like a secret. The folder is made if it is missing.
func (t Target) Place() (dir, name string, err error) {
	if err := beneath.MakeFolder(t.folder, t.Mode()); err != nil {
		return "", "", err
	}
	if info, err := os.Lstat(t.File); t.Private && err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return "", "", fmt.Errorf("%s is a link: what it leads to is not private", t.Path)
	}
	dir, real := paths.Resolve(t.folder), paths.Resolve(t.File)
	name, inside := below(dir, real)
	switch reason := deny.Reason(real); {
	case !inside:
		return "", "", fmt.Errorf("%s is a link out of %s: write to what it links to yourself", t.Path, dir)
	case reason != "":
		return "", "", fmt.Errorf("%s is never written: %s", t.Path, reason)
	case !isMarkdown(real):
		return "", "", fmt.Errorf("%s is never written: only .md files are", t.Path)
	}
	return dir, filepath.ToSlash(name), nil
}

// KeepOutOfGit adds a private target to the .gitignore file beside it, if it is in a repository that does not ignore it yet. It
// returns the path of the file that was changed, "" if none was. A target that git tracks is an error: ignoring does not keep that out.
func (t Target) KeepOutOfGit() (string, error) {
	if !t.Private {
		return "", nil
	}
	dir, name := paths.Resolve(filepath.Dir(t.File)), filepath.Base(t.File)
	all := repositoriesOf(dir) // whose they are does not matter to text that must not get into one, and one further up may track what lies in a nearer one
	if len(all) == 0 {
		return "", nil
	}
	for _, root := range all {
		tracked, err := gitindex.Holds(root, relative(root, dir)+name)
		if tracked {
			return "", fmt.Errorf("git tracks it: take it out with 'git rm --cached %s' in %s", name, dir)
		}
		// A stranger's repository, or one that the user may not read, is no reason not to write: git does not work there for the user either.
		if counts, _ := private.Marks(root, repositoryMark, dir); err != nil && counts && !errors.Is(err, fs.ErrPermission) {
			return "", err
		}
	}
	root := all[0]
	var stack *gitignore.Stack
	var cache gitignore.Cache
	for _, at := range chainOf(root, dir) {
		stack = stack.Push(relative(root, at), cache.In(at))
	}
	if stack.Ignores(relative(root, dir)+name, false) {
		return "", nil
	}
	if strings.ContainsAny(name, "\r\n") {
		return "", errors.New("no line of .gitignore can name a file whose name has a line break")
	}
	file := filepath.Join(dir, ".gitignore")
	old, err := readSmall(dir, ".gitignore")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("%s: %w", file, err)
	}
	if old != "" && !strings.HasSuffix(old, "\n") {
		old += "\n"
	}
	return file, beneath.Replace(dir, ".gitignore", []byte(old+gitignore.Escape(name)+"\n"), 0o644)
}

// readSmall reads a file that is no link, of at most maxFile bytes.
func readSmall(dir, name string) (string, error) {
	file, _, err := beneath.Open(dir, name)
	if err != nil {
		return "", err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err == nil && len(data) > maxFile {
		err = fmt.Errorf("it is larger than %d KB", maxFile>>10)
	}
	return string(data), err
}
