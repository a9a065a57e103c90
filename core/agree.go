package core

import (
	"context"
	"fmt"

	"github.com/memcore/memcore/store"
)

// agree compares the manifest and both indexes, document by document.
func agree(ctx context.Context, from snapshot) error {
	for path, e := range from.manifest.Documents {
		if e.Unsure {
			continue // will be read again
		}
		words, err := from.keywords.Document(ctx, path)
		if err != nil {
			return err
		}
		if len(words) != e.Chunks {
			return fmt.Errorf("%s has %d chunks in the manifest, %d in the keyword index: %w", path, e.Chunks, len(words), store.ErrCorrupt)
		}
		if e.Pending {
			continue
		}
		vectors, err := from.vectors.Document(ctx, path)
		if err != nil {
			return err
		}
		if put, gone := difference(vectors, words); len(put)+len(gone) > 0 {
			return fmt.Errorf("%s: %d chunks lack a vector, %d vectors have no chunk: %w", path, len(put), len(gone), store.ErrCorrupt)
		}
	}
	return nil
}
