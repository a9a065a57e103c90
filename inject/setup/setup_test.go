package setup_test

import (
	"context"
	"flag"
	"github.com/memcore/memcore/inject/agents"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core/notes"
	"github.com/memcore/memcore/core/source"
	"github.com/memcore/memcore/inject/setup"
)

var update = flag.Bool("update", false, "rewrite what the files in testdata want")

// crlf stands for a carriage return in testdata, which editors would not keep.
const crlf = "␍"

// TestPlans reads testdata. The first line of a file names an agent, a scope and what to plan. Then
// come the files before, those that Plan changes ("want/") and the notes. A second Plan changes
// nothing, and Removal restores the files. If memcore was there before ("old"), "left/" has what
// Removal leaves.
func TestPlans(t *testing.T) {
	all, err := filepath.Glob(filepath.Join("testdata", "*.txtar"))
	require.NoError(t, err)
	require.Greater(t, len(all), 20)
	for _, file := range all {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			require.NoError(t, err)
			head, _, _ := strings.Cut(string(archive.Comment), ":")
			words := strings.Fields(head)
			scope := setup.User
			if words[1] == "project" {
				scope = setup.Project
			}
			home := tree(t, archive)
			before := files(t, home)
			agent := find(t, home, words[0])
			want := setup.Want{Hooks: !slices.Contains(words, "no-hooks"), MCP: !slices.Contains(words, "no-mcp"), TrustMCP: slices.Contains(words, "trust"), StatusLine: slices.Contains(words, "status-line"), Recall: slices.Contains(words, "recall")}
			changes, notes, err := agent.Plan(scope, binary, want)
			var noted strings.Builder
			for _, n := range notes {
				noted.WriteString(n.Text + "\n")
			}
			if err != nil {
				noted.WriteString("error: " + err.Error() + "\n")
			}
			write(t, home, changes)
			installed := files(t, home)

			again, _, _ := agent.Plan(scope, binary, want)
			require.Empty(t, again, "the second time")
			changes, _, err = agent.Removal(scope, binary)
			if err == nil {
				write(t, home, changes)
			}
			left := files(t, home)
			if !slices.Contains(words, "(old)") {
				require.Equal(t, before, left, "after taking it out")
				left = nil
			}
			check(t, file, archive, before, installed, left, strings.ReplaceAll(noted.String(), home, "HOME"))
		})
	}
}

// tree writes the files before into a home folder.
func tree(t *testing.T, archive *txtar.Archive) string {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(filepath.Join(home, "project"), 0o755))
	for _, f := range archive.Files {
		if isWanted(f.Name) {
			continue
		}
		path := filepath.Join(home, filepath.FromSlash(f.Name))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(strings.ReplaceAll(string(f.Data), crlf+"\n", "\r\n")), 0o600))
	}
	return home
}

// isWanted reports whether a file is an expected result.
func isWanted(name string) bool {
	return strings.HasPrefix(name, "want/") || strings.HasPrefix(name, "left/") || name == "notes"
}

// options keep records beside the home folder.
func options(home string) setup.Options {
	return setup.Options{Home: home, Project: filepath.Join(home, "project"), Records: home + ".records/setup.json"}
}

func find(t *testing.T, home, name string) setup.Agent {
	t.Helper()
	for _, a := range setup.Find(options(home)) {
		if a.Name == name {
			return a
		}
	}
	require.Fail(t, "no such agent", name)
	return setup.Agent{}
}

// files returns the contents of all files below a folder, by name.
func files(t *testing.T, root string) map[string]string {
	t.Helper()
	all := map[string]string{}
	require.NoError(t, filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		rel, _ := filepath.Rel(root, path)
		all[filepath.ToSlash(rel)] = string(data)
		return err
	}))
	return all
}

