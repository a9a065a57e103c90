package notes

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const pem = "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA04up8hoqzS1+APIB0RhjXyObwHQnOzhAk5Bd7mhkSbPkyhP1\niWlX9HNavcydATJc1aeHjaY1bnP8nlfsyeTDoBdJGZFrZv4tnQjIgmKPgfA4v8Sx\n-----END RSA PRIVATE KEY-----\n"

// A note is a file in a folder with a journal.
type note struct {
	t       *testing.T
	file    string
	journal *Journal
	place   Statement
}

func newNote(t *testing.T, text string) note {
	t.Helper()
	dir := t.TempDir()
	n := note{t, filepath.Join(dir, "a.md"), OpenJournal(filepath.Join(dir, "journal")).For("w"), Statement{Path: "a.md", Dir: dir, Name: "a.md"}}
	n.write(text)
	return n
}

func (n note) write(text string) { require.NoError(n.t, os.WriteFile(n.file, []byte(text), 0o600)) }

func (n note) text() string {
	data, err := os.ReadFile(n.file)
	require.NoError(n.t, err)
	return string(data)
}

func yes(context.Context, Change) (bool, error) { return true, nil }

// edit edits lines as a person does, who sees Shown.
func (n note) edit(first, last int, old, new string) Corrected {
	n.t.Helper()
	n.place.First, n.place.Last = first, last
	seen := strings.Join(Shown(n.text())[first-1:last], "\n")
	require.Contains(n.t, seen, old)
	c, err := n.journal.Correct(n.t.Context(), Correction{How: Rewrite, Place: n.place, Seen: seen, New: strings.Replace(seen, old, new, 1)}, yes)
	require.NoError(n.t, err)
	return c
}

// Parts of a line that are not shown stay in it: keys of one and of many lines, invisible
// characters, line ends.
func TestCorrectKeepsHiddenText(t *testing.T) {
	text := "# A\n\n\n" + pem + "\n\nlast\u200b line\n"
	n := newNote(t, text)
	require.NotContains(t, strings.Join(Shown(text), "\n"), "MIIE")
	require.True(t, n.edit(1, 10, "# A", "# B\n\nmore").Written)
	require.Equal(t, strings.Replace(text, "# A", "# B\n\nmore", 1), n.text())
	n.edit(1, 12, "last line", "last line, edited\nand one more")
	require.Contains(t, n.text(), pem)
	require.Contains(t, n.text(), "\nlast line, edited\nand one more\n")
	n.edit(6, 6, "[redacted", "[mine")
	require.NotContains(t, n.text(), "BEGIN RSA", "an edited mark is text")

	n = newNote(t, "one\r\ntwo\r\nthree")
	n.edit(1, 3, "two", "2\n2b")
	require.Equal(t, "one\r\n2\r\n2b\r\nthree", n.text())
	n = newNote(t, "")
	c, err := n.journal.Correct(t.Context(), Correction{How: Rewrite, Place: n.place, New: "a\n\n"}, yes)
	require.NoError(t, err)
	require.True(t, c.Written)
	require.Equal(t, "a\n", n.text())
	c, err = n.journal.Correct(t.Context(), Correction{How: Rewrite, Place: n.place, New: "a"}, yes)
	require.NoError(t, err)
	require.False(t, c.Written, "there is nothing to write")
}

// A secret stays in its line, however much of the text around is new.
func TestCorrectKeepsSecretsOfLargeEdits(t *testing.T) {
	var text strings.Builder
	for i := range 400 {
		fmt.Fprintf(&text, "- line %d\n", i)
		switch i {
		case 130:
			text.WriteString("- The key is token: ghp_A7b9C2d4E6f8G1h3J5k7L9m2N4p6Q8r0S1t3\n")
		case 260:
			text.WriteString("\n" + pem + "\n")
		}
	}
	n := newNote(t, text.String())
	seen := strings.Join(Shown(text.String()), "\n")
	c, err := n.journal.Correct(t.Context(), Correction{How: Rewrite, Place: n.place, Seen: seen, New: strings.ReplaceAll(seen, "line", "item")}, yes)
	require.NoError(t, err)
	require.False(t, c.LosesSecret())
	require.Equal(t, strings.ReplaceAll(text.String(), "line", "item"), n.text())
}

