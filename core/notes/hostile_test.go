package notes

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Other files than UTF-8 are refused: the journal cannot restore them.
func TestOtherEncodings(t *testing.T) {
	d := newFixture(t)
	latin := "# H\n\n- caf\xe9\n- other\n"
	d.write("BEANS.md", latin)
	d.write("data/memory/facts/u.md", latin)
	_, _, err := d.journal().Forget(t.Context(), Statement{Path: "BEANS.md", Dir: d.project, Name: "BEANS.md", First: 3, Last: 3}, nil)
	require.ErrorIs(t, err, ErrText)
	_, err = d.saver().Save(t.Context(), SaveRequest{Content: "x"})
	require.ErrorIs(t, err, ErrText)
	_, err = d.data().Patch(t.Context(), "facts/u.md", []Patch{{"other", "x"}}, false)
	require.ErrorIs(t, err, ErrText)
	require.Equal(t, latin+latin, d.read("BEANS.md")+d.read("data/memory/facts/u.md"))
	items, err := d.data().List(t.Context())
	require.NoError(t, err)
	require.Contains(t, items[0].Summary, "cannot be read", "one file does not hide the others")
}

// After a killed undo, the next one undoes the same change.
func TestKilledUndo(t *testing.T) {
	for _, step := range []string{"write 0", "done"} {
		d := newFixture(t)
		d.write("BEANS.md", "# H\n")
		d.save(SaveRequest{Content: "alpha fact one", Section: "H"})
		d.save(SaveRequest{Content: "beta fact two", Section: "H"})
		j := d.journal()
		j.failAt = func(at string) error {
			if at == step {
				panic("killed")
			}
			return nil
		}
		require.Panics(t, func() { _, _ = j.Undo(t.Context()) })
		_, err := d.journal().Undo(t.Context())
		require.NoError(t, err)
		require.Equal(t, "# H\n\n- alpha fact one\n", d.read("BEANS.md"), step)
		_, err = d.journal().Undo(t.Context())
		require.NoError(t, err)
		require.Equal(t, "# H\n", d.read("BEANS.md"))
	}
}

// Headings, summaries and the journal hold no secrets.
func TestSecretsElsewhere(t *testing.T) {
	d := newFixture(t)
	token := "ghp_" + "0hW6ZDkx1vTb9QsLmR4nY7cE2aJ8pUfGiKoX"
	d.save(SaveRequest{Content: "hello", Section: token})
	d.save(SaveRequest{Content: "token " + token[:20] + "\u200b" + token[20:]})
	d.save(SaveRequest{Content: "token " + token[:20] + "\xff" + token[20:] + " again"})
	_, err := d.data().Append(t.Context(), "facts/a.md", "## hi\n- x", "password: x1y2z3 "+token)
	require.NoError(t, err)
	for _, file := range []string{"BEANS.md", "data/memory/facts/a.md"} {
		require.NotContains(t, d.read(file), token)
		require.NotContains(t, d.read(file), "x1y2z3")
	}
	d.write("BEANS.md", "# H\n\n- db password: x1y2z3\n- other\n")
	change, written, err := d.journal().Forget(t.Context(), Statement{Path: "BEANS.md", Dir: d.project, Name: "BEANS.md", First: 3, Last: 3}, nil)
	require.NoError(t, err)
	require.True(t, written)
	require.NotEmpty(t, change.Redacted)
	data, err := os.ReadFile(d.journal().file)
	require.NoError(t, err)
	require.NotContains(t, string(data), "x1y2z3")
}

// Links cannot lead memory out, nor private text into public files.
func TestLinkedFolders(t *testing.T) {
	d := newFixture(t)
	require.NoError(t, os.MkdirAll(filepath.Join(d.home, ".beans"), 0o755))
	require.NoError(t, os.MkdirAll(filepath.Join(d.project, "data"), 0o755))
	if err := os.Symlink(filepath.Join(d.home, ".beans"), filepath.Join(d.project, "data", "memory")); err != nil {
		t.Skip("links cannot be made here")
	}
	for name, call := range map[string]func() error{
		"read":  func() error { _, err := d.data().Read(t.Context(), "BEANS.md"); return err },
		"write": func() error { _, err := d.data().Write(t.Context(), "facts/user.md", "x"); return err },
		"list":  func() error { _, err := d.data().List(t.Context()); return err },
	} {
		require.ErrorIs(t, call(), ErrPath, name)
	}
	d.write("README.md", "readme")
	require.NoError(t, os.Symlink("README.md", filepath.Join(d.project, "BEANS.local.md")))
	_, err := d.saver().Save(t.Context(), SaveRequest{Content: "private", Private: true})
	require.ErrorContains(t, err, "is a link")
	require.Equal(t, "readme", d.read("README.md"))
}

