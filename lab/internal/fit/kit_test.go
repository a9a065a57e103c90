package fit

import (
	"context"
	"hash/fnv"
	"math"
	"strings"

	"github.com/memcore/memcore/embed"
)

// wordy embeds a text as the bag of its words.
type wordy struct{}

func (wordy) Embed(_ context.Context, _ embed.Kind, texts []string) ([][]float32, error) {
	vectors := make([][]float32, len(texts))
	for i, text := range texts {
		v := make([]float32, 256)
		v[0] = 0.01
		for _, word := range strings.Fields(strings.ToLower(text)) {
			h := fnv.New32a()
			h.Write([]byte(strings.Trim(word, ".,?:")))
			v[h.Sum32()%256]++
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
func (wordy) Dimension() int           { return 256 }
func (wordy) Fingerprint() string      { return "wordy/1" }
func (wordy) MaxTokens() int           { return 200 }
func (wordy) CountTokens(s string) int { return len(strings.Fields(s)) }
