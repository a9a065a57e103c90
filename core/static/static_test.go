package static

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// place is a home and a project, with files by name.
type place struct {
	t             *testing.T
	home, project string
}

func newPlace(t *testing.T, files map[string]string) place {
	t.Helper()
	p := place{t, filepath.Join(t.TempDir(), "home"), filepath.Join(t.TempDir(), "project")}
	for _, folder := range []string{p.home, p.project} {
		require.NoError(t, os.MkdirAll(filepath.Join(folder, ".beans"), 0o755))
	}
	for name, text := range files {
		path := filepath.Join(p.project, name)
		if rest, ok := strings.CutPrefix(name, "~/"); ok {
			path = filepath.Join(p.home, rest)
		}
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	return p
}

func (p place) load() Memory {
	p.t.Helper()
	m, err := Load(p.t.Context(), Options{
		Files: []string{filepath.Join(p.home, ".beans", "BEANS.md"), filepath.Join(p.project, "BEANS.md")},
		Roots: []string{p.project, filepath.Join(p.home, ".beans")}, Home: p.home})
	require.NoError(p.t, err)
	return m
}

func text(m Memory) string {
	var all []string
	for _, f := range m.Files {
		all = append(all, f.Text)
	}
	return strings.Join(all, "\n==\n")
}

func TestLoad(t *testing.T) {
	for _, tt := range []struct {
		name     string
		files    map[string]string
		want     string
		warnings []string
	}{
		{"nothing", nil, "", nil},
		{"tiers in order", map[string]string{"~/.beans/BEANS.md": "mine", "BEANS.md": "ours\n"}, "mine\n==\nours", nil},
		{"priority moves a file", map[string]string{"~/.beans/BEANS.md": "---\npriority: high\n---\nmine", "BEANS.md": "ours"}, "ours\n==\nmine", nil},
		{"one that is off", map[string]string{"BEANS.md": "---\nenabled: false\n---\nours"}, "", nil},
		{"frontmatter is not text, unknown keys are others'", map[string]string{"BEANS.md": "---\nversion: 2\nteam: [a]\n---\n# Ours"}, "# Ours", nil},
		{"broken frontmatter", map[string]string{"BEANS.md": "---\n{\n---\nours"}, "ours", []string{"BEANS.md:1: frontmatter is not used: it is no YAML"}},
		{"wrong values", map[string]string{"BEANS.md": "---\nenabled: maybe\n---\nours"}, "ours", []string{"enabled is maybe, want true or false"}},
		{"both ways to import", map[string]string{"BEANS.md": "a\n@import ./docs/x.md\nb\n@docs/y.md\n@import ~/.beans/z.md\n@import \"docs/with space.md\"\n",
			"docs/x.md": "X\n", "docs/y.md": "---\npriority: 5\n---\nY", "~/.beans/z.md": "Z", "docs/with space.md": "S"}, "a\nX\nb\nY\nZ\nS", nil},
		{"relative to the file that imports", map[string]string{"BEANS.md": "@docs/x.md", "docs/x.md": "@y.md\n@../top.md", "docs/y.md": "Y", "top.md": "T"}, "Y\nT", nil},
		{"twice is once", map[string]string{"BEANS.md": "@x.md\n@./x.md\nb", "x.md": "X"}, "X\n\nb", nil},
		{"a circle", map[string]string{"BEANS.md": "@x.md", "x.md": "X\n@BEANS.md\n@x.md"},
			"X\n<!-- Circular import detected: BEANS.md -->\n<!-- Circular import detected: x.md -->", []string{"x.md:2: import of \"BEANS.md\"", "x.md:3: import of \"x.md\""}},
		{"missing", map[string]string{"BEANS.md": "---\nversion: 1\n---\na\n@no.md\nb"}, "a\n<!-- Import refused: no.md -->\nb", []string{"BEANS.md:5: import of \"no.md\" is left out: no such file"}},
		{"code is not looked into", map[string]string{"BEANS.md": "```\n@x.md\n```\n~~~ md\n@import x.md\n```\n@x.md\n~~~\n    @x.md\nmail @x.md me\n@someone\n@x.md", "x.md": "X"},
			"```\n@x.md\n```\n~~~ md\n@import x.md\n```\n@x.md\n~~~\n    @x.md\nmail @x.md me\n@someone\nX", nil},
		{"off where it is imported", map[string]string{"BEANS.md": "a\n@x.md", "x.md": "---\nenabled: false\n---\nX"}, "a", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := newPlace(t, tt.files).load()
			require.Equal(t, tt.want, text(m))
			require.Len(t, m.Warnings, len(tt.warnings), "%v", m.Warnings)
			for i, want := range tt.warnings {
				require.Contains(t, m.Warnings[i].String(), want)
			}
		})
	}
}

