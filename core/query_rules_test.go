package core

import (
	"path"
	"strings"
	"testing"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/chunker"
	"github.com/memcore/memcore/core/source"
	"github.com/memcore/memcore/store"
)

func rulesDocument(path string) source.Document {
	return source.Document{Path: path, Kind: source.KindMarkdown}
}

func TestGlobsOf(t *testing.T) {
	for _, tt := range []struct {
		name, path, text string
		want             []string
	}{
		{"Cursor, one text without quotes", ".cursor/rules/a.mdc", "---\ndescription: x\nglobs: *.ts,src/**/*.{js,jsx}\nalwaysApply: false\n---\nText\n", []string{"*.ts", "src/**/*.{js,jsx}"}},
		{"Claude Code, a list", ".claude/rules/a.md", "---\npaths:\n  - \"./src/api/**/*.go\"\n  - 7\n---\nText\n", []string{"src/api/**/*.go"}},
		{"Copilot", ".github/instructions/a.instructions.md", "---\napplyTo: \"**/*.py\"\n---\nText\n", []string{"**/*.py"}},
		{"Kiro", ".kiro/steering/a.md", "---\ninclusion: fileMatch\nfileMatchPattern: \"components/*.tsx\"\n---\nText\n", []string{"components/*.tsx"}},
		{"all files single out nothing", ".github/instructions/a.instructions.md", "---\napplyTo: \"**\"\n---\nText\n", nil},
		{"a broken glob", ".cursor/rules/a.mdc", "---\nglobs: \"src/[a\"\n---\nText\n", nil},
		{"no frontmatter", ".cursor/rules/a.mdc", "globs: *.ts\n", nil},
		{"no rules", "notes/a.md", "---\nglobs: *.ts\n---\nText\n", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			meta, _, _, err := chunker.SplitFrontmatter([]byte(tt.text))
			require.NoError(t, err)
			require.Equal(t, tt.want, globsOf(rulesDocument(tt.path), meta))
		})
	}
}

func TestGlobMatches(t *testing.T) {
	for _, tt := range []struct {
		glob, base, file string
		want             bool
	}{
		{"*.ts", "", "app.ts", true},
		{"*.ts", "", "src/deep/app.ts", true},
		{"**/*.ts", "", "src/deep/app.ts", true},
		{"src/**/*.ts", "", "src/deep/app.ts", true},
		{"src/**/*.ts", "", "app.ts", true}, // a prompt names it without its folder
		{"src/**/*.ts", "", "lib/app.ts", false},
		{"src/**/*.ts", "web", "web/src/app.ts", true},
		{"src/**/*.ts", "web", "api/src/app.ts", false},
		{"migrations/", "", "migrations/001.sql", true},
		{"**/test_*.py", "", "test_wind.py", true},
		{"**/test_*.py", "", "wind.py", false},
		{"src/**", "", "app.ts", false},
	} {
		require.Equal(t, tt.want, globMatches(tt.glob, tt.base, tt.file), "%s in %q for %s", tt.glob, tt.base, tt.file)
	}
}

func TestGoverns(t *testing.T) {
	section := func(heading, text string) store.Record {
		return store.Record{Headings: []string{"Rules", heading}, Text: text}
	}
	for _, tt := range []struct {
		name    string
		section store.Record
		file    string
		want    bool
	}{
		{"the language of the file", section("Go conventions", "Use slog."), "internal/query.go", true},
		{"a word that is written like a language", section("Where to go next", "Use slog."), "internal/query.go", false},
		{"another language", section("Go conventions", "Use slog."), "web/app.ts", false},
		{"a word that has the language in it", section("Going further", "Use slog."), "internal/query.go", false},
		{"the file", section("Queries", "Queries of `internal/db/query.go` are made by hand."), "db/query.go", true},
		{"another file of that end", section("Queries", "Queries of `internal/db/query.go` are made by hand."), "subquery.go", false},
		{"a folder above it", section("Database", "What is in `internal/db/` has a migration."), "internal/db/query.go", true},
		{"a glob", section("Tests", "`*_test.go` files use testify."), "db/query_test.go", true},
		{"a layout names everything", section("Layout", "`a/b.go` `a/c.go` `a/d.go` `a/e.go` `a/f.go`"), "a/b.go", false},
		{"nothing of it", section("Commits", "Small ones."), "a/b.go", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			require.Equal(t, tt.want, governs(tt.section, "", []string{tt.file}, true))
		})
	}
}

func TestGovernsByLanguage(t *testing.T) {
	section := store.Record{Headings: []string{"Rules", "TypeScript"}, Text: "Use strict."}
	require.True(t, governs(section, "", []string{"a.ts"}, true))
	require.False(t, governs(section, "", []string{"a.ts"}, false), "a report of a failing test is no order to write code")
}

func TestIsTitle(t *testing.T) {
	for text, want := range map[string]bool{
		"# Python": true, "# Python\n\n## Style\n": true, "": true, "## Style ##": true,
		"# Python\n\nUse ruff.": false, "Use ruff.": false, "#style: use ruff": false, "- no star imports": false, "缩进用四个空格": false,
	} {
		require.Equal(t, want, isTitle(text), text)
	}
}

// A glob matches what it matches exactly, and no glob panics.
func FuzzGlobMatches(f *testing.F) {
	f.Add("src/**/*.{ts,tsx}", "web", "web/src/a.ts")
	f.Add("[", "", "a")
	f.Add("a/", "", "a/b")
	f.Fuzz(func(t *testing.T, glob, base, file string) {
		got := globMatches(glob, base, file)
		if ok, err := doublestar.Match(glob, file); err == nil && ok && base == "" && !strings.HasSuffix(glob, "/") && !got {
			t.Errorf("glob %q does not match %q", glob, file)
		}
		namesFile(glob, base, file)
		governs(store.Record{Text: "`" + glob + "`", Headings: []string{path.Base(file)}}, base, []string{file}, true)
	})
}
