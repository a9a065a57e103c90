package pack_test

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/embed"
	"github.com/memcore/memcore/embed/pack"
	"github.com/memcore/memcore/embed/pack/packtest"
)

// magic begins a pack.
const magic = "memcore model 1\n"

func write(t testing.TB, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "small.memcore")
	require.NoError(t, os.WriteFile(path, data, 0o600))
	return path
}

func TestSmall(t *testing.T) {
	data := packtest.Small(t, "small")
	said, err := pack.Verify(data)
	require.NoError(t, err)
	m, err := pack.Open(write(t, data))
	require.NoError(t, err)
	require.Equal(t, said, m.Manifest())
	require.Equal(t, 3, m.MaxTokens(), "8 less the first, the last, and three of the prefix")
	require.Equal(t, 3, m.CountTokens("ab"), "▁ a b")
	vecs, err := m.Embed(t.Context(), embed.Query, []string{"ab", "b"})
	require.NoError(t, err)
	require.Len(t, vecs[1], 384)
	require.NoError(t, m.Close())
	require.NoError(t, m.Close())
	_, err = m.Embed(t.Context(), embed.Query, []string{"ab"})
	require.ErrorIs(t, err, embed.ErrUnavailable)
	require.ErrorIs(t, err, pack.ErrClosed)
	require.Equal(t, 2, m.CountTokens("ab"), "bytes are at least as many")
}

// A file that is cut short while it is mapped is an error, and not the end of the process.
func TestCutShort(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows cuts no file that is mapped")
	}
	path := write(t, packtest.Small(t, "small"))
	m, err := pack.Open(path)
	require.NoError(t, err)
	defer m.Close()
	_, err = m.Embed(t.Context(), embed.Query, []string{"ab"})
	require.NoError(t, err)
	require.NoError(t, os.Truncate(path, 5000))
	_, err = m.Embed(t.Context(), embed.Query, []string{"ab"})
	require.ErrorIs(t, err, embed.ErrUnavailable)
	require.ErrorContains(t, err, "cut short")
	require.Equal(t, 2, m.CountTokens("ab"))
}

func TestOpenRefuses(t *testing.T) {
	good := packtest.Small(t, "small")
	at := len(magic) + 4 + int(binary.LittleEndian.Uint32(good[len(magic):]))
	replaced := func(old, new string) []byte {
		require.Len(t, new, len(old))
		require.True(t, bytes.Contains(good, []byte(old)), old)
		return bytes.Replace(good, []byte(old), []byte(new), 1)
	}
	changed := func(i int) []byte {
		data := bytes.Clone(good)
		data[i] ^= 0xff
		return data
	}
	for _, tt := range []struct {
		name string
		data []byte
		want string
	}{
		{"nothing", nil, "0 bytes"},
		{"another file", []byte("PK\x03\x04 an archive of something"), "does not start with"},
		{"a newer format", replaced("model 1\n", "model 2\n"), "does not start with"},
		{"half", good[:len(good)/2], "weights have"},
		{"a byte less", good[:len(good)-1], "weights have"},
		{"the start of the manifest", good[:len(magic)+20], "a manifest of"},
		{"no tokeniser", good[:at+4], "ends in its tokeniser"},
		{"no JSON", replaced("{\n", "[\n"), "manifest"},
		{"a name of another embedder", replaced(`"small"`, `"mini/"`), "name is"},
		{"another tokeniser", replaced(`"unigram"`, `"unigrim"`), "a newer memcore"},
		{"another dimension", replaced(`"dimension": 384`, `"dimension": 768`), "a newer memcore"},
		{"a shape of no kind", replaced(`"layers": 1`, `"layers": 0`), "want 1 to 48"},
		{"a shape that is too large", replaced(`"layers": 1`, `"layers": 9`), "weights have"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := pack.Open(write(t, tt.data))
			require.ErrorIs(t, err, pack.ErrFormat)
			require.ErrorContains(t, err, tt.want)
		})
	}
	_, err := pack.Open(t.TempDir())
	require.ErrorContains(t, err, "model pack")
	_, err = pack.Open(filepath.Join(t.TempDir(), "none"))
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = pack.Verify(changed(len(good) - 1))
	require.ErrorContains(t, err, "it is damaged")
	_, err = pack.Verify(append(bytes.Clone(good), 0))
	require.ErrorContains(t, err, "weights have", "nothing is read that is too much")

	// A tokeniser that is damaged is found when the first text comes.
	m, err := pack.Open(write(t, changed(at+8)))
	require.NoError(t, err)
	defer m.Close()
	_, err = m.Embed(t.Context(), embed.Document, []string{"a"})
	require.ErrorIs(t, err, embed.ErrUnavailable)
}

func FuzzParse(f *testing.F) {
	f.Add(packtest.Small(f, "small")[:2000])
	f.Add([]byte(magic + "\x02\x00\x00\x00{}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if _, err := pack.Verify(data); err != nil {
			require.ErrorIs(t, err, pack.ErrFormat)
		}
	})
}
