package main

import (
	"fmt"
	"path"
	"path/filepath"
	"time"

	"github.com/spf13/pflag"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/source"
	"github.com/memcore/memcore/core/when"
	"github.com/memcore/memcore/inject/httpapi"
	"github.com/memcore/memcore/internal/paths"
)

// narrowFlags say which part of memory a query looks at.
type narrowFlags struct {
	kind, path string
	httpapi.Times
}

func (n *narrowFlags) add(f *pflag.FlagSet) {
	f.StringVar(&n.Since, "since", "", "only what is not older than `TIME`: a date, RFC 3339, 7d, or words such as \"last week\"")
	f.StringVar(&n.Until, "until", "", "only what is not newer than `TIME`; a day is included")
	f.StringVar(&n.kind, "kind", "", "`KIND` to look in, markdown or conversation (default: both)")
	f.StringVar(&n.path, "path", "", "document or folder `PATH` to look in, as citations name it")
	f.StringVar(&n.Now, "now", "", "`TIME` that \"last week\" counts from (default: the present)")
}

// check names the flag that is wrong.
func (n narrowFlags) check() error {
	if n.kind != "" && n.kind != source.KindMarkdown && n.kind != source.KindConversation {
		return usagef("--kind is %q, want %s or %s", n.kind, source.KindMarkdown, source.KindConversation)
	}
	if _, err := boundsOf(n.Times); err != nil {
		return usagef("--%v", err)
	}
	return nil
}

// document is a path as documents are named: relative to the project, or as it is.
func (a *app) document(name string) string {
	if name == "" {
		return ""
	}
	if filepath.IsAbs(name) {
		return paths.NewNames(a.project, a.home).Of(filepath.Clean(name))
	}
	if name = path.Clean(filepath.ToSlash(name)); name == "." {
		return ""
	}
	return name
}

// bounds are Times as moments.
type bounds struct{ since, until, now time.Time }

// boundsOf reads Times. Errors begin with the name of what is wrong.
func boundsOf(t httpapi.Times) (b bounds, err error) {
	present := time.Now()
	if t.Now != "" {
		if b.now, err = when.Moment(t.Now, present); err != nil {
			return bounds{}, fmt.Errorf("now: %w", err)
		}
		present = b.now
	}
	if t.Since != "" {
		if b.since, err = when.Since(t.Since, present); err != nil {
			return bounds{}, fmt.Errorf("since: %w", err)
		}
	}
	if t.Until != "" {
		if b.until, err = when.Until(t.Until, present); err != nil {
			return bounds{}, fmt.Errorf("until: %w", err)
		}
	}
	if t.Since != "" && t.Until != "" && !b.since.Before(b.until) {
		return bounds{}, fmt.Errorf("since: %q is not before until, %q", t.Since, t.Until)
	}
	return b, nil
}

// retrieve puts the bounds into options.
func (b bounds) retrieve(o core.RetrieveOptions) core.RetrieveOptions {
	o.Since, o.Until, o.Now = b.since, b.until, b.now
	return o
}

// search puts the bounds into options.
func (b bounds) search(o core.SearchOptions) core.SearchOptions {
	o.Since, o.Until, o.Now = b.since, b.until, b.now
	return o
}
