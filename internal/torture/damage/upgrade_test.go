package damage

import (
	"encoding/json"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/internal/torture"
)

// withNotes is a place with the notes that testdata/make.sh has indexed.
func withNotes(t *testing.T) place {
	p := newPlace(t)
	require.NoError(t, os.RemoveAll(filepath.Join(p.workspace, "notes")))
	for file, text := range treeOf(t, "testdata/notes") {
		p.write("notes/"+file, string(text))
	}
	return p
}

// index is the folder that the program says it uses.
func (p place) index() string {
	p.t.Helper()
	var status struct{ Folder string }
	r := p.run("", "status", "--json")
	require.NoError(p.t, json.Unmarshal([]byte(r.out), &status), r)
	require.NotEmpty(p.t, status.Folder)
	return status.Folder
}

const question = "which port does the staging postgres listen on?"

// What each earlier release kept opens, or is said to be of that release and made anew by indexing as always.
func TestEarlierReleases(t *testing.T) {
	fixtures, err := filepath.Glob("testdata/earlier/*")
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(fixtures), 2)
	for _, fixture := range fixtures {
		t.Run(filepath.Base(fixture), func(t *testing.T) {
			p := withNotes(t)
			index := p.index()
			treeOf(t, filepath.Join(fixture, "data")).restore(t, index)
			treeOf(t, filepath.Join(fixture, "embeddings")).restore(t, filepath.Join(p.state(), "embeddings"))
			before := p.run("", "retrieve", question)
			if !strings.Contains(before.out, "5433") && !telling.MatchString(before.errs) {
				t.Errorf("retrieve before indexing: %v, want an answer or why there is none", before)
			}
			r := p.run("", "index")
			require.Zero(t, r.code, r)
			require.Contains(t, r.errs, "made anew")
			after := p.run("", "retrieve", question)
			require.Contains(t, after.out, "5433", after)
			require.Empty(t, after.errs)
			require.Zero(t, p.run("", "doctor").code)
		})
	}
	torture.Report(t, torture.Row{Part: "upgrades", Case: "indexes of earlier formats", Count: len(fixtures), Unit: "formats", Result: "said, and made anew by the next indexing, from cached vectors"})
}

// What a newer release made is refused by each command with what to do, and is byte for byte what it was; until the person says --rebuild.
func TestNewerRelease(t *testing.T) {
	castagnoli := crc32.MakeTable(crc32.Castagnoli)
	n := 0
	for name, newer := range map[string]struct{ file, text string }{
		"manifest": {"manifest.json", fmt.Sprintf(`{"format":3,"checksum":%d,"content":{"new":[]}}`, crc32.Checksum([]byte(`3{"new":[]}`), castagnoli))},
		"vectors":  {"vectors/1/meta", fmt.Sprintf("memcore vectors, format 4, checksum %08x\n{}", crc32.Checksum([]byte("4{}"), castagnoli))},
		"keywords": {"keywords/1/keywords", fmt.Sprintf("memcore keywords, mapping 5, segments 17, checksum %08x\n{}", crc32.ChecksumIEEE([]byte("5 17{}")))},
	} {
		t.Run(name, func(t *testing.T) {
			p := withNotes(t)
			require.Zero(t, p.run("", "index").code)
			index := p.index()
			require.NoError(t, os.WriteFile(filepath.Join(index, "1", newer.file), []byte(newer.text), 0o600))
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
			delete(before, "usage.json") // keywords answer, where they are not newer, and that is counted
			delete(after, "usage.json")
			require.Equal(t, before, after)
			require.Zero(t, p.run("", "index", "--rebuild").code)
			require.Contains(t, p.run("", "retrieve", question).out, "5434")
		})
	}
	torture.Report(t, torture.Row{Part: "upgrades", Case: "indexes of a newer release", Count: n, Unit: "commands", Result: "refused with what to do; no byte changed"})
}

// State that a newer release wrote is neither lost nor read; settings that it knows are ignored and named.
func TestNewerState(t *testing.T) {
	p := withNotes(t)
	require.NoError(t, os.MkdirAll(filepath.Join(p.home, ".beans"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(p.home, ".beans", "config.yaml"), []byte("memory:\n  telepathy: true\n  limit: 5\n"), 0o600))
	r := p.run("", "index")
	require.Zero(t, r.code, r)
	require.Contains(t, r.errs, "unknown setting memory.telepathy is ignored")
	require.Zero(t, p.run("", "index", "notes").code)
	p.run("", "save", "The gull is grey.")
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
	for _, args := range [][]string{{"retrieve", question}, {"doctor"}, {"status"}, {"index", "--forget", "notes"}, {"save", "The gull is white."}, {"trust", "list"}} {
		p.run("", args...)
	}
	p.run(p.prompt("s"), "hook", "claude-code")
	after := treeOf(t, p.home)
	for file, text := range before {
		if strings.HasSuffix(file, ".json") && strings.Contains(string(text), "format9") && !strings.HasSuffix(file, "last.json") {
			require.Equal(t, string(text), string(after[file]), file)
		}
	}
	torture.Report(t, torture.Row{Part: "upgrades", Case: "state files of a newer release", Count: state, Unit: "files", Result: "left as they are; unknown settings named"})
}
