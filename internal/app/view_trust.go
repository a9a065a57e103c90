package app

import (
	"context"
	"slices"

	"github.com/memcore/memcore/core/curated"
	"github.com/memcore/memcore/formatter"
	"github.com/memcore/memcore/inject/view"
	"github.com/memcore/memcore/internal/paths"
)

// Layer implements view.Memory.
func (v page) Layer(ctx context.Context) (view.Layer, error) {
	layer := curated.New(v.s.curatedOptions())
	m, err := layer.Load(ctx)
	if err != nil {
		return view.Layer{}, err
	}
	out := view.Layer{Memory: m, Text: formatter.Curated(m), Limits: layer.Limits()}
	out.Folders, err = v.trustFolders(ctx, m)
	return out, err
}

// trustFolders returns the project, decisions about folders in it, and plugins outside.
func (v page) trustFolders(ctx context.Context, m curated.Memory) ([]view.TrustFolder, error) {
	store := v.s.Trust()
	decided, err := store.All()
	if err != nil {
		return nil, err
	}
	folders := []string{m.Project}
	for _, d := range decided {
		if _, inside := paths.Within(m.Project, d.Folder); inside {
			folders = append(folders, d.Folder)
		}
	}
	for _, f := range m.Files {
		if f.Plugin != "" {
			folders = append(folders, f.Plugin)
		}
	}
	var all []view.TrustFolder
	for i, folder := range folders {
		if slices.Contains(folders[:i], folder) {
			continue
		}
		one := view.TrustFolder{Folder: folder}
		d, ok, err := store.Of(folder)
		if err != nil {
			return nil, err
		}
		if ok {
			one.Trusted, one.By, one.At, one.Configured = d.Trusted, d.Folder, d.At, d.Configured
		}
		for _, f := range m.Files {
			if f.Plugin == folder && f.Untrusted {
				one.Trusted = false // trust in the home does not suffice
				one.Waiting++
			}
		}
		if folder == m.Project && !one.Trusted {
			one.Waiting = len(v.s.Curated().Untrusted(ctx, m))
		}
		all = append(all, one)
	}
	return all, nil
}
