package source

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/internal/paths"
)

// List agrees with git about random patterns in .gitignore files.
func TestGitignoreAgreesWithGit(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	random := rand.New(rand.NewPCG(7, 7))
	for run := range 40 {
		dir := tree(t, nil)
		git(t, dir, "init", "-q")
		for range 12 {
			folders := strings.Repeat(pick(random, "a/", "b/", "{a,b}/"), random.IntN(3))
			write(t, filepath.Join(dir, folders+pick(random, "c.md", "x.md", "a.md", "b.md")), "")
		}
		write(t, filepath.Join(dir, ".gitignore"), randomIgnores(random))
		write(t, filepath.Join(dir, "a", ".gitignore"), randomIgnores(random))

		var want []string
		for line := range strings.Lines(git(t, dir, "ls-files", "--others", "--exclude-standard")) {
			if line = strings.TrimSpace(line); strings.HasSuffix(line, ".md") {
				want = append(want, paths.Spell(line))
			}
		}
		slices.Sort(want)
		if got := pathsOf(list(t, NewFolder(FolderOptions{Path: dir, Workspace: dir}))); !slices.Equal(got, want) {
			top, _ := os.ReadFile(filepath.Join(dir, ".gitignore"))
			below, _ := os.ReadFile(filepath.Join(dir, "a", ".gitignore"))
			t.Errorf("run %d: with .gitignore %q and a/.gitignore %q\nlisted %q\nby git %q", run, top, below, got, want)
		}
	}
}

func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	command := exec.Command("git", append([]string{"-C", dir, "-c", "core.excludesFile="}, args...)...)
	out, err := command.Output()
	require.NoError(t, err)
	return string(out)
}

func randomIgnores(random *rand.Rand) string {
	var lines strings.Builder
	for range 1 + random.IntN(3) {
		lines.WriteString(pick(random, "", "", "", "!") + pick(random, "", "", "/"))
		for i := range 1 + random.IntN(3) {
			lines.WriteString(strings.Repeat("/", min(i, 1)))
			lines.WriteString(pick(random, "a", "b", "c.md", "*.md", "*", "**", "?", "[ab]", "[!a]", "x.md", "b*", "{a,b}"))
		}
		lines.WriteString(pick(random, "", "", "", "/") + "\n")
	}
	return lines.String()
}

func pick(random *rand.Rand, from ...string) string { return from[random.IntN(len(from))] }
