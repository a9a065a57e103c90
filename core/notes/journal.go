package notes

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/memcore/memcore/internal/beneath"
	"github.com/memcore/memcore/internal/jsonfile"
	"github.com/memcore/memcore/internal/secret"
	"github.com/memcore/memcore/internal/section"
)

// An Edit is a change of one file below a folder. Texts are UTF-8.
type Edit struct {
	Dir     string // absolute, links resolved
	Name    string // relative to Dir, slash-separated
	Before  string
	After   string
	Created bool        // there was no file before
	Mode    fs.FileMode // of one that is made, as far as its folder and the umask leave it; 0 is 0644
	Removed bool        // there is none afterwards
}

// A Hunk is what a journal keeps of an edit: the lines that it changed.
type Hunk struct {
	Dir     string      `json:"dir"`
	Name    string      `json:"name"`
	At      int         `json:"at"` // byte in the file where Old and New stand
	Old     string      `json:"old"`
	New     string      `json:"new"`
	Before  string      `json:"before"` // SHA-256 of the file
	After   string      `json:"after"`
	Created bool        `json:"created,omitempty"`
	Removed bool        `json:"removed,omitempty"`
	Mode    fs.FileMode `json:"mode,omitempty"`
	// Secret means that Old or New holds one, so that neither is kept once the change is made.
	Secret bool `json:"secret,omitempty"`
}

// File is the absolute path of the file.
func (h Hunk) File() string { return filepath.Join(h.Dir, filepath.FromSlash(h.Name)) }

// hunkOf finds the lines that an edit changes; if they hold a secret, the bytes, which may do without it: a file of settings may be one line.
func hunkOf(e Edit) Hunk {
	h := hunkOfLines(e)
	if !h.holdsSecret() {
		return h
	}
	start := 0
	for start < min(len(h.Old), len(h.New)) && h.Old[start] == h.New[start] {
		start++
	}
	for start > 0 && !atRune(h.Old, start) { // both are the same up to there
		start--
	}
	tail := 0
	for tail < min(len(h.Old), len(h.New))-start && h.Old[len(h.Old)-1-tail] == h.New[len(h.New)-1-tail] {
		tail++
	}
	for tail > 0 && !(atRune(h.Old, len(h.Old)-tail) && atRune(h.New, len(h.New)-tail)) {
		tail--
	}
	h.At, h.Old, h.New = h.At+start, h.Old[start:len(h.Old)-tail], h.New[start:len(h.New)-tail]
	h.Secret = h.holdsSecret()
	return h
}

// atRune tells whether a character begins at a byte of a text, or the text ends there.
func atRune(text string, at int) bool { return at == len(text) || utf8.RuneStart(text[at]) }

func (h Hunk) holdsSecret() bool {
	_, old := secret.Redact(h.Old)
	_, new := secret.Redact(h.New)
	return len(old)+len(new) > 0
}

func hunkOfLines(e Edit) Hunk {
	x, y := strings.SplitAfter(e.Before, "\n"), strings.SplitAfter(e.After, "\n")
	start, at := 0, 0
	for start < len(x) && start < len(y) && x[start] == y[start] {
		at += len(x[start])
		start++
	}
	end, tail := 0, 0
	for end < len(x)-start && end < len(y)-start && x[len(x)-1-end] == y[len(y)-1-end] {
		tail += len(x[len(x)-1-end])
		end++
	}
	return Hunk{Dir: e.Dir, Name: e.Name, At: at, Old: e.Before[at : len(e.Before)-tail], New: e.After[at : len(e.After)-tail],
		Before: sum(e.Before), After: sum(e.After), Created: e.Created, Removed: e.Removed, Mode: e.Mode}
}

func sum(text string) string {
	hash := sha256.Sum256([]byte(text))
	return hex.EncodeToString(hash[:])
}

// A Record is a change that was made: all of its edits, or none.
type Record struct {
	ID    string    `json:"id"`
	At    time.Time `json:"at"`
	Label string    `json:"label"` // what it was, for a person
	Edits []Hunk    `json:"edits"`
}

