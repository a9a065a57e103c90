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
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/internal/markdown/summary"
)

func init() {
	jobs["append"] = func(args []string) error { // DATA JOURNAL WHO N
		d := OpenData("", args[0], OpenJournal(args[1]))
		for i := range atoi(args[3]) {
			if _, err := d.Append(context.Background(), "episodes/2026-03.md", fmt.Sprintf("## Entry %d of %s\n- Summary: did %d", i, args[2], i), ""); err != nil {
				return err
			}
			if _, err := d.Patch(context.Background(), "facts/count.md", []Patch{{OldText: "- " + args[2] + ": " + fmt.Sprint(i), NewText: "- " + args[2] + ": " + fmt.Sprint(i+1)}}, true); err != nil {
				return err
			}
		}
		return nil
	}
}

func (d *fixture) data() *Data {
	data := OpenData(d.project, filepath.Join(d.project, "data", "memory"), d.journal())
	data.now = func() time.Time { return time.Date(2026, 2, 24, 12, 0, 0, 0, time.UTC) }
	return data
}

const userFacts = `# User Facts

- Name: Zhang San
- Language: prefers Chinese discussion, English code
- Role: Full-stack developer
- Updated: 2026-02-24
`

const loggerEpisode = `## Logger stdout leak fix
- Summary: pino pipeline stdout leak → custom JS transport
- Date: 2026-02-24
- Problem: pino-pretty in pipeline mode leaks to stdout
- Solution: Custom line-transport.js, removed pipeline entirely`

// Facts and episodes survive restarts, and can be edited by hand.
func TestFactsAndEpisodes(t *testing.T) {
	d := newFixture(t)
	ctx := t.Context()
	w, err := d.data().Write(ctx, "facts/user.md", userFacts)
	require.NoError(t, err)
	require.True(t, w.Created)
	require.Equal(t, "name, language, role", w.Summary)
	w, err = d.data().Append(ctx, "", loggerEpisode, "")
	require.NoError(t, err)
	require.Equal(t, "episodes/2026-02.md", w.Path, "month files are made as needed")
	w, err = d.data().Append(ctx, "episodes/2026-02.md", "## Short ID implementation\n- Summary: UUID → 16-char hex short ID\n- Date: 2026-02-24", "")
	require.NoError(t, err)
	require.Equal(t, "UUID → 16-char hex short ID, pino pipeline stdout leak → custom JS transport", w.Summary, "newest first")

	text, err := d.data().Read(ctx, "facts/user.md")
	require.NoError(t, err)
	require.Equal(t, "# User Facts\n\n> Summary: name, language, role\n\n- Name: Zhang San\n- Language: prefers Chinese discussion, English code\n- Role: Full-stack developer\n- Updated: 2026-02-24\n", text)
	text, err = d.data().Read(ctx, "episodes/2026-02.md")
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(text, "# 2026-02 Episodes\n\n> Summary: UUID"), text)
	require.Contains(t, text, "\n\n"+loggerEpisode+"\n\n## Short ID")

	items, err := d.data().List(ctx)
	require.NoError(t, err)
	require.Equal(t, "Available memory:\n- facts/user.md (169B): name, language, role\n- episodes/2026-02.md (427B): UUID → 16-char hex short ID, pino pipeline stdout leak → custom JS transport", listText(items))
	require.Empty(t, listText(nil))

	d.write("data/memory/facts/user.md", strings.Replace(userFacts, "Zhang San", "Li Si", 1))
	text, err = d.data().Read(ctx, "facts/user.md")
	require.NoError(t, err)
	require.Contains(t, text, "Li Si", "edited by hand")
	_, err = d.journal().Undo(ctx)
	require.NoError(t, err)
	text, err = d.data().Read(ctx, "episodes/2026-02.md")
	require.NoError(t, err)
	require.NotContains(t, text, "Short ID")
}

// The index says what a file holds that a person wrote or edited by hand, too.
func TestIndexOfFilesEditedByHand(t *testing.T) {
	var older strings.Builder
	for i := range 14 {
		fmt.Fprintf(&older, "## Entry %d\n", i)
	}
	for text, want := range map[string]string{
		"# Servers\n\n- Staging: eu-1\r\n":                                     "staging",
		"# A\n\n> Summary: x\n\n- x: 1\n- y: 2\n":                              "x, y",
		"# A\n\n> Summary: by hand\n\n- x: 1\n":                                "by hand",
		"# A\n\n> Summary: Entry 11, Entry 10, and older\n\n" + older.String(): "Entry 13, Entry 12, Entry 11, Entry 10, Entry 9, Entry 8, Entry 7, Entry 6, Entry 5, Entry 4, Entry 3, Entry 2, and older",
	} {
		d := newFixture(t)
		d.write("data/memory/facts/a.md", text)
		items, err := d.data().List(t.Context())
		require.NoError(t, err)
		require.Equal(t, want, items[0].Summary)
		require.Equal(t, text, d.read("data/memory/facts/a.md"), "the file is the person's")
	}
}

