package app

import (
	"context"
	"encoding/json"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/inject/httpapi"
)

// A Memory answers questions, by the daemon or this process: callers cannot tell. For hooks
// see Workspace.HookByDaemon.
type Memory interface {
	Retrieve(ctx context.Context, r httpapi.RetrieveRequest) (httpapi.Retrieved, error)
	Search(ctx context.Context, r httpapi.SearchRequest) (core.Result, error)
	Status(ctx context.Context) (core.Status, error)
	searchMemory(ctx context.Context, p searchParams) (searchAnswer, error)
	// ReadPassage returns what a name of a list or a citation stands for, as text for a model.
	// Errors wrap core.ErrNoPassage.
	ReadPassage(ctx context.Context, name string) (string, error)
}

var _ Memory = (*Service)(nil)

// Memory returns the memory of the workspace.
func (w *Workspace) Memory() Memory { return daemonOrLocal{w} }

// A daemonOrLocal asks the daemon, else opens the memory here.
type daemonOrLocal struct{ w *Workspace }

// Retrieve implements Memory.
func (m daemonOrLocal) Retrieve(ctx context.Context, r httpapi.RetrieveRequest) (httpapi.Retrieved, error) {
	if !m.w.Settings.Enabled {
		return nothing(), nil
	}
	r.Target = m.target()
	return ask(ctx, m.w, "/v1/retrieve", r, func(s *Service) (httpapi.Retrieved, error) { return s.Retrieve(ctx, r) })
}

// nothing is the answer while memory is turned off.
func nothing() httpapi.Retrieved {
	return httpapi.Retrieved{Result: core.Result{State: core.StateReady, Hits: []core.MemoryHit{}}}
}

// Search implements Memory.
func (m daemonOrLocal) Search(ctx context.Context, r httpapi.SearchRequest) (core.Result, error) {
	r.Target = m.target()
	return ask(ctx, m.w, "/v1/search", r, func(s *Service) (core.Result, error) { return s.Search(ctx, r) })
}

// Status implements Memory.
func (m daemonOrLocal) Status(ctx context.Context) (core.Status, error) {
	return ask(ctx, m.w, "/v1/status", m.target(), func(s *Service) (core.Status, error) { return s.Status(ctx) })
}

// searchMemory implements Memory.
func (m daemonOrLocal) searchMemory(ctx context.Context, p searchParams) (searchAnswer, error) {
	arguments, err := json.Marshal(p)
	if err != nil {
		return searchAnswer{}, err
	}
	request := httpapi.ToolRequest{Target: m.target(), Arguments: arguments}
	return ask(ctx, m.w, "/v1/tools/"+searchToolName, request, func(s *Service) (searchAnswer, error) { return s.searchMemory(ctx, p) })
}

// ReadPassage implements Memory.
func (m daemonOrLocal) ReadPassage(ctx context.Context, name string) (string, error) {
	arguments, err := json.Marshal(map[string]string{"path": name})
	if err != nil {
		return "", err
	}
	request := httpapi.ToolRequest{Target: m.target(), Arguments: arguments}
	answer, err := ask(ctx, m.w, "/v1/tools/"+readToolName, request, func(s *Service) (searchAnswer, error) {
		text, err := s.ReadPassage(ctx, name)
		return searchAnswer{Text: text}, err
	})
	return answer.Text, err
}

func (m daemonOrLocal) target() httpapi.Target { return httpapi.Target{Workspace: m.w.Project} }

func ask[Out any](ctx context.Context, w *Workspace, path string, request any, local func(*Service) (Out, error)) (out Out, err error) {
	var answer Out
	if _, err := w.callDaemon(ctx, DaemonWait, path, request, &answer); err == nil {
		return answer, nil
	}
	err = w.WithService(ctx, func(s *Service) error {
		out, err = local(s)
		return err
	})
	return out, err
}
