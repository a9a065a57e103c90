package config

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core/trust"
)

// configured loads the configuration files of a user and a trusted project, and returns ignored
// settings.
func configured(t *testing.T, user, project string) (Settings, string, error) {
	t.Helper()
	c, err := loaded(t, user, project, true)
	return c.Settings, strings.Join(append(c.Ignored, c.Mistakes...), "\n"), err
}

func loaded(t *testing.T, user, project string, trusted bool) (Loaded, error) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"home": user, "project": project} {
		beans := filepath.Join(dir, name, ".beans")
		require.NoError(t, os.MkdirAll(beans, 0o755))
		if text != "" {
			require.NoError(t, os.WriteFile(filepath.Join(beans, "config.yaml"), []byte(text), 0o600))
		}
	}
	_, err := trust.Open(filepath.Join(dir, "home", ".beans", "trust.json")).Set(t.Context(), filepath.Join(dir, "project"), trusted)
	require.NoError(t, err)
	return load(&Config{Home: filepath.Join(dir, "home"), Project: filepath.Join(dir, "project")})
}

func load(c *Config) (Loaded, error) {
	err := c.Load()
	return c.Loaded, err
}

// Settings of whoever runs the tests have no effect on them.
func TestMain(m *testing.M) {
	for _, variable := range os.Environ() {
		if name, _, _ := strings.Cut(variable, "="); strings.HasPrefix(name, variablePrefix) {
			_ = os.Unsetenv(name)
		}
	}
	os.Exit(m.Run())
}

func TestSettingsDefaults(t *testing.T) {
	s, notes, err := configured(t, "", "")
	require.NoError(t, err)
	require.Empty(t, notes)
	want := Settings{Enabled: true, Redact: true, DataDir: "data/memory", SessionsDir: "~/.ai/sessions", Embedder: "minilm", Engine: "auto", Exclude: []string{},
		Lines: 8, DefaultLimit: 5, TokenBudget: 600, Freshness: 150 * time.Millisecond}
	want.Ollama.Host, want.Ollama.Model, want.OpenAI.APIKeyEnv = "http://127.0.0.1:11434", "all-minilm", "OPENAI_API_KEY"
	want.CuratedSettings = s.CuratedSettings // below
	want.Daemon.Start, want.Daemon.Idle = true, 30*time.Minute
	want.Injection.Policy = "frame"
	want.Hook.Budget, want.Hook.Log, want.Hook.Index = 300*time.Millisecond, true, IndexOff
	want.Save.RequireConfirmation = true
	want.Service.KeyEnv = "MEMCORE_SERVICE_KEY"
	require.Equal(t, want, s)
}

func TestSettingsLaterWins(t *testing.T) {
	t.Setenv("MEMCORE_DEFAULTLIMIT", "30")
	t.Setenv("MEMCORE_EXCLUDE", "a/**,b.md")
	s, notes, err := configured(t,
		"other: {lines: 1}\nmemory:\n  lines: 2\n  tokenBudget: 200\n  defaultLimit: 10\n  ollama: {model: mine}\n",
		"memory:\n  lines: 3\n  defaultLimit: 20\n  fileNames: [AGENTS.md, BEANS.md]\n")
	require.NoError(t, err)
	require.Empty(t, notes)
	require.Equal(t, []int{3, 30, 200}, []int{s.Lines, s.DefaultLimit, s.TokenBudget})
	require.Equal(t, "mine", s.Ollama.Model)
	require.Equal(t, []string{"AGENTS.md", "BEANS.md"}, s.FileNames)
	require.Equal(t, []string{"a/**", "b.md"}, s.Exclude)
}

// A project's file comes with the repository.
func TestSettingsOfAProjectCannotRedirect(t *testing.T) {
	before, _, err := configured(t, "", "")
	require.NoError(t, err)
	for _, s := range Known {
		if s.Of != Personal {
			continue
		}
		first, last, nested := strings.Cut(s.Key, ".")
		text := "memory:\n  " + first + ": evil\n"
		if nested {
			text = "memory:\n  " + first + ":\n    " + last + ": evil\n"
		}
		got, notes, err := configured(t, "", text)
		require.NoError(t, err)
		if !strings.Contains(notes, "memory."+s.Key+" is ignored") {
			t.Errorf("a project that sets %s: the notes are %q, want them to name it", s.Key, notes)
		}
		require.Equal(t, before, got, s.Key)
	}
}

