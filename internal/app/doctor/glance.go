package doctor

import (
	"cmp"
	"context"
	"slices"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/curated"
	"github.com/memcore/memcore/inject/view"
	"github.com/memcore/memcore/internal/app"
)

// Glance makes the quick checks of a workspace that is open: none opens documents, reads an index
// or asks a server. It returns what is wrong, problems first.
func Glance(ctx context.Context, w *app.Workspace, m curated.Memory, known core.Status) []view.Check {
	d := &doctor{w: w}
	d.settings()
	d.layer(ctx, w.Curated().Layer(), m)
	if at, err := w.Folders(); err == nil {
		embedder, err := w.Index().Model()
		if err != nil {
			d.problem("embedder", "correct memory.embedder and its settings", "%v", err)
		}
		c := indexChecks{d, at, known, embedder}
		c.state([]string{app.NotBuilt(known.Engine).Error()})
		c.changes()
		d.private()
		d.agents(at)
	}
	var wrong []view.Check
	for _, c := range d.checks {
		if c.State != StateOK {
			wrong = append(wrong, view.Check(c))
		}
	}
	slices.SortStableFunc(wrong, func(a, b view.Check) int { return cmp.Compare(rank(a.State), rank(b.State)) })
	return wrong
}

func rank(state string) int {
	if state == StateProblem {
		return 0
	}
	return 1
}
