package static

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRules(t *testing.T) {
	w := newWorld(t, map[string]string{
		".beans/rules/always.md":    "always",
		".beans/rules/tests.md":     "---\ntriggers:\n  - write tests\n  - coverage\npriority: high\n---\nabout tests",
		".beans/rules/ts.md":        "---\nglobs: ['*.ts', 'src/**/*.{js,jsx}']\n---\nabout ts",
		".beans/rules/both.md":      "---\nglobs: 'docs/'\ntriggers: deploy\n---\nabout docs",
		".beans/rules/off.md":       "---\nenabled: false\ntriggers: deploy\n---\noff",
		"~/.beans/rules/mine.md":    "---\ntriggers: 部署\n---\nmy rule",
		"~/.beans/memories/fact.md": "---\ntriggers: database\n---\nport 5432",
		"BEANS.md":                  "root",
		"web/.beans/rules/w.md":     "---\nglobs: '*.css'\n---\nabout css",
		"web/BEANS.md":              "web",
	})
	l := New(w.options)
	for _, tt := range []struct {
		request string
		paths   []string
		want    string
	}{
		{"", nil, "always"},
		{"Please WRITE tests for it", nil, "always\n\nabout tests"},
		{"writing a test", nil, "always"},
		{"raise the coverage!", nil, "always\n\nabout tests"},
		{"deploys, deployed, deploying", nil, "always\n\nabout docs"},
		{"redeploy", nil, "always"},
		{"请部署到生产环境", nil, "my rule\n==\nalways"},
		{"the databases", nil, "port 5432\n==\nalways"},
		{"", []string{"a.ts"}, "always\n\nabout ts"},
		{"", []string{"deep/er/a.ts"}, "always\n\nabout ts"},
		{"", []string{"src/x/y.jsx", "z.go"}, "always\n\nabout ts"},
		{"", []string{"x/src/y.js"}, "always"},
		{"", []string{"docs/a/b.md"}, "always\n\nabout docs"},
		{"", []string{"web/site.css"}, "always\n\nabout css"},
		{"", []string{"site.css"}, "always"},
		{"", []string{w.path("a.ts")}, "always\n\nabout ts"},
		{"", []string{filepath.Join(w.base, "elsewhere", "a.ts")}, "always\n\nabout ts"},
		{"", []string{"", "..", "\x00"}, "always"},
	} {
		m, err := l.Rules(t.Context(), tt.request, tt.paths)
		require.NoError(t, err)
		require.Equal(t, tt.want, text(m), "%q %q", tt.request, tt.paths)
	}

	m, err := l.Load(t.Context())
	require.NoError(t, err)
	require.Equal(t, "root\n\nalways", text(m))
	require.Equal(t, `it applies to requests with "write tests", "coverage"`, reasons(m)[".beans/rules/tests.md"])
	for range 2 {
		m, err = l.Rules(t.Context(), "write tests", nil)
		require.NoError(t, err)
		require.Equal(t, "about tests", text(m), "what always applies was given at the start; the same turn gets the same rules")
		require.Equal(t, "it was given at the start", reasons(m)[".beans/rules/always.md"])
	}
}

func TestInflection(t *testing.T) {
	for _, tt := range []struct {
		request, trigger string
		want             bool
	}{
		{"unit tests", "unit test", true}, {"a unit-test", "unit test", true}, {"units test", "unit test", false}, {"writing", "write", true}, {"written", "write", false},
		{"c++ and C#", "c++", true}, {"c# code", "C#", true}, {"go", "g", false}, {"gos", "go", false}, {"", "x", false}, {"x", "", false}, {"x", "!?", false}, {"Größe", "größe", true},
		{"テストを書く", "テスト", true}, {"test", "test test", false}, {"test test", "test test", true},
	} {
		require.Equal(t, tt.want, contains(tt.request, wordsOf(tt.request), tt.trigger), "%q in %q", tt.trigger, tt.request)
	}
}

