package minilm

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/embed"
	"github.com/memcore/memcore/embed/embedtest"
	"github.com/memcore/memcore/embed/internal/encoder"
	"github.com/memcore/memcore/embed/internal/encoder/kernel"
	"github.com/memcore/memcore/internal/model/modelfile"
	"github.com/memcore/memcore/internal/model/weights"
	"github.com/memcore/memcore/internal/model/wordpiece"
)

// checksum is that of minilm.bin, also in README.md.
const checksum = "5d4584b38cb1b0136bf61f8ab3bfbf2356764d0fd14f91828f36ff9cc476e995"

func TestChecksum(t *testing.T) {
	if got := fmt.Sprintf("%x", sha256.Sum256(data)); got != checksum {
		t.Errorf("SHA-256 of minilm.bin is %s, want %s", got, checksum)
	}
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	if !strings.Contains(string(readme), checksum) {
		t.Errorf("README.md does not name the SHA-256 of minilm.bin, %s", checksum)
	}
}

// withKernel returns a model that computes with a set of kernels.
func withKernel(k *kernel.Set) *Model {
	return &Model{sync.OnceValue(func() *encoder.Encoder { return open(k) })}
}

func TestContract(t *testing.T) {
	embedtest.TestEmbedder(t, func(*testing.T) embed.Embedder { return New() })
}

func TestMeaning(t *testing.T) {
	embedtest.TestMeaning(t, func(*testing.T) embed.Embedder { return New() })
}

// A reference is the output of the reference implementation for a text.
type reference struct {
	text   string
	Tokens int     // of the whole text, without frame
	IDs    []int32 // what the model reads, with frame
	vec    []float32
}

func references(t testing.TB) []reference {
	t.Helper()
	vecs, err := os.ReadFile("testdata/reference.f32")
	require.NoError(t, err)
	var refs []reference
	forLines(t, "testdata/texts.jsonl", func(line []byte) {
		var l struct {
			Text  string
			Words int
		}
		require.NoError(t, json.Unmarshal(line, &l))
		if l.Words > 0 {
			l.Text = embedtest.Generated(l.Words)
		}
		refs = append(refs, reference{text: l.Text})
	})
	i := 0
	forLines(t, "testdata/reference.jsonl", func(line []byte) {
		require.NoError(t, json.Unmarshal(line, &refs[i]))
		refs[i].vec = make([]float32, weights.Hidden)
		_, err := binary.Decode(vecs[i*weights.Hidden*4:], binary.LittleEndian, refs[i].vec)
		require.NoError(t, err)
		i++
	})
	require.Len(t, refs, 200)
	require.Equal(t, len(refs), i)
	return refs
}

func forLines(t testing.TB, name string, do func(line []byte)) {
	t.Helper()
	f, err := os.Open(name)
	require.NoError(t, err)
	defer f.Close()
	s := bufio.NewScanner(f)
	for s.Scan() {
		do(s.Bytes())
	}
	require.NoError(t, s.Err())
}

func texts(refs []reference) []string {
	var out []string
	for _, r := range refs {
		out = append(out, r.text)
	}
	return out
}

func TestTokens(t *testing.T) {
	m := New()
	file, err := modelfile.Parse(data)
	require.NoError(t, err)
	words, err := wordpiece.New(file.Words)
	require.NoError(t, err)
	for _, r := range references(t) {
		ids := append(words.Append([]int32{cls}, r.text, maxTokens), sep)
		if !slices.Equal(ids, r.IDs) {
			t.Errorf("tokens of %.60q = %d, want %d", r.text, ids, r.IDs)
		}
		if n := m.CountTokens(r.text); n != r.Tokens {
			t.Errorf("CountTokens(%.60q) = %d, want %d", r.text, n, r.Tokens)
		}
	}
}

func cosine(a, b []float32) float64 {
	var ab, aa, bb float64
	for i := range a {
		ab += float64(a[i]) * float64(b[i])
		aa += float64(a[i]) * float64(a[i])
		bb += float64(b[i]) * float64(b[i])
	}
	return ab / math.Sqrt(aa*bb)
}

// Every set of kernels agrees with the published weights in double precision: the default one on
// every text, the others on some short and a few long ones, since the portable one and emulators
// are slow. A short test uses only those.
func TestReference(t *testing.T) {
	for _, s := range kernel.Sets() {
		t.Run(s.Name(), func(t *testing.T) {
			refs := references(t)
			if s != kernel.Best() || testing.Short() {
				i := 0
				refs = slices.DeleteFunc(refs, func(r reference) bool { i++; return (len(r.IDs) > 24 || i%5 != 0) && i%67 != 0 })
			}
			m := withKernel(s)
			vecs, err := m.Embed(t.Context(), embed.Document, texts(refs))
			require.NoError(t, err)
			worst, sum := 1.0, 0.0
			for i, r := range refs {
				c := cosine(vecs[i], r.vec)
				if !(c >= 0.999) {
					t.Errorf("cosine of the vector of %.60q with the reference is %.6f, want at least 0.999", r.text, c)
				}
				worst, sum = min(worst, c), sum+c
			}
			t.Logf("cosine of %d texts with the reference: lowest %.6f, mean %.6f", len(refs), worst, sum/float64(len(refs)))
		})
	}
}

func TestKnownAnswers(t *testing.T) {
	vecs, err := New().Embed(t.Context(), embed.Query, []string{"The cat sits outside", "A feline is outdoors", "A man is playing guitar"})
	require.NoError(t, err)
	for i, want := range []float64{1: 0.559, 2: 0.036} {
		if got := cosine(vecs[0], vecs[i]); i > 0 && math.Abs(got-want) > 0.01 {
			t.Errorf("cosine of texts 0 and %d = %.3f, want %.3f ± 0.01", i, got, want)
		}
	}
}

// Vectors must not depend on their batch, not even in the last bit: cached ones are compared.
func TestCompanyDoesNotMatter(t *testing.T) {
	m := New()
	refs := references(t)
	all, err := m.Embed(t.Context(), embed.Document, texts(refs))
	require.NoError(t, err)
	for i := 0; i < len(refs); i += 7 {
		one, err := m.Embed(t.Context(), embed.Document, []string{refs[i].text})
		require.NoError(t, err)
		if !slices.Equal(one[0], all[i]) {
			t.Errorf("the vector of %.60q alone differs from that among others", refs[i].text)
		}
	}
}

// A context that ends between two layers ends the call there.
func TestCancelBetweenLayers(t *testing.T) {
	ctx := &endingContext{Context: t.Context(), after: 5}
	vecs, err := New().Embed(ctx, embed.Document, []string{"one text"})
	if vecs != nil || err != context.Canceled {
		t.Errorf("Embed with a context that ends on its way = %d vectors, %v; want none and context.Canceled", len(vecs), err)
	}
	if ctx.asked > ctx.after+4 {
		t.Errorf("the context was asked %d times after its end, want the work to stop", ctx.asked-ctx.after)
	}
}

// endingContext ends after a number of calls.
type endingContext struct {
	context.Context
	asked, after int
}

func (c *endingContext) Err() error {
	if c.asked++; c.asked > c.after {
		return context.Canceled
	}
	return nil
}
