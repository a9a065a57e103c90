package core_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/store"
)

// awayShared is a storage that fails, or does not answer.
type awayShared struct{ hang bool }

func (s awayShared) fail(ctx context.Context) error {
	if s.hang {
		<-ctx.Done()
		return ctx.Err()
	}
	return errors.New("connection refused")
}

func (s awayShared) Name() string { return "away" }

func (s awayShared) Owned(ctx context.Context, _ string) ([]store.Record, error) {
	return nil, s.fail(ctx)
}

func (s awayShared) Publish(ctx context.Context, _, _ string, _, _ []store.Record) error {
	return s.fail(ctx)
}

func (s awayShared) Changes(ctx context.Context, _ string, _ store.Cursor) ([]store.Change, store.Cursor, error) {
	return nil, nil, s.fail(ctx)
}

func (s awayShared) Close() error { return nil }

func TestStorageThatIsAwayCostsAWarning(t *testing.T) {
	m := newMemory(t)
	m.options.Shared, m.options.Owner = awayShared{}, "here"
	manager := m.open()
	report, err := manager.Index(t.Context(), core.IndexOptions{})
	require.NoError(t, err)
	if report.Shared == nil || !strings.Contains(report.Shared.Problem, "connection refused") {
		t.Errorf("report.Shared = %+v, want the problem", report.Shared)
	}
	require.Equal(t, 3, report.Documents)
	require.Zero(t, report.Pending)
	result, err := manager.Search(t.Context(), "staging postgres", core.SearchOptions{})
	require.NoError(t, err)
	require.NotEmpty(t, result.Hits)
}

func TestStorageThatHangsEndsWithTheContext(t *testing.T) {
	m := newMemory(t)
	m.options.Shared, m.options.Owner = awayShared{hang: true}, "here"
	ctx, stop := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer stop()
	_, err := m.open().Index(ctx, core.IndexOptions{})
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

func TestSharingNeedsAnOwner(t *testing.T) {
	m := newMemory(t)
	m.options.Shared = awayShared{}
	for _, owner := range []string{"", "a/b", "ü", "../x"} {
		m.options.Owner = owner
		if _, err := core.Open(t.Context(), m.options); err == nil {
			t.Errorf("Open with the owner %q: no error", owner)
		}
	}
}