// check compares the results with the archive, or rewrites it.
func check(t *testing.T, file string, archive *txtar.Archive, before, after, left map[string]string, noted string) {
	t.Helper()
	got := &txtar.Archive{Comment: archive.Comment}
	for _, f := range archive.Files {
		if !isWanted(f.Name) {
			got.Files = append(got.Files, f)
		}
	}
	for _, part := range []struct {
		name  string
		files map[string]string
	}{{"want/", after}, {"left/", left}} {
		for _, name := range slices.Sorted(maps.Keys(part.files)) {
			if old, there := before[name]; !there || old != part.files[name] {
				got.Files = append(got.Files, txtar.File{Name: part.name + name, Data: []byte(strings.ReplaceAll(part.files[name], "\r\n", crlf+"\n"))})
			}
		}
	}
	if noted != "" {
		got.Files = append(got.Files, txtar.File{Name: "notes", Data: []byte(noted)})
	}
	if *update {
		require.NoError(t, os.WriteFile(file, txtar.Format(got), 0o644))
		return
	}
	require.Equal(t, string(txtar.Format(archive)), string(txtar.Format(got)))
}

func TestFind(t *testing.T) {
	home, bin := t.TempDir(), t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(home, ".claude"), 0o755))
	require.NoError(t, os.MkdirAll(filepath.Join(home, "elsewhere"), 0o755))
	name := "gemini"
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	require.NoError(t, os.WriteFile(filepath.Join(bin, name), nil, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(bin, "cursor"), nil, 0o644)) // cannot be run
	found := map[string][]string{}
	for _, a := range setup.Find(setup.Options{Home: home, Path: bin, Homes: map[string]string{agents.Codex: filepath.Join(home, "elsewhere")}}) {
		found[a.Name] = a.Found
		require.Equal(t, len(a.Found) > 0, a.Installed())
	}
	require.Equal(t, map[string][]string{
		agents.ClaudeCode: {"~/.claude"},
		agents.GeminiCLI:  {filepath.Join(bin, name)},
		agents.Codex:      {"~/elsewhere"},
		agents.Cursor:     {},
	}, found)
	for _, a := range setup.Find(setup.Options{Home: t.TempDir(), Path: "." + string(os.PathListSeparator) + "bin"}) {
		require.False(t, a.Installed(), a.Name)
	}
}

// An agent may have been set up in folders that no variable names now.
func TestOtherFoldersOfSettings(t *testing.T) {
	home := t.TempDir()
	work, gone := filepath.Join(home, ".claude-work"), filepath.Join(home, "gone")
	for _, folder := range []string{work, filepath.Join(home, ".claude")} {
		require.NoError(t, os.MkdirAll(folder, 0o755))
	}
	find := func(o setup.Options) (all []setup.Agent) {
		o.Home, o.Project = home, filepath.Join(home, "project")
		for _, a := range setup.Find(o) {
			if a.Name == agents.ClaudeCode {
				all = append(all, a)
			}
		}
		return all
	}
	files := func(a setup.Agent, scope setup.Scope) (paths []string) {
		changes, _, err := a.Plan(scope, binary, setup.Want{Hooks: true, MCP: true})
		require.NoError(t, err)
		for _, c := range changes {
			paths = append(paths, c.File)
		}
		return paths
	}
	others := map[string][]string{agents.ClaudeCode: {work, gone, filepath.Join(home, ".claude")}}
	all := find(setup.Options{Others: others})
	require.Len(t, all, 2)
	require.False(t, all[0].Other)
	require.Equal(t, "Claude Code (~/.claude-work)", all[1].Title)
	require.ElementsMatch(t, []string{filepath.Join(work, "settings.json"), filepath.Join(work, ".claude.json")}, files(all[1], setup.User))
	require.NotEmpty(t, files(all[0], setup.Project))
	require.Empty(t, files(all[1], setup.Project), "they are the same")

	all = find(setup.Options{Homes: map[string]string{agents.ClaudeCode: work}, Others: others})
	require.Len(t, all, 2)
	require.ElementsMatch(t, []string{filepath.Join(home, ".claude", "settings.json"), filepath.Join(home, ".claude.json")}, files(all[1], setup.User))
}

