package flat

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/store"
)

func linesWith(text, part string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for line := range strings.Lines(text) {
			if strings.Contains(line, part) && !yield(line) {
				return
			}
		}
	}
}

// folderOf returns the folder of a closed index of two commits, and of its current generation.
func folderOf(t *testing.T, n int) (dir, folder string) {
	t.Helper()
	dir = t.TempDir()
	ix := open(t, dir, small)
	g := newGenerated(1)
	recs := g.records(n, small)
	add(t, ix, recs...)
	require.NoError(t, ix.Put(t.Context(), g.records(3, small)))
	remove(t, ix, recs[:2]...)
	require.NoError(t, ix.Close())
	return dir, filepath.Join(dir, "2")
}

func TestDamageIsTold(t *testing.T) {
	replace := func(old, new string) func(*testing.T, string, string) {
		return func(t *testing.T, _, folder string) {
			path := filepath.Join(folder, store.ManifestFile)
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			require.Contains(t, string(text), old)
			_, content, _ := strings.Cut(strings.Replace(string(text), old, new, 1), `"content":`)
			text, err = format.Encode(folder, json.RawMessage(strings.TrimSuffix(content, "}")))
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(path, text, 0o600))
		}
	}
	otherFormat := func(number int) func(*testing.T, string, string) {
		return func(t *testing.T, _, folder string) {
			text, err := store.ManifestFormat{Kind: format.Kind, Number: number}.Encode(folder, "?")
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(filepath.Join(folder, store.ManifestFile), text, 0o600))
		}
	}
	type damage func(t *testing.T, dir, folder string)
	cut := func(name string, size int64) damage {
		return func(t *testing.T, _, folder string) {
			require.NoError(t, os.Truncate(filepath.Join(folder, name), size))
		}
	}
	gone := func(name string) damage {
		return func(t *testing.T, dir, _ string) { require.NoError(t, os.RemoveAll(filepath.Join(dir, name))) }
	}
	for name, tt := range map[string]struct {
		damage damage
		want   error
	}{
		"vectors are gone":         {gone("2/vectors"), store.ErrCorrupt},
		"codes are gone":           {gone("2/codes"), store.ErrCorrupt},
		"records are gone":         {gone("2/records"), store.ErrCorrupt},
		"the table is gone":        {gone("2/table"), store.ErrCorrupt},
		"the manifest is gone":     {gone("2/manifest.json"), store.ErrCorrupt},
		"the generation is gone":   {gone("2"), store.ErrCorrupt},
		"vectors are cut":          {cut(vectorsFile, 100), store.ErrCorrupt},
		"codes are empty":          {cut(codesFile, 0), store.ErrCorrupt},
		"records are cut":          {cut(recordsFile, 100), store.ErrCorrupt},
		"the table is cut":         {cut(tableFile, 100), store.ErrCorrupt},
		"the manifest is cut":      {cut(store.ManifestFile, 60), store.ErrCorrupt},
		"the manifest is empty":    {cut(store.ManifestFile, 0), store.ErrCorrupt},
		"CURRENT is nonsense":      {func(t *testing.T, dir, _ string) { overwrite(t, filepath.Join(dir, "CURRENT"), "x") }, store.ErrCorrupt},
		"the manifest is nonsense": {func(t *testing.T, _, folder string) { overwrite(t, filepath.Join(folder, store.ManifestFile), "hello") }, store.ErrCorrupt},
		"a later format":           {otherFormat(99), store.ErrNewer},
		"an earlier format":        {otherFormat(2), store.ErrFormat},
		"more rows than there":     {replace(`"rows":103`, `"rows":104`), store.ErrCorrupt},
		"more live than rows":      {replace(`"live":101`, `"live":104`), store.ErrCorrupt},
		"negative rows":            {replace(`"rows":103`, `"rows":-1`), store.ErrCorrupt},
		"endless rows":             {replace(`"rows":103`, `"rows":9223372036854775807`), store.ErrCorrupt},
		"endless records":          {replace(`"records":`, `"records":999999`), store.ErrCorrupt},
	} {
		t.Run(name, func(t *testing.T) {
			dir, folder := folderOf(t, 100)
			tt.damage(t, dir, folder)
			_, err := Open(t.Context(), dir, small)
			var wrapped *store.Error
			if !errors.Is(err, tt.want) || !errors.As(err, &wrapped) || wrapped.Op != "open" || wrapped.Path != dir {
				t.Errorf("Open: error %v, want %v in a store.Error", err, tt.want)
			}
		})
	}
}

func overwrite(t *testing.T, path, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
}

// Any wrong bit leads to an error or a right answer, and Check reports it.
func TestFlippedBits(t *testing.T) {
	dir, folder := folderOf(t, 30)
	for _, name := range []string{store.ManifestFile, tableFile, vectorsFile, codesFile, recordsFile} {
		path := filepath.Join(folder, name)
		whole, err := os.ReadFile(path)
		require.NoError(t, err)
		for at := 0; at < len(whole); at += len(whole)/300 + 1 {
			flipped := slices.Clone(whole)
			flipped[at] ^= 1 << (at % 8)
			overwrite(t, path, string(flipped))
			if err := useAll(dir); !errors.Is(err, store.ErrCorrupt) && !errors.Is(err, store.ErrFormat) {
				t.Errorf("with a bit flipped at %d of %s: error %v, want ErrCorrupt", at, name, err)
			}
		}
		overwrite(t, path, string(whole))
	}
	require.NoError(t, useAll(dir))
}

