package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core/static"
	"github.com/memcore/memcore/core/trust"
)

// configured loads the settings of a person and a project whose configuration files are given, and
// what in them is ignored.
func configured(t *testing.T, user, project string) (settings, string, error) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"home": user, "project": project} {
		beans := filepath.Join(dir, name, ".beans")
		require.NoError(t, os.MkdirAll(beans, 0o755))
		if text != "" {
			require.NoError(t, os.WriteFile(filepath.Join(beans, "config.yaml"), []byte(text), 0o600))
		}
	}
	_, err := trust.Open(filepath.Join(dir, "home", ".beans", "trust.json")).Set(t.Context(), filepath.Join(dir, "project"), true)
	require.NoError(t, err)
	c, err := loadSettings(&app{home: filepath.Join(dir, "home"), project: filepath.Join(dir, "project")})
	return c.settings, strings.Join(c.ignored, "\n"), err
}

func TestSettingsDefaults(t *testing.T) {
	s, notes, err := configured(t, "", "")
	require.NoError(t, err)
	require.Empty(t, notes)
	want := settings{Enabled: true, Redact: true, Use: true, DataDir: "data/memory", SessionsDir: "~/.ai/sessions", Embedder: "minilm", Engine: "auto", FileNames: []string{"BEANS.md"}, Exclude: []string{},
		TopK: 50, Limit: 8, TokenBudget: 600, Freshness: 150 * time.Millisecond}
	want.Shared.Publish = "markdown"
	want.Rerank.By, want.Rerank.Budget, want.Rerank.Candidates = "endpoint", 500*time.Millisecond, 16
	want.Ollama.Host, want.Ollama.Model, want.OpenAI.APIKeyEnv = "http://127.0.0.1:11434", "all-minilm", "OPENAI_API_KEY"
	want.staticSettings = s.staticSettings // below
	want.Daemon.Start, want.Daemon.Idle, want.Daemon.Memory = true, 30*time.Minute, 512
	want.Injection.Policy = "frame"
	want.Hook.Budget, want.Hook.Log = 300*time.Millisecond, true
	want.Reflect.By, want.Reflect.MaxSteps, want.Reflect.MaxTokens, want.Reflect.Timeout = "openai", 12, 100_000, 2*time.Minute
	require.Equal(t, want, s)
}

// The defaults of the table are those of the library, which has them from the seeds.
func TestStaticDefaults(t *testing.T) {
	s, _, err := configured(t, "", "")
	require.NoError(t, err)
	a := &app{settings: s, home: "/home/me"}
	got := a.staticOptions(nil)
	require.Equal(t, static.DefaultNames, got.Names)
	require.Equal(t, static.DefaultPlugins, got.Plugins)
	require.Equal(t, static.DefaultExclude, got.Exclude)
	require.Equal(t, static.ImportOptions{MaxDepth: 5, MaxPerFile: 20, MaxBytes: 100 << 10, Mentions: static.DefaultMentions}, got.Imports)
	require.Equal(t, static.Limits{FileLines: 500, Lines: 200, Bytes: 50 << 10, WarnBytes: 30 << 10, Context: 128_000, Percent: 10, WarnPercent: 8, HardPercent: 15}, got.Limits)
	require.Equal(t, []any{".beans", 5, false, false, false, filepath.Join(a.home, ".beans")}, []any{got.Folder, got.MaxDepth, got.NoParents, got.Children, got.NoLocal, got.Beans})
	require.True(t, s.FolderTrust.Enabled)
	require.Empty(t, s.FolderTrust.TrustedFolders)
	require.False(t, s.WatchFiles || s.DebugProvenance)
	require.Equal(t, 2, got.Count("two words"), "tokens are counted, not estimated")
	require.Greater(t, got.Count(strings.Repeat("x7", 300)), 150, "encoded data is not one token")

	s, notes, err := configured(t, "memory: {fileName: MEMORY.md, maxImportDepth: 3, maxLines: 0, home: ~/notes}", "")
	require.NoError(t, err)
	require.Empty(t, notes, "names of the settings as the seeds have them")
	a.settings = s
	got = a.staticOptions(nil)
	require.Equal(t, []any{"MEMORY.md", 3, -1, filepath.Join(a.home, "notes")}, []any{got.Names[0], got.Imports.MaxDepth, got.Limits.Lines, got.Beans})
}

func TestSettingsLaterWins(t *testing.T) {
	t.Setenv("MEMCORE_TOPK", "30")
	t.Setenv("MEMCORE_EXCLUDE", "a/**,b.md")
	s, notes, err := configured(t,
		"other: {limit: 1}\nmemory:\n  limit: 2\n  tokenBudget: 200\n  topK: 10\n  ollama: {model: mine}\n",
		"memory:\n  limit: 3\n  topK: 20\n  fileNames: [AGENTS.md, BEANS.md]\n")
	require.NoError(t, err)
	require.Empty(t, notes)
	require.Equal(t, []int{3, 30, 200}, []int{s.Limit, s.TopK, s.TokenBudget})
	require.Equal(t, "mine", s.Ollama.Model)
	require.Equal(t, []string{"AGENTS.md", "BEANS.md"}, s.FileNames)
	require.Equal(t, []string{"a/**", "b.md"}, s.Exclude)
}