func TestFoldersOfOnesOwn(t *testing.T) {
	home := t.TempDir()
	o := setup.Options{Home: home, Homes: map[string]string{agents.Codex: t.TempDir(), agents.ClaudeCode: t.TempDir()}}
	for name, want := range map[string][]string{
		agents.Codex:      {filepath.Join(o.Homes[agents.Codex], "config.toml"), filepath.Join(o.Homes[agents.Codex], "hooks.json")},
		agents.ClaudeCode: {filepath.Join(o.Homes[agents.ClaudeCode], ".claude.json"), filepath.Join(o.Homes[agents.ClaudeCode], "settings.json")},
	} {
		for _, a := range setup.Find(o) {
			if a.Name != name {
				continue
			}
			changes, _, err := a.Plan(setup.User, binary, setup.Want{Hooks: true, MCP: true})
			require.NoError(t, err)
			var got []string
			for _, c := range changes {
				got = append(got, c.File)
			}
			slices.Sort(got)
			for i := range want {
				want[i] = filepath.Join(resolved(t, filepath.Dir(want[i])), filepath.Base(want[i]))
			}
			require.Equal(t, want, got)
		}
	}
}

func resolved(t *testing.T, path string) string {
	t.Helper()
	real, err := filepath.EvalSymlinks(path)
	require.NoError(t, err)
	return real
}

// apply plans and applies for Claude Code.
func apply(t *testing.T, home string, scope setup.Scope) (setup.Proposal, *notes.Journal, error) {
	t.Helper()
	p, err := setup.Propose([]setup.Agent{find(t, home, agents.ClaudeCode), find(t, home, agents.GeminiCLI)}, scope, binary, setup.Want{Hooks: true, MCP: true})
	journal := notes.OpenJournal(filepath.Join(t.TempDir(), "journal"))
	if err != nil {
		return p, journal, err
	}
	return p, journal, options(home).Apply(context.Background(), journal, p.Changes)
}

// What is set up is taken back by its removal, and not by undoing a save.
func TestApplyAndRemove(t *testing.T) {
	home := resolved(t, t.TempDir())
	file := filepath.Join(home, ".claude", "settings.json")
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
	require.NoError(t, os.WriteFile(file, []byte("{\n  \"a\": 1\n}\n"), 0o640))
	require.NoError(t, os.Chmod(file, 0o640)) // whatever the umask
	before := files(t, home)
	_, journal, err := apply(t, home, setup.User)
	require.NoError(t, err)
	require.Len(t, files(t, home), 3)
	info, err := os.Stat(file)
	require.NoError(t, err)
	if runtime.GOOS != "windows" {
		require.Equal(t, fs.FileMode(0o640), info.Mode().Perm())
		info, err = os.Stat(filepath.Join(home, ".claude.json"))
		require.NoError(t, err)
		require.Equal(t, fs.FileMode(0o600), info.Mode().Perm())
	}
	after := files(t, home)
	_, err = journal.Undo(t.Context())
	require.ErrorIs(t, err, notes.ErrNoRecord)
	require.Equal(t, after, files(t, home))
	p, err := setup.ProposeRemoval([]setup.Agent{find(t, home, agents.ClaudeCode), find(t, home, agents.GeminiCLI)}, []setup.Scope{setup.User}, binary)
	require.NoError(t, err)
	require.NoError(t, options(home).Apply(t.Context(), journal, p.Changes))
	require.Equal(t, before, files(t, home))
}

func TestChangedMeanwhile(t *testing.T) {
	home := resolved(t, t.TempDir())
	p, err := setup.Propose([]setup.Agent{find(t, home, agents.ClaudeCode)}, setup.User, binary, setup.Want{Hooks: true, MCP: true})
	require.NoError(t, err)
	file := p.Changes[len(p.Changes)-1].File
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
	require.NoError(t, os.WriteFile(file, []byte("{}"), 0o600))
	before := files(t, home)
	err = options(home).Apply(t.Context(), notes.OpenJournal(t.TempDir()), p.Changes)
	require.ErrorIs(t, err, notes.ErrChanged)
	require.Equal(t, before, files(t, home))
}

