package pack

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/embed"
	"github.com/memcore/memcore/embed/internal/encoder/weights"
	"github.com/memcore/memcore/embed/internal/unigram"
)

// small is a pack of a layer of zeros and a few pieces.
func small(t testing.TB, change func(*Manifest)) []byte {
	t.Helper()
	v := unigram.Vocabulary{
		Pieces: []string{"", "", "", "▁", "a", "b", "query", ":"}, Scores: make([]float32, 8), Unknown: 2, Normal: map[rune]string{'\t': " "}}
	w := &weights.Model{Shape: weights.Shape{Layers: 1, Positions: 8, Vocabulary: 8, WordBits: 4}}
	w, err := weights.Parse(w.Shape, make([]byte, w.Shape.Bytes()))
	require.NoError(t, err)
	w.Norm.Gain[0], w.Places[0] = 1, 1
	for i := range w.Places {
		w.Places[i] = float32(i%7) - 3
	}
	for _, n := range []weights.Norm{w.Norm, w.Layers[0].AttentionNorm, w.Layers[0].DownNorm} {
		for i := range n.Gain {
			n.Gain[i] = 1
		}
	}
	m := Manifest{Name: "small", Licence: "MIT", First: 0, Last: 1, QueryPrefix: "query: ", Languages: []string{"en"}}
	if change != nil {
		change(&m)
	}
	data, err := Append(nil, m, v, w)
	require.NoError(t, err)
	return data
}

func write(t testing.TB, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "small.memcore")
	require.NoError(t, os.WriteFile(path, data, 0o600))
	return path
}

func TestSmall(t *testing.T) {
	data := small(t, nil)
	said, err := Verify(data)
	require.NoError(t, err)
	m, err := Open(write(t, data))
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
	require.ErrorIs(t, err, ErrClosed)
	require.Equal(t, 2, m.CountTokens("ab"), "bytes are at least as many")
}

func TestOpenRefuses(t *testing.T) {
	good := small(t, nil)
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
		{"a shape that is too large", replaced(`"layers": 1`, `"layers": 9`), "weights have"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Open(write(t, tt.data))
			require.ErrorIs(t, err, ErrFormat)
			require.ErrorContains(t, err, tt.want)
		})
	}
	_, err := Open(t.TempDir())
	require.ErrorContains(t, err, "model pack")
	_, err = Open(filepath.Join(t.TempDir(), "none"))
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = Verify(changed(len(good) - 1))
	require.ErrorContains(t, err, "it is damaged")

	// A tokeniser that is damaged is found when the first text comes.
	m, err := Open(write(t, changed(at+8)))
	require.NoError(t, err)
	defer m.Close()
	_, err = m.Embed(t.Context(), embed.Document, []string{"a"})
	require.ErrorIs(t, err, embed.ErrUnavailable)
}

func FuzzParse(f *testing.F) {
	f.Add(small(f, nil)[:2000])
	f.Add([]byte(magic + "\x02\x00\x00\x00{}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if _, err := parse(data); err != nil {
			require.ErrorIs(t, err, ErrFormat)
		}
	})
}
