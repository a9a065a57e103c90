package curated

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRules(t *testing.T) {
	w := newFixture(t, map[string]string{
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
		{"", nil, ""},
		{"Please WRITE tests for it", nil, "about tests"},
		{"writing a test", nil, ""},
		{"raise the coverage!", nil, "about tests"},
		{"deploys, deployed, deploying", nil, "about docs"},
		{"redeploy", nil, ""},
		{"请部署到生产环境", nil, "my rule"},
		{"the databases", nil, "port 5432"},
		{"", []string{"a.ts"}, "about ts"},
		{"", []string{"deep/er/a.ts"}, "about ts"},
		{"", []string{"src/x/y.jsx", "z.go"}, "about ts"},
		{"", []string{"x/src/y.js"}, ""},
		{"", []string{"docs/a/b.md"}, "about docs"},
		{"", []string{"web/site.css"}, "about css"},
		{"", []string{"site.css"}, ""},
		{"", []string{w.path("a.ts")}, "about ts"},
		{"", []string{filepath.Join(w.base, "elsewhere", "a.ts")}, "about ts"},
		{"", []string{"", "..", "\x00"}, ""},
	} {
		m, err := l.Now(t.Context(), Moment{Request: tt.request, Named: tt.paths})
		require.NoError(t, err)
		require.Equal(t, tt.want, text(m), "%q %q", tt.request, tt.paths)
	}

	m, err := l.Load(t.Context())
	require.NoError(t, err)
	require.Equal(t, "root\n\nalways", text(m))
	require.Equal(t, `it applies to requests with "write tests", "coverage"`, reasons(m)[".beans/rules/tests.md"])
	m, err = l.Now(t.Context(), Moment{Request: "write tests"})
	require.NoError(t, err)
	require.Equal(t, "it belongs to the start of a session", reasons(m)[".beans/rules/always.md"])
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
		require.Equal(t, tt.want, hasTrigger(tt.request, wordsOf(tt.request), tt.trigger), "%q in %q", tt.trigger, tt.request)
	}
}

func TestTouchedFolders(t *testing.T) {
	w := newFixture(t, map[string]string{"BEANS.md": "root", "a/BEANS.md": "a\n@x.md", "a/x.md": "x", "a/b/.beans/BEANS.md": "b", "a/b/BEANS.local.md": "b private", "a/b/.beans/rules/r.md": "rule of b",
		"node_modules/m/BEANS.md": "no", "gone/BEANS.md": "no", ".gitignore": "gone\n", "x/BEANS.md": "@../a/x.md", "empty/f": ""})
	other := filepath.Join(w.base, "other") // another repository
	require.NoError(t, os.MkdirAll(filepath.Join(other, ".git"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(other, "BEANS.md"), []byte("other"), 0o644))
	for path, want := range map[string]string{
		"main.go":                    "", // the root belongs to the start
		"a/new/file.go":              "a\nx",
		w.path("a/b"):                "a\nx\n\nb\n\nb private\n\nrule of b",
		"node_modules/m/x.js":        "",
		"gone/x.js":                  "",
		"../../../etc/passwd":        "",
		"empty/f":                    "",
		filepath.Join(other, "f.go"): "", // it is not trusted
	} {
		m := w.touch(path)
		require.Empty(t, m.Warnings)
		require.Equal(t, want, text(m), path)
	}
	w.options.Trust = allIn{w.project, other}
	require.Equal(t, "other", text(w.touch(filepath.Join(other, "f.go"))))
}

// The start and later moments share the hard limit.
func TestMomentsKeepToTheBudget(t *testing.T) {
	w := newFixture(t, map[string]string{"BEANS.md": "start", "a/BEANS.md": "## A\n" + lines("a", 1, 40), "b/BEANS.md": "## B\n" + lines("b", 1, 40)})
	w.options.Limits.Tokens = 120
	start := w.load()
	spent, total := start.Usage.Bytes, start.Usage.Tokens
	for _, path := range []string{"a/x", "b/x"} {
		m, err := New(w.options).Now(t.Context(), Moment{Touched: []string{path}, Spent: spent})
		require.NoError(t, err)
		spent, total = spent+m.Usage.Bytes, total+m.Usage.Tokens
	}
	require.LessOrEqual(t, total, 160, "but for notes about what was left out")
}

func TestCache(t *testing.T) {
	w := newFixture(t, map[string]string{"BEANS.md": "one\n@x.md", "x.md": "x"})
	l := New(w.options)
	load := func() string {
		t.Helper()
		m, err := l.Load(t.Context())
		require.NoError(t, err)
		return text(m)
	}
	age(t, w.path("BEANS.md"), w.path("x.md"))
	require.Equal(t, "one\nx", load())
	was := l.options.Cache.file(w.path("x.md"))
	require.NotNil(t, was)
	require.Equal(t, "one\nx", load())
	require.Same(t, was, l.options.Cache.file(w.path("x.md")), "an unchanged file is not read")
	w.write("x.md", "y")
	require.Equal(t, "one\ny", load(), "of the same size")
	w.write("x.md", "y")
	require.Equal(t, "one\ny", load(), "another time of change, the same text")
	w.write("a.md", "a")
	w.write("BEANS.md", "two\n@a.md")
	require.Equal(t, "two\na", load())
	require.NoError(t, os.Remove(w.path("BEANS.md")))
	require.Equal(t, "", load())
}
