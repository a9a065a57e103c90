package app

import (
	"context"
	"time"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/curated"
	"github.com/memcore/memcore/core/notes"
	"github.com/memcore/memcore/inject/view"
	"github.com/memcore/memcore/internal/app/config"
	"github.com/memcore/memcore/internal/text/plain"
)

const (
	// comparing bounds how long the first page compares files without a watch.
	comparing = 30 * time.Millisecond
	// shownGiven bounds the documents in a list of the overview.
	shownGiven = 10
	// shownFailing bounds the commands that failed in several sessions.
	shownFailing = 10
	// shownChecks bounds what an overview finds wrong.
	shownChecks = 50
	// askingAboutUser bounds the search for who the user is: a model may be remote.
	askingAboutUser = 500 * time.Millisecond
)

// Overview implements view.Memory.
func (v page) Overview(ctx context.Context) (o view.Overview, err error) {
	o = view.Overview{Workspace: v.s.Project, Enabled: v.s.Settings.Enabled, Models: v.models()}
	if o.Status, err = v.s.Manager.StatusWithin(ctx, comparing); err != nil {
		return o, err
	}
	if o.Status.State == core.StateReady || o.Status.State == core.StateBuilding {
		if o.Sums, err = v.s.Manager.Sums(ctx); err != nil {
			return o, err
		}
		if o.Languages, err = v.s.Manager.Languages(ctx); err != nil {
			return o, err
		}
		o.AboutUser = v.aboutUser(ctx)
		if o.Failing, err = v.s.Manager.Failing(ctx, shownFailing); err != nil {
			return o, err
		}
	}
	if o.Use, err = v.s.Use().Summary(); err != nil {
		return o, err
	}
	o.Use.Documents = o.Use.Documents[:min(len(o.Use.Documents), shownGiven)]
	waiting, err := v.s.Notes().Proposals().Waiting()
	if err != nil {
		return o, err
	}
	o.Proposals = len(waiting)
	if v.s.Glance != nil {
		m, err := curated.New(v.s.curatedOptions()).Load(ctx)
		if err != nil {
			return o, err
		}
		wrong := v.s.Glance(ctx, v.s.Workspace, m, o.Status)
		o.Checks = wrong[:min(len(wrong), shownChecks)]
	}
	return o, nil
}

// aboutUser returns passages about the user; none after an error.
func (v page) aboutUser(ctx context.Context) []core.MemoryHit {
	ctx, stop := context.WithTimeout(ctx, askingAboutUser)
	defer stop()
	hits, _ := v.s.Manager.AboutUser(ctx)
	for i := range hits {
		hits[i].Text, _ = notes.Clean(hits[i].Text)
	}
	return hits
}

// models returns the configured models.
func (v page) models() []view.Model {
	s := v.s.Settings
	embedder := view.Model{Role: "embedder", Name: s.Embedder}
	switch s.Embedder {
	case config.EmbedderNone:
		embedder.Name = ""
	case config.EmbedderOllama:
		embedder.Name, embedder.At = s.Ollama.Model, plain.Address(s.Ollama.Host)
	case config.EmbedderOpenAI:
		embedder.Name, embedder.At = s.OpenAI.Model, plain.Address(s.OpenAI.BaseURL)
	}
	reflection := view.Model{Role: "reflection", Name: s.Reflect.Model}
	if reflection.Name != "" {
		reflection.At = plain.Address(s.Reflect.BaseURL)
	}
	return []view.Model{embedder, reflection}
}

// Documents implements view.Memory.
func (v page) Documents(ctx context.Context, o core.DocumentsOptions) (some []core.DocumentInfo, found int, err error) {
	return v.s.Manager.Documents(ctx, o)
}