// A Journal makes changes of files so that several processes lose nothing of each other's, a crash leaves no half of a change, and the last
// ones can be taken back. It keeps the lines that were changed, not the files, and lines with a secret only until the change is made. It is safe for
// concurrent use.
type Journal struct {
	file string
	// failAt stops a change before one of its steps, as a crash or a disk would; for tests.
	failAt func(step string) error
}

// mostRecords are kept to be taken back.
const mostRecords = 20

// history is what the file of a journal holds.
type history struct {
	Pending *Record `json:"pending,omitempty"` // a change that was begun
	// Undoing is the change that Pending takes back: it counts again if that is not finished.
	Undoing *Record `json:"undoing,omitempty"`
	// Stuck are edits of changes that were given up, in files that could not be written then. They are taken back as soon as that can be done.
	Stuck []Hunk   `json:"stuck,omitempty"`
	Done  []Record `json:"done"` // newest last
}

// Errors a caller may act on.
var (
	// ErrNoRecord means that there is nothing to take back.
	ErrNoRecord = errors.New("nothing was written that could be taken back")
	// ErrChanged means that a file is not as it was written.
	ErrChanged = errors.New("the file has changed since")
	// ErrText means that a file is no text that can be changed without damage.
	ErrText = section.ErrText
	// ErrNotKept means that what would be taken back held a secret, so that it was not kept.
	ErrNotKept = errors.New("it held a secret and was not kept")
	// ErrOvertaken means that something else was changed between question and answer.
	ErrOvertaken = errors.New("something else was changed meanwhile, so nothing was taken back")
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
	record := recordOf(label, edits)
	if len(edits) == 0 {
		return record, nil
	}
	return record, j.commit(h, record, edits, nil)
}

func recordOf(label string, edits []Edit) Record {
	now := time.Now()
	record := Record{ID: fmt.Sprint(now.UnixNano()), At: now.UTC().Truncate(time.Second), Label: label}
	for _, e := range edits {
		record.Edits = append(record.Edits, hunkOf(e))
	}
	return record
}

// commit notes what will be written, writes it, and notes that it is done. undoing is the change that it takes back, if any; else it is one that can be
// taken back itself.
func (j *Journal) commit(h history, record Record, edits []Edit, undoing *Record) error {
	begun := h
	begun.Pending, begun.Undoing = &record, undoing
	if err := jsonfile.Save(j.file, begun); err != nil {
		// If it is there all the same, and could only not be made durable, the next change takes it back, which changes nothing.
		return fmt.Errorf("journal: nothing is changed: %w", err)
	}
	h = begun
	for i, e := range edits {
		err := j.failAt(fmt.Sprintf("write %d", i))
		if err == nil {
			err = e.write()
		}
		if err != nil {
			return errors.Join(about(record.Edits[i].File(), err), j.takeBack(&h))
		}
	}
	if err := j.failAt("done"); err != nil {
		return err
	}
	done := h
	done.Pending, done.Undoing = nil, nil
	if undoing == nil {
		done.Done = append(slices.Clone(h.Done), record.withoutSecrets())
		done.Done = done.Done[max(0, len(done.Done)-mostRecords):]
	}
	err := j.failAt("record")
	if err == nil {
		err = jsonfile.Save(j.file, done)
	}
	if err != nil {
		// The next change would find this one begun and take it back: so it is done now, when it can be told.
		return errors.Join(fmt.Errorf("journal: nothing is changed: %w", err), j.takeBack(&h))
	}
	return nil
}

// withoutSecrets is the record as it is kept once the change was made.
func (r Record) withoutSecrets() Record {
	r.Edits = slices.Clone(r.Edits)
	for i, h := range r.Edits {
		if h.Secret {
			r.Edits[i].Old, r.Edits[i].New = "", ""
		}
	}
	return r
}

// about names the file in an error that does not.
func about(file string, err error) error {
	if path := (*fs.PathError)(nil); errors.As(err, &path) && path.Path == file {
		return err
	}
	return fmt.Errorf("%s: %w", file, err)
}