// A stranger's repository hides its own files only: a half-life of 1ns would silence the user's
// memory.
func TestSettingsOfAStrangerConcernItsFiles(t *testing.T) {
	var all []string
	for _, s := range Known {
		if s.Of == AnyProject {
			all = append(all, s.Key)
		}
	}
	require.Equal(t, []string{"exclude"}, all)
}

func TestSettingsNameWhatIsWrong(t *testing.T) {
	for _, tt := range []struct{ user, want string }{
		{user: "memory: {embedder: Magic!}", want: `memory.embedder is "Magic!", want minilm, ollama, openai, none, or the name of a model that 'memcore model list' shows`},
		{user: "memory: {engine: 5}", want: "memory.engine is 5, want auto or flat or lancedb"},
		{user: "memory: {lines: many}", want: `memory.lines is "many", want a whole number, 0 to 8`},
		{user: "memory: {lines: 1.5}", want: "memory.lines is 1.5, want a whole number"},
		{user: "memory: {lines: 9}", want: "memory.lines is 9, want a whole number, 0 to 8"},
		{user: "memory: {minSimilarity: 7}", want: "memory.minSimilarity is 7, want a number, 0 to 1"},
		{user: "memory: {minSimilarity: .nan}", want: "memory.minSimilarity is NaN, want"},
		{user: "memory: {freshness: soon}", want: `memory.freshness is "soon", want a duration such as 500ms`},
		{user: "memory: {exclude: [1]}", want: "memory.exclude is [1], want a list of texts"},
		{user: "memory: {ollama: {host: [a]}}", want: "memory.ollama.host is [a], want text"},
		{user: "memory: many", want: `memory is "many", want settings below it`},
		{user: "memory: {embedder: openai}", want: "needs memory.openai.baseURL"},
		{user: "memory: [unclosed", want: "config.yaml: yaml"},
	} {
		_, _, err := configured(t, tt.user, "")
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("settings %q: error %v, want %q", tt.user, err, tt.want)
		}
	}
}

func TestSettingsUnknownKeyIsNamed(t *testing.T) {
	_, notes, err := configured(t, "memory: {colour: blue, ollama: {size: 3}}", "")
	require.NoError(t, err)
	require.Contains(t, notes, "unknown setting memory.colour")
	require.Contains(t, notes, "unknown setting memory.ollama.size")
}

