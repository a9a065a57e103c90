package notes

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"github.com/memcore/memcore/internal/jsonfile"
)

// A Record is a change of one or more files.
type Record struct {
	ID    string    `json:"id"`
	At    time.Time `json:"at"`
	Label string    `json:"label"` // for a person
	// Workspace is the folder of the workspace that made it, if known.
	Workspace string `json:"workspace,omitempty"`
	// Agent means that an agent made it.
	Agent bool   `json:"agent,omitempty"`
	Edits []Hunk `json:"edits"`
}

// A Journal changes all files or none, despite crashes, and undoes the last changes. It keeps
// changed lines but no secrets. It is safe for concurrent use, also by processes.
type Journal struct {
	file      string
	workspace string // that changes are recorded for
	agent     bool
	noUndo    bool
	// failAt lets tests stop a change before one of its steps.
	failAt func(step string) error
}

const (
	maxRecords = 20    // changes that can be undone
	maxMade    = 5_000 // files that are known to be made here
)

type history struct {
	Pending *Record `json:"pending,omitempty"` // a change that has begun
	// Undoing is the record that Pending undoes, kept if Pending fails.
	Undoing *Record `json:"undoing,omitempty"`
	// UndoingAt is where it was in Done.
	UndoingAt int `json:"undoingAt,omitempty"`
	// Stuck are hunks of failed changes, not yet reverted.
	Stuck []Hunk   `json:"stuck,omitempty"`
	Done  []Record `json:"done"` // newest last
	// Made are the files that changes have made, by absolute path, the newest last.
	Made []string `json:"made,omitempty"`
}

// Errors of Undo.
var (
	ErrNoRecord = errors.New("there is no change to undo")
	// ErrNotKept means that the change held a secret or what was forgotten since.
	ErrNotKept = errors.New("it held a secret or what is forgotten, so the journal did not keep it")
	// ErrOvertaken means that another change was made while UndoIf asked.
	ErrOvertaken = errors.New("another change was made in the meantime, so nothing is undone")
)

// OpenJournal accepts a missing folder. Writers of one file share it.
func OpenJournal(folder string) *Journal {
	return &Journal{file: filepath.Join(folder, "journal.json"), failAt: func(string) error { return nil }}
}

// For returns the journal of a workspace, whose changes Undo prefers.
func (j *Journal) For(workspace string) *Journal {
	own := *j
	own.workspace = workspace
	return &own
}

// ForAgent returns the journal for changes of agents.
func (j *Journal) ForAgent() *Journal {
	own := *j
	own.agent = true
	return &own
}

// WithoutUndo returns the journal for changes that Undo must not find, since something else takes
// them back. They do not push others out of it.
func (j *Journal) WithoutUndo() *Journal {
	own := *j
	own.noUndo = true
	return &own
}

// maxPlans bounds how often Do plans because a file changed meanwhile.
const maxPlans = 5

// Do makes the change that plan returns, while no other process uses this journal. If a file
// changes meanwhile, it plans again. If one keeps changing (ErrChanged) or cannot be written, none
// changes.
func (j *Journal) Do(ctx context.Context, label string, plan func() ([]Edit, error)) (Record, error) {
	h, unlock, err := j.locked(ctx)
	if err != nil {
		return Record{}, err
	}
	defer unlock()
	for tries := 1; ; tries++ {
		edits, err := plan()
		if err != nil {
			return Record{}, err
		}
		edits = slices.DeleteFunc(edits, func(e Edit) bool { return e.Before == e.After && !e.Created })
		record := j.recordOf(label, edits)
		if len(edits) == 0 {
			return record, nil
		}
		err = j.commit(&h, record, edits, nil)
		if !errors.Is(err, ErrChanged) || h.Pending != nil || tries == maxPlans {
			return record, err
		}
	}
}

func (j *Journal) recordOf(label string, edits []Edit) Record {
	now := time.Now()
	record := Record{ID: fmt.Sprint(now.UnixNano()), At: now.UTC().Truncate(time.Second), Label: label, Workspace: j.workspace, Agent: j.agent}
	for _, e := range edits {
		record.Edits = append(record.Edits, hunkOf(e))
	}
	return record
}

