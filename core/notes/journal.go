package notes

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/memcore/memcore/internal/beneath"
	"github.com/memcore/memcore/internal/jsonfile"
)

// An Edit is a change of one file below a folder.
type Edit struct {
	Dir     string      `json:"dir"`  // absolute, links resolved
	Name    string      `json:"name"` // relative to Dir, slash-separated
	Before  string      `json:"before"`
	After   string      `json:"after"`
	Created bool        `json:"created,omitempty"` // there was no file before
	Mode    fs.FileMode `json:"mode,omitempty"`    // of one that is made; 0 is 0644
}

// File is the absolute path of the file.
func (e Edit) File() string { return filepath.Join(e.Dir, filepath.FromSlash(e.Name)) }

// A Record is a change that was made: all of its edits, or none.
type Record struct {
	ID    string    `json:"id"`
	At    time.Time `json:"at"`
	Label string    `json:"label"` // what it was, for a person
	Edits []Edit    `json:"edits"`
}

// A Journal makes changes of files so that several processes lose nothing of each other's, a crash leaves no half of a change, and the last
// ones can be taken back. It is safe for concurrent use.
type Journal struct {
	file string
	// failAt stops a change before one of its steps, as a crash would; for tests.
	failAt func(step string) error
}

// mostRecords are kept to be taken back.
const mostRecords = 20

// history is what the file of a journal holds.
type history struct {
	Pending *Record  `json:"pending,omitempty"` // a change that was begun
	Done    []Record `json:"done"`              // newest last
}

// Errors a caller may act on.
var (
	// ErrNoRecord means that there is nothing to take back.
	ErrNoRecord = errors.New("nothing was written that could be taken back")
	// ErrChanged means that a file is not as it was written.
	ErrChanged = errors.New("the file has changed since")
)

// OpenJournal returns the journal in a folder, which need not exist. All processes that write the same files must use the same folder.
func OpenJournal(folder string) *Journal {
	return &Journal{file: filepath.Join(folder, "journal.json"), failAt: func(string) error { return nil }}
}

// Do makes a change: plan returns the edits, from the files as they are, while no other process that uses this journal writes. Edits with the same text
// before and after are left out; without any, nothing happens and the Record has none. If one of the files cannot be written, or was
// changed by somebody else meanwhile, none is (ErrChanged).
func (j *Journal) Do(ctx context.Context, label string, plan func() ([]Edit, error)) (Record, error) {
	h, unlock, err := j.locked(ctx)
	if err != nil {
		return Record{}, err
	}
	defer unlock()
	edits, err := plan()
	if err != nil {
		return Record{}, err
	}
	edits = slices.DeleteFunc(edits, func(e Edit) bool { return e.Before == e.After && !e.Created })
	record := Record{ID: fmt.Sprintf("%d", time.Now().UnixNano()), At: time.Now().UTC().Truncate(time.Second), Label: label, Edits: edits}
	if len(edits) == 0 {
		return record, nil
	}
	return record, j.commit(h, record)
}

// commit notes what will be written, writes it, and notes that it is done.
func (j *Journal) commit(h history, record Record) error {
	h.Pending = &record
	if err := jsonfile.Save(j.file, h); err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	for i, e := range record.Edits {
		err := j.failAt(fmt.Sprintf("write %d", i))
		if err == nil {
			err = e.write()
		}
		if err != nil {
			return errors.Join(fmt.Errorf("%s: %w", e.File(), err), j.takeBack(h))
		}
	}
	if err := j.failAt("done"); err != nil {
		return err
	}
	h.Pending = nil
	h.Done = append(h.Done, record)
	h.Done = h.Done[max(0, len(h.Done)-mostRecords):]
	return jsonfile.Save(j.file, h)
}

// locked returns the history, mended if need be, while no other process has the journal.
func (j *Journal) locked(ctx context.Context) (h history, unlock func(), err error) {
	if unlock, err = jsonfile.Lock(ctx, j.file); err != nil {
		return history{}, nil, err
	}
	if h, err = j.recovered(); err != nil {
		unlock()
		return history{}, nil, err
	}
	return h, unlock, nil
}

// recovered returns the history after a change that was begun and not finished has been taken back.
func (j *Journal) recovered() (history, error) {
	h, err := jsonfile.Load[history](j.file)
	if err != nil {
		return history{}, fmt.Errorf("journal: %w: delete it; the files themselves are not affected", err)
	}
	if h.Pending == nil {
		return h, nil
	}
	if err := j.takeBack(h); err != nil {
		return history{}, err
	}
	h.Pending = nil
	return h, nil
}

