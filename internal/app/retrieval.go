package app

import (
	"cmp"
	"fmt"
	"time"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/when"
	"github.com/memcore/memcore/inject/httpapi"
)

// CheckTimes reports what is wrong with times.
func CheckTimes(t httpapi.Times) error {
	_, err := readTimes(t)
	return err
}

// bounds are parsed Times.
type bounds struct{ since, until, now time.Time }

// readTimes errors begin with the field's name.
func readTimes(t httpapi.Times) (b bounds, err error) {
	present := time.Now()
	if t.Now != "" {
		if b.now, err = when.From(t.Now, present); err != nil {
			return bounds{}, fmt.Errorf("now: %w", err)
		}
		present = b.now
	}
	if t.Since != "" {
		if b.since, err = when.From(t.Since, present); err != nil {
			return bounds{}, fmt.Errorf("since: %w", err)
		}
	}
	if t.Until != "" {
		if b.until, err = when.To(t.Until, present); err != nil {
			return bounds{}, fmt.Errorf("until: %w", err)
		}
	}
	if t.Since != "" && t.Until != "" && !b.since.Before(b.until) {
		return bounds{}, fmt.Errorf("since: %q is not before until, %q", t.Since, t.Until)
	}
	return b, nil
}

func (b bounds) retrieve(o core.RetrieveOptions) core.RetrieveOptions {
	o.Since, o.Until, o.Now = b.since, b.until, b.now
	return o
}

func (b bounds) search(o core.SearchOptions) core.SearchOptions {
	o.Since, o.Until, o.Now = b.since, b.until, b.now
	return o
}

func SearchOptions(r httpapi.SearchRequest) (core.SearchOptions, error) {
	b, err := readTimes(r.Times)
	return b.search(core.SearchOptions{Scope: r.Scope, Path: r.Path, Kind: r.Kind, Limit: r.Limit, MinSimilarity: r.MinSimilarity, Explain: r.Explain,
		Sessions: r.Sessions, Session: r.Session, Exact: r.Exact, Stated: r.Kind == ""}), err
}

// RetrieveOptions are the settings for retrieval.
func (w *Workspace) RetrieveOptions() core.RetrieveOptions {
	s := w.Settings
	return core.RetrieveOptions{Lines: s.Lines, MinSimilarity: s.MinSimilarity, TokenBudget: s.TokenBudget}
}

// RetrieveOptionsFor are the settings, overridden by a request.
func (w *Workspace) RetrieveOptionsFor(r httpapi.RetrieveRequest) (core.RetrieveOptions, error) {
	o := w.RetrieveOptions()
	o.Scope, o.Path, o.Kind, o.Explain, o.Given = r.Scope, r.Path, r.Kind, r.Explain, r.Given
	if r.Limit > 0 {
		o.Limit = r.Limit
	}
	if r.MinSimilarity > 0 {
		o.MinSimilarity = r.MinSimilarity
	}
	o.TokenBudget = cmp.Or(r.TokenBudget, o.TokenBudget)
	b, err := readTimes(r.Times)
	return b.retrieve(o), err
}
