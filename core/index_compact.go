package core

import (
	"context"

	"github.com/memcore/memcore/store"
)

// compact only logs a failure: the indexes still answer.
func (w *writer) compact(ctx context.Context) {
	w.compactOne(ctx, "keyword index", w.keywords)
	if w.vectors != nil {
		w.compactOne(ctx, "vectors", w.vectors)
	}
}

func (w *writer) compactOne(ctx context.Context, name string, index store.Index) {
	compactor, ok := index.(store.Compactor)
	if !ok {
		return
	}
	w.progress(Progress{Stage: "compact"})
	if err := compactor.Compact(ctx); err != nil {
		w.report.Warnings = append(w.report.Warnings, name+" not compacted; the next run tries again: "+err.Error())
		w.m.log.Warn("index not compacted", "index", name, "error", err)
	}
}
