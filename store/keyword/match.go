package keyword

import (
	"cmp"
	"container/heap"
	"context"
	"slices"
	"sync"

	"github.com/memcore/memcore/store"
)

// A source is what answers need of records that do not change: the segments of a snapshot, or parts
// in memory. Its records have numbers, also dead ones.
type source interface {
	layout() (*layout, error)
	// postings are for one query.
	postings() (postings, error)
	// filter reports which records pass; nil means all. It may be wrong about dead ones.
	filter(f store.Filter) (func(number int) bool, error)
	// find calls do with the live records that have these IDs.
	find(ids []string, do func(number int, id string)) error
	id(number int) (string, error)
	// records returns them in order. One that is gone has no ID.
	records(ctx context.Context, numbers []int) ([]store.Record, error)
}

// postings are those of a source's terms. They are not safe for concurrent use.
type postings interface {
	// count is how many live records have a term in a field.
	count(field int, spelling []byte) (uint64, error)
	// collect adds the occurrences of a term in a field of live records.
	collect(ctx context.Context, field int, spelling []byte, to weighted) error
}

// answers are those to questions about a source.
type answers struct {
	source

	mu   sync.Mutex
	last answer
}

// An answer is cached: Scores often follows Match with the same query.
type answer struct {
	query  string
	scores *scores
}

func (a *answers) match(ctx context.Context, query string, k int, f store.Filter) (store.Matches, error) {
	result, err := a.scores(ctx, query)
	if err != nil {
		return store.Matches{}, err
	}
	passes, err := a.filter(f)
	if err != nil {
		return store.Matches{}, err
	}
	matched := slices.Clone(result.matched)
	if passes != nil {
		matched = slices.DeleteFunc(matched, func(number int) bool { return !passes(number) })
	}
	matches := store.Matches{Ceiling: result.ceiling, Terms: result.terms, Language: LanguageOf(query), Copies: result.layout.number}
	for _, number := range matched {
		matches.BestDocument = max(matches.BestDocument, result.documentScore(number))
	}
	matches.Hits, err = a.best(ctx, result, matched, k)
	return matches, err
}

func (a *answers) scoresByID(ctx context.Context, query string, ids []string) (map[string]store.Score, error) {
	result, err := a.scores(ctx, query)
	if err != nil {
		return nil, err
	}
	found := map[string]store.Score{}
	err = a.find(ids, func(number int, id string) {
		found[id] = store.Score{Record: result.of[number], Document: result.documentScore(number), Held: result.held[number]}
	})
	return found, err
}

func (a *answers) scores(ctx context.Context, query string) (*scores, error) {
	a.mu.Lock()
	last := a.last
	a.mu.Unlock()
	if last.scores != nil && last.query == query {
		return last.scores, nil
	}
	layout, err := a.layout()
	if err != nil {
		return nil, err
	}
	terms, err := a.postings()
	if err != nil {
		return nil, err
	}
	x := &search{postings: terms, layout: layout, averages: layout.averages()}
	result, err := x.score(ctx, parse(query, layout.spoken))
	if err != nil {
		return nil, err
	}
	a.mu.Lock()
	a.last = answer{query, result}
	a.mu.Unlock()
	return result, nil
}

// best returns the k best records. It reads IDs only to order equal scores.
func (a *answers) best(ctx context.Context, result *scores, matched []int, k int) ([]store.Hit, error) {
	if k <= 0 || len(matched) == 0 {
		return nil, ctx.Err()
	}
	score := result.of
	least := kthBest(score, matched, k)
	matched = slices.DeleteFunc(matched, func(number int) bool { return score[number] < least })
	ids := make(map[int]string, len(matched))
	for _, number := range matched {
		id, err := a.id(number)
		if err != nil {
			return nil, err
		}
		ids[number] = id
	}
	slices.SortFunc(matched, func(a, b int) int {
		return cmp.Or(cmp.Compare(score[b], score[a]), cmp.Compare(ids[a], ids[b]))
	})
	return a.hits(ctx, result, matched[:min(k, len(matched))])
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

func (a *answers) hits(ctx context.Context, result *scores, numbers []int) ([]store.Hit, error) {
	records, err := a.records(ctx, numbers)
	if err != nil {
		return nil, err
	}
	hits := make([]store.Hit, 0, len(numbers))
	for i, number := range numbers {
		if records[i].ID != "" {
			hits = append(hits, store.Hit{Record: records[i], Score: result.of[number], Document: result.documentScore(number), Held: result.held[number]})
		}
	}
	return hits, nil
}
