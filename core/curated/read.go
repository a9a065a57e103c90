package curated

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"

	"golang.org/x/sync/errgroup"
)

type reader struct {
	*finder
	targets map[importKey]importTarget
}

// newReader takes options with defaults.
func newReader(ctx context.Context, o Options) *reader {
	return &reader{finder: newFinder(ctx, o), targets: map[importKey]importTarget{}}
}

// readers is how many files are read concurrently.
const readers = 20

// read notes unreadable files and second names as reasons.
func (r *reader) read(found []candidate) error {
	group, ctx := errgroup.WithContext(r.ctx)
	group.SetLimit(readers)
	for i := range found {
		c := &found[i]
		if c.reason != "" {
			continue
		}
		group.Go(func() error {
			var err error
			if c.parsed, err = r.open(c.file, c.inBeans, maxFile); err != nil {
				c.reason = "it is left out: " + err.Error()
				r.warn(r.names.Of(c.file), 0, "is left out: "+err.Error())
			}
			return ctx.Err()
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	first := map[string]string{}
	for i := range found {
		c := &found[i]
		switch {
		case c.parsed == nil:
		case first[c.real] != "":
			c.reason, c.parsed = "it is the same file as "+first[c.real], nil
		default:
			first[c.real] = r.names.Of(c.file)
		}
	}
	return r.gather(found)
}

func (r *reader) watched(found []candidate) []string {
	all := r.folders
	for _, c := range found {
		if c.parsed != nil {
			all = append(all, filepath.Dir(c.real))
		}
	}
	for at, t := range r.targets {
		if t.parsed != nil {
			all = append(all, filepath.Dir(t.parsed.real))
		} else if path, err := resolveImport(filepath.Dir(at.from), at.name, r.o.Home); err == nil && errors.Is(t.err, fs.ErrNotExist) {
			if root, err := r.rootOf(path); err == nil && root != "" { // it may appear
				all = append(all, filepath.Dir(path))
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}
