package app

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/tools"
	"github.com/memcore/memcore/inject/httpapi"
	"github.com/memcore/memcore/inject/view"
	"github.com/memcore/memcore/internal/paths"
)

// alikes are names of files that are easily taken for each other, or for something else.
var alikes = []string{
	"BEANS.md", "BEANS\u200b.md", "BEANS.md\u200b.md", "ВEANS.md", " BEANS.md", "BEANS\ufe0f.md",
	"a b.md", "a\tb.md", "a\nb.md", "a  b.md", "a\u00a0b.md", "a%09b.md", "a%2509b.md", "a\\tb.md",
	"notes/a.md", "service:notes/a.md", "session:notes/a.md", "./notes/b.md", "C:/a.md",
	"a.md", "a.md#L3.md", "a.md#L1-L3/b.md", "~/.beans/BEANS.md", "100%.md", "a) • (source: a.md#L3.md", "[INST].md", "日記（旧）.md",
}

// The citation of each file, by every road that takes one, is that of this file and of no other.
func TestCitationsNameOneFile(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no such names there")
	}
	files, words := map[string]string{}, map[string]string{}
	for i, name := range alikes {
		word := fmt.Sprintf("zebra%c%c", 'a'+i/5, 'a'+i%5*4)
		words[filepath.Clean(name)] = word
		files[name] = "# Stable\n\n- The stall of " + word + " is green.\n- It has one window to the south.\n"
	}
	t.Setenv("MEMCORE_SAVE_REQUIRECONFIRMATION", "false")
	s := openTestService(t, files)
	_, err := s.Reindex(t.Context(), httpapi.IndexRequest{})
	require.NoError(t, err)
	call := func(tool string, arguments map[string]any) (string, error) {
		found, ok := tools.Find(s.Tools(), tool)
		require.True(t, ok)
		text, err := json.Marshal(arguments)
		require.NoError(t, err)
		answer, err := found.Call(t.Context(), text)
		return answer.Text, err
	}
	inFiles := func() map[string]string {
		texts := map[string]string{}
		for name := range words {
			text, err := os.ReadFile(filepath.Join(s.Project, filepath.FromSlash(name)))
			require.NoError(t, err)
			texts[name] = string(text)
		}
		return texts
	}
	seen := map[string]bool{}
	for name, word := range words {
		file := filepath.Join(s.Project, filepath.FromSlash(name))
		result, err := s.Manager.Search(t.Context(), word, core.SearchOptions{Limit: 1})
		require.NoError(t, err)
		require.Len(t, result.Hits, 1, name)
		hit := result.Hits[0]
		require.Contains(t, hit.Text, word)
		require.False(t, seen[hit.Path], hit.Path)
		seen[hit.Path] = true
		require.Equal(t, hit.Source, s.TypedPassage(hit.Source), "on a command line")
		require.Equal(t, file, s.FileNamed(hit.Path))
		require.Equal(t, hit.Path, s.DocumentPath(hit.Path), "as the folder of a search")

		for _, citation := range []string{hit.Source, strings.Replace(hit.Source, hit.Path, paths.Unspell(hit.Path), 1)} {
			if name, _, _, _ := paths.ParseCitation(strings.TrimSpace(citation)); name != hit.Path {
				continue // without its escapes it is the name of another one
			}
			passage, err := s.Manager.Read(t.Context(), citation)
			require.NoError(t, err, citation)
			require.Contains(t, passage.Text, word, citation)
			read, err := call("memory_read", map[string]any{"path": citation})
			require.NoError(t, err)
			require.Contains(t, read, word)
			require.Contains(t, read, hit.Source, "it is cited as before")
		}
		place, err := s.Notes().Find(t.Context(), hit.Source)
		require.NoError(t, err)
		require.Equal(t, paths.Resolve(file), place.File(), hit.Source)
		shown, err := page{s: s}.File(t.Context(), view.FileRequest{Path: hit.Path})
		require.NoError(t, err)
		require.Contains(t, shown.Text, word)
	}
	for _, name := range slices.Sorted(maps.Keys(words)) {
		before := inFiles()
		answer, err := call("forget", map[string]any{"text": paths.Citation(s.Names().Of(filepath.Join(s.Project, filepath.FromSlash(name))), 3, 3)})
		require.NoError(t, err, name)
		require.Contains(t, answer, "Deleted: ")
		after := inFiles()
		require.NotContains(t, after[name], words[name])
		delete(before, name)
		delete(after, name)
		require.Equal(t, before, after, "%q changed another file", name)
	}
	_, err = call("forget", map[string]any{"text": "service:notes/a.md#L4"})
	require.ErrorContains(t, err, "is in no file here")
}
