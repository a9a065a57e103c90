package core

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/store"
)

// A manifest is damaged, of another format, or it reads back as it is written. Its checksum is mended, or hardly any would be taken.
func FuzzManifest(f *testing.F) {
	for _, seed := range []string{
		`{"generation":"1","engine":"flat","chunking":"v1","complete":true,"updated":"2026-01-01T00:00:00Z","documents":{"a.md":{"source":"a","kind":"markdown","scope":"project","size":1,"modTime":"2026-01-01T00:00:00Z","chunks":2}}}`,
		`{"generation":"1"}`, `{"generation":"2"}`, `{"generation":"1","documents":null,"dimension":-1}`, `{"generation":"1","documents":{"":{"chunks":-5,"pending":true,"partly":9}}}`, `[]`, `null`, `{`, ``,
		`{"generation":"1","documents":{"a":{"resume":{"offset":-9,"state":{"open":"{"}},"modTime":"9999-12-31T23:59:59Z"}}}`,
		`{"generation":"1","documents":{"a":{"resume":{"state":{}}}}}`, `{"generation":"1","documents":{"a":{"modTime":"2026-01-01T00:00:00+00:00"}}}`,
	} {
		f.Add(manifestFormat, seed, true)
	}
	f.Add(1, `{}`, false)
	f.Add(manifestFormat+1, `{}`, true)
	f.Fuzz(func(t *testing.T, format int, content string, summed bool) {
		folder := filepath.Join(t.TempDir(), "1")
		require.NoError(t, os.Mkdir(folder, 0o700))
		file := filepath.Join(folder, manifestFile)
		text := fmt.Sprintf(`{"format":%d,"checksum":%d,"content":%s}`, format, frameSum(format, []byte(content)), content)
		if !summed {
			text = content
		}
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		m, err := readManifest(folder)
		if err != nil {
			require.True(t, errors.Is(err, store.ErrCorrupt) || errors.Is(err, store.ErrFormat) || errors.Is(err, store.ErrNewer), err)
			require.ErrorContains(t, err, file)
			return
		}
		require.Equal(t, manifestFormat, format)
		require.NotNil(t, m.Documents)
		m.chunks()
		require.NoError(t, m.save(folder))
		again, err := readManifest(folder)
		require.NoError(t, err)
		require.Equal(t, plain(m.Documents), plain(again.Documents))
	})
}

// plain makes equal what JSON says in more than one way: a time in any zone, and a map that is empty or not there. Values are compared and not
// what is written of them, or what the writing itself loses would be missed.
func plain(documents map[string]entry) map[string]entry {
	all := map[string]entry{}
	for path, e := range documents {
		e.ModTime, e.Changed = e.ModTime.UTC(), e.Changed.UTC()
		if len(e.Resume.State) == 0 {
			e.Resume.State = nil
		}
		all[path] = e
	}
	return all
}
