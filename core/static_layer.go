package core

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
)

// staticLimit is how much of the static layer goes into a system prompt, in bytes; more costs every
// turn. What is over is left out, in whole files from the lowest priority on.
const staticLimit = 50 << 10

// ProjectCoreMemory returns the static layer for the system prompt, without a heading of its own;
// empty if there is none. Files are in order of priority, lowest first, a blank line between them.
// Like RetrieveRelevant it logs an error as well as returning it, and what could be read is returned
// all the same. Chunks of files it has returned are not retrieved again by this Manager.
func (m *Manager) ProjectCoreMemory(ctx context.Context) (string, error) {
	var parts, read []string
	var problems error
	size := 0
	for i := len(m.options.StaticFiles) - 1; i >= 0; i-- {
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		file := m.options.StaticFiles[i]
		text, err := readStatic(file)
		if errors.Is(err, fs.ErrNotExist) || text == "" && err == nil {
			continue
		}
		if size += len(text); err == nil && size > staticLimit {
			err = fmt.Errorf("static memory is over %d KiB: %s and files of lower priority are left out", staticLimit>>10, file)
		}
		if err != nil {
			problems = errors.Join(problems, err)
			break
		}
		parts, read = append([]string{text}, parts...), append(read, file)
	}
	if problems != nil {
		m.log.Warn("static memory is incomplete", "error", problems)
	}
	m.remember(read)
	return strings.Join(parts, "\n\n"), problems
}

func readStatic(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return "", errors.Join(err, fmt.Errorf("static memory %s is not a file", file))
	}
	data, err := io.ReadAll(io.LimitReader(f, staticLimit+1))
	if err != nil {
		return "", fmt.Errorf("static memory %s: %w", file, err)
	}
	return strings.TrimSpace(strings.ToValidUTF8(string(data), "\uFFFD")), nil
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
