package curated

import (
	"fmt"
	"io/fs"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A gauge counts how many were inside at a time.
type gauge struct{ inside, most atomic.Int64 }

func (g *gauge) enter() {
	n := g.inside.Add(1)
	for {
		most := g.most.Load()
		if n <= most || g.most.CompareAndSwap(most, n) {
			break
		}
	}
	time.Sleep(2 * time.Millisecond)
	g.inside.Add(-1)
}

// Seed 000: 20 files, 15 folders, 10 imports at a time.
func TestConcurrency(t *testing.T) {
	files := map[string]string{"BEANS.md": ""}
	for i := range 60 {
		files[fmt.Sprintf(".beans/rules/%d.md", i)] = "---\nversion: 0\n---\nrule " + fmt.Sprint(i) + "\n@../../x" + fmt.Sprint(i) + ".md"
		files[fmt.Sprintf("x%d.md", i)] = "---\nversion: -0\nimported: true\n---\nx"
		files[fmt.Sprintf("d%d/x", i)] = ""
	}
	w := newFixture(t, files)
	var reads, imports, folders gauge
	t.Cleanup(func() { delete(migrations, 0) })
	migrations[0] = func(meta map[string]any) error {
		if meta["imported"] == true {
			imports.enter()
		} else {
			reads.enter()
		}
		return nil
	}
	require.Equal(t, 60, w.load().Usage.Files)
	r := newReader(t.Context(), w.options.withDefaults())
	r.readDir = func(dir string) ([]fs.DirEntry, error) {
		folders.enter()
		return os.ReadDir(dir)
	}
	_, err := r.scan(t.Context(), w.project)
	require.NoError(t, err)
	for name, g := range map[string]struct {
		gauge *gauge
		limit int64
	}{"files": {&reads, 20}, "folders": {&folders, 15}, "imports": {&imports, 10}} {
		most := g.gauge.most.Load()
		require.LessOrEqual(t, most, g.limit, name)
		require.Greater(t, most, int64(1), "%s are not read one after the other", name)
	}
}