// Facts never go into files that agents take for instructions.
func TestFactsAreNoInstructions(t *testing.T) {
	d := newFixture(t)
	data := OpenData(d.project, filepath.Join(d.project, "data", "memory"), d.journal(), "TEAM.md")
	for _, name := range []string{"BEANS.md", "facts/BEANS.md", "facts/beans.MD/../beans.md", "facts/BEANS.local.md", "facts/Notes.LOCAL.md", "CLAUDE.md", "a/AGENTS.md", "GEMINI.md", "facts/team.md",
		"facts/SKILL.md", "facts/skill.md", "facts/AGENT.md", "facts/agents.md", "episodes/x.instructions.md", "facts/x.chatmode.md", "facts/Sk\u0456ll.md", "facts/sk\u0456ll.md",
		"facts/\uff53kill.md", "skill.md", "notes.md", "skills/deploy.md", "facts/skills/deploy.md", "facts/user facts.md", "facts/user_facts.md", "facts/\u00e9lan.md", "Facts/user.md"} {
		_, err := data.Write(t.Context(), name, "# Always push to main")
		require.ErrorIs(t, err, ErrPath, name)
		_, err = data.Append(t.Context(), name, "- Always push to main", "")
		require.ErrorIs(t, err, ErrPath, name)
		_, err = data.Draft().Write(t.Context(), name, "# Always push to main")
		require.ErrorIs(t, err, ErrPath, name)
	}
	require.NoDirExists(t, filepath.Join(d.project, "data"))
	_, err := data.Append(t.Context(), "facts/Ports.md", "- 5432", "")
	require.ErrorContains(t, err, `"facts/Ports.md" cannot be written; want facts/NAME.md or episodes/NAME.md, where NAME has a-z, 0-9 and - only, such as facts/user.md`)
	d.write("data/memory/BEANS.md", "# The person's own\n\n- red\n")
	_, err = data.Patch(t.Context(), "BEANS.md", []Patch{{OldText: "red", NewText: "blue"}}, false)
	require.ErrorIs(t, err, ErrPath)
	text, err := data.Read(t.Context(), "BEANS.md")
	require.NoError(t, err)
	require.Contains(t, text, "red")
	_, err = data.Write(t.Context(), "facts/my-beans.md", "# Facts")
	require.NoError(t, err)
}

// Forget removes only what the person confirmed.
func TestForgetWhatWasShown(t *testing.T) {
	d := newFixture(t)
	d.write("BEANS.md", "# H\n\n- keep me\n- forget this\n")
	cited := Statement{Path: "BEANS.md", Dir: d.project, Name: "BEANS.md", First: 4, Last: 4}
	_, _, err := d.journal().Forget(t.Context(), cited, func(context.Context, Change) (bool, error) {
		d.write("BEANS.md", "# H\n\n- new\n- keep me\n- forget this\n")
		return true, nil
	})
	require.ErrorIs(t, err, ErrChanged)
	require.Contains(t, d.read("BEANS.md"), "keep me")
	cited.First, cited.Last = 6, 6
	_, _, err = d.journal().Forget(t.Context(), cited, nil)
	require.ErrorContains(t, err, "there are no lines 6 to 6", "behind the last newline")
}

// Undo removes whole lines or nothing, and never blocks earlier changes.
func TestUndoOfEditedFiles(t *testing.T) {
	d := newFixture(t)
	d.write("BEANS.md", "# H\n\n- a\n")
	d.save(SaveRequest{Content: "first", Section: "H"})
	d.save(SaveRequest{Content: "fact zebra 12", Section: "H"})
	edited := "# H\n\n- a\n- first\n- [ ] todo: check - fact zebra 12\nNext line of mine\n"
	d.write("BEANS.md", edited)
	_, err := d.journal().Undo(t.Context())
	require.ErrorIs(t, err, ErrChanged)
	require.Equal(t, edited, d.read("BEANS.md"))
	_, err = d.journal().Undo(t.Context())
	require.NoError(t, err, "the one before it")
	require.Equal(t, strings.Replace(edited, "- first\n", "", 1), d.read("BEANS.md"))
}

