package core

import (
	"context"

	"github.com/memcore/memcore/store"
)

// compact lets the indexes tidy up at the end of a run. What was indexed is kept and answers whether
// that succeeds or not, so a failure is only told.
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
		w.report.Warnings = append(w.report.Warnings, name+" not compacted, which the next run of indexing tries again: "+err.Error())
		w.m.log.Warn("index not compacted", "index", name, "error", err)
	}
}
