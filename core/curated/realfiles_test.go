package curated

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestRealFiles reads all Markdown and rules (.md, .mdc) below MEMCORE_MEMORY_FILES as memory files
// of separate projects, and prints findings: make -C lab static-files DATA=…
func TestRealFiles(t *testing.T) {
	root := os.Getenv("MEMCORE_MEMORY_FILES")
	if root == "" {
		t.Skip("MEMCORE_MEMORY_FILES names no folder")
	}
	var n struct{ files, bytes, front, broken, unknown, globs, badGlobs, triggers, imports, mentions, hidden, lines, start, kb30, kb50, cut int }
	var took time.Duration
	var given []int // lines of the files that are given in part
	w := newFixture(t, nil)
	require.NoError(t, filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		ext := strings.ToLower(filepath.Ext(path))
		if err != nil || entry.IsDir() || ext != ".md" && ext != ".mdc" {
			return err
		}
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		w.write("BEANS.md", string(data))
		begin := time.Now()
		m := w.load()
		took += time.Since(begin)
		require.Len(t, m.Files, 1, path)
		require.True(t, m.Files[0].Lines > 0 || m.Files[0].Reason != "", path)
		again := w.load()
		require.Equal(t, m, again, path)

		c := parse(path, data)
		h, total := c.head, strings.Count(string(data), "\n")+1
		n.files++
		n.bytes += len(data)
		count(&n.front, c.skipped > 0)
		count(&n.unknown, len(h.Other) > 0)
		count(&n.globs, len(h.Globs) > 0)
		count(&n.triggers, len(h.Triggers) > 0)
		for _, imports := range c.imports {
			for _, i := range imports {
				count(&n.imports, !i.mention)
				count(&n.mentions, i.mention)
			}
		}
		for _, p := range c.problems {
			count(&n.broken, strings.HasPrefix(p.Text, "frontmatter is not used"))
			count(&n.badGlobs, strings.HasPrefix(p.Text, "glob "))
			count(&n.hidden, strings.Contains(p.Text, "removed: a reader"))
			t.Logf("%s:%d: %s", filepath.Base(path), p.Line, p.Text)
		}
		count(&n.lines, total > 500)
		count(&n.start, total > 200)
		count(&n.kb30, len(data) > 30<<10)
		count(&n.kb50, len(data) > 50<<10)
		count(&n.cut, m.Files[0].Cut)
		if m.Files[0].Cut {
			given = append(given, m.Usage.Lines)
		}
		return nil
	}))
	require.Positive(t, n.files, "there are no Markdown files in %s", root)
	for _, row := range []struct {
		what string
		n    int
	}{
		{"files", n.files}, {"with frontmatter", n.front}, {"of them not usable", n.broken}, {"with keys unknown to memcore", n.unknown}, {"with globs", n.globs}, {"with a broken glob", n.badGlobs},
		{"with triggers", n.triggers}, {"imports on a line of their own", n.imports}, {"mentions within a sentence", n.mentions}, {"with invisible characters", n.hidden},
		{"over 200 lines", n.start}, {"over 500 lines", n.lines}, {"over 30 KB", n.kb30}, {"over 50 KB", n.kb50}, {"given in part, each alone", n.cut},
	} {
		fmt.Printf("| %s | %d |\n", row.what, row.n)
	}
	if slices.Sort(given); len(given) > 0 {
		fmt.Printf("| lines of these that are given, of 200: median; in nine of ten at least | %d; %d |\n", given[len(given)/2], given[len(given)/10])
	}
	t.Logf("%.1f MB loaded in %v", float64(n.bytes)/1e6, took)
}

func count(n *int, yes bool) {
	if yes {
		*n++
	}
}