// commit saves the change as pending, writes, and saves it as done. undoing is the record it
// undoes.
func (j *Journal) commit(h *history, record Record, edits []Edit, undoing *Record) error {
	h.Pending, h.Undoing = &record, undoing
	if err := jsonfile.Save(j.file, *h); err != nil {
		// If it was saved after all, taking it back changes nothing.
		return fmt.Errorf("journal: nothing is changed: %w", err)
	}
	for i, e := range edits {
		err := j.failAt(fmt.Sprintf("write %d", i))
		if err == nil {
			err = e.write()
		}
		if err != nil {
			return errors.Join(withFile(record.Edits[i].File(), err), j.takeBack(h))
		}
	}
	if err := j.failAt("done"); err != nil {
		return err
	}
	done := history{Stuck: h.Stuck, Done: h.Done, Made: h.madeBy(edits)}
	if undoing == nil && !j.noUndo {
		done.Done = append(slices.Clone(h.Done), record.withoutSecrets())
		done.Done = done.Done[max(0, len(done.Done)-maxRecords):]
	}
	err := j.failAt("record")
	if err == nil {
		err = jsonfile.Save(j.file, done)
	}
	if err != nil {
		// The next change would do this, unknown to the caller.
		return errors.Join(fmt.Errorf("journal: nothing is changed: %w", err), j.takeBack(h))
	}
	return nil
}

// madeBy returns Made with the files that edits make and remove.
func (h *history) madeBy(edits []Edit) []string {
	made := slices.Clone(h.Made)
	for _, e := range edits {
		file := filepath.Join(e.Dir, filepath.FromSlash(e.Name))
		if e.Created || e.Removed {
			made = slices.DeleteFunc(made, func(known string) bool { return known == file })
		}
		if e.Created {
			made = append(made, file)
		}
	}
	return made[max(0, len(made)-maxMade):]
}

// Made returns the files that changes have made and not removed since, by absolute path, links
// resolved: others came from elsewhere.
func (j *Journal) Made() (map[string]bool, error) {
	h, err := jsonfile.Load[history](j.file)
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	made := make(map[string]bool, len(h.Made))
	for _, file := range h.Made {
		made[file] = true
	}
	return made, nil
}

