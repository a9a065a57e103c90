package damage

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/lab/torture/harness"
)

// Huge files and files that are no memory are skipped with a note, or limited. The rest is indexed
// as usual.
func TestFilesThatAreTooMuch(t *testing.T) {
	p := withNotes(t)
	notes := filepath.Join(p.workspace, "notes")
	odd := 0
	add := func(name string, made error) {
		if made != nil {
			t.Logf("not here: %s: %v", name, made)
			return
		}
		odd++
	}
	sparse := func(name string, size int64) {
		f, err := os.Create(filepath.Join(notes, name))
		require.NoError(t, err)
		require.NoError(t, f.Truncate(size))
		require.NoError(t, f.Close())
		odd++
	}
	sparse("hole.md", 1<<40) // a terabyte of nothing
	sparse("hole.jsonl", 1<<40)
	sparse("hole.json", 1<<33)
	sparse("zeros.md", 8<<20) // small enough to be read
	line, err := os.Create(filepath.Join(notes, "line.md"))
	require.NoError(t, err)
	word := []byte(strings.Repeat("endless ", 1<<17))
	for range harness.Times(34, 1024) { // MB in one line
		_, err := line.Write(word)
		require.NoError(t, err)
	}
	require.NoError(t, line.Close())
	odd++
	add("symbolic link to /dev/zero", os.Symlink("/dev/zero", filepath.Join(notes, "zero.md")))
	add("symbolic link to itself", os.Symlink("loop.md", filepath.Join(notes, "loop.md")))
	add("symbolic link to the folder above", os.Symlink("..", filepath.Join(notes, "above")))
	add("pipe", makePipe(filepath.Join(notes, "pipe.md")))
	add("pipe", makePipe(filepath.Join(notes, "pipe.jsonl")))
	deep := notes
	for range harness.Times(200, 1000) {
		deep = filepath.Join(deep, "d")
	}
	if err := os.MkdirAll(deep, 0o755); err == nil {
		require.NoError(t, os.WriteFile(filepath.Join(deep, "deep.md"), []byte("# Deep\n\nThe abyss is at depth.\n"), 0o644))
		odd++
	} else {
		t.Logf("not here: %v", err)
	}
	brackets := strings.Repeat("[", 1<<20)
	require.NoError(t, os.WriteFile(filepath.Join(notes, "nested.json"), []byte(brackets), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(notes, "nested.jsonl"), []byte(`{"type":"user","message":`+brackets+"\n"), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(notes, "quoted.md"), []byte(strings.Repeat("> ", 1<<18)+"\n"), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(notes, "listed.md"), []byte(strings.Repeat("- ", 1<<18)+"\n"), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(notes, "fences.md"), []byte(strings.Repeat("```\n", 1<<18)), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(notes, "links.md"), []byte(strings.Repeat("[a](", 1<<18)), 0o644))
	odd += 6

	p.env = append(p.env, "MEMCORE_EMBEDDER=none", "GOMEMLIMIT=400MiB")
	r := p.run("", "index")
	require.Equal(t, 3, r.code, "two files are too large: %v", r)
	for _, name := range []string{"hole.md", "hole.jsonl", "hole.json", "zeros.md"} {
		require.Contains(t, r.errs, name, "no note that it is skipped")
	}
	require.NotContains(t, r.errs, "fatal")
	require.Contains(t, p.run("", "retrieve", question).out, "5433")
	require.Zero(t, p.run("", "doctor").code)
	t.Logf("files in the memory folder: %d files: passed over by name or bounded; indexed in %v", odd, r.took.Round(time.Millisecond))
}

// Many small files only take time.
func TestManyFiles(t *testing.T) {
	p := withNotes(t)
	n := harness.Times(1_500, 100_000)
	for i := range n {
		name := filepath.Join(p.workspace, "notes", fmt.Sprintf("%03d", i/1000), fmt.Sprintf("%d.md", i))
		if i%1000 == 0 {
			require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
		}
		require.NoError(t, os.WriteFile(name, fmt.Appendf(nil, "# Thing %d\n\nThing number %d weighs %d grams.\n", i, i, i*7), 0o644))
	}
	p.env = append(p.env, "MEMCORE_EMBEDDER=none", "GOMEMLIMIT=256MiB")
	r := p.runFor(10*time.Minute, "", "index")
	require.Zero(t, r.code, r)
	require.Contains(t, p.run("", "retrieve", question).out, "5433")
	require.Contains(t, p.run("", "search", "thing number 1234").out, "8638")
	t.Logf("many small files, GOMEMLIMIT=256MiB: %d files: indexed in %v", n, r.took.Round(time.Second))
}