// Settle takes back what a process has begun to change and did not finish, since it was killed. Whoever plans a change from files that were read before Do
// calls it first: else the plan is one for the half of a change. It waits for a process that changes files just now.
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

// locked returns the history, mended if need be, while no other process has the journal.
func (j *Journal) locked(ctx context.Context) (h history, unlock func(), err error) {
	if unlock, err = jsonfile.Lock(ctx, j.file); err != nil {
		return history{}, nil, err
	}
	h, err = jsonfile.Load[history](j.file)
	if err != nil {
		unlock()
		return history{}, nil, fmt.Errorf("journal: %w: delete it; the files themselves are not affected", err)
	}
	if h.Pending != nil || len(h.Stuck) > 0 {
		if err := j.takeBack(&h); err != nil && h.Pending != nil {
			unlock()
			return history{}, nil, err
		}
	}
	return h, unlock, nil
}

// takeBack makes the files of a pending change what they were, and those that are stuck. A file that is not as the change has left it is somebody
// else's by now, and stays as it is. The error says which files could not be written; they are tried again by the next change. If the journal itself
// could not be written, the change stays pending.
func (j *Journal) takeBack(h *history) error {
	all := slices.Clone(h.Stuck)
	if h.Pending != nil {
		all = append(all, h.Pending.Edits...)
	}
	mended := history{Done: h.Done}
	if h.Undoing != nil {
		mended.Done = append(slices.Clone(h.Done), *h.Undoing)
	}
	var failed error
	for _, e := range slices.Backward(all) {
		err := j.failAt("take back " + e.Name)
		if err == nil {
			err = e.takeBack()
		}
		if err != nil {
			mended.Stuck = append(mended.Stuck, e)
			failed = errors.Join(failed, fmt.Errorf("%s is changed by half, and will be taken back when it can be written: %w", e.File(), err))
		}
	}
	slices.Reverse(mended.Stuck)
	if err := jsonfile.Save(j.file, mended); err != nil {
		return errors.Join(failed, fmt.Errorf("journal: %w", err))
	}
	*h = mended
	return failed
}

// takeBack makes the file what it was before the hunk, if it is as the hunk has left it, and removes what a writer that was killed has left beside it. An
// error means that the file could not be read or written.
func (h Hunk) takeBack() error {
	beneath.Tidy(h.Dir, filepath.FromSlash(h.Name)) // changes hold the journal's lock, as we do; who writes a .gitignore there just now writes it again
	back, err := h.reverse()
	if err == nil && !back.moved {
		err = back.edit.write()
	}
	if errors.Is(err, ErrChanged) || errors.Is(err, ErrText) || errors.Is(err, beneath.ErrLink) || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// maxFile is the largest file that is read or written, in bytes.
const maxFile = 8 << 20

// readFile returns the text of a file below dir, which must be UTF-8.
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
	switch {
	case err != nil:
		return "", true, err
	case len(data) > maxFile:
		return "", true, fmt.Errorf("it is larger than %d MB", maxFile>>20)
	case !utf8.Valid(data):
		return "", true, ErrText
	}
	return string(data), true, nil
}

// write makes the change, if the file is as it was.
func (e Edit) write() error {
	now, exists, err := readFile(e.Dir, e.Name)
	switch {
	case err != nil:
		return err
	case exists == e.Created || now != e.Before:
		return ErrChanged
	}
	if info, err := os.Stat(filepath.Join(e.Dir, filepath.FromSlash(e.Name))); err == nil {
		if err := beneath.Writable(info.Mode()); err != nil {
			return fmt.Errorf("it %w", err)
		}
	}
	switch {
	case e.Removed:
		return beneath.Remove(e.Dir, filepath.FromSlash(e.Name))
	case len(e.After) > maxFile:
		return fmt.Errorf("it would be larger than %d MB", maxFile>>20)
	case !utf8.ValidString(e.After):
		return ErrText
	}
	mode := e.Mode
	if mode == 0 {
		mode = 0o644
	}
	return beneath.Replace(e.Dir, filepath.FromSlash(e.Name), []byte(e.After), mode)
}

