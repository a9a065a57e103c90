package core

import (
	"context"
	"time"

	"github.com/memcore/memcore/core/source"
)

// commitDates are when the documents of a run were committed, by source, then path. A source is
// asked once, when the first of its documents says no date of its own.
type commitDates struct {
	read     []located // of the run
	deadline time.Time // or zero
	known    map[string]map[string]time.Time
}

// committedOn is the date of the last commit that changed a note which is as it was committed. A
// clone gives all files the time of the clone.
func (w *writer) committedOn(ctx context.Context, doc located) noteDate {
	from, ok := doc.from.(source.Committer)
	if !ok || doc.Kind != source.KindMarkdown {
		return noteDate{}
	}
	known, asked := w.commits.known[doc.from.Name()]
	if !asked {
		known = w.askCommits(ctx, doc.from.Name(), from)
	}
	at := known[doc.Path]
	if year := at.Year(); year < 1970 || year >= 2200 { // a manifest cannot have every year
		return noteDate{}
	}
	return noteDate{At: at, Commit: true}
}

func (w *writer) askCommits(ctx context.Context, name string, from source.Committer) map[string]time.Time {
	if !w.commits.deadline.IsZero() {
		var stop context.CancelFunc
		ctx, stop = context.WithDeadline(ctx, w.commits.deadline)
		defer stop()
	}
	var docs []source.Document
	for _, doc := range w.commits.read {
		if doc.from.Name() != name || doc.Kind != source.KindMarkdown {
			continue
		}
		if _, ok := dateOfPath(doc.Path); !ok {
			docs = append(docs, doc.Document)
		}
	}
	known, err := from.Committed(ctx, docs)
	if err != nil {
		w.m.log.Info("notes have the time of their files, since their commits cannot be read", "source", name, "error", err)
	}
	w.commits.known[name] = known
	return known
}
