package core

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/store"
)

// A manifest is damaged, of another format, or reads back as written. The checksum is corrected.
func FuzzManifest(f *testing.F) {
	for _, seed := range []string{
		`{"engine":"flat","chunking":"v1","complete":true,"updated":"2026-01-01T00:00:00Z","documents":{"a.md":{"source":"a","kind":"markdown","scope":"project","size":1,"modTime":"2026-01-01T00:00:00Z","chunks":2}}}`,
		`{}`, `{"documents":null,"dimension":-1}`, `{"documents":{"":{"chunks":-5,"pending":true,"partly":9}}}`, `[]`, `null`, `{`, ``,
		`{"documents":{"a":{"resume":{"offset":-9,"state":{"open":"{"}},"modTime":"9999-12-31T23:59:59Z"}}}`,
		`{"documents":{"a":{"resume":{"state":{}}}}}`, `{"documents":{"a":{"modTime":"2026-01-01T00:00:00+00:00"}}}`,
	} {
		f.Add(manifestFormat.Number, seed, true)
	}
	f.Add(1, `{}`, false)
	f.Add(manifestFormat.Number+1, `{}`, true)
	f.Fuzz(func(t *testing.T, format int, content string, summed bool) {
		folder := filepath.Join(t.TempDir(), "1")
		require.NoError(t, os.Mkdir(folder, 0o700))
		file := filepath.Join(folder, store.ManifestFile)
		text, err := store.ManifestFormat{Kind: "memory", Number: format}.Encode(folder, json.RawMessage(content))
		if err != nil || !summed {
			text = []byte(content)
		}
		require.NoError(t, os.WriteFile(file, text, 0o600))
		m, err := readManifest(folder)
		if err != nil {
			require.True(t, errors.Is(err, store.ErrCorrupt) || errors.Is(err, store.ErrFormat) || errors.Is(err, store.ErrNewer), err)
			require.ErrorContains(t, err, file)
			return
		}
		require.Equal(t, manifestFormat.Number, format)
		require.NotNil(t, m.Documents)
		m.chunks()
		require.NoError(t, m.save(folder))
		again, err := readManifest(folder)
		require.NoError(t, err)
		require.Equal(t, asSaved(m.Documents), asSaved(again.Documents))
	})
}

// asSaved makes equal what JSON writes differently, and keeps what writing loses.
func asSaved(documents map[string]entry) map[string]entry {
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
