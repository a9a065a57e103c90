package cache

import (
	"context"
	"slices"

	lru "github.com/hashicorp/golang-lru/v2"
)

// A memory keeps the last queries' vectors, or none without lru.
type memory struct{ lru *lru.Cache[key, []float32] }

func (m *memory) get(items []item, found map[key][]float32) {
	if m.lru == nil {
		return
	}
	for _, it := range items {
		if v, ok := m.lru.Get(it.key); ok {
			found[it.key] = slices.Clone(v)
		}
	}
}

func (m *memory) put(items []item, vecs [][]float32) error {
	for i, it := range items {
		if m.lru != nil {
			m.lru.Add(it.key, slices.Clone(vecs[i]))
		}
	}
	return nil
}

func (m *memory) enter(context.Context) (leave func()) { return func() {} }

func (m *memory) purge() {
	if m.lru != nil {
		m.lru.Purge()
	}
}
