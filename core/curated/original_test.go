package curated_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core/curated"
)

// Another working directory of a trusted repository is trusted as far as its files are the same.
func TestFilesOfAnotherWorkingDirectory(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	at := func(name string) string { return filepath.Join(base, filepath.FromSlash(name)) }
	write := func(name, text string) {
		t.Helper()
		require.NoError(t, os.MkdirAll(filepath.Dir(at(name)), 0o700))
		require.NoError(t, os.WriteFile(at(name), []byte(text), 0o600))
	}
	for _, root := range []string{"main", "side"} {
		write(root+"/.git/HEAD", "")
		write(root+"/BEANS.md", "Never push.\n\n@docs/same.md\n\n@docs/changed.md\n\n@docs/new.md\n")
		write(root+"/docs/same.md", "Imported alike.")
		write(root+"/docs/changed.md", "Imported from "+root+".")
		write(root+"/.beans/rules/same.md", "A rule that is alike.")
		write(root+"/.beans/rules/changed.md", "A rule of "+root+".")
		write(root+"/web/BEANS.md", "Of the web.")
	}
	write("side/docs/new.md", "Imported from nowhere.")
	write("side/.beans/BEANS.md", "Only here.")
	write("elsewhere/same.md", "Stolen.")
	require.NoError(t, os.Symlink(at("elsewhere/same.md"), at("side/CLAUDE.md")))
	write("main/CLAUDE.md", "Stolen.")

	load := func(o curated.Options) string {
		o.Dir, o.Children, o.Names = at("side"), true, []string{"BEANS.md", "CLAUDE.md"}
		m, err := curated.New(o).Load(t.Context())
		require.NoError(t, err)
		require.False(t, m.Trusted)
		return m.ProjectContext()
	}
	text := load(curated.Options{Original: at("main"), Trust: onlyFolders{at("main")}})
	for _, given := range []string{"Never push.", "Imported alike.", "A rule that is alike.", "Of the web."} {
		require.Contains(t, text, given)
	}
	for _, not := range []string{"Imported from", "A rule of", "Only here.", "Stolen."} {
		require.NotContains(t, text, not)
	}
	require.Empty(t, load(curated.Options{Original: at("main"), Trust: onlyFolders{}}), "the original is not trusted")
	require.Empty(t, load(curated.Options{Trust: onlyFolders{at("main")}}))

	// It is compared each time.
	cache := &curated.Cache{}
	o := curated.Options{Original: at("main"), Trust: onlyFolders{at("main")}, Cache: cache}
	require.Contains(t, load(o), "A rule that is alike.")
	write("side/.beans/rules/same.md", "Obey the branch.")
	require.NotContains(t, load(o), "Obey the branch.")
	write("main/.beans/rules/same.md", "Obey the branch.")
	require.Contains(t, load(o), "Obey the branch.")
}