func TestPatch(t *testing.T) {
	d := newFixture(t)
	ctx := t.Context()
	_, err := d.data().Patch(ctx, "facts/user.md", nil, false)
	require.ErrorIs(t, err, ErrNoFile)
	_, err = d.data().Write(ctx, "facts/user.md", userFacts)
	require.NoError(t, err)
	patches := []Patch{{"Zhang San", "Li Si"}, {"not there", "x"}, {"- ", "* "}, {"", "x"}, {"Role: Full-stack", "Role: Front-end"}}
	w, err := d.data().Patch(ctx, "facts/user.md", patches, true)
	require.NoError(t, err)
	require.Equal(t, 0, w.Applied)
	require.Equal(t, []string{"patch 2: oldText is not in the file", "patch 3: oldText is in the file 4 times; give more of it", "patch 4: oldText is empty"}, w.Failed)
	require.Contains(t, d.read("data/memory/facts/user.md"), "Zhang San", "all or none")
	w, err = d.data().Patch(ctx, "facts/user.md", patches, false)
	require.NoError(t, err)
	require.Equal(t, 2, w.Applied)
	require.Contains(t, w.Diff, "+- Name: Li Si\n")
	require.Contains(t, d.read("data/memory/facts/user.md"), "Role: Front-end")
	w, err = d.data().Patch(ctx, "facts/user.md", []Patch{{"Li Si", "Li Si, password: x1y2z3"}}, false)
	require.NoError(t, err)
	require.Equal(t, "password", w.Redacted[0].Rule)
	require.NotContains(t, d.read("data/memory/facts/user.md"), "x1y2z3")
}

func TestDataRefuses(t *testing.T) {
	d := newFixture(t)
	ctx := t.Context()
	outside := filepath.Join(filepath.Dir(d.project), "outside")
	require.NoError(t, os.MkdirAll(outside, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(outside, "s.md"), []byte("TOPSECRET"), 0o644))
	data := d.data()
	_, err := data.Write(ctx, "facts/ok.md", "- ok: yes")
	require.NoError(t, err)
	links := map[string]string{"facts/link.md": filepath.Join(outside, "s.md"), "away": outside, "facts/up.md": "../../../../outside/s.md"}
	for name, target := range links {
		if err := os.Symlink(target, filepath.Join(d.project, "data", "memory", filepath.FromSlash(name))); err != nil && runtime.GOOS != "windows" {
			t.Fatal(err)
		}
	}
	names := []string{"", ".", "..", "../x.md", "facts/../../x.md", "/etc/x.md", filepath.Join(outside, "s.md"), "facts", "facts/", "x.txt", "x", ".md", "facts/.md", ".hidden/x.md", "facts/.x.md", "a\x00.md", "a\n.md",
		`..\x.md`, `C:\x.md`, "c:x.md", "//server/x.md", "facts/x.md/../../../y.md", "~/x.md/../../../../x.md", "x.md.", "x.md ", "facts./x.md", "a\u200b.md", "secrets.md", "facts/credentials.md", ".ssh/x.md", "facts/id_rsa.md",
		strings.Repeat("a/", 300) + "x.md", "facts/link.md", "away/s.md", "facts/up.md", "away/new.md"}
	for _, name := range names {
		_, err := data.Read(ctx, name)
		require.Error(t, err, "read %q", name)
		_, err = data.Write(ctx, name, "x")
		require.Error(t, err, "write %q", name)
		_, err = data.Append(ctx, name, "x", "")
		if name != "" { // that is this month's file
			require.Error(t, err, "append %q", name)
		}
		_, err = data.Patch(ctx, name, []Patch{{"TOP", "x"}}, false)
		require.Error(t, err, "patch %q", name)
	}
	entries, err := os.ReadDir(outside)
	require.NoError(t, err)
	require.Len(t, entries, 1)
	text, err := os.ReadFile(filepath.Join(outside, "s.md"))
	require.NoError(t, err)
	require.Equal(t, "TOPSECRET", string(text))

	d.write("data/memory/.git/x.md", "hidden")
	d.write("data/memory/notes.txt", "no Markdown")
	d.write("data/memory/own/x.md", "> Summary: a category of one's own")
	items, err := data.List(ctx)
	require.NoError(t, err)
	require.Equal(t, []string{"facts/ok.md", "own/x.md", "episodes/2026-02.md"}, []string{items[0].Path, items[1].Path, items[2].Path})
	_, err = data.Append(ctx, "", " \n", "")
	require.ErrorIs(t, err, ErrNoEntry)
	items, err = OpenData("", filepath.Join(d.project, "absent"), d.journal()).List(ctx)
	require.NoError(t, err)
	require.Empty(t, items)
	cancelled, stop := context.WithCancel(ctx)
	stop()
	_, err = data.Read(cancelled, "facts/ok.md")
	require.ErrorIs(t, err, context.Canceled)
	_, err = data.List(cancelled)
	require.ErrorIs(t, err, context.Canceled)
	_, err = data.Read(ctx, "facts/none.md")
	require.ErrorIs(t, err, ErrNoFile)
	d.write("data/memory/big.md", strings.Repeat("x", maxFile+1))
	_, err = data.Read(ctx, "big.md")
	require.ErrorContains(t, err, "larger than 8 MB")
	require.Equal(t, []string{"12B", "1.2KB", "3.0MB"}, []string{sizeText(12), sizeText(1234), sizeText(3_000_000)})
}

