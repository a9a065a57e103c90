package source

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// The sessions of a workspace in each database equal their golden files.
func TestDatabases(t *testing.T) {
	for file, format := range map[string]string{"cursor.vscdb": "cursor", "opencode.db": "opencode"} {
		t.Run(file, func(t *testing.T) {
			d := databaseOf(t, format, filepath.Join("testdata", file))
			var all []golden
			for _, doc := range listOf(t, d).Documents {
				content, err := d.Read(t.Context(), doc, Position{})
				require.NoError(t, err)
				require.Equal(t, doc.Path, filepath.ToSlash(filepath.Join("testdata", file, content.Turns[0].Session)))
				all = append(all, golden{doc.Format, content.Turns, content.Unknown, content.Skipped})
			}
			got, err := json.MarshalIndent(all, "", "  ")
			require.NoError(t, err)
			path := filepath.Join("testdata", "golden", file+".txt")
			if *update {
				require.NoError(t, os.WriteFile(path, append(got, '\n'), 0o644))
			}
			want, err := os.ReadFile(path)
			require.NoError(t, err)
			require.Equal(t, string(want), string(got)+"\n")
		})
	}
}

// databaseOf reads a database for the workspace /src/shop.
func databaseOf(t *testing.T, format, path string) *database {
	t.Helper()
	for _, f := range databaseFormats {
		if f.name == format {
			return &database{format: f, path: path, project: testProject{folders: []string{"/src/shop"}}}
		}
	}
	t.Fatalf("no format %s", format)
	return nil
}

// A database is found where the agent keeps it, and listed again when it has changed.
func TestKnownDatabases(t *testing.T) {
	home := tree(t, nil)
	t.Setenv("XDG_CONFIG_HOME", "")
	t.Setenv("XDG_DATA_HOME", "")
	copied := func(file, to string) string {
		data, err := os.ReadFile(filepath.Join("testdata", file))
		require.NoError(t, err)
		write(t, to, string(data))
		return to
	}
	copied("cursor.vscdb", filepath.Join(settingsFolder(home), "Cursor", "User", "globalStorage", "state.vscdb"))
	path := copied("opencode.db", filepath.Join(home, ".local", "share", "opencode", "opencode.db"))
	var got []string
	var opencode Source
	for _, s := range knownOf("/src/shop", home) {
		for _, doc := range listOf(t, s).Documents {
			got = append(got, doc.Format+" "+filepath.Base(doc.Path))
			if doc.Format == "opencode" {
				opencode = s
			}
		}
	}
	require.Equal(t, []string{"cursor c1", "opencode ses_1", "opencode ses_2"}, got)
	require.NoError(t, os.WriteFile(path, []byte("no database"), 0o600))
	_, err := opencode.List(t.Context())
	require.ErrorContains(t, err, "no SQLite database")
	require.NoError(t, os.Remove(path))
	require.Empty(t, listOf(t, opencode).Documents)
}

// Damaged databases give errors, and what can be read of them is in order.
func FuzzDatabases(f *testing.F) {
	for i, file := range []string{"cursor.vscdb", "opencode.db"} {
		data, err := os.ReadFile(filepath.Join("testdata", file))
		require.NoError(f, err)
		f.Add(data, uint32(len(data)/2), byte(0), uint8(i))
	}
	path := filepath.Join(f.TempDir(), "x.db")
	f.Fuzz(func(t *testing.T, data []byte, at uint32, with byte, which uint8) {
		if len(data) > 0 {
			data[int(at)%len(data)] ^= with
		}
		require.NoError(t, os.WriteFile(path, data, 0o600))
		d := &database{format: databaseFormats[int(which)%len(databaseFormats)], path: path, project: testProject{folders: []string{"/src/shop"}}}
		found, err := d.List(t.Context())
		if err != nil {
			return
		}
		for _, doc := range found.Documents {
			content, err := d.Read(t.Context(), doc, Position{})
			for i, turn := range content.Turns {
				require.NoError(t, err)
				require.True(t, turn.EndLine >= turn.Line && (i == 0 || turn.Line >= content.Turns[i-1].Line), "%+v", content.Turns)
			}
		}
	})
}
