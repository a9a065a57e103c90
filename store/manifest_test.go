package store

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestManifest(t *testing.T) {
	format := ManifestFormat{"vectors", 3}
	for name, tt := range map[string]struct {
		text func() []byte
		want error
	}{
		"its own":                 {func() []byte { return encode(t, "2", format) }, nil},
		"a newer release's":       {func() []byte { return encode(t, "2", ManifestFormat{"vectors", 4}) }, ErrNewer},
		"an earlier release's":    {func() []byte { return encode(t, "2", ManifestFormat{"vectors", 2}) }, ErrFormat},
		"before there were kinds": {func() []byte { return []byte(`{"format":2,"checksum":7,"content":{}}`) }, ErrFormat},
		"another folder's":        {func() []byte { return encode(t, "1", format) }, ErrCorrupt},
		"another kind's":          {func() []byte { return encode(t, "2", ManifestFormat{"keywords", 4}) }, ErrCorrupt},
		"no JSON":                 {func() []byte { return []byte("{") }, ErrCorrupt},
		"empty":                   {func() []byte { return nil }, ErrCorrupt},
		"with other content":      {func() []byte { return encode(t, "2", format, "text") }, ErrCorrupt},
	} {
		folder := filepath.Join(t.TempDir(), "2")
		require.NoError(t, os.Mkdir(folder, 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(folder, ManifestFile), tt.text(), 0o600))
		var content []int
		require.ErrorIs(t, format.Read(folder, &content), tt.want, name)
	}
}

// A manifest with any wrong bit is not read.
func TestManifestWithAFlippedBit(t *testing.T) {
	format := ManifestFormat{"vectors", 3}
	folder := filepath.Join(t.TempDir(), "2")
	require.NoError(t, os.Mkdir(folder, 0o700))
	text := encode(t, folder, format)
	for at := range text {
		for bit := range 8 {
			text[at] ^= 1 << bit
			require.NoError(t, os.WriteFile(filepath.Join(folder, ManifestFile), text, 0o600))
			var content []int
			require.Error(t, format.Read(folder, &content), "bit %d of %s", bit, text)
			text[at] ^= 1 << bit
		}
	}
}

func encode(t *testing.T, folder string, format ManifestFormat, content ...any) []byte {
	var all any = []int{1, 2}
	if len(content) > 0 {
		all = content[0]
	}
	text, err := format.Encode(folder, all)
	require.NoError(t, err)
	return text
}

// What precedes a key is read without the rest, of which any wrong bit still counts.
func TestManifestBeforeAKey(t *testing.T) {
	format := ManifestFormat{"memory", 4}
	folder := filepath.Join(t.TempDir(), "2")
	require.NoError(t, os.Mkdir(folder, 0o700))
	type content struct {
		Engine string         `json:"engine"`
		Chunks int            `json:"chunks"`
		All    map[string]int `json:"documents,omitempty"`
		Last   string         `json:"last"`
	}
	for name, all := range map[string]content{
		"with documents":         {`a ,"documents":{} b`, 3, map[string]int{"a": 1}, "z"},
		"without, in one object": {"flat", 3, nil, "z"},
	} {
		text := encode(t, folder, format, all)
		require.NoError(t, os.WriteFile(filepath.Join(folder, ManifestFile), text, 0o600))
		var head content
		require.NoError(t, format.ReadBefore("documents", folder, &head), name)
		require.Nil(t, head.All, name)
		require.Equal(t, []any{all.Engine, all.Chunks, len(all.All) == 0}, []any{head.Engine, head.Chunks, head.Last == all.Last}, name)
		for at := range text {
			text[at] ^= 1
			require.NoError(t, os.WriteFile(filepath.Join(folder, ManifestFile), text, 0o600))
			require.Error(t, format.ReadBefore("documents", folder, &head), "byte %d of %s", at, text)
			text[at] ^= 1
		}
	}
}
