package app

import (
	"context"
	"errors"
	"slices"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/inject/httpapi"
	"github.com/memcore/memcore/internal/app/kind"
)

// A view answers what memcore view shows.
type view struct{ s *Service }

// isNoDocument reports whether an error says that the index has no such document.
func isNoDocument(err error) bool {
	return errors.Is(err, core.ErrNotIndexed)
}

// Document implements httpapi.Workspace.
func (v view) Document(ctx context.Context, r httpapi.DocumentRequest) (httpapi.Document, error) {
	chunks, err := v.s.Manager.Chunks(ctx, r.Path)
	if isNoDocument(err) {
		err = kind.As(kind.NotFound, err)
	}
	if r.Line != 0 {
		chunks = slices.DeleteFunc(chunks, func(c core.MemoryHit) bool { return c.StartLine != r.Line })
	}
	return httpapi.Document{Path: r.Path, Chunks: chunks}, err
}
