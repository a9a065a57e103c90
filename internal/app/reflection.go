package app

import (
	"context"
	"os"

	"github.com/memcore/memcore/core/notes"
	"github.com/memcore/memcore/core/reflection"
	"github.com/memcore/memcore/core/session"
	"github.com/memcore/memcore/internal/kind"
)

// A Reflection lets a chat model write facts and episodes.
type Reflection struct{ w *Workspace }

// Reflection returns the reflection of the workspace.
func (w *Workspace) Reflection() Reflection { return Reflection{w} }

// model returns the configured chat model.
func (r Reflection) model() (reflection.Model, error) {
	s := r.w.Settings.Reflect
	o := reflection.ServerOptions{BaseURL: s.BaseURL, Model: s.Model}
	if o.BaseURL == "" || o.Model == "" {
		return nil, kind.Hint(kind.Usagef("no chat model is configured: memory.reflect.baseURL and memory.reflect.model"), "'memcore memory pending' shows what rules find without one")
	}
	if s.APIKeyEnv != "" {
		if o.Key = os.Getenv(s.APIKeyEnv); o.Key == "" {
			return nil, kind.Usagef("memory.reflect.apiKeyEnv is %s, which is not set", s.APIKeyEnv)
		}
	}
	return reflection.NewOpenAI(o)
}

// Reflect lets the chat model write facts and episodes. confirm is asked first; nil is yes.
func (r Reflection) Reflect(ctx context.Context, said []session.Message, dryRun bool, confirm func(context.Context, []notes.Written) (bool, error)) (reflection.Report, error) {
	model, err := r.model()
	if err != nil {
		return reflection.Report{}, err
	}
	data, err := r.w.Notes().Data()
	if err != nil {
		return reflection.Report{}, err
	}
	return reflection.Reflect(ctx, model, data, said, reflection.Options{DryRun: dryRun, Confirm: confirm})
}