func TestFilesThatAreNotWritten(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("modes and links are others there")
	}
	outside := resolved(t, t.TempDir())
	require.NoError(t, os.WriteFile(filepath.Join(outside, "settings.json"), []byte("{}"), 0o600))
	for _, tt := range []struct {
		name  string
		scope setup.Scope
		make  func(t *testing.T, home string)
		want  string
	}{
		{"read-only", setup.User, func(t *testing.T, home string) {
			file := filepath.Join(home, ".gemini", "settings.json")
			require.NoError(t, os.WriteFile(file, []byte("{}"), 0o444))
			require.NoError(t, os.Chmod(file, 0o444)) // whatever the umask
		}, `Gemini CLI: ~/.gemini/settings.json is read-only (mode 0444): make it writable first (chmod u+w)`},
		{"a link out of the home folder", setup.User, func(t *testing.T, home string) {
			require.NoError(t, os.Symlink(filepath.Join(outside, "settings.json"), filepath.Join(home, ".gemini", "settings.json")))
		}, `Gemini CLI: ~/.gemini/settings.json leads to ` + filepath.Join(outside, "settings.json") + `, which is outside the home folder: memcore does not change it there`},
		{"a link out of the project", setup.Project, func(t *testing.T, home string) {
			require.NoError(t, os.WriteFile(filepath.Join(home, "mine.json"), []byte("{}"), 0o600))
			require.NoError(t, os.Symlink("../mine.json", filepath.Join(home, "project", ".mcp.json")))
		}, `Claude Code: .mcp.json leads to HOME/mine.json, which is outside the project: memcore does not change it there`},
		{"a link to nothing", setup.User, func(t *testing.T, home string) {
			require.NoError(t, os.Symlink("nothing.json", filepath.Join(home, ".gemini", "settings.json")))
		}, `Gemini CLI: ~/.gemini/settings.json is a symbolic link to a file that does not exist: make that file, or remove the link`},
		{"no text", setup.User, func(t *testing.T, home string) {
			require.NoError(t, os.WriteFile(filepath.Join(home, ".gemini", "settings.json"), []byte("{\"\xff\": 1}"), 0o600))
		}, `Gemini CLI: ~/.gemini/settings.json: it is not UTF-8 text`},
		{"a folder", setup.User, func(t *testing.T, home string) {
			require.NoError(t, os.Mkdir(filepath.Join(home, ".gemini", "settings.json"), 0o755))
		}, `Gemini CLI: ~/.gemini/settings.json: it is a folder, not a file`},
		{"nested too deep", setup.User, func(t *testing.T, home string) {
			require.NoError(t, os.WriteFile(filepath.Join(home, ".gemini", "settings.json"), []byte(strings.Repeat("[", 4<<20)), 0o600))
		}, `Gemini CLI: ~/.gemini/settings.json: it has more than 100000 objects and lists`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			home := resolved(t, t.TempDir())
			require.NoError(t, os.MkdirAll(filepath.Join(home, ".gemini"), 0o755))
			require.NoError(t, os.MkdirAll(filepath.Join(home, "project"), 0o755))
			tt.make(t, home)
			_, _, err := apply(t, home, tt.scope)
			require.EqualError(t, err, strings.ReplaceAll(tt.want, "HOME", home))
			_, err = os.Lstat(filepath.Join(home, ".claude.json"))
			require.ErrorIs(t, err, fs.ErrNotExist, "nothing is half done")
		})
	}
}

// If one file cannot be written, all stay. This shows only while they are written.
func TestOneFileThatCannotBeWritten(t *testing.T) {
	if runtime.GOOS == "windows" || os.Geteuid() == 0 {
		t.Skip("this user may write everywhere")
	}
	home := resolved(t, t.TempDir())
	folder := filepath.Join(home, ".gemini")
	require.NoError(t, os.MkdirAll(folder, 0o555))
	t.Cleanup(func() { os.Chmod(folder, 0o755) })
	_, _, err := apply(t, home, setup.User)
	require.ErrorIs(t, err, fs.ErrPermission)
	require.Empty(t, files(t, home))
}

// A link within the home folder stays, and its file is changed.
func TestLinkWithinHome(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need rights there")
	}
	home := resolved(t, t.TempDir())
	kept := filepath.Join(home, "dotfiles", "claude")
	require.NoError(t, os.MkdirAll(kept, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(kept, "settings.json"), []byte("{}\n"), 0o600))
	require.NoError(t, os.Symlink(kept, filepath.Join(home, ".claude")))
	require.NoError(t, os.WriteFile(filepath.Join(home, "dotfiles", "gemini.json"), []byte("{}\n"), 0o600))
	require.NoError(t, os.Mkdir(filepath.Join(home, ".gemini"), 0o755))
	link := filepath.Join(home, ".gemini", "settings.json")
	require.NoError(t, os.Symlink("../dotfiles/gemini.json", link))
	_, _, err := apply(t, home, setup.User)
	require.NoError(t, err)
	info, err := os.Lstat(link)
	require.NoError(t, err)
	require.NotZero(t, info.Mode()&fs.ModeSymlink)
	for _, name := range []string{"claude/settings.json", "gemini.json"} {
		data, err := os.ReadFile(filepath.Join(home, "dotfiles", filepath.FromSlash(name)))
		require.NoError(t, err)
		require.Contains(t, string(data), "memcore hook", name)
	}
}

