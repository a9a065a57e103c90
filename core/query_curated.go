package core

import (
	"context"
	"slices"

	"github.com/memcore/memcore/core/curated"
	"github.com/memcore/memcore/internal/text/prompt"
)

// Curated returns the curated memory for the system prompt, if any. RetrieveOptions.Has keeps it
// out of hits. Problems with files are logged and in Memory.Warnings; errors are those of ctx.
func (m *Manager) Curated(ctx context.Context) (curated.Memory, error) {
	if m.options.Curated == nil {
		return curated.Memory{}, ctx.Err()
	}
	memory, err := m.options.Curated.Load(ctx)
	for _, w := range memory.Warnings {
		m.log.Warn("curated memory", "warning", w.String())
	}
	return memory, err
}

// RulesFor returns rules whose triggers or globs fit a request. It runs at each turn, so
// Memory.Warnings are not logged.
func (m *Manager) RulesFor(ctx context.Context, request string) (curated.Memory, error) {
	if m.options.Curated == nil {
		return curated.Memory{}, ctx.Err()
	}
	return m.options.Curated.Now(ctx, curated.Moment{Request: request, Named: prompt.Paths(request)})
}

func (m *manifest) pathsOf(files []string) (paths []string) {
	for path, e := range m.Documents { // those of layers are no files
		if slices.Contains(files, e.File) {
			paths = append(paths, path)
		}
	}
	return paths
}
