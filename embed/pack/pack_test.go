package pack

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/embed"
	"github.com/memcore/memcore/embed/embedtest"
	"github.com/memcore/memcore/embed/internal/encoder"
	"github.com/memcore/memcore/internal/model/weights"
)

// e5 opens the pack that MEMCORE_E5 names, or else the one that 'make -C lab model-e5' makes.
func e5(t testing.TB) *Model {
	t.Helper()
	path := os.Getenv("MEMCORE_E5")
	if path == "" {
		cache, err := os.UserCacheDir()
		require.NoError(t, err)
		path = filepath.Join(cache, "memcore", "model-e5", "multilingual-e5-small.memcore")
		if _, err := os.Stat(path); err != nil {
			if os.Getenv("CI") != "" && !testing.Short() {
				t.Fatalf("%v: 'make -C lab model-e5' makes it", err)
			}
			t.Skipf("%v: 'make -C lab model-e5' makes it", err)
		}
	}
	m, err := Open(path)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, m.Close()) })
	return m
}

func TestContract(t *testing.T) {
	embedtest.TestEmbedder(t, func(t *testing.T) embed.Embedder { return e5(t) })
}

func TestMeaning(t *testing.T) {
	embedtest.TestMeaning(t, func(t *testing.T) embed.Embedder { return e5(t) })
}

func TestManifest(t *testing.T) {
	m := e5(t)
	require.Regexp(t, `^pack/multilingual-e5-small/384/mean/[0-9a-f]{12}$`, m.Fingerprint())
	require.Equal(t, 384, m.Dimension())
	require.Equal(t, 512-2-3, m.MaxTokens(), "a prefix is three tokens")
	require.Contains(t, m.Manifest().Languages, "de")
}

// Ten thousand strings in fifty scripts give the tokens of the reference implementation.
func TestStrings(t *testing.T) {
	strings, tokens := lines(t, "../minilm/testdata/strings.txt.gz"), lines(t, "testdata/tokens.txt.gz")
	require.Len(t, strings, 10000)
	require.Len(t, tokens, 10000)
	require.NoError(t, e5(t).with(func(e *encoder.Encoder) error {
		wrong := 0
		for i, line := range strings {
			_, quoted, _ := bytes.Cut(line, []byte(` "`))
			var text, hash string
			var count int
			require.NoError(t, json.Unmarshal(append([]byte(`"`), quoted...), &text))
			_, err := fmt.Sscanf(string(tokens[i]), "%d %s", &count, &hash)
			require.NoError(t, err)
			ids := e.Tokens(text)
			if len(ids) != count || hashOf(ids) != hash {
				if wrong++; wrong <= 20 {
					t.Errorf("string %d, %q: %d tokens %d, want %d others", i, text, len(ids), ids, count)
				}
			}
			if got := e.Count(text); got != len(ids) {
				t.Errorf("Count of string %d, %q = %d, want %d", i, text, got, len(ids))
			}
		}
		if wrong > 0 {
			t.Errorf("%d of %d strings differ from the reference", wrong, len(strings))
		}
		return nil
	}))
}

func lines(t *testing.T, path string) [][]byte {
	t.Helper()
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	require.NoError(t, err)
	var all [][]byte
	scanner := bufio.NewScanner(z)
	for scanner.Scan() {
		all = append(all, bytes.Clone(scanner.Bytes()))
	}
	require.NoError(t, scanner.Err())
	return all
}

func hashOf(ids []int32) string {
	digest := sha256.New()
	for _, id := range ids {
		digest.Write(binary.LittleEndian.AppendUint32(nil, uint32(id)))
	}
	return fmt.Sprintf("%x", digest.Sum(nil))[:8]
}

// Vectors are those of a plain forward pass over the same weights, but for what rounding does.
func TestReference(t *testing.T) {
	m := e5(t)
	text, err := os.ReadFile("testdata/texts.jsonl")
	require.NoError(t, err)
	vectors, err := os.ReadFile("testdata/vectors.f32")
	require.NoError(t, err)
	lowest, sum, n := 1.0, 0.0, 0
	for line := range strings.Lines(string(text)) {
		var l struct {
			Kind, Text string
			Words      int
		}
		require.NoError(t, json.Unmarshal([]byte(line), &l))
		if l.Words > 0 {
			l.Text = embedtest.Generated(l.Words)
		}
		kind := embed.Document
		if l.Kind == "query" {
			kind = embed.Query
		}
		got, err := m.Embed(t.Context(), kind, []string{l.Text})
		require.NoError(t, err)
		want := make([]float32, weights.Hidden)
		_, err = binary.Decode(vectors[n*weights.Hidden*4:], binary.LittleEndian, want)
		require.NoError(t, err)
		cosine := 0.0
		for i := range want {
			cosine += float64(want[i]) * float64(got[0][i])
		}
		if cosine < 0.997 {
			t.Errorf("cosine of %q with the reference is %.5f, want 0.997", l.Text, cosine)
		}
		lowest, sum, n = math.Min(lowest, cosine), sum+cosine, n+1
	}
	require.Equal(t, n*weights.Hidden*4, len(vectors))
	t.Logf("cosine with the reference: lowest %.5f, mean %.5f of %d texts", lowest, sum/float64(n), n)
}