// Undo takes back the last change and returns it. If a file was changed since, only the lines that were added are taken out; if they
// are not there any more, nothing is (ErrChanged), and the change before it is the last one then. So it is with one that held a secret (ErrNotKept). The Record
// is then the one that was given up, with the text that is kept nowhere else. After any other error the change remains the last one.
func (j *Journal) Undo(ctx context.Context) (Record, error) {
	return j.UndoIf(ctx, func(Record) error { return nil })
}

// UndoIf is Undo if agree does: it is given the change that would be taken back, and its error is returned. Others can make changes while it thinks
// (ErrOvertaken).
func (j *Journal) UndoIf(ctx context.Context, agree func(Record) error) (Record, error) {
	h, unlock, err := j.locked(ctx)
	if err != nil {
		return Record{}, err
	}
	unlock() // a question may stay open for hours
	if len(h.Done) == 0 {
		return Record{}, ErrNoRecord
	}
	last := h.Done[len(h.Done)-1]
	if err := agree(last); err != nil {
		return Record{}, err
	}
	h, unlock, err = j.locked(ctx)
	if err != nil {
		return Record{}, err
	}
	defer unlock()
	if len(h.Done) == 0 || h.Done[len(h.Done)-1].ID != last.ID {
		return Record{}, ErrOvertaken
	}
	h.Done = h.Done[:len(h.Done)-1]
	edits := make([]Edit, len(last.Edits))
	for i, e := range last.Edits {
		back, err := reversal{}, ErrNotKept
		if !e.Secret {
			back, err = e.reverse()
		}
		switch {
		case errors.Is(err, ErrChanged), errors.Is(err, ErrNotKept):
			return last, errors.Join(about(e.File(), err), jsonfile.Save(j.file, h))
		case err != nil: // it may pass
			return Record{}, about(e.File(), err)
		}
		edits[i] = back.edit
	}
	undo := recordOf("undo: "+last.Label, edits)
	return undo, j.commit(h, undo, edits, &last)
}

// A reversal takes an edit back.
type reversal struct {
	edit  Edit
	moved bool // from a file that was changed since
}

// reverse returns what takes the hunk back from the file as it is now.
func (h Hunk) reverse() (reversal, error) {
	now, exists, err := readFile(h.Dir, h.Name)
	if err != nil {
		return reversal{}, err
	}
	back := Edit{Dir: h.Dir, Name: h.Name, Before: now, Created: h.Removed, Removed: h.Created, Mode: h.Mode}
	if exists != h.Removed && (h.Removed || sum(now) == h.After) {
		if h.Removed {
			now = ""
		}
		back.After = now[:h.At] + h.Old + now[h.At+len(h.New):]
		return reversal{edit: back}, nil
	}
	if !exists || h.Removed || h.Created || h.Old != "" {
		return reversal{}, ErrChanged
	}
	after, ok := withoutLines(now, h.New)
	if !ok {
		return reversal{}, ErrChanged
	}
	back.After = after
	return reversal{edit: back, moved: true}, nil
}

// withoutLines takes whole lines out of a text that has them, one after the other, exactly once.
func withoutLines(text, lines string) (string, bool) {
	all, gone := strings.SplitAfter(text, "\n"), strings.SplitAfter(strings.TrimSuffix(lines, "\n"), "\n")
	found := -1
	for at := 0; at+len(gone) <= len(all); at++ {
		if slices.EqualFunc(all[at:at+len(gone)], gone, func(a, b string) bool { return strings.TrimRight(a, "\r\n") == strings.TrimRight(b, "\r\n") }) {
			if found >= 0 {
				return "", false
			}
			found = at
		}
	}
	if found < 0 || strings.TrimSpace(lines) == "" {
		return "", false
	}
	return strings.Join(slices.Delete(all, found, found+len(gone)), ""), true
}