func TestLimits(t *testing.T) {
	files := map[string]string{"BEANS.md": "@1.md\n@big.md\n@many.md", "big.md": strings.Repeat("x", MaxBytes+1), "many.md": ""}
	for i := 1; i <= MaxDepth+1; i++ {
		files[fmt.Sprintf("%d.md", i)] = fmt.Sprintf("level %d\n@%d.md", i, i+1)
	}
	for i := range MaxImports + 2 {
		files["many.md"] += fmt.Sprintf("@m%d.md\n", i)
		files[fmt.Sprintf("m%d.md", i)] = fmt.Sprintf("M%d.", i)
	}
	m := newPlace(t, files).load()
	got := text(m)
	require.Contains(t, got, "level 5\n<!-- Import depth exceeded for 6.md -->")
	require.Contains(t, got, "<!-- Import refused: big.md -->")
	require.Contains(t, got, "M19.")
	require.NotContains(t, got, "M20.")
	require.Equal(t, 2, strings.Count(got, "Too many imports"))
	require.Len(t, m.Warnings, 4)
	require.Len(t, m.Files[0].Imported, MaxDepth+1+MaxImports)
}

// Nothing outside of the roots comes in, however it is written.
func TestEscapes(t *testing.T) {
	outside := t.TempDir()
	secret := filepath.Join(outside, "secret.md")
	require.NoError(t, os.WriteFile(secret, []byte("TOPSECRET"), 0o644))
	p := newPlace(t, map[string]string{"BEANS.md": "", "docs/in.md": "fine", "~/secret.md": "TOPSECRET", "~/.ssh/key.md": "TOPSECRET", "notes.txt": "TOPSECRET", ".env": "TOPSECRET"})
	above, err := filepath.Rel(p.project, secret)
	require.NoError(t, err)
	link := func(target, name string) {
		if err := os.Symlink(target, filepath.Join(p.project, name)); err != nil && runtime.GOOS != "windows" {
			t.Fatal(err)
		}
	}
	link(secret, "link.md")
	link(outside, "linked")
	link(above, "relative.md")
	link("link.md", "chain.md")
	link("loop.md", "loop.md")
	link("/etc/passwd", "passwd.md")
	link("/dev/zero", "zero.md")
	link("/proc/self/environ", "environ.md")
	require.NoError(t, os.Mkdir(filepath.Join(p.project, "folder.md"), 0o755))
	names := []string{
		secret, above, "./" + above, "docs/../" + above, "docs/../../" + filepath.Base(outside) + "/secret.md", "link.md", "linked/secret.md", "linked/../linked/secret.md",
		"relative.md", "chain.md", "loop.md", "passwd.md", "zero.md", "environ.md", "folder.md", "folder.md/x.md",
		"~/secret.md", "~/.ssh/key.md", "~root/x.md", "~root", "~", "~/", "~\\secret.md", "~/.beans/../secret.md", "~//secret.md",
		"/etc/passwd", "/etc/passwd.md", "/etc/../etc/shadow.md", "//etc/passwd.md", "/proc/self/environ", "/dev/stdin", "/dev/zero", "file:///etc/passwd.md", "http://example.com/x.md",
		"notes.txt", ".env", "docs/in.md/../../.env", "docs/in.md.txt", "docs/in.md.", "docs/in.md:stream", "docs/in.MD/../../../x.md",
		"..", "../..", "../", ".", "", "..md", "../.md", "....//x.md", "..%2fx.md", "%2e%2e/x.md", "..;/x.md", "docs/\x00in.md", "docs/in.md\x00", "\x00",
		`..\secret.md`, `docs\..\..\secret.md`, `C:\Windows\x.md`, "C:/Windows/x.md", `\\server\share\x.md`, `\\?\C:\x.md`, `//server/share/x.md`, "NUL.md/x", "c:x.md",
		"\u2025/x.md", "\uff0e\uff0e/x.md", "․․/x.md", "docs/i\u200bn.md", strings.Repeat("a", 5000) + ".md", strings.Repeat("../", 2000) + "etc/x.md", strings.Repeat("a/", 2000) + "x.md",
		"/" + strings.Repeat("../", 50) + "etc/hostname.md", "docs/./../../x.md", p.home + "/secret.md", "$HOME/secret.md", "${HOME}/x.md", "`id`.md", "|x.md", "-->x.md", "<!-- x.md",
	}
	if len(names) < 60 {
		t.Fatalf("%d cases, want at least 60", len(names))
	}
	for _, name := range names {
		for _, form := range []string{"@import %s\n", "@%s\n"} {
			line := fmt.Sprintf(form, name)
			require.NoError(t, os.WriteFile(filepath.Join(p.project, "BEANS.md"), []byte("begin\n"+line+"end"), 0o644))
			m := p.load()
			got := text(m)
			if strings.Contains(got, "TOPSECRET") || strings.Contains(got, "root:") || !strings.HasPrefix(got, "begin\n") || !strings.HasSuffix(got, "\nend") {
				t.Errorf("%.60q: %.200q", line, got)
			}
			for _, f := range m.Files {
				require.Empty(t, f.Imported, "%.60q", line)
			}
			if comment := strings.TrimSuffix(strings.TrimPrefix(got, "begin\n"), "\nend"); strings.HasPrefix(comment, "<!--") && form == "@import %s\n" && strings.Count(comment, "-->") != 1 && !strings.Contains(name, "<!--") {
				t.Errorf("%.60q leaves %.200q, which is not one comment", line, comment)
			}
		}
	}
	require.NoError(t, os.WriteFile(filepath.Join(p.project, "BEANS.md"), []byte("@import "+filepath.Join(p.project, "docs", "in.md")), 0o644))
	require.Equal(t, "fine", text(p.load()), "an absolute path inside a root is fine")
}

