package cache

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"log/slog"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/embed"
)

// fake is a correct embedder that counts the requests of each text.
type fake struct {
	print string
	dim   int  // of its vectors
	shy   bool // does not know its dimension
	says  int  // dimension that it says if it is not dim; or 0
	hook  func(texts []string) error

	mu    sync.Mutex
	asked map[string]int
}

func newFake() *fake { return &fake{print: "fake/m=1", dim: 8, asked: map[string]int{}} }

func (f *fake) Embed(ctx context.Context, kind embed.Kind, texts []string) ([][]float32, error) {
	if f.hook != nil {
		if err := f.hook(texts); err != nil {
			return nil, err
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	vecs := make([][]float32, len(texts))
	for i, text := range texts {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		f.asked[text]++
		vecs[i] = vector(kind, text, f.dim)
	}
	return vecs, nil
}

func (f *fake) Dimension() int {
	if f.shy {
		return 0
	}
	return cmp.Or(f.says, f.dim)
}
func (f *fake) Fingerprint() string         { return f.print }
func (f *fake) MaxTokens() int              { return 100 }
func (f *fake) CountTokens(text string) int { return len(strings.Fields(text)) }

// total returns the number of requests.
func (f *fake) total() (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, times := range f.asked {
		n += times
	}
	return n
}

// vector returns a unit vector that depends only on kind and text.
func vector(kind embed.Kind, text string, dim int) []float32 {
	h := fnv.New64a()
	fmt.Fprint(h, kind, text)
	r := rand.New(rand.NewPCG(h.Sum64(), 1))
	v, sum := make([]float32, dim), 0.0
	for i := range v {
		v[i] = float32(r.NormFloat64())
		sum += float64(v[i]) * float64(v[i])
	}
	for i := range v {
		v[i] /= float32(math.Sqrt(sum))
	}
	return v
}

func numbered(n int) []string {
	texts := make([]string, n)
	for i := range texts {
		texts[i] = fmt.Sprintf("text number %d", i)
	}
	return texts
}

func open(t testing.TB, inner embed.Embedder, dir string, opts Options) *Cache {
	t.Helper()
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	c, err := Open(inner, dir, opts)
	require.NoError(t, err)
	return c
}

// mustEmbed embeds documents and checks their vectors.
func mustEmbed(t testing.TB, c *Cache, texts ...string) {
	t.Helper()
	vecs, err := c.Embed(context.Background(), embed.Document, texts)
	require.NoError(t, err)
	require.Len(t, vecs, len(texts))
	for i, text := range texts {
		if want := vector(embed.Document, text, len(vecs[i])); !equal(vecs[i], want) {
			t.Fatalf("Embed(%q) = %v, want %v", text, vecs[i], want)
		}
	}
}

func equal(a, b []float32) bool { return fmt.Sprint(a) == fmt.Sprint(b) }
