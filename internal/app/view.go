package app

import (
	"context"
	"errors"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/curated"
	"github.com/memcore/memcore/formatter"
	"github.com/memcore/memcore/inject/httpapi"
	"github.com/memcore/memcore/inject/view"
)

// Page returns the workspace as the pages of memcore view show and change it.
func (s *Service) Page() view.Memory { return page{s} }

// A page implements view.Memory: it shows what a workspace remembers, what it gave and why, and
// changes memory files for a person.
type page struct{ s *Service }

// isNoDocument reports whether an error says that the index has no such document.
func isNoDocument(err error) bool {
	return errors.Is(err, core.ErrNotIndexed)
}

// Retrieve implements view.Memory.
func (v page) Retrieve(ctx context.Context, r httpapi.RetrieveRequest) (httpapi.Retrieved, error) {
	return v.s.Retrieve(ctx, r)
}

// Chunks implements view.Memory.
func (v page) Chunks(ctx context.Context, path string) ([]core.MemoryHit, error) {
	return v.s.Manager.Chunks(ctx, path)
}

// Layer implements view.Memory.
func (v page) Layer(ctx context.Context) (view.Layer, error) {
	layer := curated.New(v.s.curatedOptions())
	m, err := layer.Load(ctx)
	if err != nil {
		return view.Layer{}, err
	}
	return view.Layer{Memory: m, Text: formatter.Curated(m), Limits: layer.Limits()}, nil
}
