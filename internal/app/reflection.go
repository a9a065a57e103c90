package app

import (
	"context"
	"os"

	"github.com/memcore/memcore/core/notes"
	"github.com/memcore/memcore/core/reflection"
	"github.com/memcore/memcore/core/session"
	"github.com/memcore/memcore/internal/kind"
)

// Reflect lets the configured chat model write facts and episodes. confirm is asked first; nil is
// yes.
func (w *Workspace) Reflect(ctx context.Context, said []session.Message, dryRun bool, confirm func(context.Context, []notes.Written) (bool, error)) (reflection.Report, error) {
	s := w.Settings.Reflect
	o := reflection.ServerOptions{BaseURL: s.BaseURL, Model: s.Model}
	if o.BaseURL == "" || o.Model == "" {
		return reflection.Report{}, kind.Hint(kind.Usagef("no chat model is configured: memory.reflect.baseURL and memory.reflect.model"), "'memcore memory pending' shows what rules find without one")
	}
	if s.APIKeyEnv != "" {
		if o.Key = os.Getenv(s.APIKeyEnv); o.Key == "" {
			return reflection.Report{}, kind.Usagef("memory.reflect.apiKeyEnv is %s, which is not set", s.APIKeyEnv)
		}
	}
	model, err := reflection.NewOpenAI(o)
	if err != nil {
		return reflection.Report{}, err
	}
	if said, err = w.withoutForgotten(said); err != nil {
		return reflection.Report{}, err
	}
	data, err := w.Notes().Data()
	if err != nil {
		return reflection.Report{}, err
	}
	return reflection.Reflect(ctx, model, data, said, reflection.Options{DryRun: dryRun, Confirm: confirm})
}
