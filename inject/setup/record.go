package setup

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/memcore/memcore/core/notes"
	"github.com/memcore/memcore/internal/jsonfile"
)

// A record says how a file looked before memcore's entries, without holding any of its text.
type record struct {
	// Sum is the hash of the text that Apply wrote, and Cuts are the places of what it added. As
	// long as the text is the same, taking these out restores the file byte for byte.
	Sum  string   `json:"sum,omitempty"`
	Cuts [][2]int `json:"cuts,omitempty"` // start and end, in bytes
	// What was added, in a few words each.
	What []string `json:"what,omitempty"`
	// Created means that memcore made the file.
	Created bool `json:"created,omitempty"`
	// Folders are those that memcore made for it, the innermost first.
	Folders []string `json:"folders,omitempty"`
	// Empty are the objects and lists of a JSON file that were there before, with nothing in them.
	// They stay when memcore's entries are taken out of them.
	Empty []string `json:"empty,omitempty"`
}

// records are the records of all files, by their absolute paths.
type records struct {
	Files map[string]record `json:"files,omitempty"`
}

// recordOf returns nil if nothing is known of a file.
func (o Options) recordOf(file string) *record {
	if o.Records == "" {
		return nil
	}
	all, err := jsonfile.LoadDerived[records](o.Records)
	if r, known := all.Files[file]; err == nil && known {
		return &r
	}
	return nil
}

// newRecord returns the record of a change that adds memcore's entries. before is the record that
// the file had, or nil.
func newRecord(c Change, before *record, empty, what []string) *record {
	r := &record{Created: c.Created, Folders: c.missingFolders(), Empty: empty, What: what}
	original := c.Before
	if before != nil && !c.Created { // entries of an earlier run are in the file
		r.Created, r.Empty, r.What = before.Created, append(r.Empty, before.Empty...), append(before.What, what...)
		if known, ok := before.original(c.Before); ok {
			original = known
		}
	}
	r.Empty, r.What = distinct(r.Empty), distinct(r.What)
	if cuts, ok := additions(original, c.After); ok {
		r.Sum, r.Cuts = sumOf(c.After), cuts
	}
	return r
}

// missingFolders returns the folders of the file that are not there, the innermost first.
func (c Change) missingFolders() (missing []string) {
	for folder := filepath.Dir(c.File); ; folder = filepath.Dir(folder) {
		if _, err := os.Lstat(folder); !errors.Is(err, fs.ErrNotExist) || folder == filepath.Dir(folder) {
			return missing
		}
		missing = append(missing, folder)
	}
}

// original returns the file without what memcore added, if the text is still as memcore wrote it.
func (r *record) original(text string) (string, bool) {
	if r == nil || r.Sum == "" || r.Sum != sumOf(text) {
		return "", false
	}
	var kept []byte
	at := 0
	for _, cut := range r.Cuts {
		if cut[0] < at || cut[1] < cut[0] || cut[1] > len(text) {
			return "", false
		}
		kept = append(kept, text[at:cut[0]]...)
		at = cut[1]
	}
	return string(append(kept, text[at:]...)), true
}

// additions returns the places in after of what was added to before, if nothing was taken away.
func additions(before, after string) (cuts [][2]int, ok bool) {
	start := 0
	for start < len(before) && start < len(after) && before[start] == after[start] {
		start++
	}
	end := 0 // of the common text at the end
	for end < len(before)-start && end < len(after)-start && before[len(before)-1-end] == after[len(after)-1-end] {
		end++
	}
	left := before[start : len(before)-end] // what the middle has to contain, in this order
	for i := start; i < len(after)-end; i++ {
		switch {
		case left != "" && left[0] == after[i]:
			left = left[1:]
		case len(cuts) > 0 && cuts[len(cuts)-1][1] == i:
			cuts[len(cuts)-1][1]++
		default:
			cuts = append(cuts, [2]int{i, i + 1})
		}
	}
	return cuts, left == ""
}

func distinct(all []string) []string { return slices.Compact(slices.Sorted(slices.Values(all))) }

func sumOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// Apply makes all changes or none, and remembers how to take them back: only ProposeRemoval does,
// for who undoes a save does not mean the hooks. notes.ErrChanged: a file has changed since.
func (o Options) Apply(ctx context.Context, journal *notes.Journal, changes []Change) error {
	// A record without its change does no harm.
	if err := o.remember(ctx, changes); err != nil {
		return fmt.Errorf("remember what to take back: %w", err)
	}
	_, err := journal.WithoutUndo().Do(ctx, "set-up", func() (edits []notes.Edit, err error) {
		for _, c := range changes {
			edits = append(edits, notes.Edit{Dir: c.dir, Name: filepath.ToSlash(c.name), Before: c.Before, After: c.After,
				Created: c.Created, Removed: c.Removed, Mode: c.mode})
		}
		return edits, nil
	})
	if err != nil {
		return err
	}
	for _, c := range changes {
		if c.Removed {
			o.removeFolders(c.File)
		}
	}
	return nil
}

// removeFolders removes the folders of a removed file that memcore made, unless there is something
// else in them.
func (o Options) removeFolders(file string) {
	var made []string
	if r := o.recordOf(file); r != nil {
		made = r.Folders
	}
	if folder := filepath.Dir(file); len(made) == 0 && filepath.Base(folder) == recallName {
		made = []string{folder} // the skill's own
	}
	for _, folder := range made {
		_ = os.Remove(folder)
	}
}

func (o Options) remember(ctx context.Context, changes []Change) error {
	if o.Records == "" || !slices.ContainsFunc(changes, func(c Change) bool { return c.record != nil }) {
		return nil
	}
	_, err := jsonfile.ChangeDerived(ctx, o.Records, func(all *records) error {
		for _, c := range changes {
			if c.record == nil {
				continue
			}
			if all.Files == nil {
				all.Files = map[string]record{}
			}
			r := *c.record
			// What was made for an earlier file of this name, which was taken back, is still there.
			r.Folders = distinct(append(all.Files[c.File].Folders, r.Folders...))
			slices.Reverse(r.Folders)
			all.Files[c.File] = r
		}
		return nil
	})
	return err
}
