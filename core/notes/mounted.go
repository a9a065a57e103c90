package notes

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

// Mounted are Files with those of other folders, whose paths begin with the folder's name:
// "@platform/facts/oncall.md".
type Mounted struct {
	Files
	Mounts map[string]Files
}

// mountMark begins the names of mounts, and of nothing else: what is meant for a team that one has
// left, or misspelt, would be for all.
const mountMark = "@"

// of returns the files that have a path, their prefix, and the path in them.
func (m Mounted) of(name string) (files Files, prefix, within string, err error) {
	mount, within, _ := strings.Cut(name, "/")
	if files, ok := m.Mounts[mount]; ok {
		return files, mount + "/", within, nil
	}
	if clean := path.Clean(name); strings.HasPrefix(clean, mountMark) {
		return nil, "", "", fmt.Errorf("%w: %.200q: there is no team of this name here", ErrPath, name)
	}
	return m.Files, "", name, nil
}

// Read implements Files.
func (m Mounted) Read(ctx context.Context, name string) (string, error) {
	files, _, within, err := m.of(name)
	if err != nil {
		return "", err
	}
	return files.Read(ctx, within)
}

// Write implements Files.
func (m Mounted) Write(ctx context.Context, name, content string) (Written, error) {
	return m.changed(name, func(files Files, within string) (Written, error) { return files.Write(ctx, within, content) })
}

// Patch implements Files.
func (m Mounted) Patch(ctx context.Context, name string, patches []Patch, all bool) (Written, error) {
	return m.changed(name, func(files Files, within string) (Written, error) { return files.Patch(ctx, within, patches, all) })
}

// Append implements Files.
func (m Mounted) Append(ctx context.Context, name, entry, summary string) (Written, error) {
	return m.changed(name, func(files Files, within string) (Written, error) { return files.Append(ctx, within, entry, summary) })
}

func (m Mounted) changed(name string, change func(files Files, within string) (Written, error)) (Written, error) {
	files, prefix, within, err := m.of(name)
	if err != nil {
		return Written{}, err
	}
	w, err := change(files, within)
	if w.Path != "" {
		w.Path = prefix + w.Path
	}
	return w, err
}

// List implements Files.
func (m Mounted) List(ctx context.Context) ([]Item, error) {
	items, err := m.Files.List(ctx)
	items = slices.DeleteFunc(items, func(item Item) bool { return strings.HasPrefix(item.Path, mountMark) })
	for _, mount := range slices.Sorted(maps.Keys(m.Mounts)) {
		if err != nil {
			return nil, err
		}
		var some []Item
		some, err = m.Mounts[mount].List(ctx)
		for _, item := range some {
			item.Path = mount + "/" + item.Path
			items = append(items, item)
		}
	}
	return items, err
}
