package notes

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/internal/jsonfile"
	"github.com/memcore/memcore/internal/paths"
)

// halfDone returns a journal, and a folder with files for changes that are cut off.
func halfDone(t *testing.T, before map[string]string) (j *Journal, dir string) {
	t.Helper()
	dir = paths.Resolve(t.TempDir())
	for name, text := range before {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	return OpenJournal(filepath.Join(t.TempDir(), "journal")), dir
}

// killed makes j.Do end after the first file as a killed process would: nothing is taken back, the record says that the change is pending.
func killed(t *testing.T, j *Journal, edits []Edit) {
	t.Helper()
	h, unlock, err := j.locked(t.Context())
	require.NoError(t, err)
	defer unlock()
	record := recordOf("killed", edits)
	h.Pending = &record
	require.NoError(t, jsonfile.Save(j.file, h))
	require.NoError(t, edits[0].write())
}

func both(dir string) []Edit {
	return []Edit{{Dir: dir, Name: "a/1.md", Before: "one\n", After: "one\nnew\n"}, {Dir: dir, Name: "b/2.md", Before: "two\n", After: "two\nnew\n"}}
}

func textOf(t *testing.T, dir, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, name))
	require.NoError(t, err)
	return string(text)
}

// Whoever plans a change from what files say must not plan from the half of one.
func TestSettleTakesBackWhatWasCutOff(t *testing.T) {
	j, dir := halfDone(t, map[string]string{"a/1.md": "one\n", "b/2.md": "two\n"})
	killed(t, j, both(dir))
	require.Equal(t, "one\nnew\n", textOf(t, dir, "a/1.md"))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a", ".memcore-new-X"), []byte("on"), 0o600))
	require.NoError(t, j.Settle(t.Context()))
	require.Equal(t, "one\n", textOf(t, dir, "a/1.md"))
	require.NoFileExists(t, filepath.Join(dir, "a", ".memcore-new-X"))

	killed(t, j, both(dir))
	text, err := OpenData("", dir, j).Read(t.Context(), "a/1.md")
	require.NoError(t, err)
	require.Equal(t, "one\n", text, "a draft is made of what is read")
}

// A file that cannot be put back now is put back when it can be, whatever else is changed meanwhile.
func TestWhatIsStuckIsTakenBackLater(t *testing.T) {
	j, dir := halfDone(t, map[string]string{"a/1.md": "one\n", "b/2.md": "two\n", "c.md": "three\n"})
	killed(t, j, both(dir))
	full := errors.New("no space left on device")
	j.failAt = func(step string) error {
		if step == "take back a/1.md" {
			return full
		}
		return nil
	}
	_, err := j.Do(t.Context(), "another", func() ([]Edit, error) {
		return []Edit{{Dir: dir, Name: "c.md", Before: "three\n", After: "three\nmore\n"}}, nil
	})
	require.NoError(t, err, "a file that cannot be written keeps nobody from writing others")
	require.Equal(t, "one\nnew\n", textOf(t, dir, "a/1.md"))
	j.failAt = func(string) error { return nil }
	require.NoError(t, j.Settle(t.Context()))
	require.Equal(t, "one\n", textOf(t, dir, "a/1.md"))
	require.Equal(t, "three\nmore\n", textOf(t, dir, "c.md"))
}

// A change that cannot be recorded as done is no change: the next one would take it back.
func TestChangeThatCannotBeRecordedIsNone(t *testing.T) {
	j, dir := halfDone(t, map[string]string{"a/1.md": "one\n", "b/2.md": "two\n"})
	full := errors.New("no space left on device")
	j.failAt = func(step string) error {
		if step == "record" {
			return full
		}
		return nil
	}
	_, err := j.Do(t.Context(), "change", func() ([]Edit, error) { return both(dir), nil })
	require.ErrorIs(t, err, full)
	require.Equal(t, "one\n", textOf(t, dir, "a/1.md"))
	require.Equal(t, "two\n", textOf(t, dir, "b/2.md"))
	_, err = j.Undo(t.Context())
	require.ErrorIs(t, err, ErrNoRecord)
}

