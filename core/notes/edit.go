package notes

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/aymanbagabas/go-udiff"

	"github.com/memcore/memcore/internal/markdown/section"
	"github.com/memcore/memcore/internal/safefile"
	"github.com/memcore/memcore/internal/text/sanitize"
	"github.com/memcore/memcore/internal/text/secret"
)

// maxFile is the size of the largest file, in bytes.
const maxFile = 8 << 20

// Errors of files.
var (
	// ErrChanged means that a file is not as it was written.
	ErrChanged = safefile.ErrChanged
	// ErrText means that a file is not UTF-8 text.
	ErrText = section.ErrText
)

// An Edit changes one file below a folder. Texts are UTF-8.
type Edit struct {
	Dir     string // absolute, links resolved
	Name    string // relative to Dir, slash-separated
	Before  string
	After   string
	Created bool        // the file did not exist
	Removed bool        // the file is to be removed
	Mode    fs.FileMode // of a new file, as far as folder and umask allow; 0 means 0644
}

// A Hunk holds an edit's changed lines, for the journal.
type Hunk struct {
	Dir     string      `json:"dir"`
	Name    string      `json:"name"`
	At      int         `json:"at"` // offset of Old and New in the file
	Old     string      `json:"old"`
	New     string      `json:"new"`
	Before  string      `json:"before"` // SHA-256 of the file
	After   string      `json:"after"`
	Created bool        `json:"created,omitempty"`
	Removed bool        `json:"removed,omitempty"`
	Mode    fs.FileMode `json:"mode,omitempty"`
	// Above and Below are the neighbouring lines, to find the place again.
	Above string `json:"above,omitempty"`
	Below string `json:"below,omitempty"`
	// Secret: Old or New hold a secret, and leave the journal after the change; or they are
	// forgotten.
	Secret bool `json:"secret,omitempty"`
}

// File returns the absolute path.
func (h Hunk) File() string { return filepath.Join(h.Dir, filepath.FromSlash(h.Name)) }

// Lines returns the changed lines as a diff has them, fit to show, without blank ones.
func (h Hunk) Lines() (all []string) {
	for i, line := range strings.Split(diff(h.Name, joined(Shown(h.Old)), joined(Shown(h.New))), "\n") {
		isNamed := i < 2 // the two lines that name the file
		if !isNamed && strings.TrimLeft(line, "+-") != line && strings.TrimSpace(line[1:]) != "" {
			all = append(all, line)
		}
	}
	return all
}

// hunkOf returns the changed lines; with a secret only the changed characters, since a settings
// file can be one line.
func hunkOf(e Edit) Hunk {
	h := Hunk{Dir: e.Dir, Name: e.Name, Before: sum(e.Before), After: sum(e.After), Created: e.Created, Removed: e.Removed, Mode: e.Mode}
	h.At, h.Old, h.New = difference(e.Before, e.After, "\n")
	h.Above, h.Below = beside(e.Before, h.At, h.At+len(h.Old))
	holds := func() bool {
		return holdsSecret(e.Before, h.At, h.At+len(h.Old)) || holdsSecret(e.After, h.At, h.At+len(h.New))
	}
	if holds() {
		var at int
		at, h.Old, h.New = difference(h.Old, h.New, "")
		h.At += at
		h.Secret = holds()
	}
	return h
}

// difference removes common lines, or characters for separator "", from both ends.
func difference(before, after, separator string) (at int, old, changed string) {
	x, y := strings.SplitAfter(before, separator), strings.SplitAfter(after, separator)
	for len(x) > 0 && len(y) > 0 && x[0] == y[0] {
		at += len(x[0])
		x, y = x[1:], y[1:]
	}
	for len(x) > 0 && len(y) > 0 && x[len(x)-1] == y[len(y)-1] {
		x, y = x[:len(x)-1], y[:len(y)-1]
	}
	return at, strings.Join(x, ""), strings.Join(y, "")
}