// Processes append to one file and count: nothing is lost.
func TestManyProcessesAppend(t *testing.T) {
	d := newFixture(t)
	data := d.data()
	_, err := data.Write(t.Context(), "facts/count.md", "# Counts\n\n- a: 0\n- b: 0\n- c: 0\n- d: 0\n")
	require.NoError(t, err)
	var running []func()
	for _, who := range []string{"a", "b", "c", "d"} {
		command, out := start(t, "append", data.dir, d.journalIn, who, "20")
		running = append(running, func() { require.NoError(t, command.Wait(), out.String()) })
	}
	for _, wait := range running {
		wait()
	}
	require.Equal(t, 80, strings.Count(d.read("data/memory/episodes/2026-03.md"), "## Entry "))
	require.Equal(t, "# Counts\n\n> Summary: a, b, c, d\n\n- a: 20\n- b: 20\n- c: 20\n- d: 20\n", d.read("data/memory/facts/count.md"))
}

func FuzzDataPath(f *testing.F) {
	for _, seed := range []string{"facts/user.md", "../x.md", "a/./b.md", `a\b.md`, "ü.md", ".md"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, name string) {
		clean, err := checkPath(name)
		if err != nil {
			return
		}
		if !filepath.IsLocal(clean) || strings.Contains(clean, "..") && !strings.Contains(name, "..") || !strings.HasSuffix(clean, ".md") || strings.ContainsAny(clean, "\x00\\:") {
			t.Errorf("%q is taken as %q", name, clean)
		}
	})
}

// A line of plain text becomes an item or an entry, which the summary names; other text stays as it
// is.
func TestAppendOneLine(t *testing.T) {
	for _, tt := range []struct{ name, file, entry, want string }{
		{"a fact", "facts/user.md", "Name: Zhang San", "# User Facts\n\n> Summary: name\n\n- Name: Zhang San\n"},
		{"an episode", "episodes/2026-02.md", "Fixed the logger", "# 2026-02 Episodes\n\n> Summary: Fixed the logger\n\n## Fixed the logger\n- Date: 2026-02-25\n"},
		{"an item", "facts/user.md", "* likes tea", "# User Facts\n\n> Summary: likes tea\n\n* likes tea\n"},
		{"a heading", "episodes/2026-02.md", "## Done", "# 2026-02 Episodes\n\n> Summary: Done\n\n## Done\n"},
		{"paragraphs", "facts/user.md", "Ada lives in Graz.\n\nShe likes tea.", "# User Facts\n\n> Summary: ada lives in graz, she likes tea\n\n- Ada lives in Graz.\n- She likes tea.\n"},
		{"lines", "facts/user.md", "She likes tea.\nAnd ale.", "# User Facts\n\n> Summary: she likes tea\n\n- She likes tea.\n  And ale.\n"},
		{"an episode of lines", "episodes/2026-02.md", "Fixed the logger\nIt leaked.\n\nFor weeks.", "# 2026-02 Episodes\n\n> Summary: Fixed the logger\n\n## Fixed the logger\n- Date: 2026-02-25\n\nIt leaked.\n\nFor weeks.\n"},
		{"a title of its own", "facts/auth.md", "# Login\n\n- JWT", "# Login\n\n> Summary: jwt\n\n- JWT\n"},
		{"a heading and text", "facts/user.md", "## Tea\n\nShe likes it.", "# User Facts\n\n> Summary: Tea\n\n## Tea\n\nShe likes it.\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := Written{Path: tt.file}
			got, err := appending(tt.entry, "", time.Date(2026, 2, 25, 9, 0, 0, 0, time.UTC)).apply(&w, "", false)
			require.NoError(t, err)
			require.Equal(t, tt.want, got)
			if strings.HasPrefix(tt.entry, "# ") {
				return
			}
			again, err := appending(tt.entry, "", time.Date(2026, 2, 25, 9, 0, 0, 0, time.UTC)).apply(&w, got, true)
			require.NoError(t, err)
			require.Equal(t, got, again, "an entry is there once")
			require.Equal(t, "It has that entry already, so it is not added again.", w.Remark)
		})
	}
}

