package notes

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// What is no UTF-8 is refused, not mended: a journal of text could not give it back.
func TestOtherEncodings(t *testing.T) {
	d := newDesk(t)
	latin := "# H\n\n- caf\xe9\n- other\n"
	d.write("BEANS.md", latin)
	d.write("data/memory/facts/u.md", latin)
	_, _, err := d.journal().Forget(t.Context(), Place{Path: "BEANS.md", Dir: d.project, Name: "BEANS.md", First: 3, Last: 3}, nil)
	require.ErrorIs(t, err, ErrText)
	_, err = d.saver().Save(t.Context(), SaveRequest{Content: "x"})
	require.ErrorIs(t, err, ErrText)
	_, err = d.data().Patch(t.Context(), "facts/u.md", []Patch{{"other", "x"}}, false)
	require.ErrorIs(t, err, ErrText)
	require.Equal(t, latin+latin, d.read("BEANS.md")+d.read("data/memory/facts/u.md"))
	items, err := d.data().List(t.Context())
	require.NoError(t, err)
	require.Contains(t, items[0].Summary, "cannot be read", "one file does not hide the others")
	w, err := d.data().Append(t.Context(), "facts/élan.md", "- x: y", "")
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(d.read("data/memory/"+w.Path), "# Élan Facts\n"))
}

