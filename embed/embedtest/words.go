package embedtest

import (
	"context"
	"hash/fnv"
	"math"
	"strconv"
	"strings"

	"github.com/memcore/memcore/embed"
)

// BagOfWords embeds a text as the count of its words, hashed to Dim components: texts that share
// words are near. It needs no model, so tests that only need some embedder use it.
type BagOfWords struct{ Dim int }

// Embed returns unit vectors. It never fails.
func (b BagOfWords) Embed(_ context.Context, _ embed.Kind, texts []string) ([][]float32, error) {
	vectors := make([][]float32, len(texts))
	for i, text := range texts {
		v := make([]float32, b.Dim)
		v[0] = 0.01 // no text has a zero vector
		for _, word := range strings.Fields(strings.ToLower(text)) {
			h := fnv.New32a()
			h.Write([]byte(strings.Trim(word, ".,?:")))
			v[h.Sum32()%uint32(b.Dim)]++
		}
		norm := 0.0
		for _, x := range v {
			norm += float64(x) * float64(x)
		}
		for j := range v {
			v[j] /= float32(math.Sqrt(norm))
		}
		vectors[i] = v
	}
	return vectors, nil
}

// Dimension returns Dim.
func (b BagOfWords) Dimension() int { return b.Dim }

// Fingerprint names the embedder and its dimension.
func (b BagOfWords) Fingerprint() string { return "bag-of-words/" + strconv.Itoa(b.Dim) }

// MaxTokens returns 200.
func (b BagOfWords) MaxTokens() int { return 200 }

// CountTokens counts words.
func (b BagOfWords) CountTokens(s string) int { return len(strings.Fields(s)) }