// A file that changes while the person reads the diff is not written.
func TestCorrectRefusesWhatChangedWhileAsking(t *testing.T) {
	for _, how := range []string{Rewrite, Strike, Remove} {
		n := newNote(t, "# A\n\nOne.\n")
		n.place.First, n.place.Last = 3, 3
		_, err := n.journal.Correct(t.Context(), Correction{How: how, Place: n.place, New: "x"}, func(context.Context, Change) (bool, error) {
			n.write("# A\n\nTwo.\n")
			return true, nil
		})
		require.ErrorIs(t, err, ErrChanged, how)
		require.Equal(t, "# A\n\nTwo.\n", n.text())
	}
}

// The summary of a file does not say what a correction takes out of it.
func TestCorrectUpdatesSummary(t *testing.T) {
	for how, want := range map[string]string{Rewrite: "> Summary: the port is 5433, editor\n", Strike: "> Summary: editor\n", Remove: "> Summary: editor\n"} {
		n := newNote(t, "# A\r\n\r\n> Summary: the port is 5432, editor\r\n\r\n- The port is 5432\r\n- Editor: vim\r\n")
		n.place.First, n.place.Last = 5, 5
		_, err := n.journal.Correct(t.Context(), Correction{How: how, Place: n.place, New: "- The port is 5433"}, yes)
		require.NoError(t, err, how)
		require.Contains(t, strings.ReplaceAll(n.text(), "\r\n", "\n"), want, how)
	}
}

func TestCorrectFindsLinesThatMoved(t *testing.T) {
	n := newNote(t, "# New\n\n# A\n\nOne.\n\nTwo.\n")
	for _, how := range []string{Rewrite, Strike, Remove} {
		n.place.First, n.place.Last = 3, 3
		c, err := n.journal.Correct(t.Context(), Correction{How: how, Place: n.place, Seen: "One.", New: "1."}, func(context.Context, Change) (bool, error) { return false, nil })
		require.NoError(t, err, how)
		require.Equal(t, []int{5, 5}, []int{c.First, c.Last}, how)
		_, err = n.journal.Correct(t.Context(), Correction{How: how, Place: n.place, Seen: "Three.", New: "3."}, yes)
		require.ErrorIs(t, err, ErrChanged, how)
	}
	_, err := n.journal.Correct(t.Context(), Correction{How: "burn", Place: n.place}, yes)
	require.ErrorIs(t, err, ErrHow)
}

// Restore undoes any change of the workspace, also in a file that has changed, and keeps in the
// journal what it cannot undo.
func TestRestoreKeepsWhatItCannotUndo(t *testing.T) {
	n := newNote(t, "one\n\ntwo\n\nthree\n\nfour\n")
	n.edit(1, 1, "one", "1")
	n.place.First, n.place.Last = 3, 3
	_, err := n.journal.Correct(t.Context(), Correction{How: Remove, Place: n.place}, yes)
	require.NoError(t, err)
	n.edit(5, 5, "four", "4")
	all, err := n.journal.Records()
	require.NoError(t, err)
	require.Len(t, all, 3)
	require.Equal(t, "edit a.md#L5", all[0].Label)
	name := func(file string) string { return filepath.Base(file) }

	_, _, err = n.journal.For("other").Restore(t.Context(), all[0].ID, name, yes)
	require.ErrorIs(t, err, ErrNoRecord, "another workspace's")
	_, written, err := n.journal.Restore(t.Context(), all[1].ID, name, func(_ context.Context, c Change) (bool, error) {
		require.Contains(t, c.Diff, "+two\n")
		return false, nil
	})
	require.NoError(t, err)
	require.False(t, written)
	_, _, err = n.journal.Restore(t.Context(), all[1].ID, name, func(context.Context, Change) (bool, error) {
		n.write("0\n" + n.text())
		return true, nil
	})
	require.ErrorIs(t, err, ErrChanged, "while asking")

	n.write("1\n1\n")
	for _, r := range all {
		_, _, err = n.journal.Restore(t.Context(), r.ID, name, yes)
		require.ErrorIs(t, err, ErrChanged, "its place is not clear")
	}
	again, err := n.journal.Records()
	require.NoError(t, err)
	require.Equal(t, all, again)

	n.write("0\n1\n\nthree\n\n4\n5\n")
	for _, i := range []int{1, 2, 0} {
		_, written, err = n.journal.Restore(t.Context(), all[i].ID, name, yes)
		require.NoError(t, err, i)
		require.True(t, written)
	}
	require.Equal(t, "0\none\n\ntwo\n\nthree\n\nfour\n5\n", n.text(), "in any order, and others' lines stay")
	_, _, err = n.journal.Restore(t.Context(), all[0].ID, name, yes)
	require.ErrorIs(t, err, ErrNoRecord)
}