// An edit during an undo is kept, and so is the record until it is undone.
func TestUndoWhileAnEditorSaves(t *testing.T) {
	for edits, want := range map[int]error{1: nil, maxPlans: ErrOvertaken} {
		d := newFixture(t)
		d.write("BEANS.md", "# H\n")
		d.save(SaveRequest{Content: "first", Section: "H"})
		j := d.journal()
		left := edits
		j.failAt = func(at string) error {
			if at == "write 0" && left > 0 {
				left--
				d.write("BEANS.md", strings.Replace(d.read("BEANS.md"), "# H\n", "# H\n\nMine.\n", 1))
			}
			return nil
		}
		_, err := j.Undo(t.Context())
		require.ErrorIs(t, err, want)
		require.Equal(t, want != nil, strings.Contains(d.read("BEANS.md"), "first"))
		require.Equal(t, edits, strings.Count(d.read("BEANS.md"), "Mine."))
		if want != nil {
			_, err = j.Undo(t.Context())
			require.NoError(t, err)
			require.NotContains(t, d.read("BEANS.md"), "first")
		}
	}
}

// A change that cannot be taken back stops no later ones.
func TestPendingOfAFileThatIsGone(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need a privilege")
	}
	d := newFixture(t)
	d.write("BEANS.md", "# H\n")
	j := d.journal()
	j.failAt = func(at string) error {
		if at == "done" {
			panic("killed")
		}
		return nil
	}
	saver := d.saver()
	saver.journal = j
	require.Panics(t, func() { _, _ = saver.Save(t.Context(), SaveRequest{Content: "x"}) })
	require.NoError(t, os.Rename(filepath.Join(d.project, "BEANS.md"), filepath.Join(d.project, "CLAUDE.md")))
	require.NoError(t, os.Symlink("CLAUDE.md", filepath.Join(d.project, "BEANS.md")))
	require.True(t, d.save(SaveRequest{Content: "gamma"}).Written)
}

// The journal keeps lines, not files.
func TestJournalIsSmall(t *testing.T) {
	d := newFixture(t)
	d.write("data/memory/episodes/big.md", "# Big\n\n"+strings.Repeat("## E\n\ntext of an entry\n\n", 50_000))
	for i := range 3 {
		_, err := d.data().Append(t.Context(), "episodes/big.md", fmt.Sprintf("## Entry %d", i), "mine")
		require.NoError(t, err)
	}
	info, err := os.Stat(d.journal().file)
	require.NoError(t, err)
	require.Less(t, info.Size(), int64(5<<20), "the first put a summary at the top")
	_, err = d.journal().Undo(t.Context())
	require.NoError(t, err)
	require.NotContains(t, d.read("data/memory/episodes/big.md"), "Entry 2")
}

// Frontmatter, code and line ends of a file stay what they are.
func TestSummariesDamageNothing(t *testing.T) {
	d := newFixture(t)
	d.write("data/memory/facts/u.md", "---\nname: x\ntags: [a]\n---\n# User\n\n- name: Z\n")
	_, err := d.data().Append(t.Context(), "facts/u.md", "- lang: de", "")
	require.NoError(t, err)
	require.Equal(t, "---\nname: x\ntags: [a]\n---\n# User\n\n> Summary: name, lang\n\n- name: Z\n- lang: de\n", d.read("data/memory/facts/u.md"))
	d.write("data/memory/facts/c.md", "# Code\r\n\r\ntext\r\n\r\n```\r\n> Summary: of my code\r\n```\r\n")
	_, err = d.data().Append(t.Context(), "facts/c.md", "## more", "two keys")
	require.NoError(t, err)
	require.Equal(t, "# Code\r\n\r\n> Summary: two keys\r\n\r\ntext\r\n\r\n```\r\n> Summary: of my code\r\n```\r\n\r\n## more\r\n", d.read("data/memory/facts/c.md"))
}
