package main

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/memcore/memcore/"

// mayImport is the import table of ARCHITECTURE.md: which packages of memcore a package may import.
// A pattern ending in "/..." stands for the package and everything below it.
var mayImport = []struct {
	who  string
	what []string
}{
	{"chunker", []string{"internal/fence", "internal/prompt"}},
	{"embed", nil},
	{"embed/embedtest", []string{"embed"}},
	{"embed/internal/remote/...", []string{"embed", "embed/internal/remote"}},
	{"embed/minilm/...", []string{"embed", "embed/minilm/..."}},
	{"embed/ollama", []string{"embed", "embed/internal/remote", "internal/baseurl"}},
	{"embed/openai", []string{"embed", "embed/internal/remote", "internal/baseurl"}},
	{"embed/cache", []string{"embed"}},
	{"store", nil},
	{"store/storetest", []string{"store"}},
	{"store/flat/...", []string{"store", "store/flat/...", "internal/filetime", "internal/generation"}},
	{"store/lancedb/...", []string{"store", "store/lancedb/...", "internal/generation"}},
	{"store/keyword", []string{"store", "internal/filetime", "internal/generation"}},
	{"core/source", []string{"chunker", "internal/beneath", "internal/deny", "internal/filetime", "internal/paths", "internal/gitignore"}},
	{"core/relevance", []string{"internal/prompt"}},
	{"core/when", nil},
	{"core/rerank", []string{"internal/baseurl", "internal/told"}},
	{"core/static", []string{"chunker", "internal/beneath", "internal/deny", "internal/fence", "internal/gitignore", "internal/gitindex", "internal/paths", "internal/private", "internal/sanitize", "internal/statement", "internal/watch"}},
	{"core/notes", []string{"chunker", "embed", "store/keyword", "core/relevance", "core/static", "internal/beneath", "internal/deny", "internal/jsonfile", "internal/paths", "internal/sanitize", "internal/secret", "internal/section", "internal/statement", "internal/suspicion"}},
	{"core/reflection", []string{"core/notes", "internal/baseurl", "internal/sanitize", "internal/secret", "internal/statement", "internal/told"}},
	{"core/use", []string{"chunker", "internal/beneath", "internal/jsonfile", "internal/secret"}},
	{"core/trust", []string{"internal/jsonfile", "internal/paths"}},
	{"core", []string{"chunker", "embed", "store", "core/source", "core/relevance", "core/static", "core/when", "internal/beneath", "internal/filetime", "internal/generation", "internal/jsonfile", "internal/paths", "internal/prompt", "internal/secret", "internal/statement", "internal/suspicion", "internal/watch"}},
	{"formatter", []string{"core", "core/static", "internal/fence", "internal/sanitize", "internal/suspicion"}},
	{"inject/hook", []string{"core", "core/use", "formatter", "inject/turn", "internal/jsonfile"}},
	{"inject/httpapi", []string{"core", "core/notes", "formatter", "inject/hook", "internal/overload", "internal/webguard"}},
	{"inject/daemon", []string{"internal/jsonfile", "internal/overload", "internal/private"}},
	{"inject/mcp", []string{"core/notes", "internal/overload", "internal/webguard"}},
	{"inject/turn", []string{"core", "formatter"}},
	{"inject/proxy", []string{"core", "inject/turn", "internal/overload", "internal/webguard"}},
	{"inject/setup", []string{"core/notes", "core/source", "internal/beneath", "internal/paths", "internal/secret"}},
	{"eval", []string{"core", "core/source", "core/use", "core/relevance", "formatter", "chunker", "internal/secret"}},
	{"eval/page", []string{"eval", "core/relevance"}},
	{"eval/fit", []string{"eval", "core/relevance"}},
	{"eval/injection", []string{"internal/suspicion"}},
	{"internal/baseurl", nil},
	{"internal/beneath", nil},
	{"internal/filetime", nil},
	{"internal/deny", nil},
	{"internal/paths", nil},
	{"internal/fence", nil},
	{"internal/generation", nil},
	{"internal/gitignore", []string{"internal/beneath"}},
	{"internal/gitindex", []string{"internal/beneath"}},
	{"internal/jsonfile", []string{"internal/beneath"}},
	{"internal/private", nil},
	{"internal/sanitize", nil},
	{"internal/secret", []string{"internal/sanitize"}},
	{"internal/prompt", []string{"internal/fence"}},
	{"internal/section", []string{"chunker", "internal/fence", "internal/sanitize", "internal/statement"}},
	{"internal/statement", []string{"chunker"}},
	{"internal/overload", nil},
	{"internal/suspicion", nil},
	{"internal/told", []string{"internal/sanitize", "internal/secret"}},
	{"internal/watch", nil},
	{"internal/webguard", nil},
	{"internal/daemonbench", nil},
	{"internal/torture/...", []string{"internal/torture/..."}},
	{"internal/workspace", []string{"internal/jsonfile", "internal/private"}},
	{"cmd/memcore", []string{"chunker", "embed/...", "store/...", "core/...", "formatter", "inject/...", "eval/...", "internal/beneath", "internal/jsonfile", "internal/paths", "internal/private", "internal/sanitize", "internal/workspace", "internal/suspicion"}},
}

func matches(pattern, pkg string) bool {
	below, tree := strings.CutSuffix(pattern, "/...")
	return pkg == pattern || tree && (pkg == below || strings.HasPrefix(pkg, below+"/"))
}

func TestImportsPointOneWay(t *testing.T) {
	root := filepath.Join("..", "..")
	seen := map[string]bool{}
	// Files count whatever their build tags are: a package that this build leaves out keeps to the table, too.
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
		pkg := filepath.ToSlash(relative)
		seen[pkg] = true
		checkImports(t, pkg, file)
		return nil
	}))
	for _, rule := range mayImport {
		if base := strings.TrimSuffix(rule.who, "/..."); !seen[base] {
			t.Errorf("the table names %s, which has no Go files", base)
		}
	}
	if len(seen) < 15 {
		t.Errorf("only %d packages were found: %v", len(seen), seen)
	}
}

func checkImports(t *testing.T, pkg, file string) {
	t.Helper()
	rule := -1
	for i, r := range mayImport {
		if matches(r.who, pkg) {
			rule = i
		}
	}
	if rule < 0 {
		t.Errorf("package %s is not in the import table", pkg)
		return
	}
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
	require.NoError(t, err)
	for _, spec := range parsed.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		require.NoError(t, err)
		ours, ok := strings.CutPrefix(imported, module)
		if !ok {
			continue
		}
		if !allowed(mayImport[rule].what, ours) {
			t.Errorf("%s: %s imports %s, the table allows %s", path.Base(file), pkg, ours, strings.Join(mayImport[rule].what, ", "))
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