// A file that others went on writing keeps its lines apart: the last one had no end before.
func TestRestoreTakesWholeLines(t *testing.T) {
	for name, tt := range map[string]struct{ before, after, now, want string }{
		"a longer line is another one":  {"x\na", "x\nb", "x\nb and more\n", "x\nb and more\n"},
		"a line follows":                {"x\na", "x\nb\n", "x\nb\nc\n", "x\na\nc\n"},
		"nothing had an end":            {"x\na", "x\nb", "x\nb\nc\n", "x\na\nc\n"},
		"it is still the last one":      {"x\na", "x\nb\n", "0\nx\nb\n", "0\nx\na"},
		"lines were added at the end":   {"x\na\n", "x\n", "x\nc\n", "x\na\nc\n"},
		"the line above is longer, too": {"x\na\n", "x\n", "xx\n", "xx\n"},
	} {
		n := newNote(t, tt.before)
		r, err := n.journal.Do(t.Context(), "edit", func() ([]Edit, error) {
			return []Edit{{Dir: n.place.Dir, Name: n.place.Name, Before: tt.before, After: tt.after}}, nil
		})
		require.NoError(t, err)
		n.write(tt.now)
		_, written, err := n.journal.Restore(t.Context(), r.ID, func(string) string { return "a.md" }, yes)
		require.Equal(t, tt.want != tt.now, written, "%s: %v", name, err)
		require.Equal(t, tt.want, n.text(), name)
	}
}

// The journal also keeps no secret that only other lines show.
func TestJournalKnowsSecretsByTheirPlace(t *testing.T) {
	const head, row = "| user | password |\n|---|---|\n", "| ada | S3cr3tXyz!9 |\n"
	for name, change := range map[string][2]string{
		"beside":  {head + row, head + row + "| bea | |\n"},
		"changed": {head + row + "\nend\n", head + "| ada | |\n\nend\n"},
		"added":   {head + "\nend\n", head + row + "\nend\n"},
	} {
		n := newNote(t, change[0])
		_, err := n.journal.Do(t.Context(), "edit", func() ([]Edit, error) {
			return []Edit{{Dir: n.place.Dir, Name: n.place.Name, Before: change[0], After: change[1]}}, nil
		})
		require.NoError(t, err)
		kept, err := os.ReadFile(n.journal.file)
		require.NoError(t, err)
		require.NotContains(t, string(kept), "S3cr3t", name)
		all, err := n.journal.Records()
		require.NoError(t, err)
		require.Equal(t, name != "beside", all[0].Edits[0].Secret, name)
	}
}

func TestBlocks(t *testing.T) {
	text := "---\na: b\n---\n# A\n\nOne\ntwo.\n\n- x\n  y\n  - z\n- ~~w~~\n\n```\n- code\n```\n"
	require.Equal(t, []Block{
		{First: 1, Last: 3, Front: true}, {First: 4, Last: 4, Level: 1}, {First: 6, Last: 7, Statement: true},
		{First: 9, Last: 10}, {First: 11, Last: 11, Depth: 1, Statement: true}, {First: 12, Last: 12, Statement: true, Struck: true}, {First: 14, Last: 16},
	}, BlocksOf(text))
}