// A wrong value in a workspace's file loses only itself. While it is unknown which files it hides,
// the folder is not indexed, and its curated files are not used.
func TestWrongValueLosesOnlyItself(t *testing.T) {
	for text, want := range map[string]struct {
		exclude  []string
		unknown  bool // what to exclude
		curated  bool // which curated files to use, in trusted workspaces
		trusted  bool // said in trusted workspaces only
		mistakes string
	}{
		"memory: {exclude: [a.md], minSimilarity: oops}":                 {exclude: []string{"a.md"}, trusted: true, mistakes: `memory.minSimilarity is "oops", want a number, 0 to 1; the value is ignored`},
		"memory: {exclude: [a.md], freshness: {a: 1}, minSimilarity: 0}": {exclude: []string{"a.md"}, trusted: true, mistakes: "memory.freshness is map[a:1], want a duration"},
		"memory: {exclude: 5, minSimilarity: 0.5}":                       {unknown: true, mistakes: "memory.exclude is 5, want a list of texts; the value is ignored\nthe workspace is not indexed: its memory.exclude is unknown"},
		"memory: {exclude: {private.md: true}}":                          {unknown: true, mistakes: "memory.exclude is map[private.md:true], want a list of texts"},
		"memory: {exclude: {private.md: }}":                              {unknown: true, mistakes: "the workspace is not indexed"},
		"memory: {exclude: [*.md]}":                                      {unknown: true, curated: true, mistakes: "the file is ignored\nthe workspace is not indexed: its memory.exclude is unknown"},
		"memory: 5":                                                      {unknown: true, curated: true, mistakes: "memory is 5, want settings below it; the file is ignored"},
		"memory: {excludePaths: [vendor, 5]}":                            {curated: true, trusted: true, mistakes: "the value is ignored\nagents get none of the workspace's memory files: its memory.excludePaths is unknown"},
		"memory: {excludePaths: {vendor: true}}":                         {curated: true, trusted: true, mistakes: "memory.excludePaths is map[vendor:true], want a list of texts"},
		"memory: {loadLocalFiles: nope}":                                 {curated: true},
		"memory: {imports: {enabled: nope}}":                             {curated: true},
		"memory: {searchParents: nope}":                                  {curated: true},
		"memory: {searchChildren: nope}":                                 {curated: true},
		"memory: {fileName: .env}":                                       {curated: true, trusted: true, mistakes: "its memory.fileNames is unknown"},
		"memory: {fileName: {a: b}}":                                     {curated: true},
	} {
		for _, trusted := range []bool{false, true} {
			c, err := loaded(t, "", text, trusted)
			require.NoError(t, err, text)
			require.Equal(t, append([]string{}, want.exclude...), c.Settings.Exclude, text)
			require.Equal(t, want.unknown, c.NotIndexed() != nil, text)
			require.Equal(t, want.curated && trusted, c.NotCurated() != nil, text)
			if trusted || !want.trusted {
				require.Contains(t, strings.Join(c.Mistakes, "\n"), want.mistakes, text)
			}
		}
	}
	c, err := loaded(t, "", "memory: {exclude: 5, minSimilarity: 0.5}", true)
	require.NoError(t, err)
	require.Equal(t, 0.5, c.Settings.MinSimilarity)
	for _, names := range []string{"[.env]", "[../secret.md]", "[]"} {
		c, err := loaded(t, "", "memory: {fileNames: "+names+", lines: 3}", true)
		require.NoError(t, err)
		require.Contains(t, c.Mistakes[0], "want one or more names of Markdown files, without a folder; the value is ignored")
		require.Equal(t, []string{"BEANS.md"}, c.Settings.FileNames)
		require.Equal(t, 3, c.Settings.Lines)
	}
}

// What is commented out is absent.
func TestNothingBelowAKey(t *testing.T) {
	for _, text := range []string{"memory:", "memory: {}", "memory:\n  exclude:\n  # - a.md\n  loadLocalFiles:\n"} {
		for _, mine := range []bool{false, true} {
			user, project := "", text
			if mine {
				user, project = text, ""
			}
			c, err := loaded(t, user, project, true)
			require.NoError(t, err, text)
			require.Empty(t, c.Mistakes, text)
			require.Empty(t, c.Unknown, text)
			require.True(t, c.Settings.LoadLocalFiles)
		}
	}
}

// A variable says what a workspace's file cannot.
func TestVariableMakesKnown(t *testing.T) {
	t.Setenv("MEMCORE_EXCLUDE", "a.md")
	for _, text := range []string{"memory: {exclude: 5}", "memory: {exclude: [*.md]}"} {
		c, err := loaded(t, "", text, false)
		require.NoError(t, err)
		require.NoError(t, c.NotIndexed())
		require.Len(t, c.Mistakes, 1)
		require.Contains(t, c.Mistakes[0], "is ignored")
	}
}

// The settings that choose curated files hide some, so none has a safe default.
func TestSettingsOfCuratedFiles(t *testing.T) {
	var all []string
	for _, s := range Known {
		if slices.Contains(ofCurated, s.Key) {
			require.Equal(t, TrustedProject, s.Of, s.Key)
			all = append(all, s.Key)
		}
	}
	require.ElementsMatch(t, ofCurated, all)
}

