package notes

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core/curated"
	"github.com/memcore/memcore/core/tools"
	"github.com/memcore/memcore/internal/paths"
)

// TestMain lets the test binary be one of several processes that write.
func TestMain(m *testing.M) {
	if job := os.Getenv("MEMCORE_NOTES_JOB"); job != "" {
		if err := jobs[job](strings.Split(os.Getenv("MEMCORE_NOTES_ARGS"), "\n")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// jobs are functions for processes, by name.
var jobs = map[string]func(args []string) error{
	"save": func(args []string) error { // HOME PROJECT JOURNAL WHO N
		saver := NewSaver(curated.New(curated.Options{Dir: args[1], Home: args[0]}), OpenJournal(args[2]), SaveOptions{})
		for i := range atoi(args[4]) {
			saved, err := saver.Save(context.Background(), SaveRequest{Content: fmt.Sprintf("fact %d of writer %s", i, args[3])})
			if err != nil || !saved.Written {
				return fmt.Errorf("%+v: %w", saved, err)
			}
			fmt.Println(i)
		}
		return nil
	},
}

func atoi(text string) (n int) {
	fmt.Sscan(text, &n)
	return n
}

func start(t *testing.T, job string, args ...string) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	command := exec.CommandContext(t.Context(), os.Args[0])
	command.Env = append(os.Environ(), "MEMCORE_NOTES_JOB="+job, "MEMCORE_NOTES_ARGS="+strings.Join(args, "\n"))
	var out bytes.Buffer
	command.Stdout, command.Stderr = &out, &out
	require.NoError(t, command.Start())
	return command, &out
}

// A fixture is a home, a project and a journal.
type fixture struct {
	t                        *testing.T
	home, project, journalIn string
	options                  SaveOptions
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	base := paths.Resolve(t.TempDir())
	d := &fixture{t: t, home: filepath.Join(base, "home"), project: filepath.Join(base, "project"), journalIn: filepath.Join(base, "journal")}
	require.NoError(t, os.MkdirAll(d.home, 0o755))
	require.NoError(t, os.MkdirAll(filepath.Join(d.project, ".git"), 0o755))
	return d
}

func (d *fixture) journal() *Journal { return OpenJournal(d.journalIn) }

func (d *fixture) saver() *Saver {
	return NewSaver(curated.New(curated.Options{Dir: d.project, Home: d.home}), d.journal(), d.options)
}

func (d *fixture) write(name, text string) {
	d.t.Helper()
	require.NoError(d.t, os.MkdirAll(filepath.Dir(filepath.Join(d.project, name)), 0o755))
	require.NoError(d.t, os.WriteFile(filepath.Join(d.project, name), []byte(text), 0o644))
}

func (d *fixture) read(name string) string {
	d.t.Helper()
	data, err := os.ReadFile(filepath.Join(d.project, name))
	if errors.Is(err, os.ErrNotExist) {
		return ""
	}
	require.NoError(d.t, err)
	return string(data)
}

func (d *fixture) save(r SaveRequest) Saved {
	d.t.Helper()
	saved, err := d.saver().Save(d.t.Context(), r)
	require.NoError(d.t, err)
	return saved
}

func TestSave(t *testing.T) {
	d := newFixture(t)
	d.write("BEANS.md", "# Project\n\n- We test on Fridays.\n")
	saved := d.save(SaveRequest{Content: "The database port is 5432"})
	require.True(t, saved.Written)
	require.Equal(t, "Saved to BEANS.md, line 7.", saved.Answer())
	require.Contains(t, saved.Diff, "+- The database port is 5432\n")
	require.Equal(t, "# Project\n\n- We test on Fridays.\n\n## Auto-saved Memories\n\n- The database port is 5432\n", d.read("BEANS.md"))

	for again, want := range map[string]string{
		"the database port is 5432.":   "Not saved to BEANS.md: line 7 says that already: - The database port is 5432.",
		"We test on Fridays":           "Not saved to BEANS.md: line 3 says that already: - We test on Fridays.",
		"The database's port is 5432.": "Saved to BEANS.md, line 8.",
	} {
		require.Equal(t, want, d.save(SaveRequest{Content: again}).Answer())
	}
	d.save(SaveRequest{Content: "use tabs", Section: "Style"})
	require.Contains(t, d.read("BEANS.md"), "## Style\n\n- use tabs\n")
	d.save(SaveRequest{Content: "I like tea", Target: TargetGlobal})
	data, err := os.ReadFile(filepath.Join(d.home, ".beans", "BEANS.md"))
	require.NoError(t, err)
	require.Equal(t, "## Auto-saved Memories\n\n- I like tea\n", string(data))
	saved = d.save(SaveRequest{Content: "my port is 5433", Private: true})
	require.Equal(t, filepath.Join(d.project, ".gitignore"), saved.Ignored)
	if runtime.GOOS != "windows" {
		info, err := os.Stat(filepath.Join(d.project, "BEANS.local.md"))
		require.NoError(t, err)
		require.EqualValues(t, 0o600, info.Mode().Perm())
	}
	saved = d.save(SaveRequest{Content: "the key is AKIA" + "YRWQG5EJLPZLBYNP"})
	require.Equal(t, "aws-access-token", saved.Redacted[0].Rule)
	require.Contains(t, d.read("BEANS.md"), "- the key is [redacted: aws-access-token]\n")
	require.Contains(t, saved.Answer(), "Text that looks like a secret was removed (aws-access-token).")
}

func TestSaveRefuses(t *testing.T) {
	d := newFixture(t)
	for _, tt := range []struct {
		request SaveRequest
		options SaveOptions
		want    error
	}{
		{SaveRequest{Content: " \n"}, SaveOptions{}, ErrNothing},
		{SaveRequest{Content: "x", Target: "galaxy"}, SaveOptions{}, ErrTarget},
		{SaveRequest{Content: "four", Section: "words"}, SaveOptions{Longest: 8}, tools.ErrArguments},
		{SaveRequest{Content: "x"}, SaveOptions{Confirm: func(context.Context, Change) (bool, error) { return false, context.Canceled }}, context.Canceled},
	} {
		d.options = tt.options
		_, err := d.saver().Save(t.Context(), tt.request)
		require.ErrorIs(t, err, tt.want)
	}
	d.options = SaveOptions{Confirm: func(context.Context, Change) (bool, error) { return false, nil }}
	require.Equal(t, "Not saved to BEANS.md: it was not confirmed.", d.save(SaveRequest{Content: "x"}).Answer())
	d.options = SaveOptions{}
	require.True(t, d.save(SaveRequest{Content: "x", Target: TargetGlobal}).Written)
	require.Empty(t, d.read("BEANS.md"))
	require.NoError(t, os.Mkdir(filepath.Join(d.project, "BEANS.md"), 0o755))
	_, err := d.saver().Save(t.Context(), SaveRequest{Content: "x"})
	require.ErrorContains(t, err, "BEANS.md")
}

// A save waits if no one can be asked, then is written.
func TestSaveWaits(t *testing.T) {
	d := newFixture(t)
	d.write("BEANS.md", "# Ours\n\n- The port is 5432\n")
	var kept SaveRequest
	d.options.Confirm = func(context.Context, Change) (bool, error) { return false, ErrUnasked }
	_, err := d.saver().Save(t.Context(), SaveRequest{Content: "x"})
	require.ErrorIs(t, err, ErrUnasked, "where nothing can wait")
	d.options.Wait = func(_ context.Context, r SaveRequest, c Change) (string, error) {
		require.Contains(t, c.Diff, "+- The port is 5433")
		kept = r
		return "abc123", nil
	}
	saved := d.save(SaveRequest{Content: "The port is 5433", Supersedes: "port 5432"})
	require.False(t, saved.Written)
	require.Equal(t, "Not saved to BEANS.md yet: it waits for the user's yes as proposal abc123. Tell them to answer \"accept abc123\" in their next prompt (with memcore's hooks), to choose the prompt memory_accept, or to run 'memcore memory pending', which shows it.", saved.Answer())
	require.Equal(t, "# Ours\n\n- The port is 5432\n", d.read("BEANS.md"))
	require.Equal(t, "- The port is 5432", kept.Supersedes, "the statement, whose line may move")
	d.options.Find = func(context.Context, string) (Statement, error) {
		return Statement{Path: "BEANS.md", Dir: d.project, Name: "BEANS.md", First: 3, Last: 3}, nil
	}
	d.save(SaveRequest{Content: "The port is 5433", Supersedes: "BEANS.md#L3"})
	require.Equal(t, "- The port is 5432", kept.Supersedes, "of a citation, too")
	d.write("BEANS.md", "# Ours\n\n- New first line\n- The port is 5432\n")
	d.options = SaveOptions{}
	require.True(t, d.save(kept).Written)
	require.Contains(t, d.read("BEANS.md"), "- ~~The port is 5432~~")
	d.options.Confirm = func(context.Context, Change) (bool, error) { return false, ErrUnasked }
	d.options.Wait = func(context.Context, SaveRequest, Change) (string, error) { return "", errManyProposals }
	_, err = d.saver().Save(t.Context(), SaveRequest{Content: "another one"})
	require.ErrorIs(t, err, errManyProposals)
}

// Save keeps what is typed into the file while the person decides.
func TestSaveIntoAFileThatChanges(t *testing.T) {
	d := newFixture(t)
	d.write("BEANS.md", "- one\r\n")
	d.options.Confirm = func(_ context.Context, c Change) (bool, error) {
		d.write("BEANS.md", "- one\r\n- typed meanwhile")
		return true, nil
	}
	require.True(t, d.save(SaveRequest{Content: "saved"}).Written)
	require.Equal(t, "- one\r\n- typed meanwhile\r\n\r\n## Auto-saved Memories\r\n\r\n- saved", d.read("BEANS.md"), "its line ends stay, too")
	d.options.Confirm = func(context.Context, Change) (bool, error) {
		d.write("BEANS.md", "- the same")
		return true, nil
	}
	saved := d.save(SaveRequest{Content: "the same"})
	require.Equal(t, "line 1 says that already: - the same", saved.Reason, "another was faster")
}

func TestBothFormsOfParameters(t *testing.T) {
	for in, want := range map[string]SaveRequest{
		`{"content": "c", "section": "s", "target": "global"}`: {Content: "c", Section: "s", Target: "global"},
		`{"fact": "f", "scope": "project"}`:                    {Content: "f", Target: "project"},
		`{"fact": "f", "content": "c", "private": true}`:       {Content: "c", Private: true},
	} {
		var got SaveRequest
		require.NoError(t, json.Unmarshal([]byte(in), &got))
		require.Equal(t, want, got)
	}
	require.Error(t, json.Unmarshal([]byte(`{"content": 5}`), &SaveRequest{}))
}

func TestUndo(t *testing.T) {
	d := newFixture(t)
	undo := func() error { _, err := d.journal().Undo(t.Context()); return err }
	require.ErrorIs(t, undo(), ErrNoRecord)
	d.save(SaveRequest{Content: "one"})
	d.save(SaveRequest{Content: "two"})
	require.NoError(t, undo())
	require.Equal(t, "## Auto-saved Memories\n\n- one\n", d.read("BEANS.md"))
	require.NoError(t, undo())
	require.NoFileExists(t, filepath.Join(d.project, "BEANS.md"), "it was made by the save")
	require.ErrorIs(t, undo(), ErrNoRecord)

	d.write("BEANS.md", "# A\n\n- one\n")
	d.save(SaveRequest{Content: "two", Section: "A"})
	d.write("BEANS.md", strings.ReplaceAll(d.read("BEANS.md"), "one", "uno")+"- three\n")
	require.NoError(t, undo(), "the line is taken out of a file that was changed elsewhere")
	require.Equal(t, "# A\n\n- uno\n- three\n", d.read("BEANS.md"))
	d.save(SaveRequest{Content: "four", Section: "A"})
	d.write("BEANS.md", "something else")
	require.ErrorIs(t, undo(), ErrChanged)
	require.Equal(t, "something else", d.read("BEANS.md"))
}

// A change of several files is whole or not at all.
func TestJournalIsAtomic(t *testing.T) {
	for _, step := range []string{"write 0", "write 1", "done"} {
		d := newFixture(t)
		d.write("a.md", "a")
		j := d.journal()
		j.failAt = func(at string) error {
			if at == step {
				panic("killed")
			}
			return nil
		}
		edits := func() ([]Edit, error) {
			return []Edit{{Dir: d.project, Name: "a.md", Before: "a", After: "A"}, {Dir: d.project, Name: "b.md", After: "B", Created: true}}, nil
		}
		require.Panics(t, func() { _, _ = j.Do(t.Context(), "x", edits) })
		record, err := d.journal().Do(t.Context(), "nothing", func() ([]Edit, error) { return nil, nil })
		require.NoError(t, err)
		require.Empty(t, record.Edits)
		require.Equal(t, "a", d.read("a.md"), step)
		require.NoFileExists(t, filepath.Join(d.project, "b.md"), step)
		_, err = d.journal().Do(t.Context(), "again", edits)
		require.NoError(t, err)
		require.Equal(t, "AB", d.read("a.md")+d.read("b.md"))
		_, err = d.journal().Undo(t.Context())
		require.NoError(t, err)
		require.Equal(t, "a", d.read("a.md")+d.read("b.md"))
	}
	d := newFixture(t)
	d.write("a.md", "a")
	_, err := d.journal().Do(t.Context(), "x", func() ([]Edit, error) {
		return []Edit{{Dir: d.project, Name: "a.md", Before: "a", After: "A"}, {Dir: d.project, Name: "b.md", Before: "not so", After: "B"}}, nil
	})
	require.ErrorIs(t, err, ErrChanged)
	require.Equal(t, "a", d.read("a.md"), "the first edit is taken back")
	_, err = d.journal().Do(t.Context(), "x", func() ([]Edit, error) { return nil, context.Canceled })
	require.ErrorIs(t, err, context.Canceled)
	require.NoError(t, os.WriteFile(d.journal().file, []byte("{"), 0o600))
	_, err = d.journal().Do(t.Context(), "x", nil)
	require.ErrorContains(t, err, "delete it")
}

// 8 processes save 500 facts to one file.
func TestManyProcessesSave(t *testing.T) {
	d := newFixture(t)
	d.write("BEANS.md", "# Project\n")
	counts := []string{"63", "63", "63", "63", "62", "62", "62", "62"}
	var running []func()
	for who, n := range counts {
		command, out := start(t, "save", d.home, d.project, d.journalIn, fmt.Sprint(who), n)
		running = append(running, func() { require.NoError(t, command.Wait(), out.String()) })
	}
	for _, wait := range running {
		wait()
	}
	text := d.read("BEANS.md")
	require.Equal(t, 500, strings.Count(text, "- fact "))
	for who, n := range counts {
		for i := range atoi(n) {
			require.Equal(t, 1, strings.Count(text, fmt.Sprintf("- fact %d of writer %d\n", i, who)))
		}
	}
}

// After a kill the file is whole, with all reported saves.
func TestKilledWhileSaving(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("kill -9 is of other systems")
	}
	d := newFixture(t)
	d.write("BEANS.md", "# Project\n")
	kills, total := 25, 0
	if os.Getenv("MEMCORE_NOTES_KILLS") != "" {
		kills = atoi(os.Getenv("MEMCORE_NOTES_KILLS"))
	}
	for round := range kills {
		command, out := start(t, "save", d.home, d.project, d.journalIn, fmt.Sprint("r", round), "1000")
		for deadline := time.Now().Add(20 * time.Second); ; { // until it has begun to write
			if strings.Contains(d.read("BEANS.md"), fmt.Sprintf("writer r%d\n", round)) || time.Now().After(deadline) {
				break
			}
			time.Sleep(time.Millisecond)
		}
		time.Sleep(time.Duration(round%7) * time.Millisecond)
		require.NoError(t, command.Process.Kill())
		_ = command.Wait()
		text := d.read("BEANS.md")
		require.True(t, strings.HasPrefix(text, "# Project\n") && strings.HasSuffix(text, "\n"), "%q", text)
		said := strings.Count(out.String(), "\n")
		require.GreaterOrEqual(t, strings.Count(text, fmt.Sprintf("of writer r%d\n", round)), said)
		total += said
		for line := range strings.Lines(text) {
			require.True(t, line == "\n" || strings.HasPrefix(line, "#") || strings.HasPrefix(line, "- fact "), "%q", line)
		}
	}
	d.save(SaveRequest{Content: "still works"})
	t.Logf("%d kills, %d saves", kills, total)
}

// A private file is ignored by git before it is written.
func TestPrivateFileIsIgnoredBeforeItIsWritten(t *testing.T) {
	project := paths.Resolve(t.TempDir())
	require.NoError(t, os.MkdirAll(filepath.Join(project, ".git"), 0o755))
	require.NoError(t, os.Mkdir(filepath.Join(project, ".gitignore"), 0o755)) // no file: it cannot be written
	saver := NewSaver(curated.New(curated.Options{Dir: project, Home: t.TempDir()}), OpenJournal(t.TempDir()), SaveOptions{})
	_, err := saver.Save(t.Context(), SaveRequest{Content: "mine", Private: true})
	require.ErrorContains(t, err, "git would see it")
	require.NoFileExists(t, filepath.Join(project, "BEANS.local.md"))
}