func TestLoadFor(t *testing.T) {
	w := newWorld(t, map[string]string{"BEANS.md": "root", "a/BEANS.md": "a\n@x.md", "a/x.md": "x", "a/b/.beans/BEANS.md": "b", "a/b/BEANS.local.md": "b private", "a/b/.beans/rules/r.md": "rule of b",
		"node_modules/m/BEANS.md": "no", "gone/BEANS.md": "no", ".gitignore": "gone\n", "x/BEANS.md": "@../a/x.md", "empty/f": ""})
	l := New(w.options)
	get := func(path string) string {
		t.Helper()
		m, err := l.LoadFor(t.Context(), path)
		require.NoError(t, err)
		require.Empty(t, m.Warnings)
		return text(m)
	}
	_, err := l.Load(t.Context())
	require.NoError(t, err)
	require.Equal(t, "", get("main.go"), "the root was given at the start")
	require.Equal(t, "a\nx", get("a/new/file.go"), "the file need not exist")
	require.Equal(t, "", get("a/new/file.go"), "once a session")
	require.Equal(t, "b\n\nb private\n\nrule of b", get(w.path("a/b")), "a folder; an absolute path")
	require.Equal(t, "", get("node_modules/m/x.js"))
	require.Equal(t, "", get("gone/x.js"))
	require.Equal(t, "", get("../../../etc/passwd"))
	require.Equal(t, "", get("empty/f"))
	_, err = l.Refresh(t.Context())
	require.NoError(t, err)
	require.Equal(t, "a\nx\n\nb\n\nb private\n\nrule of b", get("a/b/c.go"), "a refresh begins anew")

	l = New(w.options)
	require.Equal(t, "root\n\na\nx", get("a/y.go"), "without a start all of the way is new")

	// A path in another repository.
	other := filepath.Join(w.base, "other")
	require.NoError(t, os.MkdirAll(filepath.Join(other, ".git"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(other, "BEANS.md"), []byte("other"), 0o644))
	require.Equal(t, "", get(filepath.Join(other, "f.go")), "it is not trusted")
	w.options.Trust = allIn{w.project, other}
	l = New(w.options)
	require.Equal(t, "other", get(filepath.Join(other, "f.go")))
}

// The start and what comes later share the hard limit.
func TestLoadForKeepsToTheBudget(t *testing.T) {
	w := newWorld(t, map[string]string{"BEANS.md": "start", "a/BEANS.md": "## A\n" + lines("a", 1, 40), "b/BEANS.md": "## B\n" + lines("b", 1, 40)})
	w.options.Limits.Tokens = 120
	l := New(w.options)
	start, err := l.Load(t.Context())
	require.NoError(t, err)
	total := start.Usage.Tokens
	for _, path := range []string{"a/x", "b/x"} {
		m, err := l.LoadFor(t.Context(), path)
		require.NoError(t, err)
		total += m.Usage.Tokens
	}
	require.LessOrEqual(t, total, 160, "but for notes about what was left out")
}

func TestCache(t *testing.T) {
	w := newWorld(t, map[string]string{"BEANS.md": "one\n@x.md", "x.md": "x"})
	l := New(w.options)
	load := func() string {
		t.Helper()
		m, err := l.Load(t.Context())
		require.NoError(t, err)
		return text(m)
	}
	age(t, w.path("BEANS.md"), w.path("x.md"))
	require.Equal(t, "one\nx", load())
	require.Equal(t, CacheStats{Files: 2, Bytes: 10, Misses: 2}, l.CacheStats())
	require.Equal(t, "one\nx", load())
	require.Equal(t, CacheStats{Files: 2, Bytes: 10, Misses: 2, Hits: 2}, l.CacheStats())
	w.write("x.md", "y")
	require.Equal(t, "one\ny", load(), "of the same size")
	w.write("x.md", "y")
	load()
	require.GreaterOrEqual(t, l.CacheStats().Same, 1, "another time of change, the same text")
	w.write("a.md", "a")
	w.write("BEANS.md", "two\n@a.md")
	require.Equal(t, "two\na", load())
	require.NoError(t, os.Remove(w.path("BEANS.md")))
	require.Equal(t, "", load())
	_, err := l.Refresh(t.Context())
	require.NoError(t, err)
	require.False(t, l.CacheStats().Cleared.IsZero())
	require.Zero(t, l.CacheStats().Files)
}
