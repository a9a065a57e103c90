// Package keyword finds records by their words: BM25 over Bleve's index segments.
//
// Of Bleve it uses the analysis and the segment format (zapx), which holds terms, postings and
// records. It does not use the index manager, scorch, which locks files for one process, merges in
// the background, and retries forever on a full disk. Nor does it use the scoring: Matches needs a
// ceiling, document scores, and a record's terms.
//
// An index is a folder of generations (package generation) of immutable segments and a manifest. A
// commit writes new segments, merges small ones, and publishes a generation. So any number of
// processes read while one writes, and a crash changes nothing.
//
// Nothing else may write into the folder.
package keyword

import (
	"context"

	"github.com/memcore/memcore/store"
	"github.com/memcore/memcore/store/internal/disk"
)

// An Index is a store.KeywordIndex in a folder. It holds mapped files, no lock and no goroutine. If
// its folder is removed, it answers from them.
type Index struct{ *disk.Index[*snapshot] }

var _ store.KeywordIndex = (*Index)(nil)

// Open opens the index in dir, which the first Commit makes. Errors, wrapped in a *store.Error:
// store.ErrFormat, ErrNewer, ErrCorrupt, and file errors.
func Open(ctx context.Context, dir string) (*Index, error) {
	ix, err := disk.Open(ctx, dir, disk.Engine[*snapshot]{NoVectors: true, Panics: true, Open: openSnapshot})
	if err != nil {
		return nil, err
	}
	return &Index{ix}, nil
}

// Match implements store.KeywordIndex. The score is BM25 over fields (see weights). Only the first
// 64 KiB of a query count, and of its terms the store.MostTerms rarest. Stop words count only in a
// query of stop words.
//
// Matches.Ceiling is the sum of idf * (k1+1) over the terms. A compound such as getCacheStats adds
// to it only if a record holds it.
func (ix *Index) Match(ctx context.Context, query string, k int, f store.Filter) (store.Matches, error) {
	return disk.Read(ctx, ix.Index, "match", func(s *snapshot) (store.Matches, error) { return s.match(ctx, query, k, f) })
}

// Scores implements store.KeywordIndex.
func (ix *Index) Scores(ctx context.Context, query string, ids []string) (map[string]store.Score, error) {
	return disk.Read(ctx, ix.Index, "scores", func(s *snapshot) (map[string]store.Score, error) {
		return s.scoresByID(ctx, query, ids)
	})
}

// Frequencies returns how many records hold each word in text or title (of several terms, the
// rarest), and the number of records.
func (ix *Index) Frequencies(ctx context.Context, words []string) (holders []int, records int, err error) {
	holders, err = disk.Read(ctx, ix.Index, "frequencies", func(s *snapshot) ([]int, error) {
		records = s.live
		return s.frequencies(ctx, words)
	})
	if err != nil {
		return nil, 0, err
	}
	return holders, records, nil
}

// Languages counts records by the language of their text (ISO 639-1); "en" also has those of which
// it is not known.
func (ix *Index) Languages(ctx context.Context) (map[string]int, error) {
	return disk.Read(ctx, ix.Index, "languages", func(s *snapshot) (map[string]int, error) { return s.languages() })
}