// Misspelt names say what they probably mean. Names of other programs are left alone.
func TestMisspeltNames(t *testing.T) {
	for text, want := range map[string]string{
		"memory: {liness: 3}":                                "unknown setting memory.liness is ignored: did you mean memory.lines?",
		"memory: {lins: 3}":                                  "unknown setting memory.lins is ignored: did you mean memory.lines?",
		"memory: {hook: {budgt: 3s}}":                        "unknown setting memory.hook.budgt is ignored: did you mean memory.hook.budget?",
		"memory: {file_names: [A.md]}":                       "memory.file_names is ignored: did you mean memory.fileNames?",
		"memory: {watchFiles: false}":                        "unknown setting memory.watchfiles is ignored: changed files are always read again",
		"memory: {dbPath: x}":                                "unknown setting memory.dbpath is ignored: memory.dataDir has facts and episodes as files",
		"memory: {maxDepth: 5}":                              "unknown setting memory.maxdepth is ignored: folders are looked through five levels deep",
		"memory: {colour: blue}":                             "unknown setting memory.colour is ignored",
		"memory: {hook_budget: 3s}":                          "unknown setting memory.hook_budget is ignored: did you mean memory.hook.budget?",
		"memory: {hook: {idle: 3s}}":                         "unknown setting memory.hook.idle is ignored: did you mean memory.daemon.idle?",
		"memory: {apiKeyEnv: KEY}":                           "did you mean memory.openai.apiKeyEnv or memory.reflect.apiKeyEnv?",
		"hook: {budget: soon}":                               "hook.budget is no setting: did you mean memory.hook.budget?",
		"token-budget: 300":                                  "token-budget is no setting: did you mean memory.tokenBudget?",
		"memery: {lines: 3, tokenBudget: 2}":                 "memery is no setting: did you mean memory?",
		"exclude: [a.md]":                                    "exclude is no setting: did you mean memory.exclude?",
		"lines: 3":                                           "lines is no setting: did you mean memory.lines?",
		"lins: 3":                                            "",
		"hook: {budget: 3s}":                                 "hook.budget is no setting: did you mean memory.hook.budget?",
		"lines: a lot":                                       "",
		"model: gpt\nprovider: {name: x}\nmemos: 3\nhost: x": "",
	} {
		c, err := loaded(t, text, "", true)
		require.NoError(t, err, text)
		if want == "" {
			require.Empty(t, c.Mistakes, text)
			continue
		}
		require.Len(t, c.Mistakes, 1, text)
		require.True(t, strings.HasSuffix(c.Mistakes[0], want), "%s: %s", text, c.Mistakes[0])
	}
	t.Setenv("MEMCORE_TOKEN_BUDGET", "3")
	t.Setenv("MEMCORE_TOKEN", "secret")
	t.Setenv("MEMCORE_USER", "ada")
	t.Setenv("MEMCACHED_LIMIT", "3")
	c, err := loaded(t, "", "", true)
	require.NoError(t, err)
	require.Equal(t, []string{"MEMCORE_TOKEN_BUDGET in the environment is no setting: did you mean MEMCORE_TOKENBUDGET?"}, c.Mistakes)
}

// The origin of each setting is known.
func TestSettingsKnowWhereTheyComeFrom(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, ".beans", "config.yaml")
	require.NoError(t, os.Mkdir(filepath.Dir(file), 0o755))
	require.NoError(t, os.WriteFile(file, []byte("memory: {engine: flat, lines: 2, defaultLimit: 9}"), 0o600))
	t.Setenv("MEMCORE_DEFAULTLIMIT", "30")
	a := &Config{Home: dir, Project: t.TempDir()}
	for _, tt := range []struct {
		environment, flag, origin string
	}{
		{"", "", "memory.engine in " + file},
		{"lancedb", "", "MEMCORE_ENGINE"},
		{"lancedb", "auto", "--engine"},
		{"", "lancedb", "--engine"},
	} {
		t.Setenv("MEMCORE_ENGINE", tt.environment)
		a.Flags.Engine = tt.flag
		c, err := load(a)
		require.NoError(t, err)
		require.Equal(t, tt.origin, c.Origin["engine"], "MEMCORE_ENGINE=%s --engine %s", tt.environment, tt.flag)
		require.Equal(t, []string{file}, c.Files)
		require.Equal(t, []string{"memory.lines in " + file, "MEMCORE_DEFAULTLIMIT", ""}, []string{c.Origin["lines"], c.Origin["defaultLimit"], c.Origin["freshness"]})
	}
	a.Flags.Engine = "magic"
	_, err := load(a)
	require.ErrorContains(t, err, `--engine is "magic", want auto or flat or lancedb`)
}
