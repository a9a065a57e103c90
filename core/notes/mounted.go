package notes

import (
	"context"
	"maps"
	"slices"
	"strings"
)

// Mounted are Files with those of other folders, whose paths begin with the folder's name:
// "@platform/facts/oncall.md".
type Mounted struct {
	Files
	Mounts map[string]Files
}

// of returns the files that have a path, their prefix, and the path in them.
func (m Mounted) of(name string) (files Files, prefix, within string) {
	mount, within, _ := strings.Cut(name, "/")
	if files, ok := m.Mounts[mount]; ok {
		return files, mount + "/", within
	}
	return m.Files, "", name
}

// Read implements Files.
func (m Mounted) Read(ctx context.Context, name string) (string, error) {
	files, _, within := m.of(name)
	return files.Read(ctx, within)
}

// Write implements Files.
func (m Mounted) Write(ctx context.Context, name, content string) (Written, error) {
	files, prefix, within := m.of(name)
	return prefixed(prefix)(files.Write(ctx, within, content))
}

// Patch implements Files.
func (m Mounted) Patch(ctx context.Context, name string, patches []Patch, all bool) (Written, error) {
	files, prefix, within := m.of(name)
	return prefixed(prefix)(files.Patch(ctx, within, patches, all))
}

// Append implements Files.
func (m Mounted) Append(ctx context.Context, name, entry, summary string) (Written, error) {
	files, prefix, within := m.of(name)
	return prefixed(prefix)(files.Append(ctx, within, entry, summary))
}

func prefixed(prefix string) func(Written, error) (Written, error) {
	return func(w Written, err error) (Written, error) {
		if w.Path != "" {
			w.Path = prefix + w.Path
		}
		return w, err
	}
}

// List implements Files.
func (m Mounted) List(ctx context.Context) ([]Item, error) {
	items, err := m.Files.List(ctx)
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
