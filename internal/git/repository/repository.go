// Package repository finds the working directories of a git repository. It reads git's files, as
// gitrepository-layout(5) and git-worktree(1) describe them: git would run commands that a hostile
// repository configures.
//
// A .git file may name any folder on the disk, also one of another repository. So a working
// directory is one of a repository only if that names it, too.
package repository

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/memcore/memcore/internal/paths"
	"github.com/memcore/memcore/internal/safefile"
)

// Bounds of the files that are read, in bytes.
const (
	maxFile   = 1 << 16
	maxConfig = 1 << 20
)

const (
	maxNesting = 16    // of submodules
	maxLinked  = 1_000 // working directories of a repository
)

// Marker is in the root of each working directory.
const Marker = ".git"

// A Repository has one or more working directories. Paths are absolute, with links resolved.
type Repository struct {
	// Folder names the repository: its main checkout, else the folder that holds its git folder,
	// else a bare repository itself.
	Folder string
	// Shared is the git folder that all working directories share; "" if only Folder is proven to
	// belong to it.
	Shared string
	// Bare means that there is no main checkout.
	Bare bool
}

// Of returns the repository of a working directory, or of a bare repository. A submodule belongs to
// the repository around it. ok is false if root is neither.
func Of(root string) (r Repository, ok bool) { return of(paths.Resolve(root), maxNesting) }

func of(root string, nesting int) (Repository, bool) {
	info, err := os.Stat(filepath.Join(root, Marker))
	switch {
	case err != nil && isBare(root):
		return sharing(root, nesting), true
	case err != nil:
		return Repository{}, false
	case info.IsDir(): // a commondir in it does not count: only a file is git's way to a shared folder
		dir := filepath.Join(root, Marker)
		return Repository{Folder: root, Shared: dir, Bare: isBare(dir)}, true
	}
	alone := Repository{Folder: root}
	dir, err := Dir(root)
	if err != nil || dir == "" {
		return alone, true
	}
	dir = paths.Resolve(dir)
	if shared, linked := linkedTo(dir); linked {
		if namedBy(dir) == root {
			return sharing(shared, nesting), true
		}
		return alone, true
	}
	if parent := around(root); parent != "" && nesting > 0 {
		above, err := Dir(parent)
		_, inside := paths.Within(filepath.Join(paths.Resolve(above), "modules"), dir)
		if err == nil && above != "" && inside && worktreeOf(dir) == root {
			return of(parent, nesting-1)
		}
	}
	if _, inside := paths.Within(root, dir); inside || worktreeOf(dir) == root {
		return Repository{Folder: root, Shared: dir, Bare: isBare(dir)}, true
	}
	return alone, true
}

// sharing returns the repository of a shared folder.
func sharing(shared string, nesting int) Repository {
	parent := filepath.Dir(shared)
	if dir, err := Dir(parent); err == nil && dir != "" && paths.Resolve(dir) == shared {
		return Repository{Folder: parent, Shared: shared, Bare: isBare(shared)}
	}
	if main := worktreeOf(shared); main != "" && nesting > 0 {
		if dir, err := Dir(main); err == nil && dir != "" && paths.Resolve(dir) == shared {
			if r, ok := of(main, nesting-1); ok {
				return r
			}
		}
	}
	return Repository{Folder: shared, Shared: shared, Bare: true}
}

// around returns the nearest folder above a working directory that has a .git, or "".
func around(root string) string {
	for at := filepath.Dir(root); ; at = filepath.Dir(at) {
		if _, err := os.Lstat(filepath.Join(at, Marker)); err == nil {
			return at
		}
		if at == filepath.Dir(at) {
			return ""
		}
	}
}

// Linked returns the working directories beside the main checkout ("git worktree") that exist,
// sorted.
func (r Repository) Linked() (roots []string) {
	if r.Shared == "" {
		return nil
	}
	all := filepath.Join(r.Shared, "worktrees")
	entries, _ := os.ReadDir(all)
	for _, entry := range entries[:min(len(entries), maxLinked)] {
		dir := filepath.Join(all, entry.Name())
		root := namedBy(dir)
		if root == "" {
			continue
		}
		if back, err := Dir(root); err == nil && back != "" && paths.Resolve(back) == dir {
			roots = append(roots, root)
		}
	}
	slices.Sort(roots)
	return slices.Compact(roots)
}

// Names reports whether the .git file of a folder leads to a working directory of the repository,
// also to one that git has forgotten.
func (r Repository) Names(root string) bool {
	dir, err := Dir(root)
	return err == nil && r.Shared != "" && dir != "" && filepath.Dir(paths.Resolve(dir)) == filepath.Join(r.Shared, "worktrees")
}

// Primary returns the working directory that stands for the repository: the main checkout; without
// one, that of the branch which the bare repository's HEAD names, else the first; "" if there is
// none.
func (r Repository) Primary() string {
	if !r.Bare {
		return r.Folder
	}
	all := r.Linked()
	for _, root := range all {
		if dir, err := Dir(root); err == nil && head(dir) != "" && head(dir) == head(r.Shared) {
			return root
		}
	}
	if len(all) == 0 {
		return ""
	}
	return all[0]
}