// What a generated summary repeats is still in the file once.
func TestPatchOfWhatTheSummaryRepeats(t *testing.T) {
	d := newFixture(t)
	_, err := d.data().Append(t.Context(), "facts/team.md", "releases go out on thursday", "")
	require.NoError(t, err)
	w, err := d.data().Patch(t.Context(), "facts/team.md", []Patch{{"thursday", "friday"}}, true)
	require.NoError(t, err)
	require.Empty(t, w.Failed)
	require.Equal(t, "# Team Facts\n\n> Summary: releases go out on friday\n\n- releases go out on friday\n", d.read("data/memory/facts/team.md"))
	w, err = d.data().Patch(t.Context(), "facts/team.md", []Patch{{"> Summary: releases go out on friday", "> Summary: releases"}}, true)
	require.NoError(t, err)
	require.Equal(t, "releases", w.Summary)
}

// The summary does not say on what is forgotten.
func TestForgetLeavesNoSummary(t *testing.T) {
	for before, want := range map[string]string{
		"# A\n\n> Summary: the pager rings at noon, tea\n\n- the pager rings at noon\n- tea\n":              "# A\n\n> Summary: tea\n\n- tea\n",
		"# A\r\n\r\n> Summary: the pager rings at noon, mine\r\n\r\n- the pager rings at noon\r\n- tea\r\n": "# A\r\n\r\n> Summary: mine\r\n\r\n- tea\r\n",
		"# A\n\n> Summary: by hand\n\n- the pager rings at noon\n- tea\n":                                   "# A\n\n> Summary: by hand\n\n- tea\n",
	} {
		d := newFixture(t)
		d.write("data/memory/facts/a.md", before)
		found, err := StatementsAbout(Statement{Path: "facts/a.md", Dir: filepath.Join(d.project, "data", "memory"), Name: "facts/a.md"}, "pager rings noon")
		require.NoError(t, err)
		require.Len(t, found, 1)
		_, done, err := d.journal().Forget(t.Context(), found[0], nil)
		require.NoError(t, err)
		require.True(t, done)
		require.Equal(t, want, d.read("data/memory/facts/a.md"))
	}
}

// A summary given for one append does not hide what comes later.
func TestSummaryOfOneAppend(t *testing.T) {
	d := newFixture(t)
	for _, entry := range [][2]string{{"## Logger fix\n- Summary: pino leak", "mine"}, {"## Cache fix\n- Summary: stale cache", ""}, {"Renamed the service", ""}} {
		_, err := d.data().Append(t.Context(), "episodes/2026-02.md", entry[0], entry[1])
		require.NoError(t, err)
	}
	require.Equal(t, "Renamed the service, stale cache, mine", summary.Of(d.read("data/memory/episodes/2026-02.md")))
}

// Writing a file's own valid text changes nothing.
func FuzzSummary(f *testing.F) {
	f.Add("# A\n\n- x: 1\n", "# A\n\n> Summary: x\n\n- y: 1\n")
	f.Add("# A\r\n\r\n- x: 1\r\n", "\ufeff---\na: b\n---\n# A\n\n- y: \xff1\n")
	f.Add("", "- pw,=x1y2z3\n")
	f.Fuzz(func(t *testing.T, before, text string) {
		if !utf8.ValidString(before) {
			return // readFile refuses it
		}
		var w Written
		got, err := writing(text).apply(&w, before, true)
		require.NoError(t, err)
		if !utf8.ValidString(got) {
			t.Errorf("writing %q: %q", text, got)
		}
		if again, err := writing(got).apply(&w, got, true); err != nil || again != got {
			t.Errorf("writing %q in place of %q = %q, again %q, error %v", text, before, got, again, err)
		}
	})
}