// Drop takes out the lines of finished changes that hold a text. Undo does not take these back.
func (j *Journal) Drop(ctx context.Context, holds func(text string) bool) error {
	h, err := jsonfile.Load[history](j.file)
	if err != nil || len(h.Done) == 0 {
		return err
	}
	h, unlock, err := j.locked(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	for i, r := range h.Done {
		for k, e := range r.Edits {
			r.Edits[k].Secret = e.Secret || slices.ContainsFunc([]string{e.Old, e.New, e.Above, e.Below}, holds)
		}
		h.Done[i] = r.withoutSecrets()
	}
	return jsonfile.Save(j.file, h)
}

func (r Record) withoutSecrets() Record {
	r.Edits = slices.Clone(r.Edits)
	for i, h := range r.Edits {
		if h.Secret {
			r.Edits[i].Old, r.Edits[i].New, r.Edits[i].Above, r.Edits[i].Below = "", "", "", ""
		}
	}
	return r
}

func withFile(file string, err error) error {
	if path := (*fs.PathError)(nil); errors.As(err, &path) && path.Path == file {
		return err
	}
	return fmt.Errorf("%s: %w", file, err)
}

// Settle takes back a killed process's change, before planning outside of Do.
func (j *Journal) Settle(ctx context.Context) error {
	h, err := jsonfile.Load[history](j.file)
	if err != nil || h.Pending == nil && len(h.Stuck) == 0 {
		return err
	}
	_, unlock, err := j.locked(ctx)
	if err != nil {
		return err
	}
	unlock()
	return nil
}

// locked locks the journal and takes back an unfinished change.
func (j *Journal) locked(ctx context.Context) (h history, unlock func(), err error) {
	if unlock, err = jsonfile.Lock(ctx, j.file); err != nil {
		return history{}, nil, err
	}
	h, err = jsonfile.Load[history](j.file)
	if err != nil {
		err = fmt.Errorf("journal: %w: delete it; the files themselves are not affected", err)
	} else if h.Pending != nil || len(h.Stuck) > 0 {
		if err = j.takeBack(&h); h.Pending == nil {
			err = nil // what is stuck does not stop other changes
		}
	}
	if err != nil {
		unlock()
		return history{}, nil, err
	}
	return h, unlock, nil
}

// takeBack reverts the pending change and stuck hunks, except in files changed since. Unwritable
// files become stuck. If the journal is unwritable, the change stays pending.
func (j *Journal) takeBack(h *history) error {
	all := slices.Clone(h.Stuck)
	if h.Pending != nil {
		all = append(all, h.Pending.Edits...)
	}
	mended := history{Done: h.Done, Made: h.Made}
	if h.Undoing != nil {
		at := min(h.UndoingAt, len(h.Done))
		mended.Done = slices.Insert(slices.Clone(h.Done), at, *h.Undoing)
	}
	var failed error
	for _, e := range slices.Backward(all) {
		err := j.failAt("take back " + e.Name)
		if err == nil {
			err = e.takeBack()
		}
		if err != nil {
			mended.Stuck = append(mended.Stuck, e)
			failed = errors.Join(failed, fmt.Errorf("%s is half changed and is reverted when it can be written: %w", e.File(), err))
		}
	}
	slices.Reverse(mended.Stuck)
	if err := jsonfile.Save(j.file, mended); err != nil {
		return errors.Join(failed, fmt.Errorf("journal: %w", err))
	}
	*h = mended
	return failed
}

// Undo undoes the last change of the workspace, else the last of all, and returns it. In a file
// changed since, it only removes the added lines. If they are gone (ErrChanged), or the change is
// not kept (ErrNotKept), it changes nothing, and the next Undo takes the change before.
func (j *Journal) Undo(ctx context.Context) (Record, error) {
	return j.UndoIf(ctx, func(Record) error { return nil })
}

// UndoIf is Undo if agree returns no error. Another change may overtake it (ErrOvertaken).
func (j *Journal) UndoIf(ctx context.Context, agree func(Record) error) (Record, error) {
	h, unlock, err := j.locked(ctx)
	if err != nil {
		return Record{}, err
	}
	unlock() // a question may stay open for hours
	at := j.last(h)
	if at < 0 {
		return Record{}, ErrNoRecord
	}
	last := h.Done[at]
	if err := agree(last); err != nil {
		return Record{}, err
	}
	h, unlock, err = j.locked(ctx)
	if err != nil {
		return Record{}, err
	}
	defer unlock()
	for range maxPlans {
		if at = j.last(h); at < 0 || h.Done[at].ID != last.ID {
			return Record{}, ErrOvertaken
		}
		undo, err := j.undoAt(&h, at)
		kept := slices.ContainsFunc(h.Done, func(r Record) bool { return r.ID == last.ID })
		if !kept || !errors.Is(err, ErrChanged) {
			return undo, err
		}
	}
	return Record{}, ErrOvertaken
}

// undoAt undoes a change. If a file is edited meanwhile (ErrChanged), it keeps the record.
func (j *Journal) undoAt(h *history, at int) (Record, error) {
	last := h.Done[at]
	h.Done = slices.Delete(slices.Clone(h.Done), at, at+1)
	edits, err := last.reverse(nil)
	switch {
	case errors.Is(err, ErrChanged), errors.Is(err, ErrNotKept):
		return last, errors.Join(err, jsonfile.Save(j.file, *h))
	case err != nil: // it may pass
		return Record{}, err
	}
	undo := j.recordOf("undo: "+last.Label, edits)
	h.UndoingAt = at
	return undo, j.commit(h, undo, edits, &last)
}

// reverse returns the edits that undo the record. otherwise is for files that have changed; without
// it they are ErrChanged.
func (r Record) reverse(otherwise func(Hunk) (Edit, error)) ([]Edit, error) {
	edits := make([]Edit, len(r.Edits))
	for i, e := range r.Edits {
		err := ErrNotKept
		if !e.Secret {
			edits[i], _, err = e.reverse()
		}
		if otherwise != nil && errors.Is(err, ErrChanged) {
			edits[i], err = otherwise(e)
		}
		if err != nil {
			return nil, withFile(e.File(), err)
		}
	}
	return edits, nil
}

// last is the change that Undo takes; -1 for none.
func (j *Journal) last(h history) int {
	for i, r := range slices.Backward(h.Done) {
		if r.Workspace == j.workspace {
			return i
		}
	}
	return len(h.Done) - 1
}
