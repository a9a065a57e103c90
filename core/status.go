package core

import (
	"cmp"
	"context"
	"errors"
	"fmt"
)

// Status tells what the memory holds and whether it is well. It looks at the documents' stats but
// changes nothing. What is wrong is in Status.Problems; the error is for a ctx that ended or a closed
// Manager.
func (m *Manager) Status(ctx context.Context) (Status, error) {
	status := Status{Folder: m.options.Folder, Engine: m.options.Engine.Name, Documents: map[string]int{}}
	for _, from := range m.options.Sources {
		status.Sources = append(status.Sources, from.Name())
	}
	current, err := m.acquire(ctx)
	if errors.Is(err, ErrClosed) || ctx.Err() != nil {
		return status, errors.Join(err, ctx.Err())
	}
	status.State = stateOf(err)
	if err != nil {
		switch status.State {
		case StateNewer:
			status.Problems = append(status.Problems, m.tooNew(err).Error())
		case StateDamaged:
			status.Problems = append(status.Problems, fmt.Sprintf("%v: index again, which makes it anew", err))
		}
		return status, nil
	}
	defer current.release()
	m.describe(ctx, current, &status)
	return status, ctx.Err()
}

// Writing tells whether the index is being changed now, by this process or another. It does not wait.
// The error is for a lock that cannot be looked at.
func (m *Manager) Writing() (bool, error) { return m.writing.held() }

func (m *Manager) describe(ctx context.Context, from snapshot, status *Status) {
	known := from.manifest
	if !known.Complete {
		status.State = StateBuilding
	}
	status.Embedder, status.Dimension, status.Updated = known.Embedder, known.Dimension, known.Updated
	for _, e := range known.Documents {
		status.Documents[e.Kind]++
	}
	status.Logs = known.logs()
	all, pending := known.chunks()
	status.Chunks, status.Embedded = all, all-pending
	problem := func(err error) {
		if err != nil {
			status.Problems = append(status.Problems, err.Error())
		}
	}
	var err error
	status.Keywords, err = from.keywords.Stats(ctx)
	problem(err)
	if from.vectors != nil {
		status.Vectors, err = from.vectors.Stats(ctx)
		problem(err)
	}
	problem(cmp.Or(m.tooNew(from.noVectors), from.noVectors))
	if met := from.met(); met != "" {
		problem(fmt.Errorf("%s: index again, which makes it anew", met))
	}
	found, err := scan(ctx, m.options.Sources, known, m.isForeign)
	problem(err)
	if n := found.count(); n > 0 {
		status.Stale = &Staleness{Files: n, Reason: "changed since they were indexed"}
	}
	status.Problems = append(status.Problems, found.failed...)
	status.Shared = m.sharedStatus(known)
}

// Check reads both indexes whole and returns what contradicts itself; an index that was never made is
// well. Errors wrap store.ErrCorrupt; the next Index then makes it anew.
func (m *Manager) Check(ctx context.Context) error {
	current, err := m.acquire(ctx)
	if stateOf(err) == StateMissing {
		return nil
	}
	if err != nil {
		return err
	}
	defer current.release()
	err = m.check(ctx, current)
	m.meet(current, err)
	return err
}

func (m *Manager) check(ctx context.Context, current snapshot) error {
	if err := current.keywords.Check(ctx); err != nil {
		return err
	}
	if current.noVectors != nil || current.vectors == nil {
		return current.noVectors
	}
	if err := current.vectors.Check(ctx); err != nil {
		return err
	}
	return agree(ctx, current)
}
