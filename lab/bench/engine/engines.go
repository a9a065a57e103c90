package main

import (
	"context"
	"runtime"

	"github.com/philippgille/chromem-go"

	"github.com/memcore/memcore/store"
	"github.com/memcore/memcore/store/flat"
)

func init() {
	openers["flat"] = func(ctx context.Context, dir string) (engine, error) {
		index, err := flat.Open(ctx, dir, dimension)
		return stored{index}, err
	}
	openers["chromem"] = func(context.Context, string) (engine, error) {
		collection, err := chromem.NewDB().CreateCollection("memory", nil, nil)
		return peer{collection}, err
	}
}

// stored is an engine of memcore.
type stored struct{ store.VectorIndex }

func (s stored) add(ctx context.Context, recs []store.Record) error {
	if err := s.Put(ctx, recs); err != nil {
		return err
	}
	return s.Commit(ctx)
}

func (s stored) finish(ctx context.Context) error {
	if index, ok := s.VectorIndex.(store.Compactor); ok {
		return index.Compact(ctx)
	}
	return nil
}

func (s stored) query(ctx context.Context, vector []float32, f store.Filter) ([]string, error) {
	hits, err := s.Nearest(ctx, vector, k, f)
	ids := make([]string, len(hits))
	for i, hit := range hits {
		ids[i] = hit.Record.ID
	}
	return ids, err
}

func (s stored) close() error { return s.Close() }

// peer is chromem-go, in memory.
type peer struct{ *chromem.Collection }

func (p peer) add(ctx context.Context, recs []store.Record) error {
	documents := make([]chromem.Document, len(recs))
	for i, r := range recs {
		documents[i] = chromem.Document{ID: r.ID, Content: r.Text, Embedding: r.Vector,
			Metadata: map[string]string{"scope": r.Scope, "path": r.Path}}
	}
	return p.AddDocuments(ctx, documents, runtime.NumCPU())
}

func (p peer) finish(context.Context) error { return nil }

func (p peer) query(ctx context.Context, vector []float32, f store.Filter) ([]string, error) {
	where := map[string]string{}
	if f.Scope != "" {
		where["scope"] = f.Scope
	}
	if f.Path != "" {
		where["path"] = f.Path
	}
	results, err := p.QueryEmbedding(ctx, vector, min(k, p.Count()), where, nil)
	ids := make([]string, len(results))
	for i, r := range results {
		ids[i] = r.ID
	}
	return ids, err
}

func (p peer) close() error { return nil }
