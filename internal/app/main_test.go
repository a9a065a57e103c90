package app

import (
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/inject/httpapi"
	"github.com/memcore/memcore/internal/app/apptest"
	"github.com/memcore/memcore/internal/app/config"
)

// at is a workspace without notes.
func at(folder string) *Workspace {
	return &Workspace{Config: &config.Config{Cwd: folder, Log: slog.New(slog.DiscardHandler)}, Note: func(string, ...any) {}}
}

// openTestService opens the memory of a new workspace with some files.
func openTestService(t *testing.T, files map[string]string) *Service {
	t.Helper()
	project := apptest.Project(t, files)
	here, err := at(project).In(project)
	require.NoError(t, err)
	s, err := here.Open(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// newTestService returns a service with two indexed notes.
func newTestService(t *testing.T) *Service {
	t.Helper()
	s := openTestService(t, map[string]string{
		"staging.md": "# Staging\n\nThe staging database listens on port 5433.\n",
		"ferry.md":   "# Ferry\n\nThe ferry leaves from pier K17 in the morning.\n",
	})
	_, err := s.Reindex(t.Context(), httpapi.IndexRequest{})
	require.NoError(t, err)
	return s
}
