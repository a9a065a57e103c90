package core

import (
	"context"

	"github.com/memcore/memcore/core/static"
)

// StaticLayer returns the curated memory for the system prompt, with where it comes from and what was left out; empty if
// Options.Static is nil. Documents whose whole text it has given are not retrieved again by this Manager. What is wrong with the
// files is logged and in Memory.Warnings; the only errors are those of ctx.
func (m *Manager) StaticLayer(ctx context.Context) (static.Memory, error) {
	return m.given(m.static(ctx, (*static.Layer).Load))
}

// ProjectCoreMemory returns the text of the project's curated memory, without a heading of its own; empty if there is none.
func (m *Manager) ProjectCoreMemory(ctx context.Context) (string, error) {
	memory, err := m.StaticLayer(ctx)
	return memory.ProjectContext(), err
}

// RefreshStatic reads the curated memory anew, whatever is cached.
func (m *Manager) RefreshStatic(ctx context.Context) (static.Memory, error) {
	return m.given(m.static(ctx, (*static.Layer).Refresh))
}

// LoadFor returns curated memory of the folders on the way to a path that was not given before (static.Layer.LoadFor).
func (m *Manager) LoadFor(ctx context.Context, path string) (static.Memory, error) {
	return m.given(m.static(ctx, func(l *static.Layer, ctx context.Context) (static.Memory, error) { return l.LoadFor(ctx, path) }))
}

// Rules returns the rules that apply to a turn (static.Layer.Rules). They may be retrieved in others.
func (m *Manager) Rules(ctx context.Context, request string, paths []string) (static.Memory, error) {
	return m.static(ctx, func(l *static.Layer, ctx context.Context) (static.Memory, error) { return l.Rules(ctx, request, paths) })
}

func (m *Manager) static(ctx context.Context, read func(*static.Layer, context.Context) (static.Memory, error)) (static.Memory, error) {
	if m.options.Static == nil {
		return static.Memory{}, ctx.Err()
	}
	memory, err := read(m.options.Static, ctx)
	if err != nil {
		return static.Memory{}, err
	}
	for _, w := range memory.Warnings {
		m.log.Warn("static memory", "warning", w.String())
	}
	return memory, nil
}

// given remembers what stays in the prompt.
func (m *Manager) given(memory static.Memory, err error) (static.Memory, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.shown == nil {
		m.shown = map[string]bool{}
	}
	for _, file := range memory.Given() {
		m.shown[file] = true
	}
	return memory, err
}

// shownPaths returns the paths of indexed documents that are in the system prompt already.
func (m *Manager) shownPaths(indexed *manifest) []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.shown) == 0 {
		return nil
	}
	var paths []string
	for path, e := range indexed.Documents {
		if m.shown[e.File] {
			paths = append(paths, path)
		}
	}
	return paths
}