func TestBothScopesAreTold(t *testing.T) {
	home := resolved(t, t.TempDir())
	require.NoError(t, os.Mkdir(filepath.Join(home, "project"), 0o755))
	_, _, err := apply(t, home, setup.User)
	require.NoError(t, err)
	p, _, err := apply(t, home, setup.Project)
	require.NoError(t, err)
	require.Contains(t, p.Notes, setup.Note{Agent: agents.ClaudeCode,
		Text: "hooks of memcore are in ~/.claude/settings.json as well, and would run twice: 'memcore uninstall --agent claude-code --user' takes them out there"})
	p, err = setup.ProposeRemoval([]setup.Agent{find(t, home, agents.ClaudeCode), find(t, home, agents.GeminiCLI)}, []setup.Scope{setup.Project, setup.User}, binary)
	require.NoError(t, err)
	require.Len(t, p.Changes, 6)
	require.NoError(t, options(home).Apply(t.Context(), notes.OpenJournal(t.TempDir()), p.Changes))
	require.Empty(t, files(t, home))
}

// Keys beside a change are not shown.
func TestSecretsAreNotShown(t *testing.T) {
	home := resolved(t, t.TempDir())
	key := "ghp_" + "x7Kq9Rz2Lm4Wv8Yt6Bn3Cd5Fg1Hj0Ps9Qw2E"
	require.NoError(t, os.WriteFile(filepath.Join(home, ".claude.json"), []byte("{\n  \"token\": \""+key+"\"\n}\n"), 0o600))
	changes, _, err := find(t, home, agents.ClaudeCode).Plan(setup.User, binary, setup.Want{MCP: true})
	require.NoError(t, err)
	require.Len(t, changes, 1)
	require.Contains(t, changes[0].After, key)
	require.NotContains(t, changes[0].Diff(), key)
	require.Contains(t, changes[0].Diff(), "+++ b/~/.claude.json")
}

func TestLook(t *testing.T) {
	project, logs := resolved(t, t.TempDir()), resolved(t, t.TempDir())
	for name, text := range map[string]string{"CLAUDE.md": "x", "GEMINI.md": "y", "docs/a.md": "zz", "code.go": "package x"} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(project, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(project, name), []byte(text), 0o600))
	}
	require.NoError(t, os.Mkdir(filepath.Join(project, "BEANS.md"), 0o755)) // no file
	require.NoError(t, os.Link(filepath.Join(project, "CLAUDE.md"), filepath.Join(project, "AGENTS.md")))
	log, err := os.ReadFile(filepath.Join("..", "..", "core", "source", "testdata", "claude-code.jsonl"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(logs, "a.jsonl"), log, 0o600))
	folder := func(path string) []source.Source {
		return []source.Source{source.NewFolder(source.FolderOptions{Path: path, Scope: source.ScopeProject, Workspace: project})}
	}
	got, err := setup.Look(t.Context(), project, folder(project), append(folder(logs), folder(filepath.Join(logs, "absent"))...))
	require.NoError(t, err)
	require.Equal(t, setup.Folder{Path: project, MemoryFiles: []string{"CLAUDE.md", "GEMINI.md"}, Markdown: 4, Logs: map[string]int{"claude-code": 1}, Longest: "docs/a.md"}, got)
	require.NoError(t, os.Mkdir(filepath.Join(project, ".git"), 0o755))
	got, err = setup.Look(t.Context(), project, nil, nil)
	require.NoError(t, err)
	require.True(t, got.Git)
	ended, end := context.WithCancel(t.Context())
	end()
	_, err = setup.Look(ended, project, folder(project), nil)
	require.ErrorIs(t, err, context.Canceled)
}
