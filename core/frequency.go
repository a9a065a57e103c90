package core

import (
	"context"
	"fmt"
)

// A counter is a store.KeywordIndex that knows in how many records words are.
type counter interface {
	Frequencies(ctx context.Context, words []string) (holders []int, records int, err error)
}

// Frequencies returns in how many chunks each word is, and how many chunks there are. Nothing is
// known of an index that cannot count: all are 0 then, as in one that is missing.
func (m *Manager) Frequencies(ctx context.Context, words []string) (holders []int, chunks int, err error) {
	current, err := m.acquire(ctx)
	if stateOf(err) == StateMissing {
		return make([]int, len(words)), 0, nil
	}
	if err != nil {
		return nil, 0, fmt.Errorf("frequencies of words: open index %s: %w", m.options.Folder, err)
	}
	defer current.release()
	if index, ok := current.keywords.(counter); ok {
		return index.Frequencies(ctx, words)
	}
	return make([]int, len(words)), 0, nil
}
