package notes

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

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
