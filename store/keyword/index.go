// Package keyword finds records by their words: BM25 over Bleve's index segments.
//
// It uses Bleve's analysis and segment format (zapx), which holds terms, postings and records. It
// does not use the index manager, scorch, which locks files for one process, merges in the
// background and retries forever on a full disk; nor the scoring, which has no ceiling and no
// document scores.
//
// An index is a folder of generations (package generation): immutable segments and a manifest. A
// commit writes new segments, merges small ones and publishes a generation. So any number of
// processes read while one writes, and a crash changes nothing.
//
// Nothing else may write into the folder.
//
// Where a database keeps the records, Analyse makes the words that a search needs of them. Parts
// hold such words in memory, and a Reader answers from several parts as one index would.
package keyword

import (
	"context"

	"github.com/memcore/memcore/store"
	"github.com/memcore/memcore/store/internal/disk"
)

// An Index is a store.KeywordIndex in a folder. It holds mapped files, from which it answers even
// if the folder is removed; no lock and no goroutine.
type Index struct{ *disk.Index[*snapshot] }

var _ store.KeywordIndex = (*Index)(nil)

// Open opens the index in dir, which the first Commit makes. A *store.Error wraps store.ErrFormat,
// ErrNewer, ErrCorrupt or a file error.
func Open(ctx context.Context, dir string) (*Index, error) {
	ix, err := disk.Open(ctx, dir, disk.Engine[*snapshot]{NoVectors: true, Panics: true, Open: openSnapshot})
	if err != nil {
		return nil, err
	}
	return &Index{ix}, nil
}

// Match implements store.KeywordIndex. The score is BM25 over fields (see weights). Only the first
// 64 KiB of a query count, and of its terms the store.MaxTerms rarest. Stop words count only in a
// query of stop words.
//
// Matches.Ceiling is the sum of idf * (k1+1) over the terms, except compounds such as getCacheStats
// that no record holds.
func (ix *Index) Match(ctx context.Context, query string, k int, f store.Filter) (store.Matches, error) {
	return disk.Read(ctx, ix.Index, "match", func(s *snapshot) (store.Matches, error) { return s.answers.match(ctx, query, k, f) })
}

// Scores implements store.KeywordIndex.
func (ix *Index) Scores(ctx context.Context, query string, ids []string) (map[string]store.Score, error) {
	return disk.Read(ctx, ix.Index, "scores", func(s *snapshot) (map[string]store.Score, error) {
		return s.answers.scoresByID(ctx, query, ids)
	})
}

// Languages counts records by the language of their text (ISO 639-1); unknown counts as "en".
func (ix *Index) Languages(ctx context.Context) (map[string]int, error) {
	return disk.Read(ctx, ix.Index, "languages", func(s *snapshot) (map[string]int, error) { return s.languages() })
}