// useAll calls all methods of an index.
func useAll(dir string) error {
	ctx := context.Background()
	ix, err := Open(ctx, dir, small)
	if err != nil {
		return err
	}
	defer ix.Close()
	g := newGenerated(1)
	recs := g.records(60, small)
	_, err1 := ix.Nearest(ctx, g.vector(small), 50, store.Filter{Scope: "project"})
	_, err2 := ix.Nearest(ctx, g.vector(small), 3, store.Filter{})
	_, err3 := ix.Document(ctx, "notes/00000.md")
	_, err4 := ix.Similarities(ctx, g.vector(small), []string{recs[5].ID, recs[50].ID})
	return errors.Join(err1, err2, err3, err4, ix.Check(ctx))
}

// No answer leaves out a row because its code or vector is damaged, however good other rows are.
func TestDamagedRowsAreNotPassedOver(t *testing.T) {
	for _, name := range []string{codesFile, vectorsFile} {
		for _, before := range []bool{false, true} {
			ix := filled(t, 2000, small)
			folder := filepath.Join(ix.Folder(), "1")
			s := snap(t, ix)
			query := scaled(s.vector(1700)) // the best by far, and late, so that its code decides
			_, err := ix.Nearest(t.Context(), query, 3, store.Filter{})
			require.NoError(t, err)
			size := s.codes.size
			if name == vectorsFile {
				size = s.vectors.size
			}
			flip := func(at int64) {
				f, err := os.OpenFile(filepath.Join(folder, name), os.O_RDWR, 0)
				require.NoError(t, err)
				defer f.Close()
				b := make([]byte, size)
				_, err = f.ReadAt(b, at)
				require.NoError(t, err)
				for i := range b {
					b[i] ^= 0x80
				}
				_, err = f.WriteAt(b, at)
				require.NoError(t, err)
			}
			reader := ix
			flip(int64(1700 * size))
			if !before { // else it is damaged under a reader that has verified it
				reader = open(t, ix.Folder(), small)
			}
			hits, err := reader.Nearest(t.Context(), query, 3, store.Filter{})
			if !errors.Is(err, store.ErrCorrupt) {
				t.Errorf("Nearest with one row of %s damaged, opened before: %v: %d hits, error %v, want ErrCorrupt", name, before, len(hits), err)
			}
			flip(int64(1700 * size))
			_, err = reader.Nearest(t.Context(), query, 3, store.Filter{})
			require.NoError(t, err)
		}
	}
}

// No answer contains a damaged row.
func TestDamagedRowsAreNotAnswers(t *testing.T) {
	for _, name := range []string{recordsFile, vectorsFile} {
		dir, folder := folderOf(t, 30)
		path := filepath.Join(folder, name)
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		for i := range text {
			text[i] ^= 0x10
		}
		overwrite(t, path, string(text))
		ix := open(t, dir, small)
		hits, err := ix.Nearest(t.Context(), newGenerated(1).vector(small), 50, store.Filter{})
		if !errors.Is(err, store.ErrCorrupt) || hits != nil {
			t.Errorf("Nearest with all of %s damaged = %d hits, error %v, want ErrCorrupt", name, len(hits), err)
		}
		require.Error(t, ix.Put(t.Context(), []store.Record{{ID: "x"}}))
	}
}

// Data that a killed writer has appended to shared files does not count, and is overwritten.
func TestTailsDoNotCount(t *testing.T) {
	dir, folder := folderOf(t, 30)
	reader := open(t, dir, small)
	for _, name := range []string{tableFile, vectorsFile, codesFile, recordsFile} {
		f, err := os.OpenFile(filepath.Join(folder, name), os.O_WRONLY|os.O_APPEND, 0)
		require.NoError(t, err)
		_, err = f.WriteString(strings.Repeat("garbage", 100_000))
		require.NoError(t, err)
		require.NoError(t, f.Close())
	}
	require.NoError(t, useAll(dir))
	ix := open(t, dir, small)
	add(t, ix, newGenerated(3).records(7, small)...)
	for _, ix := range []*Index{ix, reader, open(t, dir, small)} {
		require.Equal(t, 38, count(t, ix))
		require.NoError(t, ix.Check(t.Context()))
	}
}

// A file cut short under a reader is an error, not the end of the process.
func TestFilesCutWhileOpen(t *testing.T) {
	skipOnWindows(t)
	for _, n := range []int{500, 5000} { // the latter is searched by several goroutines
		ix := filled(t, n, small)
		require.Equal(t, n, count(t, ix)) // it is open now
		require.NoError(t, os.Truncate(filepath.Join(ix.Folder(), "1", vectorsFile), 0))
		_, err := ix.Nearest(t.Context(), newGenerated(1).vector(small), n, store.Filter{})
		if !errors.Is(err, store.ErrCorrupt) {
			t.Errorf("Nearest in a file cut short: error %v, want ErrCorrupt", err)
		}
		if err := ix.Check(t.Context()); !errors.Is(err, store.ErrCorrupt) {
			t.Errorf("Check of a file cut short: error %v, want ErrCorrupt", err)
		}
	}
}
