package curated

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/internal/paths"
)

// withPlugins is a fixture in which agents have installed plugins.
func withPlugins(t *testing.T) *fixture {
	w := newFixture(t, map[string]string{
		"~/.gemini/extensions/plain/gemini-extension.json":      `{"name": "plain"}`,
		"~/.gemini/extensions/plain/GEMINI.md":                  "plain context",
		"~/.gemini/extensions/plain/AGENTS.md":                  "for developers of plain",
		"~/.gemini/extensions/named/gemini-extension.json":      `{"contextFileName": ["docs/RULES.md", "gone.md", "../plain/AGENTS.md"]}`,
		"~/.gemini/extensions/named/docs/RULES.md":              "named rules",
		"~/.gemini/extensions/named/GEMINI.md":                  "not what the manifest names",
		"~/.gemini/extensions/named/memory/facts.md":            "named facts",
		"~/.gemini/extensions/stray/GEMINI.md":                  "no extension",
		"~/.gemini/extensions/extension-enablement.json":        `{}`,
		"~/.claude/plugins/cache/market/review/1.0/CLAUDE.md":   "for developers of review",
		"~/.claude/plugins/cache/market/review/1.0/memory/a.md": "review memory",
		"~/.claude/plugins/cache/market/review/0.9/memory/a.md": "review memory of an older version",
		"~/.claude/plugins/marketplaces/market/memory/a.md":     "not installed",
		"~/.claude/plugins/cache/market/other/2.0/memory/a.md":  "for another project",
		"~/.claude/plugins/cache/market/old/3.0/memory/a.md":    "of the first version of the list",
		"~/.codex/plugins/cache/shop/tidy/0.9.0/memory/a.md":    "tidy 0.9.0",
		"~/.codex/plugins/cache/shop/tidy/0.10.0/memory/a.md":   "tidy 0.10.0",
		"~/.claude/skills/pdf/SKILL.md":                         "body of a skill",
		"~/.claude/skills/pdf/memory/BEANS.md":                  "pdf memory",
		"~/.agents/skills/csv/memory/BEANS.md":                  "csv memory",
		".claude/skills/local/memory/BEANS.md":                  "skill of the project",
		"~/.beans/plugins/mine/memory/BEANS.md":                 "plugin of mine",
		"BEANS.md":                                              "project",
	})
	w.write("~/.claude/plugins/installed_plugins.json", fmt.Sprintf(`{"version": 2, "plugins": {
		"review@market": [{"scope": "user", "installPath": %q, "version": "1.0"}],
		"other@market": [{"scope": "project", "projectPath": "/elsewhere", "installPath": %q}],
		"old@market": {"installPath": %q},
		"odd@market": 7}}`,
		w.path("~/.claude/plugins/cache/market/review/1.0"), w.path("~/.claude/plugins/cache/market/other/2.0"), w.path("~/.claude/plugins/cache/market/old/3.0")))
	return w
}

func TestPluginsOfAgents(t *testing.T) {
	w := withPlugins(t)
	w.options.Trust = allIn{w.project, w.path("~/.gemini/extensions/plain"), w.path("~/.gemini/extensions/named"), w.path("~/.claude/plugins"), w.path("~/.codex/plugins/cache/shop/tidy"), w.path("~/.claude/skills/pdf"), w.path("~/.agents/skills/csv")}
	m := w.load()
	require.Equal(t, "named rules\n\nnamed facts\n\nplain context\n\nof the first version of the list\n\nreview memory\n\ntidy 0.10.0\n\npdf memory\n\ncsv memory\n\nskill of the project\n\nplugin of mine", m.Instructions())
	require.Equal(t, "~/.gemini/extensions/named/gemini-extension.json: names a file outside of its folder, which is not read", warnings(m))

	w.options.Loaded = []string{GeminiManifest}
	require.NotContains(t, w.load().Instructions(), "plain context", "Gemini CLI loads it by itself")
	require.NotContains(t, w.load().Instructions(), "named rules")
	require.Contains(t, w.load().Instructions(), "named facts", "which Gemini CLI does not load")
}

// A file for one agent reaches no other agent, and no unknown client.
func TestMemoryForOneAgent(t *testing.T) {
	w := newFixture(t, map[string]string{
		"~/.beans/plugins/mine/memory/all.md":         "for all",
		"~/.beans/plugins/mine/memory/codex.md":       "for Codex",
		"~/.beans/plugins/mine/memory/claude-code.md": "for Claude Code",
		"~/.beans/memories/codex.md":                  "what I think of Codex",
	})
	for _, tt := range []struct {
		others []string
		want   string
	}{
		{[]string{"claude-code", "gemini-cli"}, "what I think of Codex\n\nfor all\n\nfor Codex"},
		{[]string{"claude-code", "codex"}, "what I think of Codex\n\nfor all"},
	} {
		w.options.Others = tt.others
		require.Equal(t, tt.want, w.load().Instructions())
	}
	var reasons []string
	for _, f := range w.load().Files {
		if f.Reason != "" {
			reasons = append(reasons, f.Path+": "+f.Reason)
		}
	}
	require.Equal(t, []string{"~/.beans/plugins/mine/memory/claude-code.md: it is for the agent claude-code alone",
		"~/.beans/plugins/mine/memory/codex.md: it is for the agent codex alone"}, reasons)
}

