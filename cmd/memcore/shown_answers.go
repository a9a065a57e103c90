package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/notes"
	"github.com/memcore/memcore/formatter"
)

// What tools answer beside the text of files. Clients show models the data of an answer as well as its text, so nothing of a file gets into either as it stands.

// named are the places that a model may mean: the one that a citation names, or the statements that say a text.
func (f shownFiles) named(ctx context.Context, text string) ([]notes.Place, error) {
	place, ok, err := f.cited(text)
	if err != nil || ok {
		return []notes.Place{place}, err
	}
	return f.statements(ctx, text)
}

// find is app.find for a model: it is told by the error which statements there are, and they are in no log.
func (f shownFiles) find(ctx context.Context, text string) (notes.Place, error) {
	found, err := f.named(ctx, text)
	if err != nil {
		return notes.Place{}, err
	}
	if len(found) != 1 {
		return notes.Place{}, fmt.Errorf("%w: %s", notes.ErrStatement, f.saying(ctx, found))
	}
	return found[0], nil
}

// saying tells which statements say what a model has asked for.
func (f shownFiles) saying(ctx context.Context, found []notes.Place) string {
	text := count(len(found), "statement") + " say that."
	for _, p := range found {
		text += "\n- " + f.name(ctx, p.Citation()) + ": " + f.line(ctx, p.Text)
	}
	return text
}

// safeLine is what memcore says itself, with the names and errors that are in it.
func safeLine(text string) string {
	text, _ = formatter.Sanitize(oneLine(text))
	return text
}

// each makes something of each text of a list that stays as it is.
func each(texts []string, of func(string) string) []string {
	texts = slices.Clone(texts)
	for i := range texts {
		texts[i] = of(texts[i])
	}
	return texts
}

// result is the data of search_memory. Of what was withheld it has what tells the reason, and nothing that the file says, by its name and headings either.
func (f shownFiles) result(ctx context.Context, r core.Result) core.Result {
	r.Hits, r.Withheld, r.Degraded = slices.Clone(r.Hits), slices.Clone(r.Withheld), each(r.Degraded, safeLine)
	name := func(text string) string { return safeLine(f.name(ctx, text)) } // what comes out of the index is made safe even where the folder is trusted
	for i, hit := range r.Hits {
		hit.Text = formatter.Text(hit)
		hit.Source, hit.Path, hit.Session, hit.Speaker = name(hit.Source), name(hit.Path), name(hit.Session), name(hit.Speaker)
		hit.Headings, hit.Also, hit.Request = each(hit.Headings, name), each(hit.Also, name), safeLine(hit.Request)
		if v := hit.Suspicion; v != nil {
			shown := v.WithoutExcerpts()
			hit.Suspicion = &shown
		}
		r.Hits[i] = hit
	}
	for i, hit := range r.Withheld {
		r.Withheld[i] = core.MemoryHit{ID: hit.ID, Score: hit.Score, TokenEstimate: hit.TokenEstimate, Scope: hit.Scope, Kind: hit.Kind, StartLine: hit.StartLine, EndLine: hit.EndLine, Time: hit.Time, Suspicion: hit.Suspicion}
	}
	if r.Stale != nil {
		stale := *r.Stale
		stale.Reason = safeLine(stale.Reason)
		r.Stale = &stale
	}
	return r
}

// shownReport is the data of refresh_memory: what was done, without what names files and quotes lines of them, which the model has no use for.
func shownReport(r core.IndexReport) core.IndexReport {
	r.Skipped, r.SkippedLines, r.Warnings = nil, nil, nil
	r.Degraded, r.Rebuilt = safeLine(r.Degraded), safeLine(r.Rebuilt)
	if r.Shared != nil {
		shared := *r.Shared
		shared.Problem = safeLine(shared.Problem)
		r.Shared = &shared
	}
	return r
}
