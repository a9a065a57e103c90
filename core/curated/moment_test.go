package curated

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// applying returns why files apply, by path.
func applying(m Memory) map[string]string {
	return byPath(m, func(f File) string { return f.Applies })
}

func TestNow(t *testing.T) {
	w := newFixture(t, map[string]string{
		"BEANS.md":                 "root\n@shared.md",
		"shared.md":                "shared",
		".beans/rules/always.md":   "always",
		".beans/rules/tests.md":    "---\ntriggers: write tests\n---\nabout tests",
		".beans/rules/ts.md":       "---\nglobs: ['*.ts']\n---\nabout ts",
		"~/.beans/rules/mine.md":   "---\ntriggers: deploy\n---\nmy rule",
		"~/.beans/BEANS.md":        "global",
		"web/BEANS.md":             "web\n@../shared.md",
		"web/CLAUDE.md":            "for Claude",
		"web/.beans/rules/css.md":  "---\nglobs: '*.css'\n---\nabout css",
		"web/.beans/rules/here.md": "rule of web",
		"web/deep/BEANS.local.md":  "deep",
		"api/BEANS.md":             "api",
		"gone/BEANS.md":            "no",
		".gitignore":               "gone\n",
	})
	w.options.Names = []string{"BEANS.md", "CLAUDE.md"}
	for _, tt := range []struct {
		name string
		at   Moment
		dir  string
		want string
		why  map[string]string
	}{
		{"nothing", Moment{}, "", "", nil},
		{"a trigger", Moment{Request: "Please write tests."}, "", "about tests", map[string]string{".beans/rules/tests.md": `the request has "write tests"`}},
		{"the user's own", Moment{Request: "deploy it"}, "", "my rule", map[string]string{"~/.beans/rules/mine.md": `the request has "deploy"`}},
		{"a file that is named", Moment{Named: []string{"src/a.ts"}}, "", "about ts", map[string]string{".beans/rules/ts.md": `"*.ts" matches a.ts`}},
		{"a named file's folder waits", Moment{Named: []string{"web/site.css"}}, "", "about css", map[string]string{"web/.beans/rules/css.md": `"*.css" matches site.css`}},
		{"a folder that is touched", Moment{Touched: []string{"web/new.go"}, Own: []string{"CLAUDE.md"}}, "", "web\n\nrule of web",
			map[string]string{"web/BEANS.md": "a tool touches web", "web/.beans/rules/here.md": "a tool touches web"}},
		{"all at once", Moment{Request: "write tests", Touched: []string{"web/deep/a.ts", "api/x", "web/deep/b.css"}}, "", "about tests\n\nabout ts\n\nweb\n\nfor Claude\n\nabout css\n\nrule of web\n\ndeep\n\napi", nil},
		{"the folder the agent works in", Moment{Touched: []string{w.path("web/x"), w.path("api/x")}}, "web", "api", nil},
		{"what git ignores", Moment{Touched: []string{"gone/x"}}, "", "", nil},
		{"no path", Moment{Named: []string{"", "..", "\x00"}, Touched: []string{"", "\x00", "../../etc/passwd", strings.Repeat("x/", 5000)}}, "", "", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := w.options
			o.Dir = filepath.Join(o.Dir, tt.dir)
			l := New(o)
			for range 2 { // the layer remembers nothing
				m, err := l.Now(t.Context(), tt.at)
				require.NoError(t, err)
				require.Equal(t, tt.want, text(m))
				if tt.why != nil {
					require.Equal(t, tt.why, applying(m))
				}
				require.Len(t, m.Versions(), len(applying(m)))
			}
			start, err := l.Load(t.Context())
			require.NoError(t, err)
			again, err := l.Now(t.Context(), tt.at)
			require.NoError(t, err)
			require.Equal(t, tt.want, text(again), "whatever the start has given")
			require.Contains(t, text(start), "root\nshared")
		})
	}
}

// A session gets a file again only after a change.
func TestNowOnce(t *testing.T) {
	w := newFixture(t, map[string]string{"web/BEANS.md": "web", "api/BEANS.md": "api", ".beans/rules/r.md": "---\nglobs: '*.go'\n---\nabout Go"})
	at := Moment{Has: map[string]string{}}
	now := func(path string) string {
		at.Touched = []string{path}
		m, err := New(w.options).Now(t.Context(), at)
		require.NoError(t, err)
		maps.Copy(at.Has, m.Versions())
		return text(m)
	}
	require.Equal(t, "about Go\n\nweb", now("web/a.go"))
	require.Empty(t, now("web/b.go"))
	require.Equal(t, "api", now("api/b.go"))
	w.write("web/BEANS.md", "another web")
	require.Equal(t, "another web", now("web/a.go"))
	require.Empty(t, now("web/a.go"))
	require.Equal(t, []string{w.path(".beans/rules/r.md"), w.path("api/BEANS.md"), w.path("web/BEANS.md")}, slices.Sorted(maps.Keys(at.Has)))
}