// A project's file comes from whoever wrote the repository.
func TestSettingsOfAProjectCannotRedirect(t *testing.T) {
	before, _, err := configured(t, "", "")
	require.NoError(t, err)
	for _, s := range knownSettings {
		if s.of != personal {
			continue
		}
		first, last, nested := strings.Cut(s.key, ".")
		text := "memory:\n  " + first + ": evil\n"
		if nested {
			text = "memory:\n  " + first + ":\n    " + last + ": evil\n"
		}
		got, notes, err := configured(t, "", text)
		require.NoError(t, err)
		if !strings.Contains(notes, "memory."+s.key+" is ignored") {
			t.Errorf("a project that sets %s: the notes are %q, want them to name it", s.key, notes)
		}
		require.Equal(t, before, got, s.key)
	}
}

func TestSettingsNameWhatIsWrong(t *testing.T) {
	for _, tt := range []struct{ user, project, want string }{
		{user: "memory: {embedder: magic}", want: `memory.embedder is "magic", want minilm or ollama or openai or none`},
		{user: "memory: {engine: 5}", want: "memory.engine is 5, want auto or flat or lancedb"},
		{user: "memory: {topK: many}", want: `memory.topK is "many", want a whole number, 1 to 10000`},
		{user: "memory: {topK: 1.5}", want: "memory.topK is 1.5, want a whole number"},
		{user: "memory: {limit: 0}", want: "memory.limit is 0, want a whole number, 1 to 1000"},
		{user: "memory: {minSimilarity: 7}", want: "memory.minSimilarity is 7, want a number, 0 to 1"},
		{user: "memory: {minSimilarity: .nan}", want: "memory.minSimilarity is NaN, want"},
		{user: "memory: {freshness: soon}", want: `memory.freshness is "soon", want a duration such as 150ms`},
		{user: "memory: {exclude: [1]}", want: "memory.exclude is [1], want a list of texts"},
		{user: "memory: {ollama: {host: [a]}}", want: "memory.ollama.host is [a], want text"},
		{user: "memory: many", want: `memory is "many", want settings below it`},
		{user: "memory: {embedder: openai}", want: "needs memory.openai.baseURL"},
		{user: "memory: [unclosed", want: "config.yaml: yaml"},
		{project: "memory: {fileNames: [.env]}", want: "memory.fileNames is [.env], want one or more names of Markdown files"},
		{project: "memory: {fileNames: [../secret.md]}", want: "want one or more names of Markdown files"},
		{project: "memory: {fileNames: []}", want: "want one or more names of Markdown files"},
	} {
		_, _, err := configured(t, tt.user, tt.project)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("settings %q %q: error %v, want %q", tt.user, tt.project, err, tt.want)
		}
	}
}

func TestSettingsUnknownKeyIsNamed(t *testing.T) {
	_, notes, err := configured(t, "memory: {colour: blue, ollama: {size: 3}}", "")
	require.NoError(t, err)
	require.Contains(t, notes, "unknown setting memory.colour")
	require.Contains(t, notes, "unknown setting memory.ollama.size")
}

// What decides is said: a person who asks why must not have to look for it.
func TestSettingsKnowWhereTheyComeFrom(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, ".beans", "config.yaml")
	require.NoError(t, os.Mkdir(filepath.Dir(file), 0o755))
	require.NoError(t, os.WriteFile(file, []byte("memory: {engine: flat, limit: 2, topK: 9}"), 0o600))
	t.Setenv("MEMCORE_TOPK", "30")
	a := &app{home: dir, project: t.TempDir()}
	for _, tt := range []struct {
		environment, flag string
		origin, hidden    string
	}{
		{"", "", "memory.engine in " + file, ""},
		{"lancedb", "", "MEMCORE_ENGINE", ""},
		{"lancedb", "auto", "--engine", "MEMCORE_ENGINE is lancedb"},
		{"", "lancedb", "--engine", "memory.engine in " + file + " is flat"},
	} {
		t.Setenv("MEMCORE_ENGINE", tt.environment)
		a.flags.engine = tt.flag
		c, err := loadSettings(a)
		require.NoError(t, err)
		if c.origin["engine"] != tt.origin || c.hidden["engine"] != tt.hidden {
			t.Errorf("MEMCORE_ENGINE=%s --engine %s: origin %q, hidden %q, want %q and %q",
				tt.environment, tt.flag, c.origin["engine"], c.hidden["engine"], tt.origin, tt.hidden)
		}
		require.Equal(t, []string{file}, c.files)
		require.Equal(t, []string{"memory.limit in " + file, "MEMCORE_TOPK", ""}, []string{c.origin["limit"], c.origin["topK"], c.origin["freshness"]})
	}
	a.flags.engine = "magic"
	_, err := loadSettings(a)
	require.ErrorContains(t, err, `--engine is "magic", want auto or flat or lancedb`)
}