func TestWithoutRootsNothingIsImported(t *testing.T) {
	p := newPlace(t, map[string]string{"BEANS.md": "@x.md", "x.md": "X"})
	m, err := Load(t.Context(), Options{Files: []string{filepath.Join(p.project, "BEANS.md")}})
	require.NoError(t, err)
	require.Equal(t, "<!-- Import refused: x.md -->", text(m))
}

func TestBadFiles(t *testing.T) {
	p := newPlace(t, map[string]string{"~/.beans/BEANS.md": "mine"})
	require.NoError(t, os.Mkdir(filepath.Join(p.project, "BEANS.md"), 0o755))
	m := p.load()
	require.Equal(t, "mine", text(m))
	require.Len(t, m.Warnings, 1)
	require.Contains(t, m.Warnings[0].String(), "is not a file")
	require.NoError(t, os.Remove(filepath.Join(p.project, "BEANS.md")))
	require.NoError(t, os.WriteFile(filepath.Join(p.project, "BEANS.md"), make([]byte, maxFile+1), 0o644))
	require.Contains(t, p.load().Warnings[0].String(), "more than 1048576")
}

func TestCancelled(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	stop()
	_, err := Load(ctx, Options{Files: []string{"x.md"}})
	require.ErrorIs(t, err, context.Canceled)
}

func FuzzFrontmatter(f *testing.F) {
	for _, seed := range []string{"---\nversion: 1\npriority: low\n---\ntext", "---\n---\n", "---\n", "\ufeff---\r\nenabled: no\r\n---\r\nx", "---\n- a\n---\n", "---\n&a [*a]\n---", "no"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		head, text, skipped, err := Frontmatter(data)
		if err != nil && head != (Head{Version: 1, Enabled: true}) {
			t.Fatalf("head %+v beside an error", head)
		}
		if skipped < 0 || len(text) > 3*len(data) || head.Priority > 1_000_000 || head.Priority < -1_000_000 {
			t.Fatalf("skipped %d, %d bytes of %d, head %+v", skipped, len(text), len(data), head)
		}
	})
}

func FuzzImports(f *testing.F) {
	for _, seed := range []string{"@import ./in.md", "@in.md", "```\n@in.md\n", "@import ../x.md\n@~/x.md", "@import -->.md"} {
		f.Add(seed)
	}
	folder := f.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "in.md"), []byte("IN"), 0o644); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		l := &loader{ctx: t.Context(), options: Options{Roots: []string{folder}, Home: "/nowhere"}, seen: map[string]bool{}}
		var file File
		l.expand(&file, filepath.Join(folder, "BEANS.md"), text, 0, nil)
		for _, path := range file.Imported {
			if path != filepath.Join(folder, "in.md") {
				t.Fatalf("%q was imported", path)
			}
		}
	})
}