// takeBack makes the files of a pending change what they were. A file that somebody else has changed since stays as it is.
func (j *Journal) takeBack(h history) error {
	for _, e := range slices.Backward(h.Pending.Edits) {
		now, exists, err := e.read()
		if err != nil {
			return err
		}
		if exists && now == e.After {
			if err := e.restore(); err != nil {
				return err
			}
		}
	}
	h.Pending = nil
	return jsonfile.Save(j.file, h)
}

// read returns the text of the file as it is.
func (e Edit) read() (text string, exists bool, err error) {
	return readFile(e.Dir, e.Name)
}

func readFile(dir, name string) (text string, exists bool, err error) {
	file, _, err := beneath.Open(dir, filepath.FromSlash(name))
	if errors.Is(err, fs.ErrNotExist) {
		return "", false, nil
	}
	if err != nil {
		return "", false, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err == nil && len(data) > maxFile {
		err = fmt.Errorf("it is larger than %d MB", maxFile>>20)
	}
	return string(data), true, err
}

// maxFile is the largest file that is read or written, in bytes.
const maxFile = 8 << 20

// write puts the new text in place, if the file still has the old one.
func (e Edit) write() error {
	now, exists, err := e.read()
	switch {
	case err != nil:
		return err
	case exists == e.Created || now != e.Before:
		return ErrChanged
	case len(e.After) > maxFile:
		return fmt.Errorf("it would be larger than %d MB", maxFile>>20)
	}
	mode := e.Mode
	if mode == 0 {
		mode = 0o644
	}
	return beneath.Replace(e.Dir, filepath.FromSlash(e.Name), []byte(e.After), mode)
}

func (e Edit) restore() error {
	if e.Created {
		return os.Remove(e.File())
	}
	return beneath.Replace(e.Dir, filepath.FromSlash(e.Name), []byte(e.Before), 0o644)
}

// Undo takes back the last change and returns it. If a file was changed since, only the lines that were added are taken out; if they
// are not there any more, nothing is (ErrChanged).
func (j *Journal) Undo(ctx context.Context) (Record, error) {
	h, unlock, err := j.locked(ctx)
	if err != nil {
		return Record{}, err
	}
	defer unlock()
	if len(h.Done) == 0 {
		return Record{}, ErrNoRecord
	}
	last := h.Done[len(h.Done)-1]
	back := make([]Edit, len(last.Edits))
	for i, e := range last.Edits {
		if back[i], err = e.reverse(); err != nil {
			return Record{}, fmt.Errorf("%s: %w", e.File(), err)
		}
	}
	h.Done = h.Done[:len(h.Done)-1]
	undone := Record{ID: last.ID, At: last.At, Label: last.Label, Edits: back}
	pending := h
	pending.Pending = &undone
	if err := jsonfile.Save(j.file, pending); err != nil {
		return Record{}, fmt.Errorf("journal: %w", err)
	}
	for i, e := range back {
		if last.Edits[i].Created && e.After == "" {
			err = os.Remove(e.File())
		} else {
			err = e.write()
		}
		if err != nil {
			return Record{}, fmt.Errorf("%s: %w", e.File(), err)
		}
	}
	return undone, jsonfile.Save(j.file, h)
}

// reverse is the edit that takes this one back from the file as it is now.
func (e Edit) reverse() (Edit, error) {
	now, exists, err := e.read()
	if err != nil {
		return Edit{}, err
	}
	back := Edit{Dir: e.Dir, Name: e.Name, Before: now, After: e.Before}
	if exists && now == e.After {
		return back, nil
	}
	added := addedLines(e.Before, e.After)
	if !exists || added == "" || strings.Count(now, added) != 1 {
		return Edit{}, ErrChanged
	}
	back.After = strings.Replace(now, added, "", 1)
	return back, nil
}

// addedLines are the lines that one change in the middle of a text has added; "" if it was another kind of change.
func addedLines(before, after string) string {
	x, y := strings.SplitAfter(before, "\n"), strings.SplitAfter(after, "\n")
	start := 0
	for start < len(x) && start < len(y) && x[start] == y[start] {
		start++
	}
	end := 0
	for end < len(x)-start && end < len(y)-start && x[len(x)-1-end] == y[len(y)-1-end] {
		end++
	}
	if start+end < len(x) {
		return ""
	}
	return strings.Join(y[start:len(y)-end], "")
}
