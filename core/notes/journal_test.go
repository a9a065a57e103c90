package notes

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/internal/jsonfile"
	"github.com/memcore/memcore/internal/paths"
)

// halfDone returns a journal, and files for cut-off changes.
func halfDone(t *testing.T, before map[string]string) (j *Journal, dir string) {
	t.Helper()
	dir = paths.Resolve(t.TempDir())
	for name, text := range before {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	return OpenJournal(filepath.Join(t.TempDir(), "journal")), dir
}

// killed leaves a pending record, as a kill after one file.
func killed(t *testing.T, j *Journal, edits []Edit) {
	t.Helper()
	h, unlock, err := j.locked(t.Context())
	require.NoError(t, err)
	defer unlock()
	record := j.recordOf("killed", edits)
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

// A change must not be planned from a half-written one.
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

// A file that cannot be restored now is restored later.
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
	require.NoError(t, err, "a file that cannot be written does not stop writes to others")
	require.Equal(t, "one\nnew\n", textOf(t, dir, "a/1.md"))
	j.failAt = func(string) error { return nil }
	require.NoError(t, j.Settle(t.Context()))
	require.Equal(t, "one\n", textOf(t, dir, "a/1.md"))
	require.Equal(t, "three\nmore\n", textOf(t, dir, "c.md"))
}

// A change that cannot be recorded as done is taken back.
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

// An undo waits, because only the journal has the text.
func TestUndoThatFailsForNow(t *testing.T) {
	d := newFixture(t)
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

// If an editor saves meanwhile, the change is planned again.
func TestEditsAreNotOverwritten(t *testing.T) {
	for _, always := range []bool{false, true} {
		d := newFixture(t)
		d.write("BEANS.md", "# X\n")
		j := d.journal()
		times := 0
		j.failAt = func(step string) error {
			if times == 0 && step == "write 0" || always && step == "write 0" {
				times++
				d.write("BEANS.md", fmt.Sprintf("# X\n\n- edit %d\n", times))
			}
			return nil
		}
		plans := 0
		_, err := j.Do(t.Context(), "test", func() ([]Edit, error) {
			plans++
			before := d.read("BEANS.md")
			return []Edit{{Dir: d.project, Name: "BEANS.md", Before: before, After: before + "- added\n"}}, nil
		})
		if always {
			require.ErrorIs(t, err, ErrChanged)
			require.Equal(t, fmt.Sprintf("# X\n\n- edit %d\n", maxPlans), d.read("BEANS.md"))
			continue
		}
		require.NoError(t, err)
		require.Equal(t, 2, plans)
		require.Equal(t, "# X\n\n- edit 1\n- added\n", d.read("BEANS.md"))
		_, err = j.Undo(t.Context())
		require.NoError(t, err)
		require.Equal(t, "# X\n\n- edit 1\n", d.read("BEANS.md"))
	}
}

func forget(d *fixture, line int) {
	d.t.Helper()
	_, written, err := d.journal().Forget(d.t.Context(), Statement{Path: "BEANS.md", Dir: d.project, Name: "BEANS.md", First: line, Last: line}, nil)
	require.NoError(d.t, err)
	require.True(d.t, written)
}

// An abandoned undo returns the journal's text.
func TestUndoThatIsGivenUp(t *testing.T) {
	d := newFixture(t)
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

// Undo spares a change made while the person was asked.
func TestOthersWriteWhileUndoAsks(t *testing.T) {
	d := newFixture(t)
	d.save(SaveRequest{Content: "alpha fact one"})
	ctx, stop := context.WithTimeout(t.Context(), 20*time.Second)
	defer stop()
	_, err := d.journal().UndoIf(ctx, func(last Record) error {
		_, err := d.saver().Save(ctx, SaveRequest{Content: "beta fact two"})
		return err
	})
	require.ErrorIs(t, err, ErrOvertaken)
	require.Contains(t, d.read("BEANS.md"), "alpha fact one")
	require.Contains(t, d.read("BEANS.md"), "beta fact two")
}

// The journal keeps no key, and undoes changes beside one.
func TestSecretsOfChangedLines(t *testing.T) {
	d := newFixture(t)
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

// What is forgotten leaves the journal, and changes without it can still be undone.
func TestForgottenLinesLeaveTheJournal(t *testing.T) {
	d := newFixture(t)
	none := func(string) bool { return false }
	require.NoError(t, d.journal().Drop(t.Context(), none), "there is no journal yet")
	texts := []string{"# A\n", "# A\n\n- Kept.\n", "# A\n\n- Kept.\n- The plovermint lock opens with the third key.\n"}
	d.write("a.md", texts[0])
	for i, after := range texts[1:] {
		_, err := d.journal().Do(t.Context(), "change", func() ([]Edit, error) {
			return []Edit{{Dir: d.project, Name: "a.md", Before: texts[i], After: after}}, nil
		})
		require.NoError(t, err)
	}
	require.NoError(t, d.journal().Drop(t.Context(), none))
	kept, err := os.ReadFile(d.journal().file)
	require.NoError(t, err)
	require.Contains(t, string(kept), "plovermint")
	require.NoError(t, d.journal().Drop(t.Context(), func(text string) bool { return strings.Contains(text, "plovermint") }))
	kept, err = os.ReadFile(d.journal().file)
	require.NoError(t, err)
	require.NotContains(t, string(kept), "plovermint")
	_, err = d.journal().Undo(t.Context())
	require.ErrorIs(t, err, ErrNotKept)
	require.Equal(t, texts[2], d.read("a.md"))
	d.write("a.md", texts[1])
	_, err = d.journal().Undo(t.Context())
	require.NoError(t, err)
	require.Equal(t, texts[0], d.read("a.md"))
}

// Read-only files are not changed.
func TestReadOnlyFilesStay(t *testing.T) {
	d := newFixture(t)
	d.write("BEANS.md", "# X\n")
	file := filepath.Join(d.project, "BEANS.md")
	require.NoError(t, os.Chmod(file, 0o444))
	_, err := d.saver().Save(t.Context(), SaveRequest{Content: "hello there"})
	require.ErrorContains(t, err, "it is read-only (mode 0444): make it writable first (chmod u+w)")
	require.Equal(t, "# X\n", d.read("BEANS.md"))
	require.NoError(t, os.Chmod(file, 0o644))
	require.True(t, d.save(SaveRequest{Content: "hello there"}).Written)
}

// Undo takes the last change of its own workspace, and one that fails keeps its place.
func TestUndoPrefersItsWorkspace(t *testing.T) {
	j, dir := halfDone(t, map[string]string{"a.md": "one\n", "b.md": "two\n"})
	change := func(j *Journal, name, before, after string) {
		t.Helper()
		_, err := j.Do(t.Context(), "change", func() ([]Edit, error) {
			return []Edit{{Dir: dir, Name: name, Before: before, After: after}}, nil
		})
		require.NoError(t, err)
	}
	a, b := j.For("/a"), j.For("/b")
	change(a, "a.md", "one\n", "one\nof a\n")
	change(b, "b.md", "two\n", "two\nof b\n")

	h, err := jsonfile.Load[history](j.file)
	require.NoError(t, err)
	h.Done[1].ID = "1" // the clock went back
	require.NoError(t, jsonfile.Save(j.file, h))

	full := errors.New("no space left on device")
	a.failAt = func(step string) error {
		if step == "write 0" {
			return full
		}
		return nil
	}
	_, err = a.Undo(t.Context())
	require.ErrorIs(t, err, full)
	last, err := jsonfile.Load[history](j.file)
	require.NoError(t, err)
	require.Equal(t, []string{"/a", "/b"}, []string{last.Done[0].Workspace, last.Done[1].Workspace})

	_, err = j.For("/a").Undo(t.Context())
	require.NoError(t, err)
	require.Equal(t, "one\n", textOf(t, dir, "a.md"))
	require.Equal(t, "two\nof b\n", textOf(t, dir, "b.md"))
	refused := errors.New("refused")
	_, err = j.For("/a").UndoIf(t.Context(), func(r Record) error {
		require.Equal(t, "/b", r.Workspace, "the caller decides about another's")
		return refused
	})
	require.ErrorIs(t, err, refused)
}

// A hunk shows its changed lines without what is between them, blank ones and secrets.
func TestLinesOfHunk(t *testing.T) {
	h := hunkOf(Edit{Name: "a.md", Before: "# A\n\n-- old\nstays\n", After: "# B\n\nstays\n\n- new\n"})
	require.Equal(t, []string{"-# A", "+# B", "--- old", "+- new"}, h.Lines())
	h.New = "- token: ghp_A7b9C2d4E6f8G1h3J5k7L9m2N4p6Q8r0S1t3\n"
	require.Contains(t, h.Lines(), "+- token: [redacted: generic-api-key]")
	require.Empty(t, Hunk{Name: "a.md", Old: "x\n", New: "x\n"}.Lines())
}
