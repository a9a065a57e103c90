package supply

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/mod/modfile"
	"golang.org/x/mod/semver"
)

// A requirement is a line of a go.mod.
type requirement struct {
	file, path, version string
	direct              bool
}

// requirements returns those of all modules in the tree.
func requirements(t *testing.T) (all []requirement) {
	t.Helper()
	files := 0
	require.NoError(t, filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && path != root && (strings.HasPrefix(entry.Name(), ".") && entry.Name() != ".." || entry.Name() == "testdata") {
			return filepath.SkipDir
		}
		if entry.Name() != "go.mod" {
			return nil
		}
		files++
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		file, err := modfile.Parse(path, data, nil)
		require.NoError(t, err)
		for _, r := range file.Require {
			all = append(all, requirement{path, r.Mod.Path, r.Mod.Version, !r.Indirect && r.Mod.Path != "github.com/memcore/memcore"})
		}
		return nil
	}))
	require.GreaterOrEqual(t, files, 2, "go.mod in the root and of the lab")
	return all
}

// rows returns the cells of tables below a heading of docs/dev/dependencies.md, for rows with a
// module in the column "module".
func rows(t *testing.T, heading string) (all []map[string]string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, "docs", "dev", "dependencies.md"))
	require.NoError(t, err)
	_, text, ok := strings.Cut(string(data), "\n## "+heading+"\n")
	require.True(t, ok, heading)
	text, _, _ = strings.Cut(text, "\n## ")
	var names []string
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "|") {
			names = nil
			continue
		}
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		switch {
		case names == nil:
			names = cells
		case strings.HasPrefix(line, "|-"):
		default:
			row := map[string]string{}
			require.Len(t, cells, len(names), line)
			for i, name := range names {
				row[name] = strings.Trim(cells[i], "`")
			}
			all = append(all, row)
		}
	}
	require.NotEmpty(t, all, heading)
	return all
}

// The document has all modules of every go.mod, no others, and a reason for each.
func TestDocument(t *testing.T) {
	main := filepath.Join(root, "go.mod")
	var want, got []string
	program := map[string]bool{}
	all := requirements(t)
	for _, r := range all {
		if r.direct && r.file == main {
			program[r.path] = true
			want = append(want, "program "+r.path)
		}
	}
	for _, r := range all {
		if r.direct && !program[r.path] {
			want = append(want, "tool "+r.path)
		}
	}
	for _, row := range rows(t, "Of the program") {
		if row["for"] == "" {
			continue // the table of what they bring along
		}
		require.NotEmpty(t, row["instead of"], row["module"])
		require.NotEmpty(t, row["licence"], row["module"])
		got = append(got, "program "+row["module"])
	}
	for _, row := range rows(t, "Of tools") {
		require.NotEmpty(t, row["for"], row["module"])
		got = append(got, "tool "+row["module"])
	}
	slices.Sort(want)
	want = slices.Compact(want)
	slices.Sort(got)
	require.Equal(t, want, got, "docs/dev/dependencies.md does not have the modules that the files go.mod ask for, each once")
	t.Logf("dependencies: %d direct ones: each documented", len(got))
}

// Modules are not older than the fixes of advisories.
func TestAdvisories(t *testing.T) {
	version := regexp.MustCompile(`^v\d+\.\d+\.\d+$`)
	all := requirements(t)
	table := rows(t, "Advisories")
	for _, row := range table {
		require.Regexp(t, version, row["mended in"], row["advisory"])
		used := 0
		for _, r := range all {
			if r.path != row["module"] {
				continue
			}
			used++
			if semver.Compare(r.version, row["mended in"]) < 0 {
				t.Errorf("%s asks for %s %s; %s is mended in %s", r.file, r.path, r.version, row["advisory"], row["mended in"])
			}
		}
		if used == 0 {
			t.Errorf("docs/dev/dependencies.md has an advisory of %s, which no go.mod names", row["module"])
		}
	}
	t.Logf("advisories: %d modules with some: all at versions that mend them", len(table))
}
