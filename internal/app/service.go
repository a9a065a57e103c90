// Package app builds the memory of a workspace as it is configured, for commands, HTTP, hooks and
// MCP.
//
// A Workspace (workspace.go) returns its parts, such as Index, Curated, Notes and Sessions. A
// Service (service.go) is an open workspace: hooks.go, mcp.go, tools.go and view*.go adapt it to
// agents, MCP clients, models and the page. memory.go and daemon.go ask the daemon's instead.
package app

import (
	"cmp"
	"context"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/curated"
	"github.com/memcore/memcore/core/tools"
	"github.com/memcore/memcore/formatter"
	"github.com/memcore/memcore/inject/httpapi"
	"github.com/memcore/memcore/internal/app/config"
	"github.com/memcore/memcore/internal/kind"
)

// A Service is a workspace's memory for all clients. It holds nothing of a session and is safe for
// concurrent use.
type Service struct {
	*Workspace
	Manager *core.Manager // nil without the index
	at      config.Folders

	notices notices
	cache   *curated.Cache // of curated files

	// Only if the service stays open:
	opened  string // stamp at opening
	engine  string // at opening
	indexed *core.EngineReader
	tools   []tools.Tool
	hooks   atWork
}

func newService(w *Workspace, at config.Folders, manager *core.Manager) *Service {
	return &Service{Workspace: w, Manager: manager, at: at, cache: &curated.Cache{}}
}

// Close closes the index.
func (s *Service) Close() error { return s.Manager.Close() }

// curatedOptions are those of the workspace, with the files that the service has read.
func (s *Service) curatedOptions() curated.Options {
	o := s.Curated().Options(s.Curated().trust())
	o.Cache = s.cache
	return o
}

// Retrieve implements httpapi.Workspace.
func (s *Service) Retrieve(ctx context.Context, r httpapi.RetrieveRequest) (httpapi.Retrieved, error) {
	o, err := s.RetrieveOptionsFor(r)
	if err != nil {
		return httpapi.Retrieved{}, kind.As(kind.BadInput, err)
	}
	if !s.Settings.Enabled {
		return nothing(), nil
	}
	result, err := s.Manager.RetrieveRelevant(ctx, r.Query, o)
	if err != nil {
		return httpapi.Retrieved{}, err
	}
	out := httpapi.Retrieved{Result: result}
	if r.Explain {
		out.Limit, out.TokenBudget = o.Limit, o.TokenBudget
	}
	out.Block, out.Findings = formatter.Turn(result, OpenByName)
	return out, nil
}

// Search implements httpapi.Workspace.
func (s *Service) Search(ctx context.Context, r httpapi.SearchRequest) (core.Result, error) {
	o, err := SearchOptions(r)
	if err != nil {
		return core.Result{}, kind.As(kind.BadInput, err)
	}
	return s.Manager.Search(ctx, r.Query, o)
}

// Context implements httpapi.Workspace.
func (s *Service) Context(ctx context.Context, r httpapi.ContextRequest) (httpapi.TextReply, error) {
	if !s.Settings.Enabled {
		return httpapi.TextReply{}, nil
	}
	folder := s.FolderWithin(cmp.Or(r.Workspace, s.Dir))
	if r.Request == "" && len(r.Paths) == 0 {
		current, err := s.Sessions().AtHand(r.Session)
		if err != nil {
			return httpapi.TextReply{}, err
		}
		text, err := s.beginningText(ctx, folder, current)
		return httpapi.TextReply{Text: text}, err
	}
	layer := curated.New(s.workIn(s.Curated().Options(s.Curated().trust()), folder))
	start, err := layer.Load(ctx)
	if err != nil {
		return httpapi.TextReply{}, err
	}
	s.keepPrivate(layer, start)
	now, err := layer.Now(ctx, curated.Moment{Request: r.Request, Touched: r.Paths, Spent: start.Usage.Bytes})
	if err != nil {
		return httpapi.TextReply{}, err
	}
	s.keepPrivate(layer, now)
	return httpapi.TextReply{Text: formatter.Curated(now)}, nil
}

// Reindex implements httpapi.Workspace.
func (s *Service) Reindex(ctx context.Context, r httpapi.IndexRequest) (core.IndexReport, error) {
	return s.Manager.Index(ctx, core.IndexOptions{Rebuild: r.Rebuild, KeepEngine: !r.Rebuild})
}

// Status implements httpapi.Workspace.
func (s *Service) Status(ctx context.Context) (core.Status, error) { return s.Manager.Status(ctx) }

// Tools implements httpapi.Workspace.
func (s *Service) Tools() []tools.Tool { return s.told(s.tools) }
