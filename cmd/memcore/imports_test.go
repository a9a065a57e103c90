package main

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/memcore/memcore/"

// A rule says what one package, or with "/..." a tree of packages, may import.
type rule struct {
	who  string
	what []string
}

// maxRules limits the rows of the table.
const maxRules = 35

// importRules reads the table of imports in ARCHITECTURE.md.
func importRules(t *testing.T) []rule {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "ARCHITECTURE.md"))
	require.NoError(t, err)
	_, section, ok := strings.Cut(string(text), "## Who may import whom")
	require.True(t, ok)
	section, _, _ = strings.Cut(section, "\n## ")
	name := regexp.MustCompile("`([a-z0-9/.]+)`")
	var rules []rule
	rows := 0
	for line := range strings.Lines(section) {
		cells := strings.Split(line, "|")
		if len(cells) != 4 || !strings.HasPrefix(line, "| `") {
			continue
		}
		rows++
		var what []string
		for _, m := range name.FindAllStringSubmatch(cells[2], -1) {
			what = append(what, m[1])
		}
		require.True(t, what != nil || strings.TrimSpace(cells[2]) == "none", line)
		for _, m := range name.FindAllStringSubmatch(strings.ReplaceAll(cells[1], "(build tag `lancedb`)", ""), -1) {
			rules = append(rules, rule{m[1], append(slices.Clone(what), strings.TrimSuffix(m[1], "/...")+"/...")})
		}
	}
	require.LessOrEqual(t, rows, maxRules, "rows of the table")
	return rules
}

func matches(pattern, pkg string) bool {
	below, tree := strings.CutSuffix(pattern, "/...")
	return pkg == pattern || tree && (pkg == below || strings.HasPrefix(pkg, below+"/"))
}

// eachFile calls do with the Go files of this module, except tests, with any build tags.
func eachFile(t *testing.T, do func(pkg, file string)) {
	t.Helper()
	root := filepath.Join("..", "..")
	require.NoError(t, filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && (entry.Name() == "testdata" || strings.HasPrefix(entry.Name(), ".") && file != root) {
			return filepath.SkipDir
		}
		if _, err := os.Stat(filepath.Join(file, "go.mod")); err == nil && entry.IsDir() && file != root {
			return filepath.SkipDir // a module of its own
		}
		if !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return nil
		}
		relative, err := filepath.Rel(root, filepath.Dir(file))
		require.NoError(t, err)
		do(filepath.ToSlash(relative), file)
		return nil
	}))
}

// TestRegexpsAreLazy: no start of the program, such as a hook's, compiles regexps that it may not
// need.
func TestRegexpsAreLazy(t *testing.T) {
	files, eager := 0, regexp.MustCompile(`(?m)^(var |\t)\w+ *= (regexp\.MustCompile\(|sync\.OnceValue\(func\(\) \*regexp\.Regexp ).*`)
	eachFile(t, func(_, file string) {
		files++
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, line := range eager.FindAllString(string(text), -1) {
			t.Errorf("%s: %s: use lazy.Regexp", file, strings.TrimSpace(line))
		}
	})
	require.Greater(t, files, 500)
}

func TestImportsPointOneWay(t *testing.T) {
	rules := importRules(t)
	seen := map[string]bool{}
	eachFile(t, func(pkg, file string) {
		seen[pkg] = true
		checkImports(t, rules, pkg, file)
	})
	for _, r := range rules {
		used := false
		for pkg := range seen {
			used = used || matches(r.who, pkg)
		}
		if !used {
			t.Errorf("the table names %s, which has no Go files", r.who)
		}
	}
	if len(seen) < 15 {
		t.Errorf("only %d packages were found: %v", len(seen), seen)
	}
}

// TestModulesBeside: the product requires none of the modules beside it, so that nothing in it can
// import them.
func TestModulesBeside(t *testing.T) {
	root := filepath.Join("..", "..")
	beside, err := filepath.Glob(filepath.Join(root, "*", "go.mod"))
	require.NoError(t, err)
	require.NotEmpty(t, beside, "the lab is such a module")
	text, err := os.ReadFile(filepath.Join(root, "go.mod"))
	require.NoError(t, err)
	for _, file := range beside {
		require.NotContains(t, string(text), module+filepath.Base(filepath.Dir(file)))
	}
}

func checkImports(t *testing.T, rules []rule, pkg, file string) {
	t.Helper()
	var of rule // the most specific one
	for _, r := range rules {
		if matches(r.who, pkg) && len(r.who) > len(of.who) {
			of = r
		}
	}
	if of.who == "" {
		t.Errorf("package %s is not in the import table", pkg)
		return
	}
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
	require.NoError(t, err)
	for _, spec := range parsed.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		require.NoError(t, err)
		ours, ok := strings.CutPrefix(imported, module)
		if !ok || ours == "internal/text/lazy" {
			continue
		}
		if !allowed(of.what, ours) {
			t.Errorf("%s: %s imports %s, the table allows %s", path.Base(file), pkg, ours, strings.Join(of.what, ", "))
		}
	}
}

func allowed(patterns []string, pkg string) bool {
	for _, pattern := range patterns {
		if matches(pattern, pkg) {
			return true
		}
	}
	return false
}