// An undo that is killed is not done: the next one takes back the same change.
func TestKilledUndo(t *testing.T) {
	for _, step := range []string{"write 0", "done"} {
		d := newDesk(t)
		d.write("BEANS.md", "# H\n")
		d.save(SaveRequest{Content: "alpha fact one", Loose: true})
		d.save(SaveRequest{Content: "beta fact two", Loose: true})
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

// Secrets do not get in by the side door, and what is forgotten of them is not kept.
func TestSecretsElsewhere(t *testing.T) {
	d := newDesk(t)
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
	change, written, err := d.journal().Forget(t.Context(), Place{Path: "BEANS.md", Dir: d.project, Name: "BEANS.md", First: 3, Last: 3}, nil)
	require.NoError(t, err)
	require.True(t, written)
	require.NotEmpty(t, change.Redacted)
	data, err := os.ReadFile(d.journal().file)
	require.NoError(t, err)
	require.NotContains(t, string(data), "x1y2z3")
}

// A project cannot lead its memory elsewhere, nor make private text public.
func TestLinkedFolders(t *testing.T) {
	d := newDesk(t)
	require.NoError(t, os.MkdirAll(filepath.Join(d.home, ".beans"), 0o755))
	require.NoError(t, os.MkdirAll(filepath.Join(d.project, "data"), 0o755))
	if err := os.Symlink(filepath.Join(d.home, ".beans"), filepath.Join(d.project, "data", "memory")); err != nil {
		t.Skip("links cannot be made here")
	}
	for name, call := range map[string]func() error{
		"read":  func() error { _, err := d.data().Read(t.Context(), "BEANS.md"); return err },
		"write": func() error { _, err := d.data().Write(t.Context(), "BEANS.md", "x"); return err },
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

// What was confirmed is what is done.
func TestForgetWhatWasShown(t *testing.T) {
	d := newDesk(t)
	d.write("BEANS.md", "# H\n\n- keep me\n- forget this\n")
	cited := Place{Path: "BEANS.md", Dir: d.project, Name: "BEANS.md", First: 4, Last: 4}
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

// Undo takes out whole lines or nothing, and one that cannot be undone does not stand in the way.
func TestUndoOfEditedFiles(t *testing.T) {
	d := newDesk(t)
	d.write("BEANS.md", "# H\n\n- a\n")
	d.save(SaveRequest{Content: "first", Loose: true})
	d.save(SaveRequest{Content: "fact zebra 12", Loose: true})
	edited := "# H\n\n- a\n- first\n- [ ] todo: check - fact zebra 12\nNext line of mine\n"
	d.write("BEANS.md", edited)
	_, err := d.journal().Undo(t.Context())
	require.ErrorIs(t, err, ErrChanged)
	require.Equal(t, edited, d.read("BEANS.md"))
	_, err = d.journal().Undo(t.Context())
	require.NoError(t, err, "the one before it")
	require.Equal(t, strings.Replace(edited, "- first\n", "", 1), d.read("BEANS.md"))
}

// A change that cannot be taken back after a crash, because somebody has the file now, does not stop all others.
func TestPendingOfAFileThatIsGone(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need a privilege")
	}
	d := newDesk(t)
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
	d := newDesk(t)
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
	d := newDesk(t)
	d.write("data/memory/facts/u.md", "---\nname: x\ntags: [a]\n---\n# User\n\n- name: Z\n")
	_, err := d.data().Append(t.Context(), "facts/u.md", "- lang: de", "")
	require.NoError(t, err)
	require.Equal(t, "---\nname: x\ntags: [a]\n---\n# User\n\n> Summary: name, lang\n\n- name: Z\n- lang: de\n", d.read("data/memory/facts/u.md"))
	d.write("data/memory/facts/c.md", "# Code\r\n\r\ntext\r\n\r\n```\r\n> Summary: of my code\r\n```\r\n")
	_, err = d.data().Append(t.Context(), "facts/c.md", "more", "two keys")
	require.NoError(t, err)
	require.Equal(t, "# Code\r\n\r\n> Summary: two keys\r\n\r\ntext\r\n\r\n```\r\n> Summary: of my code\r\n```\r\n\r\nmore\r\n", d.read("data/memory/facts/c.md"))
}

// Headings without text are found, lines are those of the match, and what is no file is passed over.
func TestRecallOfOddNotes(t *testing.T) {
	d := newDesk(t)
	s := d.session()
	d.detail("a.md", "# Decision: use pino for logging\n")
	d.detail("b.md", "## Zebra decided\n\n## Next\n\ntext\n")
	d.detail("c.md", "# Net\n\n- the report is due\n- something in İstanbul\n- the port is 5432\n")
	require.Equal(t, []string{"detail/a.md#L1"}, recall(t, RecallRequest{Query: "pino"}, s))
	require.Equal(t, []string{"detail/b.md#L1"}, recall(t, RecallRequest{Query: "zebra"}, s))
	require.Equal(t, []string{"detail/c.md#L5"}, recall(t, RecallRequest{Query: "port"}, s))
	if runtime.GOOS != "windows" {
		require.NoError(t, os.Symlink("/dev/zero", filepath.Join(s.Dir, "messages-x.jsonl")))
		require.Empty(t, recall(t, RecallRequest{Query: "nothing"}, s))
	}
}

// A log that is put aside while it is read is read all the same.
func TestRecallWhileTheLogIsPutAside(t *testing.T) {
	d := newDesk(t)
	s := d.session()
	stop := make(chan struct{})
	said := make(chan int, 1)
	defer func() {
		close(stop)
		t.Logf("%d messages", <-said)
	}()
	go func() {
		for n := 0; ; n++ {
			select {
			case <-stop:
				said <- n
				return
			default:
			}
			if _, err := s.Append(t.Context(), Message{Role: "user", Content: fmt.Sprintf("word%d %s", n, strings.Repeat("filler ", 100))}, AppendOptions{MaxBytes: 100_000}); err != nil && t.Context().Err() == nil {
				t.Error(err)
			}
			time.Sleep(100 * time.Microsecond)
		}
	}()
	_, err := s.Append(t.Context(), Message{Role: "user", Content: "needle"}, AppendOptions{})
	require.NoError(t, err)
	for deadline := time.Now().Add(2 * time.Second); time.Now().Before(deadline); {
		fresh, err := OpenSession(filepath.Dir(s.Dir), s.ID)
		require.NoError(t, err)
		require.Len(t, recall(t, RecallRequest{Query: "needle"}, fresh), 1)
		require.Len(t, recall(t, RecallRequest{Query: "needle"}, s), 1)
	}
}

// A repository may bring a file of any number of items. Its summary is made while all others that write wait, so ten times the items take no hundred times as long.
func TestSummaryOfManyItems(t *testing.T) {
	items := func(n int) string {
		var text strings.Builder
		for i := range n {
			fmt.Fprintf(&text, "- item%d\n", i)
		}
		return text.String()
	}
	few, many := items(2_000), items(20_000)
	best := func(text string) time.Duration {
		took := time.Hour
		for range 10 {
			began := time.Now()
			require.Equal(t, "item0, item1, item2, item3, item4, item5, item6, item7, item8, item9, item10, item11", generate(text))
			took = min(took, time.Since(began))
		}
		return took
	}
	if a, b := best(few), best(many); b > 40*a {
		t.Errorf("a summary of 2,000 items takes %v, one of 20,000 takes %v", a, b)
	}
}