// holdsSecret reports whether a part of a text holds a secret. Other lines, such as the head of a
// table, may show that it is one.
func holdsSecret(text string, from, to int) bool {
	if countSecrets(text[from:to]) > 0 {
		return true
	}
	all := countSecrets(text)
	return all > 0 && countSecrets(text[:from]+text[to:]) < all
}

func countSecrets(text string) int {
	_, found := secret.Redact(text)
	return len(found)
}

func sum(text string) string {
	hash := sha256.Sum256([]byte(text))
	return hex.EncodeToString(hash[:])
}

// takeBack reverts the hunk unless the file has changed, and removes a killed writer's temporary
// files.
func (h Hunk) takeBack() error {
	safefile.Tidy(h.Dir, filepath.FromSlash(h.Name), 0) // the caller holds the journal's lock
	back, moved, err := h.reverse()
	if err == nil && !moved {
		err = back.write()
	}
	if errors.Is(err, ErrChanged) || errors.Is(err, ErrText) || errors.Is(err, safefile.ErrLink) || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// reverse returns the reverting edit. In a file changed since (moved) that only removes the added
// lines.
func (h Hunk) reverse() (back Edit, moved bool, err error) {
	now, exists, err := readFile(h.Dir, h.Name)
	if err != nil {
		return Edit{}, false, err
	}
	back = Edit{Dir: h.Dir, Name: h.Name, Before: now, Created: h.Removed, Removed: h.Created, Mode: h.Mode}
	if h.Removed && !exists || !h.Removed && exists && sum(now) == h.After {
		back.After = now[:h.At] + h.Old + now[h.At+len(h.New):]
		return back, false, nil
	}
	if !exists || h.Removed || h.Created || h.Old != "" {
		return Edit{}, false, ErrChanged
	}
	back.After, err = withoutLines(now, h.New)
	return back, true, err
}

// withoutLines removes whole lines that a text has exactly once.
func withoutLines(text, lines string) (string, error) {
	all, gone := strings.SplitAfter(text, "\n"), strings.SplitAfter(strings.TrimSuffix(lines, "\n"), "\n")
	found := -1
	for at := 0; at+len(gone) <= len(all); at++ {
		if slices.EqualFunc(all[at:at+len(gone)], gone, func(a, b string) bool { return strings.TrimRight(a, "\r\n") == strings.TrimRight(b, "\r\n") }) {
			if found >= 0 {
				return "", ErrChanged
			}
			found = at
		}
	}
	if found < 0 || strings.TrimSpace(lines) == "" {
		return "", ErrChanged
	}
	return strings.Join(slices.Delete(all, found, found+len(gone)), ""), nil
}

func readFile(dir, name string) (text string, exists bool, err error) {
	data, _, err := safefile.ReadFile(dir, filepath.FromSlash(name), maxFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", false, nil
	case err != nil:
		return "", false, err
	case !utf8.Valid(data):
		return "", true, ErrText
	}
	return string(data), true, nil
}

// write fails if the file has changed (ErrChanged).
func (e Edit) write() error {
	name := filepath.FromSlash(e.Name)
	if info, err := os.Stat(filepath.Join(e.Dir, name)); err == nil {
		if err := safefile.Writable(info.Mode()); err != nil {
			return fmt.Errorf("it %w", err)
		}
	}
	switch {
	case e.Removed:
		return safefile.RemoveIf(e.Dir, name, []byte(e.Before))
	case len(e.After) > maxFile:
		return fmt.Errorf("it would be larger than %d MB", maxFile>>20)
	case !utf8.ValidString(e.After):
		return ErrText
	case !e.Created:
		return safefile.Swap(e.Dir, name, []byte(e.Before), []byte(e.After))
	}
	err := safefile.Create(e.Dir, name, []byte(e.After), cmp.Or(e.Mode, 0o644))
	if errors.Is(err, fs.ErrExist) {
		return ErrChanged
	}
	return err
}

func diff(name, before, after string) string {
	return udiff.Unified("a/"+sanitize.Line(name), "b/"+sanitize.Line(name), before, after)
}
