package keyword

import (
	"cmp"
	"container/heap"
	"context"
	"slices"

	"github.com/memcore/memcore/store"
	"github.com/memcore/memcore/store/internal/disk"
)

func (s *snapshot) match(ctx context.Context, query string, k int, f store.Filter) (store.Matches, error) {
	result, err := s.scores(ctx, query)
	if err != nil {
		return store.Matches{}, err
	}
	allowed, err := s.allowed(f)
	if err != nil {
		return store.Matches{}, err
	}
	matched := slices.Clone(result.matched)
	if allowed != nil {
		matched = slices.DeleteFunc(matched, func(number int) bool { return !allowed[number] })
	}
	matches := store.Matches{Ceiling: result.ceiling, Terms: result.terms, Language: LanguageOf(query), Copies: s.documents.copies.number}
	for _, number := range matched {
		matches.BestDocument = max(matches.BestDocument, s.documentScore(result, number))
	}
	matches.Hits, err = s.best(ctx, result, matched, k)
	return matches, err
}

// documentScore returns the score of the record's document.
func (s *snapshot) documentScore(result *scores, number int) float64 {
	if document := s.documents.of[number]; document >= 0 {
		return result.ofDocument[document]
	}
	return 0
}

func (s *snapshot) scoresByID(ctx context.Context, query string, ids []string) (map[string]store.Score, error) {
	result, err := s.scores(ctx, query)
	if err != nil {
		return nil, err
	}
	found := map[string]store.Score{}
	for _, p := range s.parts {
		rows, err := p.live(ids)
		if err != nil {
			return nil, err
		}
		for row := rows.Iterator(); row.HasNext(); {
			number := p.first + int(row.Next())
			id, err := s.id(number)
			if err != nil {
				return nil, disk.Damaged(err)
			}
			found[id] = store.Score{Record: result.of[number], Document: s.documentScore(result, number), Held: result.held[number]}
		}
	}
	return found, nil
}

func (s *snapshot) scores(ctx context.Context, query string) (*scores, error) {
	s.mu.Lock()
	last := s.last
	s.mu.Unlock()
	if last.scores != nil && last.query == query {
		return last.scores, nil
	}
	layout, err := s.layout()
	if err != nil {
		return nil, err
	}
	x, err := newSearch(s, layout)
	if err != nil {
		return nil, err
	}
	result, err := x.score(ctx, parse(query, layout.spoken), layout)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	s.last = answer{query, result}
	s.mu.Unlock()
	return result, nil
}

// best returns the k best records. It reads IDs only to order equal scores.
func (s *snapshot) best(ctx context.Context, result *scores, matched []int, k int) ([]store.Hit, error) {
	if k <= 0 || len(matched) == 0 {
		return nil, ctx.Err()
	}
	score := result.of
	least := kthBest(score, matched, k)
	matched = slices.DeleteFunc(matched, func(number int) bool { return score[number] < least })
	ids := make(map[int]string, len(matched))
	for _, number := range matched {
		id, err := s.id(number)
		if err != nil {
			return nil, disk.Damaged(err)
		}
		ids[number] = id
	}
	slices.SortFunc(matched, func(a, b int) int {
		return cmp.Or(cmp.Compare(score[b], score[a]), cmp.Compare(ids[a], ids[b]))
	})
	return s.hits(ctx, result, matched[:min(k, len(matched))])
}

// kthBest returns the k-th best score; 0 if fewer.
func kthBest(score []float64, matched []int, k int) float64 {
	if k > len(matched) {
		return 0
	}
	var best lowestFirst // the k best so far
	for _, number := range matched {
		switch {
		case len(best) < k:
			heap.Push(&best, score[number])
		case score[number] > best[0]:
			best[0] = score[number]
			heap.Fix(&best, 0)
		}
	}
	return best[0]
}

type lowestFirst []float64

func (h lowestFirst) Len() int           { return len(h) }
func (h lowestFirst) Less(i, j int) bool { return h[i] < h[j] }
func (h lowestFirst) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *lowestFirst) Push(x any)        { *h = append(*h, x.(float64)) }
func (h *lowestFirst) Pop() any          { panic("a heap of the best scores only grows") }

func (s *snapshot) hits(ctx context.Context, result *scores, numbers []int) ([]store.Hit, error) {
	hits := make([]store.Hit, len(numbers))
	for i, number := range numbers {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		rec, err := s.record(number)
		if err != nil {
			return nil, err
		}
		hits[i] = store.Hit{Record: rec, Score: result.of[number], Document: s.documentScore(result, number), Held: result.held[number]}
	}
	return hits, nil
}
