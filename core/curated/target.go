package curated

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/memcore/memcore/internal/git/gitignore"
	"github.com/memcore/memcore/internal/git/gitindex"
	"github.com/memcore/memcore/internal/git/repository"
	"github.com/memcore/memcore/internal/paths"
	"github.com/memcore/memcore/internal/safefile"
	"github.com/memcore/memcore/internal/safefile/secretfile"
	"github.com/memcore/memcore/internal/workspace"
)

// A Target is a memory file to write to.
type Target struct {
	File    string // absolute
	Path    string // as shown
	Private bool
	Global  bool   // of the user, not of the project
	folder  string // root that File must stay inside
	ignores string // Options.GitIgnores
}

// Mode returns a new file's permissions, before the umask.
func (t Target) Mode() fs.FileMode {
	if t.Private || t.Global {
		return 0o600
	}
	return 0o644
}

// Target returns the first of Names that exists in the root or its hidden folder, else a new file.
// If private, it returns the first private file that exists, else the neighbour of that, in
// Options.Original if there is one: all working directories get it from there.
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
	first := func(nameOf func(string) string) string {
		for _, folder := range folders {
			for _, name := range o.Names {
				if file := filepath.Join(folder, nameOf(name)); exists(file) {
					return file
				}
			}
		}
		return ""
	}
	if own := first(LocalName); private && !global && own == "" && o.Original != "" {
		root, folders = o.Original, []string{o.Original, filepath.Join(o.Original, o.Folder)}
	}
	file := cmp.Or(first(func(name string) string { return name }), filepath.Join(folders[0], o.Names[0]))
	if private {
		file = cmp.Or(first(LocalName), filepath.Join(filepath.Dir(file), LocalName(filepath.Base(file))))
	}
	return Target{File: file, Path: paths.NewNames(projectOf(o), o.Home).Of(file), Private: private, Global: global, folder: root, ignores: o.GitIgnores}, nil
}

func exists(file string) bool {
	_, err := os.Lstat(file)
	return err == nil
}

// Place makes the root folder and returns it and the name below, links resolved. A link may only
// lead to a Markdown file in the same folder that is no secret.
func (t Target) Place() (dir, name string, err error) {
	if err := safefile.MakeFolder(t.folder, t.Mode()); err != nil {
		return "", "", err
	}
	if info, err := os.Lstat(t.File); t.Private && err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return "", "", fmt.Errorf("%s is a link, and its target is not private", t.Path)
	}
	dir, real := paths.Resolve(t.folder), paths.Resolve(t.File)
	name, inside := below(dir, real)
	switch reason := secretfile.Reason(real); {
	case !inside:
		return "", "", fmt.Errorf("%s is a link out of %s: edit its target yourself", t.Path, dir)
	case reason != "":
		return "", "", fmt.Errorf("%s is never written: %s", t.Path, reason)
	case !isMarkdown(real):
		return "", "", fmt.Errorf("%s is never written: only .md files are", t.Path)
	}
	return dir, filepath.ToSlash(name), nil
}

// KeepOutOfGit calls the function of that name for a private target, and does nothing for another.
func (t Target) KeepOutOfGit() (string, error) {
	if !t.Private {
		return "", nil
	}
	return KeepOutOfGit(t.File, t.ignores)
}

// KeepOutOfGit adds a file, unless ignored, also by Options.GitIgnores, to the .gitignore file
// beside it and returns that file. A tracked file is an error.
func KeepOutOfGit(path, ignores string) (string, error) {
	dir, name := paths.Resolve(filepath.Dir(path)), filepath.Base(path)
	repositories := workspace.Repositories(dir) // an outer one may track files of an inner one
	if len(repositories) == 0 {
		return "", nil
	}
	for _, r := range repositories {
		tracked, err := gitindex.Holds(r.Root, relative(r.Root, dir)+name)
		if tracked {
			return "", fmt.Errorf("git tracks it: take it out with 'git rm --cached %s' in %s", name, dir)
		}
		// Git refuses a stranger's or unreadable repository, too.
		if err != nil && r.Own && !errors.Is(err, fs.ErrPermission) {
			return "", err
		}
	}
	if ignored(repositories[0].Root, dir, name, ignores) {
		safefile.Tidy(dir, ".gitignore", safefile.Abandoned) // a crash may have come right behind it
		return "", nil
	}
	if strings.ContainsAny(name, "\r\n") {
		return "", errors.New("no line of .gitignore can name a file whose name has a line break")
	}
	ignore := filepath.Join(dir, ".gitignore")
	err := safefile.Update(dir, ".gitignore", maxFile, 0o644, func(text []byte) ([]byte, error) {
		return withPattern(text, name), nil
	})
	return ignore, err
}

// ignored heeds .gitignore, info/exclude and the user's patterns.
func ignored(root, dir, name, ignores string) bool {
	var stack *gitignore.Stack
	var cache gitignore.Cache
	if ignores != "" {
		stack = stack.Push("", cache.Of(paths.Resolve(ignores)))
	}
	if dir, err := repository.Dir(root); err == nil && dir != "" {
		stack = stack.Push("", cache.Of(filepath.Join(repository.Common(dir), "info", "exclude")))
	}
	for i, at := range chainOf(root, dir) {
		if i > 0 && stack.Ignores(strings.TrimSuffix(relative(root, at), "/"), true) {
			return true
		}
		stack = stack.Push(relative(root, at), cache.In(at))
	}
	return stack.Ignores(relative(root, dir)+name, false)
}