// A running session gets what has changed of what it began with, each change once: files with all
// that they import, and files that are new or newly trusted. A session that has not begun gets none
// of it.
func TestNowAfterChanges(t *testing.T) {
	w := newFixture(t, map[string]string{
		"~/.beans/BEANS.md": "global", "BEANS.md": "root\n@shared.md\n@other.md", "shared.md": "shared", "other.md": "other",
		".beans/rules/r.md": "---\ntriggers: deploy\n---\nrule",
	})
	layer := New(w.options)
	start, err := layer.Load(t.Context())
	require.NoError(t, err)
	at := Moment{Has: maps.Clone(start.Versions()), Started: true}
	now := func() Memory {
		m, err := layer.Now(t.Context(), at)
		require.NoError(t, err)
		maps.Copy(at.Has, m.Versions())
		return m
	}
	for _, tt := range []struct {
		name, file, text string
		changed          []string
		want             string
	}{
		{"nothing", "", "", nil, ""},
		{"a file", "BEANS.md", "new root\n@shared.md\n@other.md", []string{"BEANS.md"}, "new root\nshared\nother"},
		{"an import", "shared.md", "new shared", []string{"BEANS.md"}, "new root\nnew shared\nother"},
		{"an import that is taken out", "BEANS.md", "new root\n@shared.md", []string{"BEANS.md"}, "new root\nnew shared"},
		{"the user's own", "~/.beans/BEANS.md", "new global", []string{"~/.beans/BEANS.md"}, "new global"},
		{"a new file", ".beans/rules/always.md", "always", []string{".beans/rules/always.md"}, "always"},
		{"a rule that does not apply", ".beans/rules/r.md", "---\ntriggers: deploy\n---\nnew rule", nil, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.file != "" {
				require.NoError(t, os.MkdirAll(filepath.Dir(w.path(tt.file)), 0o755))
				require.NoError(t, os.WriteFile(w.path(tt.file), []byte(tt.text), 0o600))
			}
			m := now()
			require.Equal(t, tt.want, text(m))
			require.Equal(t, tt.changed, m.Changed())
			require.Empty(t, text(now()), "once")
		})
	}
	m, err := layer.Now(t.Context(), Moment{})
	require.NoError(t, err)
	require.Empty(t, text(m))
}

// A running session is told once which files no longer hold, and gets them again when they do.
func TestNowOfWhatIsGone(t *testing.T) {
	w := newFixture(t, map[string]string{"~/.beans/BEANS.md": "global", "BEANS.md": "root\n@shared.md", "shared.md": "shared", ".beans/rules/r.md": "rule"})
	start, err := New(w.options).Load(t.Context())
	require.NoError(t, err)
	at := Moment{Has: maps.Clone(start.Versions()), Started: true}
	now := func() Memory {
		m, err := New(w.options).Now(t.Context(), at)
		require.NoError(t, err)
		maps.Copy(at.Has, m.Versions())
		return m
	}
	require.Empty(t, now().Gone())
	for _, tt := range []struct {
		name string
		do   func()
		gone []string
		want string
	}{
		{"removed", func() { require.NoError(t, os.Remove(w.path("BEANS.md"))) }, []string{"BEANS.md"}, ""},
		{"there again", func() { w.write("BEANS.md", "root\n@shared.md") }, nil, "root\nshared"},
		{"an import", func() { require.NoError(t, os.Remove(w.path("shared.md"))) }, []string{"shared.md"}, ""},
		{"turned off", func() { w.write(".beans/rules/r.md", "---\nenabled: false\n---\nrule") }, []string{".beans/rules/r.md"}, ""},
		{"not trusted", func() { w.options.Trust = nil }, []string{"BEANS.md"}, ""},
		{"trusted again", func() { w.options.Trust = allIn{w.project} }, nil, "root\n<!-- Import refused: shared.md -->"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.do()
			m := now()
			require.Equal(t, tt.gone, m.Gone())
			require.Equal(t, tt.want, text(m))
			require.Empty(t, now().Gone(), "once")
		})
	}
	at.Started = false
	require.NoError(t, os.Remove(w.path("BEANS.md")))
	require.Empty(t, now().Gone(), "it has not begun")
}

// Moments share the limits with the start, and none exceeds its room.
func TestNowKeepsToItsRoom(t *testing.T) {
	w := newFixture(t, map[string]string{"web/BEANS.md": "## Web\n\n" + lines("w", 1, 40) + "\n\n## More\n\n" + lines("m", 1, 40)})
	touch := func(spent, room int) Memory {
		m, err := New(w.options).Now(t.Context(), Moment{Touched: []string{"web/x"}, Spent: spent, Room: room})
		require.NoError(t, err)
		return m
	}
	whole := touch(0, 0)
	require.Contains(t, text(whole), "## More")
	for _, m := range []Memory{touch(0, 300), touch(4*DefaultTokens-300, 0), touch(4*DefaultTokens-300, 9000)} {
		require.NotContains(t, text(m), "m 30")
		require.LessOrEqual(t, len(text(m)), 300)
		require.Contains(t, text(m), "Left out to fit", "where to read the rest")
		require.Len(t, m.Versions(), 1, "it is not said at each file again")
	}
	w.options.Limits.Tokens = -1
	require.Equal(t, text(whole), text(touch(1<<20, 0)))
}

func TestNowUntrusted(t *testing.T) {
	w := newFixture(t, map[string]string{"web/BEANS.md": "web", ".beans/rules/r.md": "---\ntriggers: deploy\n---\nrule", "~/.beans/rules/r.md": "---\ntriggers: deploy\n---\nmine"})
	w.options.Trust = nil
	m, err := New(w.options).Now(t.Context(), Moment{Request: "deploy", Touched: []string{"web/x"}})
	require.NoError(t, err)
	require.Equal(t, "mine", text(m))
	require.Equal(t, map[string]string{".beans/rules/r.md": "its folder is not trusted", "web/BEANS.md": "its folder is not trusted"}, reasons(m))
	other := filepath.Join(w.base, "other")
	require.NoError(t, os.MkdirAll(filepath.Join(other, ".git"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(other, "BEANS.md"), []byte("other"), 0o644))
	w.options.Trust = allIn{w.project}
	m, err = New(w.options).Now(t.Context(), Moment{Touched: []string{filepath.Join(other, "x")}})
	require.NoError(t, err)
	require.Empty(t, text(m), "another repository needs trust of its own")
}
