// Package memories opens the memories that the lab measures.
package memories

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/source"
	"github.com/memcore/memcore/embed"
	"github.com/memcore/memcore/embed/cache"
	"github.com/memcore/memcore/embed/minilm"
	"github.com/memcore/memcore/embed/pack"
	"github.com/memcore/memcore/eval"
	"github.com/memcore/memcore/store"
	"github.com/memcore/memcore/store/flat"
	"github.com/memcore/memcore/store/keyword"
)

// timeout is long, so that figures do not depend on the machine's load.
const timeout = 5 * time.Minute

// Opener opens memories with an embedder and the engine flat, which do not look for changes. adjust
// may change the options.
func Opener(embedder embed.Embedder, adjust ...func(*core.Options)) eval.Opener {
	return func(ctx context.Context, sources []source.Source, folder string) (*core.Manager, error) {
		options := core.Options{Folder: folder, Sources: sources, Embedder: embedder, Freshness: -1, EmbedTimeout: timeout, Engine: store.Engine{
			Name: "flat",
			Vectors: func(ctx context.Context, dir string, dimension int) (store.VectorIndex, error) {
				return flat.Open(ctx, dir, dimension)
			},
			Keywords: func(ctx context.Context, dir string) (store.KeywordIndex, error) { return keyword.Open(ctx, dir) },
		}}
		for _, f := range adjust {
			f(&options)
		}
		return core.Open(ctx, options)
	}
}

// Embedder returns the model of a pack, or for "" the built-in model, behind a cache of vectors in
// the user's cache folder. For "none" it returns nil: keywords alone.
func Embedder(packFile string) (embed.Embedder, error) {
	var model embed.Embedder = minilm.New()
	switch packFile {
	case "":
	case "none":
		return nil, nil
	default:
		opened, err := pack.Open(packFile)
		if err != nil {
			return nil, err
		}
		model = opened
	}
	folder, err := os.UserCacheDir()
	if err != nil {
		return nil, err
	}
	return cache.Open(model, filepath.Join(folder, "memcore", "lab"), cache.Options{})
}

// Names is a flag of several values, separated by commas or given repeatedly.
type Names []string

// String returns the flag's value.
func (n *Names) String() string { return strings.Join(*n, ",") }

// Set adds values.
func (n *Names) Set(text string) error {
	*n = append(*n, strings.Split(text, ",")...)
	return nil
}

// Numbers is a flag of several whole numbers, separated by commas.
type Numbers []int

// String returns the flag's value.
func (n *Numbers) String() string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint([]int(*n)), " ", ","), "[]")
}

// Set replaces the numbers; "" is none.
func (n *Numbers) Set(text string) error {
	*n = nil
	if text == "" {
		return nil
	}
	for word := range strings.SplitSeq(text, ",") {
		var number int
		if _, err := fmt.Sscan(word, &number); err != nil {
			return fmt.Errorf("%q is no whole number", word)
		}
		*n = append(*n, number)
	}
	return nil
}
