package curated

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/memcore/memcore/internal/git/gitignore"
	"github.com/memcore/memcore/internal/paths"
	"github.com/memcore/memcore/internal/safefile"
	"github.com/memcore/memcore/internal/workspace"
)

// UserIgnores returns Options.GitIgnores from the user's configuration of git.
func UserIgnores(home string) string { return gitignore.UserFile(home) }

// Exposed are private files in one folder that git would commit.
type Exposed struct {
	Names  []string
	Ignore string // the .gitignore file beside them, which may be missing
	// Text is the content of that file that would ignore them.
	Text string
	// Trusted means that KeepOutOfGit may write into the folder.
	Trusted bool

	ignores string
}

// Exposed returns the private files that git would commit, by folder.
func (l *Layer) Exposed(m Memory) ([]Exposed, error) {
	var all []Exposed
	for _, f := range m.Files {
		dir, name := filepath.Split(f.File)
		if f.Kind != Private || name == "" {
			continue
		}
		dir = paths.Resolve(dir)
		repositories := workspace.Repositories(dir)
		if len(repositories) == 0 || ignored(repositories[0].Root, dir, name, l.options.GitIgnores) {
			continue
		}
		file := filepath.Join(dir, ".gitignore")
		if i := slices.IndexFunc(all, func(e Exposed) bool { return e.Ignore == file }); i >= 0 {
			all[i].Names = append(all[i].Names, name)
			all[i].Text += gitignore.Escape(name) + "\n"
			continue
		}
		text, _, err := safefile.ReadFile(dir, ".gitignore", maxFile)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return all, fmt.Errorf("%s: %w", file, err)
		}
		all = append(all, Exposed{Names: []string{name}, Ignore: file, Text: string(withPattern(text, name)), Trusted: l.mayWrite(f, dir), ignores: l.options.GitIgnores})
	}
	return all, nil
}

// mayWrite is true for global files and trusted folders.
func (l *Layer) mayWrite(f File, dir string) bool {
	if f.Tier == Global {
		return true
	}
	if f.Untrusted || l.options.Trust == nil {
		return false
	}
	covering, err := l.options.Trust.Covering(dir)
	return err == nil && covering != ""
}

func withPattern(text []byte, name string) []byte {
	if len(text) > 0 && !bytes.HasSuffix(text, []byte("\n")) {
		text = append(text, '\n')
	}
	return append(text, gitignore.Escape(name)+"\n"...)
}

var errUntrusted = errors.New("the folder is not trusted")

// KeepOutOfGit adds the files to a writable .gitignore file.
func (e Exposed) KeepOutOfGit() error {
	if !e.Trusted {
		return fmt.Errorf("%s: %w", e.Ignore, errUntrusted)
	}
	if info, err := os.Lstat(e.Ignore); err == nil {
		if err := safefile.Writable(info.Mode()); err != nil {
			return fmt.Errorf("%s %w", e.Ignore, err)
		}
	}
	for _, name := range e.Names {
		if _, err := KeepOutOfGit(filepath.Join(filepath.Dir(e.Ignore), name), e.ignores); err != nil {
			return err
		}
	}
	return nil
}