// An undo that cannot be made now is made later: what was forgotten is kept nowhere else.
func TestUndoThatFailsForNow(t *testing.T) {
	d := newDesk(t)
	text := "# X\n\n- keep\n- precious llama fact\n"
	d.write("BEANS.md", text)
	forget(d, 4)
	file := filepath.Join(d.project, "BEANS.md")
	require.NoError(t, os.Rename(file, file+".away"))
	require.NoError(t, os.Mkdir(file, 0o755))
	_, err := d.journal().Undo(t.Context())
	require.ErrorContains(t, err, "folder")
	require.NoError(t, os.Remove(file))
	require.NoError(t, os.Rename(file+".away", file))
	_, err = d.journal().Undo(t.Context())
	require.NoError(t, err)
	require.Equal(t, text, d.read("BEANS.md"))
}

func forget(d *desk, line int) {
	d.t.Helper()
	_, written, err := d.journal().Forget(d.t.Context(), Place{Path: "BEANS.md", Dir: d.project, Name: "BEANS.md", First: line, Last: line}, nil)
	require.NoError(d.t, err)
	require.True(d.t, written)
}

// An undo that is given up hands over what the journal was the last to have.
func TestUndoThatIsGivenUp(t *testing.T) {
	d := newDesk(t)
	d.write("BEANS.md", "# X\n\n- keep\n- precious llama fact\n")
	forget(d, 4)
	d.write("BEANS.md", "# X\n\n- keep\n- by hand\n")
	record, err := d.journal().Undo(t.Context())
	require.ErrorIs(t, err, ErrChanged)
	require.Len(t, record.Edits, 1)
	require.Equal(t, "- precious llama fact\n", record.Edits[0].Old)
	_, err = d.journal().Undo(t.Context())
	require.ErrorIs(t, err, ErrNoRecord)
}

// Whoever is asked whether to take something back may take hours. Others write meanwhile, and what was agreed to is not taken for what they wrote.
func TestOthersWriteWhileUndoAsks(t *testing.T) {
	d := newDesk(t)
	d.save(SaveRequest{Content: "alpha fact one", Loose: true})
	ctx, stop := context.WithTimeout(t.Context(), 20*time.Second)
	defer stop()
	_, err := d.journal().UndoIf(ctx, func(last Record) error {
		_, err := d.saver().Save(ctx, SaveRequest{Content: "beta fact two", Loose: true})
		return err
	})
	require.ErrorIs(t, err, ErrOvertaken)
	require.Contains(t, d.read("BEANS.md"), "alpha fact one")
	require.Contains(t, d.read("BEANS.md"), "beta fact two")
}

// A file of settings may be one line, with a key in it: the journal keeps what was changed of it, and lines with a key only while it must.
func TestSecretsOfChangedLines(t *testing.T) {
	d := newDesk(t)
	key := "sk-ant-api03-" + "AAAABBBBCCCCDDDDEEEE1"
	before := `{"primaryApiKey":"` + key + `","name":"Zoë","mcpServers":{}}`
	middle := `{"primaryApiKey":"` + key + `","name":"Zoê","mcpServers":{"memcore":{}}}`
	after := strings.ReplaceAll(middle, key, "taken out")
	d.write("settings.json", before)
	change := func(from, to string) {
		t.Helper()
		_, err := d.journal().Do(t.Context(), "change", func() ([]Edit, error) {
			return []Edit{{Dir: d.project, Name: "settings.json", Before: from, After: to}}, nil
		})
		require.NoError(t, err)
		kept, err := os.ReadFile(d.journal().file)
		require.NoError(t, err)
		require.NotContains(t, string(kept), key[:16])
	}
	change(before, middle)
	change(middle, after)
	_, err := d.journal().Undo(t.Context())
	require.ErrorIs(t, err, ErrNotKept)
	require.Equal(t, after, d.read("settings.json"))
	d.write("settings.json", middle)
	_, err = d.journal().Undo(t.Context())
	require.NoError(t, err, "the one before it")
	require.Equal(t, before, d.read("settings.json"))
}

// Who has made a file read-only is asked before it is changed, by having to make it writable.
func TestReadOnlyFilesStay(t *testing.T) {
	d := newDesk(t)
	d.write("BEANS.md", "# X\n")
	file := filepath.Join(d.project, "BEANS.md")
	require.NoError(t, os.Chmod(file, 0o444))
	_, err := d.saver().Save(t.Context(), SaveRequest{Content: "hello there"})
	require.ErrorContains(t, err, "it is read-only (mode 0444): make it writable first (chmod u+w)")
	require.Equal(t, "# X\n", d.read("BEANS.md"))
	require.NoError(t, os.Chmod(file, 0o644))
	require.True(t, d.save(SaveRequest{Content: "hello there"}).Written)
}
