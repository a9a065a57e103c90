// Package eval measures how well a memory retrieves: a person's own cases, and prompts of real
// sessions with judged hits.
package eval

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/source"
)

// Options say what to measure.
type Options struct {
	// K are the ranks of scores besides 10; nil means 1, 5, 10, 20, 50.
	K []int
	// Progress, if set, is called after each case.
	Progress func(name string, done, total int)
}

// An Opener opens a memory of sources, indexed in folder. Freshness should be negative: what is
// measured does not change.
type Opener func(ctx context.Context, sources []source.Source, folder string) (*core.Manager, error)

const (
	// chunksPerResult is how many chunks to ask for: a document may have several.
	chunksPerResult = 3
)

// WithDefaults returns the options with ranks in order.
func (o Options) WithDefaults() (Options, error) {
	if len(o.K) == 0 {
		o.K = []int{1, 5, 10, 20, 50}
	}
	o.K = slices.Compact(slices.Sorted(slices.Values(append(slices.Clip(o.K), 10))))
	if o.K[0] < 1 {
		return o, fmt.Errorf("recall at rank %d, want at least 1", o.K[0])
	}
	return o, nil
}

// A CountsAs returns the names that a hit counts as.
type CountsAs func(core.MemoryHit) ([]string, error)

// Ask asks as a turn, as a search, and for a turn's candidates. None counts as use. of names hits,
// candidate candidates.
func (a *Asked) Ask(ctx context.Context, memory *core.Manager, o Options, now time.Time, of, candidate CountsAs) error {
	turn := core.RetrieveOptions{Unrecorded: true, Now: now}
	search := core.SearchOptions{Unrecorded: true, Now: now, Limit: chunksPerResult * o.K[len(o.K)-1], Explain: true}
	started := time.Now()
	given, err := memory.RetrieveRelevant(ctx, a.Text, turn)
	a.Took = time.Since(started)
	if err != nil {
		return err
	}
	if a.Injected, err = units(given.Hits, of); err != nil {
		return err
	}
	for _, hit := range given.Hits {
		a.Tokens += hit.TokenEstimate
	}
	result, err := memory.Search(ctx, a.Text, search)
	if err != nil {
		return err
	}
	if len(result.Degraded) > 0 {
		return fmt.Errorf("answered in part: %v", result.Degraded)
	}
	if a.Found, err = units(result.Hits, of); err != nil {
		return err
	}
	for _, hit := range result.Hits[:min(topHits, len(result.Hits))] {
		names, _ := of(hit)
		a.Top = append(a.Top, topOf(hit, names))
	}
	turn.Explain = true
	if given, err = memory.RetrieveRelevant(ctx, a.Text, turn); err != nil {
		return err
	}
	a.Candidates, err = units(append(given.Hits, given.Rejected...), candidate)
	return err
}

// units returns the names of hits, each once.
func units(hits []core.MemoryHit, of CountsAs) (all []string, err error) {
	all = []string{}
	seen := map[string]bool{}
	for _, hit := range hits {
		names, err := of(hit)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			if !seen[name] {
				seen[name] = true
				all = append(all, name)
			}
		}
	}
	return all, nil
}
