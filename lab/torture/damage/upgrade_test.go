package damage

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/store"
)

// withNotes returns a place with the notes indexed by testdata/make.sh.
func withNotes(t *testing.T) place {
	p := newPlace(t)
	require.NoError(t, os.RemoveAll(filepath.Join(p.workspace, "notes")))
	for file, text := range treeOf(t, "testdata/notes") {
		p.write("notes/"+file, string(text))
	}
	return p
}

// index returns the folder of the index.
func (p place) index() string {
	p.t.Helper()
	var status struct{ Folder string }
	r := p.run("", "status", "--json")
	require.NoError(p.t, json.Unmarshal([]byte(r.out), &status), r)
	require.NotEmpty(p.t, status.Folder)
	return status.Folder
}

const question = "which port does the staging postgres listen on?"

// Files of earlier releases open, or are reported and rebuilt by indexing.
func TestEarlierReleases(t *testing.T) {
	fixtures, err := filepath.Glob("testdata/earlier/*")
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(fixtures), 2)
	for _, fixture := range fixtures {
		t.Run(filepath.Base(fixture), func(t *testing.T) {
			p := withNotes(t)
			index := p.index()
			treeOf(t, filepath.Join(fixture, "data")).restore(t, index)
			treeOf(t, filepath.Join(fixture, "embeddings")).restore(t, filepath.Join(p.cache(), "embeddings"))
			before := p.run("", "retrieve", question)
			if !strings.Contains(before.out, "5433") && !telling.MatchString(before.errs) {
				t.Errorf("retrieve before indexing: %v, want an answer or why there is none", before)
			}
			r := p.run("", "index")
			require.Zero(t, r.code, r)
			require.Contains(t, r.errs, "was rebuilt")
			after := p.run("", "retrieve", question)
			require.Contains(t, after.out, "5433", after)
			require.Empty(t, after.errs)
			require.Zero(t, p.run("", "doctor").code)
		})
	}
	t.Logf("indexes of earlier formats: %d formats: said, and rebuilt by the next indexing, from cached vectors", len(fixtures))
}

// Commands refuse files of a newer release with a hint and leave them unchanged until --rebuild.
func TestNewerRelease(t *testing.T) {
	n := 0
	for kind, folder := range map[string]string{"memory": "1", "vectors": "1/vectors/1", "keywords": "1/keywords/1"} {
		t.Run(kind, func(t *testing.T) {
			p := withNotes(t)
			require.Zero(t, p.run("", "index").code)
			index := p.index()
			newer, err := store.ManifestFormat{Kind: kind, Number: 9999}.Encode(folder, map[string]any{"new": []int{}})
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(filepath.Join(index, folder, store.ManifestFile), newer, 0o600))
			before := treeOf(t, index)
			p.write("notes/staging.md", "# Staging\n\nThe staging postgres has moved to port 5434.\n")
			for _, args := range [][]string{{"retrieve", question}, {"search", "staging"}, {"doctor"}, {"status"}, {"index"}, {"explain", question}} {
				r := p.run("", args...)
				require.Contains(t, r.out+r.errs, "newer memcore", args)
				require.Contains(t, r.out+r.errs, "--rebuild", args)
				if args[0] == "index" || args[0] == "doctor" {
					require.NotZero(t, r.code, args)
				}
				n++
			}
			hook := p.run(p.prompt("a"), "hook", "claude-code")
			require.Zero(t, hook.code, hook)
			after := treeOf(t, index)
			require.Equal(t, before, after)
			require.Zero(t, p.run("", "index", "--rebuild").code)
			require.Contains(t, p.run("", "retrieve", question).out, "5434")
		})
	}
	t.Logf("indexes of a newer release: %d commands: refused with what to do; no byte changed", n)
}

// State of a newer release is neither lost nor read; its unknown settings are listed and ignored.
func TestNewerState(t *testing.T) {
	p := withNotes(t)
	require.NoError(t, os.MkdirAll(filepath.Join(p.home, ".beans"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(p.home, ".beans", "config.yaml"), []byte("memory:\n  telepathy: true\n  tokenBudget: 700\n"), 0o600))
	r := p.run("", "index")
	require.Zero(t, r.code, r)
	require.Contains(t, r.errs, "unknown setting memory.telepathy is ignored")
	require.Zero(t, p.run("", "index", "notes").code)
	p.run("", "save", "--yes", "--shared", "The gull is grey.")
	p.run(p.prompt("s"), "hook", "claude-code")
	state := 0
	require.NoError(t, filepath.WalkDir(p.home, func(path string, entry os.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".json") || strings.Contains(path, "/data/") {
			return err
		}
		state++
		return os.WriteFile(path, []byte(`{"format": 9, "format9": {"kept": true}}`+"\n"), 0o600)
	}))
	require.GreaterOrEqual(t, state, 2)
	before := treeOf(t, p.home)
	for _, args := range [][]string{{"retrieve", question}, {"doctor"}, {"status"}, {"index", "--forget", "notes"}, {"save", "--yes", "--shared", "The gull is white."}, {"trust", "list"}} {
		p.run("", args...)
	}
	p.run(p.prompt("s"), "hook", "claude-code")
	after := treeOf(t, p.home)
	for file, text := range before {
		if strings.HasSuffix(file, ".json") && strings.Contains(string(text), "format9") {
			require.Equal(t, string(text), string(after[file]), file)
		}
	}
	t.Logf("state files of a newer release: %d files: left as they are; unknown settings named", state)
}
