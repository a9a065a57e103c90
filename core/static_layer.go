package core

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/memcore/memcore/core/static"
)

// staticLimit is how much of the static layer goes into a system prompt, in bytes; more costs every
// turn. What is over is left out, in whole files from the lowest priority on.
const staticLimit = 50 << 10

// ProjectCoreMemory returns the static layer for the system prompt, without a heading of its own;
// empty if there is none. Files are in order of priority, lowest first, a blank line between them, without their frontmatter
// and with what they import (package core/static). Like RetrieveRelevant it logs an error as well as returning it, and
// what could be read is returned all the same. Chunks of files it has returned are not retrieved again by this Manager.
func (m *Manager) ProjectCoreMemory(ctx context.Context) (string, error) {
	memory, err := static.Load(ctx, static.Options{Files: m.options.StaticFiles, Roots: m.options.StaticRoots, Home: m.options.Home})
	if err != nil {
		return "", err
	}
	var problems error
	for _, w := range memory.Warnings {
		problems = errors.Join(problems, errors.New(w.String()))
	}
	var parts, read []string
	size := 0
	for i := len(memory.Files) - 1; i >= 0; i-- {
		f := memory.Files[i]
		if size += len(f.Text); size > staticLimit {
			problems = errors.Join(problems, fmt.Errorf("static memory is over %d KiB: %s and files of lower priority are left out", staticLimit>>10, f.Path))
			break
		}
		parts = append([]string{f.Text}, parts...)
		read = append(append(read, f.Path), f.Imported...)
	}
	if problems != nil {
		m.log.Warn("static memory is incomplete", "error", problems)
	}
	m.remember(read)
	return strings.Join(parts, "\n\n"), problems
}

func (m *Manager) remember(files []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.shown == nil {
		m.shown = map[string]bool{}
	}
	for _, file := range files {
		m.shown[file] = true
	}
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