// IsLinked reports whether a folder is a working directory beside a main checkout, of any
// repository, or was one.
func IsLinked(root string) bool {
	if info, err := os.Lstat(filepath.Join(root, Marker)); err != nil || !info.Mode().IsRegular() {
		return false
	}
	dir, err := Dir(root)
	if err != nil || dir == "" {
		return false
	}
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return filepath.Base(filepath.Dir(dir)) == "worktrees"
	}
	_, linked := linkedTo(paths.Resolve(dir))
	return linked
}

// linkedTo returns the shared folder in whose folder "worktrees" a git folder is.
func linkedTo(dir string) (shared string, ok bool) {
	if _, err := os.Lstat(filepath.Join(dir, "commondir")); err != nil {
		return "", false
	}
	shared = paths.Resolve(Common(dir))
	return shared, filepath.Dir(dir) == filepath.Join(shared, "worktrees")
}

// namedBy returns the working directory that a folder in "worktrees" names, or "".
func namedBy(dir string) string {
	file := line(filepath.Join(dir, "gitdir"))
	if file == "" {
		return ""
	}
	if !filepath.IsAbs(file) { // worktree.useRelativePaths
		file = filepath.Join(dir, file)
	}
	if isRemote(file) {
		return ""
	}
	return paths.Resolve(filepath.Dir(file))
}

// Dir returns the git folder of a working directory, or "". In linked working directories and
// submodules, a .git file names it.
func Dir(root string) (string, error) {
	path := filepath.Join(root, Marker)
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil || info.IsDir() {
		return path, err
	}
	text, _, err := safefile.ReadPath(path, maxFile)
	if err != nil {
		return "", err
	}
	dir, ok := strings.CutPrefix(strings.TrimRight(string(text), "\r\n"), "gitdir: ")
	if !ok || dir == "" {
		return "", nil
	}
	if dir = filepath.FromSlash(dir); !filepath.IsAbs(dir) {
		dir = filepath.Join(root, dir)
	}
	if isRemote(dir) && filepath.VolumeName(dir) != filepath.VolumeName(root) {
		return "", fmt.Errorf("%s leads to another machine", path)
	}
	return dir, nil
}

// Common returns the git folder that a git folder names as shared by all working directories, else
// itself. It proves nothing.
func Common(dir string) string {
	common := line(filepath.Join(dir, "commondir"))
	switch {
	case common == "" || isRemote(common):
		return dir
	case !filepath.IsAbs(common):
		return filepath.Join(dir, common)
	}
	return common
}

// line returns the content of a file that has one line, as a path; "" if it cannot be read.
func line(file string) string {
	text, _, err := safefile.ReadPath(file, maxFile)
	if err != nil {
		return ""
	}
	return filepath.FromSlash(strings.TrimRight(string(text), "\r\n"))
}

// head returns what HEAD of a git folder names, such as "ref: refs/heads/main".
func head(dir string) string { return line(filepath.Join(dir, "HEAD")) }

// isRemote reports whether a Windows path leads to another machine, which would learn the user's
// name.
func isRemote(path string) bool { return strings.HasPrefix(filepath.VolumeName(path), `\\`) }

// isBare reports whether a folder is a git folder that is configured to have no main checkout.
func isBare(dir string) bool {
	if info, err := os.Stat(filepath.Join(dir, "objects")); err != nil || !info.IsDir() || head(dir) == "" {
		return false
	}
	switch strings.ToLower(Setting(config(dir), "core", "bare")) {
	case "true", "yes", "on", "1":
		return true
	}
	return false
}

// worktreeOf returns the working directory that a git folder's configuration names, or "".
func worktreeOf(dir string) string {
	root := filepath.FromSlash(Setting(config(dir), "core", "worktree"))
	if root == "" || isRemote(root) {
		return ""
	}
	if !filepath.IsAbs(root) {
		root = filepath.Join(dir, root)
	}
	return paths.Resolve(root)
}

// config returns the configuration of a git folder. What extensions.worktreeConfig moves to a file
// of its own counts after the rest.
func config(dir string) (all []byte) {
	for _, name := range []string{"config", "config.worktree"} {
		text, _, err := safefile.ReadPath(filepath.Join(dir, name), maxConfig)
		if err == nil {
			all = append(append(all, text...), '\n')
		}
	}
	return all
}

// Setting returns the last value of a key in a section without subsection of a configuration file
// (git-config(1)), or "". It follows no includes.
func Setting(config []byte, section, key string) (value string) {
	at := ""
	for lines := bufio.NewScanner(bytes.NewReader(config)); lines.Scan(); {
		line := strings.TrimSpace(lines.Text())
		if strings.HasPrefix(line, "[") {
			at, line, _ = strings.Cut(line[1:], "]")
			line = strings.TrimSpace(line)
		}
		name, text, has := strings.Cut(line, "=")
		if !strings.EqualFold(strings.TrimSpace(at), section) || !strings.EqualFold(strings.TrimSpace(name), key) {
			continue
		}
		if value = "true"; has { // a key alone is true
			value = unquote(strings.TrimSpace(text))
		}
	}
	return value
}

// unquote removes quotes, escapes and a comment from a value.
func unquote(text string) string {
	var b strings.Builder
	quoted := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			quoted = !quoted
		case c == '\\' && i+1 < len(text):
			i++
			b.WriteByte(text[i])
		case (c == '#' || c == ';') && !quoted:
			return strings.TrimRight(b.String(), " \t")
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}
