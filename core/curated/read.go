package curated

import (
	"context"

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
