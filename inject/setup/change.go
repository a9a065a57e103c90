package setup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/aymanbagabas/go-udiff"

	"github.com/memcore/memcore/internal/paths"
	"github.com/memcore/memcore/internal/safefile"
	"github.com/memcore/memcore/internal/text/sanitize"
	"github.com/memcore/memcore/internal/text/secret"
)

// A Change is a text file before and after.
type Change struct {
	Agent   string `json:"agent,omitempty"` // "" for memcore's own file
	Path    string `json:"path"`            // as shown: "~/…" in the home folder, relative in the project
	File    string `json:"file"`            // absolute, links resolved
	What    string `json:"what"`            // in a few words, such as "+6 hooks"
	Before  string `json:"-"`
	After   string `json:"-"`
	Created bool   `json:"created,omitempty"`
	Removed bool   `json:"removed,omitempty"`

	dir, name string // of File: a folder that it must stay in, and the rest
	mode      fs.FileMode
	record    *record // what Apply remembers of the file, if set
}

// Diff is unified, without secrets in the lines around.
func (c Change) Diff() string {
	before, after := "a/"+sanitize.Line(c.Path), "b/"+sanitize.Line(c.Path)
	if c.Created {
		before = "/dev/null"
	}
	if c.Removed {
		after = "/dev/null"
	}
	shown, _ := secret.Redact(udiff.Unified(before, after, c.Before, c.After))
	return shown
}

// maxFile is the largest file that is changed, in bytes. The journal has the same limit.
const maxFile = 8 << 20

// A file is one that may be changed.
type file struct {
	Change
	text  string // after the changes so far
	what  []string
	empty []string // see record.Empty
}

// did notes a change in a few words.
func (f *file) did(what string) { f.what = append(f.what, what) }

// openFile takes a missing file as empty. Links may only lead into one of the folders, which place
// names in the error.
func openFile(path, shown string, within []string, place string, mode fs.FileMode) (*file, error) {
	f := &file{Change: Change{Path: shown, File: paths.Resolve(path), Created: true, mode: mode}}
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
	data, info, err := safefile.ReadFile(f.dir, f.name, maxFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return f, nil
	case errors.Is(err, safefile.ErrTooLarge):
		err = fmt.Errorf("%w, which memcore does not change", err)
	case err == nil && !utf8.Valid(data):
		err = errors.New("it is not UTF-8 text")
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", shown, err)
	}
	f.Before, f.text, f.Created, f.mode = string(data), string(data), false, info.Mode().Perm()
	return f, nil
}

// change returns what to write, if anything. It refuses read-only files.
func (f *file) change() (c Change, ok bool, err error) {
	f.After, f.What = f.text, strings.Join(f.what, ", ")
	if f.Created {
		return f.Change, f.text != "", nil
	}
	if !f.Removed && f.Before == f.text {
		return Change{}, false, nil
	}
	if err := safefile.Writable(f.mode); err != nil {
		return Change{}, false, fmt.Errorf("%s %w", f.Path, err)
	}
	opened, err := os.OpenFile(f.File, os.O_WRONLY, 0)
	if err != nil {
		return Change{}, false, fmt.Errorf("%s: %w", f.Path, err)
	}
	return f.Change, true, opened.Close()
}

// added is change, with the record of what was added.
func (f *file) added(o Options, holdsOurs bool) (c Change, ok bool, err error) {
	c, ok, err = f.change()
	if !ok || err != nil {
		return c, ok, err
	}
	var before *record
	if holdsOurs {
		if before = o.recordOf(f.File); before == nil {
			before = &record{Created: true} // as if it were memcore's, as far as it has nothing else
		}
	}
	c.record = newRecord(c, before, f.empty, f.what)
	return c, true, nil
}

// restore makes the text what it was before memcore's entries, if it is still as Apply wrote it.
func (f *file) restore(r *record) {
	text, ok := r.original(f.Before)
	if !ok {
		return
	}
	f.text, f.Removed = text, r.Created && text == ""
	for _, what := range r.What {
		if added, is := strings.CutPrefix(what, "+"); is {
			f.did("-" + added)
		}
	}
}
