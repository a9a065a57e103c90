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
		o.Dir, o.Children, o.Names, o.TrustCopies = at("side"), true, []string{"BEANS.md", "CLAUDE.md"}, o.Original != ""
		m, err := curated.New(o).Load(t.Context())
		require.NoError(t, err)
		require.False(t, m.Trusted)
		for _, f := range m.Files {
			require.Equal(t, f.Reason != "", f.Untrusted, "%s: %s", f.Path, f.Reason)
		}
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

// Git does not bring private files along, so a new working directory would be without them.
func TestPrivateFilesOfTheMainCheckout(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	at := func(name string) string { return filepath.Join(base, filepath.FromSlash(name)) }
	write := func(name, text string) {
		t.Helper()
		require.NoError(t, os.MkdirAll(filepath.Dir(at(name)), 0o700))
		require.NoError(t, os.WriteFile(at(name), []byte(text), 0o600))
	}
	write("main/.git/HEAD", "")
	write("main/BEANS.md", "Of the main branch.")
	write("main/BEANS.local.md", "The staging box is heron.")
	write("main/web/BEANS.local.md", "Of the web.")
	write("side/.git/HEAD", "")
	write("side/web/BEANS.md", "Branch's web.")
	layer := func(o curated.Options) *curated.Layer {
		o.Dir, o.Original, o.Home = at("side/web"), at("main"), base
		return curated.New(o)
	}
	text := func(o curated.Options) string {
		m, err := layer(o).Load(t.Context())
		require.NoError(t, err)
		return m.ProjectContext()
	}
	trusted := curated.Options{Trust: onlyFolders{at("main")}}
	require.Contains(t, text(trusted), "The staging box is heron.")
	require.Contains(t, text(trusted), "Of the web.")
	require.NotContains(t, text(trusted), "Of the main branch.", "the branch has taken it out")
	require.NotContains(t, text(trusted), "Branch's web.", "it is not trusted")
	require.NotContains(t, text(curated.Options{Trust: onlyFolders{at("side")}}), "heron")
	require.NotContains(t, text(curated.Options{Trust: onlyFolders{at("main")}, NoLocal: true}), "heron")

	target, err := layer(trusted).Target(false, true)
	require.NoError(t, err)
	require.Equal(t, at("main/BEANS.local.md"), target.File)
	target, err = layer(trusted).Target(false, false)
	require.NoError(t, err)
	require.Equal(t, at("side/BEANS.md"), target.File)
	write("side/BEANS.local.md", "The staging box of this branch is crane.")
	target, err = layer(trusted).Target(false, true)
	require.NoError(t, err)
	require.Equal(t, at("side/BEANS.local.md"), target.File)
	require.NotContains(t, text(curated.Options{Trust: onlyFolders{base}}), "heron", "the working directory has its own")
	require.Contains(t, text(curated.Options{Trust: onlyFolders{base}}), "crane")
}
