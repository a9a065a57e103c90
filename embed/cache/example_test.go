package cache_test

import (
	"context"
	"fmt"
	"os"

	"github.com/memcore/memcore/embed"
	"github.com/memcore/memcore/embed/cache"
)

// A letter counter replaces a real model.
type letters struct{}

func (letters) Embed(_ context.Context, _ embed.Kind, texts []string) ([][]float32, error) {
	fmt.Println("embedding", len(texts))
	vecs := make([][]float32, len(texts))
	for i := range vecs {
		vecs[i] = []float32{0.6, 0.8}
	}
	return vecs, nil
}
func (letters) Dimension() int           { return 2 }
func (letters) Fingerprint() string      { return "letters/1" }
func (letters) MaxTokens() int           { return 100 }
func (letters) CountTokens(s string) int { return len(s) }

func Example() {
	dir, err := os.MkdirTemp("", "cache")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)

	for range 2 { // as if the program was started twice
		c, err := cache.Open(letters{}, dir, cache.Options{})
		if err != nil {
			panic(err)
		}
		vecs, err := c.Embed(context.Background(), embed.Document, []string{"tea", "coffee", "tea"})
		fmt.Println(len(vecs), err, c.Stats().Records)
	}
	// Output:
	// embedding 2
	// 3 <nil> 2
	// 3 <nil> 2
}