// Each plugin needs its own decision, since strangers write them.
func TestPluginsNeedTrustOfTheirOwn(t *testing.T) {
	const plain = "~/.gemini/extensions/plain"
	for _, tt := range []struct {
		name    string
		trusted []string
		want    bool
	}{
		{"nothing is trusted", nil, false},
		{"the home folder", []string{"~/"}, false},
		{"the folder of the agent", []string{"~/.gemini"}, false},
		{"another extension", []string{"~/.gemini/extensions/named"}, false},
		{"all extensions", []string{"~/.gemini/extensions"}, true},
		{"this one", []string{plain}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := withPlugins(t)
			trusted := allIn{}
			for _, folder := range tt.trusted {
				trusted = append(trusted, filepath.Clean(w.path(folder)))
			}
			w.options.Trust = trusted
			m := w.load()
			for _, f := range m.Files {
				if f.Path != plain+"/GEMINI.md" {
					continue
				}
				require.Equal(t, filepath.Clean(w.path(plain)), f.Plugin)
				require.Equal(t, !tt.want, f.Untrusted)
				if !tt.want {
					require.Equal(t, plain+" is not trusted", f.Reason)
				}
				require.Equal(t, tt.want, f.Lines > 0)
				return
			}
			t.Errorf("%s/GEMINI.md is not among the files", plain)
		})
	}
}

// A linked extension is read and trusted where it is developed.
func TestLinkedExtension(t *testing.T) {
	w := newFixture(t, map[string]string{
		"~/code/ext/gemini-extension.json": `{"contextFileName": "CONTEXT.md"}`,
		"~/code/ext/CONTEXT.md":            "linked",
	})
	w.write("~/.gemini/extensions/ext/.gemini-extension-install.json", fmt.Sprintf(`{"source": %q, "type": "link"}`, w.path("~/code/ext")))
	w.options.Trust = allIn{w.path("~/.gemini/extensions"), w.path("~/code")}
	require.Equal(t, map[string]string{"~/code/ext/CONTEXT.md": "~/code/ext is not trusted"}, reasons(w.load()))
	w.options.Trust = allIn{w.path("~/code/ext")}
	require.Equal(t, "linked", w.load().Instructions())
}

// Files that only agents write have no effect in projects.
func TestProjectsListNoPlugins(t *testing.T) {
	w := newFixture(t, map[string]string{"~/private/memory/BEANS.md": "private", "~/private/gemini-extension.json": "{}", "~/private/GEMINI.md": "private",
		"plugins/mine/memory/BEANS.md": "mine"})
	for _, folder := range []string{"plugins", "~/.beans/plugins"} {
		w.write(folder+"/installed_plugins.json", fmt.Sprintf(`{"plugins": {"a@b": [{"scope": "user", "installPath": %q}]}}`, w.path("~/private")))
		w.write(folder+"/linked/.gemini-extension-install.json", fmt.Sprintf(`{"source": %q, "type": "link"}`, w.path("~/private")))
	}
	w.options.Trust = allIn{w.project, w.path("~/private")}
	require.Equal(t, "mine", w.load().Instructions())
}

// A link to memory elsewhere does not extend trust.
func TestPluginThatIsALink(t *testing.T) {
	w := newFixture(t, map[string]string{"~/elsewhere/memory/BEANS.md": "elsewhere", "~/.claude/skills/one/memory/BEANS.md": "one"})
	w.link(w.path("~/elsewhere"), "~/.claude/skills/two")
	w.options.Trust = allIn{w.path("~/.claude/skills")}
	m := w.load()
	require.Equal(t, "one", m.Instructions())
	require.Equal(t, map[string]string{"~/.claude/skills/two/memory/BEANS.md": "~/.claude/skills/two is not trusted"}, reasons(m))
}

func TestCompareVersions(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want int
	}{
		{"0.9.0", "0.10.0", -1}, {"1.0.0", "1.0.0", 0}, {"local", "9.0.0", 1}, {"9.0.0", "local", -1}, {"abc", "1.0", -1}, {"b", "a", 1},
	} {
		if got := compareVersions(tt.a, tt.b); got != tt.want {
			t.Errorf("compareVersions(%q, %q) = %d, want %d", tt.a, tt.b, got, tt.want)
		}
	}
}

// For any manifests and lists, nothing outside of the extension is read, and broken ones are
// reported.
func FuzzManifests(f *testing.F) {
	f.Add([]byte(`{"contextFileName": ["../../secret.md", "GEMINI.md"]}`), []byte(`{"plugins": {"a@b": [{"installPath": "/"}]}}`))
	f.Add([]byte(`{"contextFileName": {"a": 1}}`), []byte(`[]`))
	f.Add([]byte(`{`), []byte(`{"plugins": {"a": null, "b": [null]}}`))
	home := paths.Resolve(f.TempDir())
	write := func(t require.TestingT, name string, text []byte) {
		file := filepath.Join(home, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, text, 0o644))
	}
	write(f, ".gemini/extensions/secret.md", []byte("secret"))
	write(f, ".gemini/secret.md", []byte("secret"))
	write(f, ".gemini/extensions/x/GEMINI.md", []byte("context"))
	f.Fuzz(func(t *testing.T, manifest, list []byte) {
		write(t, ".gemini/extensions/x/gemini-extension.json", manifest)
		write(t, ".claude/plugins/installed_plugins.json", list)
		m, err := New(Options{Dir: home, Home: home, Trust: allIn{filepath.Join(home, ".gemini/extensions/x")}}).Load(t.Context())
		require.NoError(t, err)
		require.NotContains(t, m.Instructions(), "secret")
	})
}
