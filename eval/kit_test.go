package eval

import (
	"context"
	"hash/fnv"
	"math"
	"strings"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/source"
	"github.com/memcore/memcore/embed"
	"github.com/memcore/memcore/store"
	"github.com/memcore/memcore/store/flat"
	"github.com/memcore/memcore/store/keyword"
)

// wordy embeds a text as the bag of its words.
type wordy struct{}

func (wordy) Embed(_ context.Context, _ embed.Kind, texts []string) ([][]float32, error) {
	vectors := make([][]float32, len(texts))
	for i, text := range texts {
		v := make([]float32, 64)
		v[0] = 0.01
		for _, word := range strings.Fields(strings.ToLower(text)) {
			h := fnv.New32a()
			h.Write([]byte(strings.Trim(word, ".,?:")))
			v[h.Sum32()%64]++
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

func (wordy) Dimension() int { return 64 }

func (wordy) Fingerprint() string { return "wordy/1" }

func (wordy) MaxTokens() int { return 200 }

func (wordy) CountTokens(s string) int { return len(strings.Fields(s)) }

func openWordy(ctx context.Context, sources []source.Source, folder string) (*core.Manager, error) {
	return core.Open(ctx, wordyOptions(sources, folder))
}

func wordyOptions(sources []source.Source, folder string) core.Options {
	return core.Options{
		Folder: folder, Sources: sources, Embedder: wordy{}, Freshness: -1,
		Engine: store.Engine{
			Name: "flat",
			Vectors: func(ctx context.Context, dir string, dimension int) (store.VectorIndex, error) {
				return flat.Open(ctx, dir, dimension)
			},
			Keywords: func(ctx context.Context, dir string) (store.KeywordIndex, error) { return keyword.Open(ctx, dir) },
		},
	}
}
