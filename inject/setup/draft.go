package setup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"unicode/utf8"

	"github.com/aymanbagabas/go-udiff"

	"github.com/memcore/memcore/core/notes"
	"github.com/memcore/memcore/internal/beneath"
	"github.com/memcore/memcore/internal/paths"
	"github.com/memcore/memcore/internal/secret"
)

// A Change is one file as it is and as it will be. Texts are UTF-8.
type Change struct {
	Agent   string `json:"agent,omitempty"` // "" if it is memcore's own file
	Path    string `json:"path"`            // as shown: "~/…" in the home folder, relative in the project
	File    string `json:"file"`            // absolute, links resolved
	Before  string `json:"-"`
	After   string `json:"-"`
	Created bool   `json:"created,omitempty"`
	Removed bool   `json:"removed,omitempty"`

	dir, name string // of File: a folder that it must not lie outside of, and the rest
	mode      fs.FileMode
}

// Diff is the change as a unified diff. What looks like a secret in the lines around it is not shown.
func (c Change) Diff() string {
	before, after := "a/"+c.Path, "b/"+c.Path
	if c.Created {
		before = "/dev/null"
	}
	if c.Removed {
		after = "/dev/null"
	}
	shown, _ := secret.Redact(udiff.Unified(before, after, c.Before, c.After))
	return shown
}

// Apply makes all changes or none, as one entry of the journal. If a file was changed meanwhile, the error wraps notes.ErrChanged.
func Apply(ctx context.Context, journal *notes.Journal, label string, changes []Change) error {
	_, err := journal.Do(ctx, label, func() ([]notes.Edit, error) {
		var edits []notes.Edit
		for _, c := range changes {
			edits = append(edits, notes.Edit{Dir: c.dir, Name: filepath.ToSlash(c.name), Before: c.Before, After: c.After, Created: c.Created, Removed: c.Removed, Mode: c.mode})
		}
		return edits, nil
	})
	return err
}

// maxFile is the largest file that is changed, in bytes: the most a journal takes.
const maxFile = 8 << 20

// A file is one that may be changed.
type file struct {
	Change
	text string // as it will be
}

// openFile reads a file that need not exist, and that links may lead to, but only within one of the folders; place names them.
func openFile(path, shown string, within []string, place string, mode fs.FileMode) (*file, error) {
	f := &file{Change: Change{Path: shown, Created: true, mode: mode}}
	f.File = paths.Resolve(path)
	if info, err := os.Lstat(f.File); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return nil, fmt.Errorf("%s is a symbolic link to a file that does not exist: make that file, or remove the link", shown)
	}
	for _, folder := range within {
		if folder == "" {
			continue
		}
		folder = paths.Resolve(folder)
		if name, inside := paths.Within(folder, f.File); inside && name != "." {
			f.dir, f.name = folder, name
			break
		}
	}
	if f.dir == "" {
		return nil, fmt.Errorf("%s leads to %s, which is outside %s: memcore does not change it there", shown, f.File, place)
	}
	text, mode, err := readFile(f.dir, f.name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return f, nil
	case err != nil:
		return nil, fmt.Errorf("%s: %w", shown, err)
	}
	f.Before, f.text, f.Created, f.mode = text, text, false, mode
	return f, nil
}

func readFile(dir, name string) (string, fs.FileMode, error) {
	opened, info, err := beneath.Open(dir, name)
	if err != nil {
		return "", 0, err
	}
	defer opened.Close()
	data, err := io.ReadAll(io.LimitReader(opened, maxFile+1))
	switch {
	case err != nil:
		return "", 0, err
	case len(data) > maxFile:
		return "", 0, fmt.Errorf("it is larger than %d MB, which memcore does not change", maxFile>>20)
	case !utf8.Valid(data):
		return "", 0, errors.New("it is not UTF-8 text")
	}
	return string(data), info.Mode().Perm(), nil
}

// change returns what is to be written; ok is false if nothing is. The file must be one that its owner lets be written to: replacing it would not ask.
func (f *file) change() (c Change, ok bool, err error) {
	f.After = f.text
	if f.Created && f.text == "" || !f.Created && !f.Removed && f.Before == f.text {
		return Change{}, false, nil
	}
	if f.Created {
		return f.Change, true, nil
	}
	if err := beneath.Writable(f.mode); err != nil {
		return Change{}, false, fmt.Errorf("%s %w", f.Path, err)
	}
	opened, err := os.OpenFile(f.File, os.O_WRONLY, 0)
	if err != nil {
		return Change{}, false, fmt.Errorf("%s: %w", f.Path, err)
	}
	return f.Change, true, opened.Close()
}
