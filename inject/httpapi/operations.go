package httpapi

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/tools"
)

// An operation is a route and its description.
type operation struct {
	method, path, summary string
	in, out               func() *jsonschema.Schema // nil for none
	handler               http.Handler
	// personal operations are not for those who only have the token.
	personal bool
}

// personal makes an operation one for the person at this machine.
func personal(o operation) operation {
	o.personal = true
	return o
}

// operations returns all routes.
func (s *Server) operations() []operation {
	all := []operation{
		post(s, "/v1/retrieve", "Retrieve what is relevant for a turn, above the threshold and within the budget", s.retrieve),
		post(s, "/v1/search", "Search, also for weak matches", func(ctx context.Context, ws Workspace, r SearchRequest) (core.Result, error) {
			found, err := ws.Search(ctx, r)
			traceResult(ctx, found)
			return found, err
		}),
		post(s, "/v1/explain", "Explain why each candidate is relevant for a turn or not", func(ctx context.Context, ws Workspace, r RetrieveRequest) (Retrieved, error) {
			r.Explain = true
			return ws.Retrieve(ctx, r)
		}),
		post(s, "/v1/context", "Get what a session begins with, such as curated memory, as text for a system prompt", func(ctx context.Context, ws Workspace, r ContextRequest) (TextReply, error) {
			return ws.Context(ctx, r)
		}),
		post(s, "/v1/index", "Bring the index in step with the files", func(ctx context.Context, ws Workspace, r IndexRequest) (core.IndexReport, error) {
			return ws.Reindex(ctx, r)
		}),
		s.tool("/v1/save", "Save something to remember: the tool save_memory", "save_memory"),
		s.tool("/v1/recall", "Search the messages of sessions: the tool recall_memory", "recall_memory"),
		post(s, "/v1/tools", "List the tools for a model", func(_ context.Context, ws Workspace, _ Target) (ToolsReply, error) {
			reply := ToolsReply{Tools: []map[string]any{}}
			for _, t := range tools.Listed(ws.Tools()) {
				reply.Tools = append(reply.Tools, t.Definition())
			}
			return reply, nil
		}),
		s.tool("/v1/tools/{name}", "Call a tool", ""),
		post(s, "/v1/hook", "Answer a hook of a coding agent", func(ctx context.Context, ws Workspace, r HookRequest) (HookReply, error) {
			answer, err := ws.Hook(ctx, r)
			if answer.Trace != nil {
				s.publishTurn(r.Workspace)
			}
			return answer, err
		}),
		post(s, "/v1/status", "Describe the index", func(ctx context.Context, ws Workspace, _ Target) (core.Status, error) {
			return ws.Status(ctx)
		}),
		{"GET", "/v1/events", "Stream events of workspaces, as server-sent events", nil, schemaOf[Event], http.HandlerFunc(s.events), false},
		{"GET", "/v1/health", "Describe the daemon", nil, schemaOf[Health], answer(func() any { return s.Health() }), false},
		{"GET", "/v1/ready", "Check whether it takes requests now", nil, nil, http.HandlerFunc(s.ready), false},
		{"POST", "/v1/shutdown", "End the daemon", nil, nil, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			Reply(w, http.StatusOK, map[string]bool{"ending": true})
			s.stop()
		}), false},
		{"GET", "/metrics", "Metrics for Prometheus", nil, nil, promhttp.HandlerFor(s.registry, promhttp.HandlerOpts{}), false},
	}
	all = append(all, s.viewOperations()...)
	all = append(all, s.mapOperations()...)
	all = append(all, s.runOperations()...)
	all = append(all, caseOperations(s)...)
	all = append(all, s.overviewOperations()...)
	all = append(all, s.trustOperation())
	all = append(all, changeOperations(s)...)
	document := operation{"GET", "/v1/openapi.json", "This document", nil, nil, nil, false}
	described := append(all, document)
	document.handler = answer(func() any { return openAPI(s.o.Version, described) })
	return append(all, document)
}

// answer answers each request with a body.
func answer(body func() any) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { Reply(w, http.StatusOK, body()) })
}

// post makes an operation about a workspace.
func post[In targeted, Out any](s *Server, path, summary string, do func(context.Context, Workspace, In) (Out, error)) operation {
	return operation{"POST", path, summary, bodyOf[In], schemaOf[Out], work(s, do), false}
}

func (s *Server) retrieve(ctx context.Context, ws Workspace, r RetrieveRequest) (Retrieved, error) {
	if strings.TrimSpace(r.Query) == "" {
		return Retrieved{}, &Error{400, "query is missing: the text of the user's turn"}
	}
	found, err := ws.Retrieve(ctx, r)
	s.hits.Add(float64(len(found.Hits)))
	traceResult(ctx, found.Result)
	return found, err
}

// tool makes an operation for a tool: the path's if name is "".
func (s *Server) tool(path, summary, name string) operation {
	return operation{"POST", path, summary, bodyOf[ToolRequest], schemaOf[tools.Answer], http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		called := name
		if called == "" {
			called = r.PathValue("name")
		}
		work(s, func(ctx context.Context, ws Workspace, asked ToolRequest) (tools.Answer, error) {
			t, ok := tools.Find(ws.Tools(), called)
			if !ok {
				return tools.Answer{}, &Error{404, fmt.Sprintf("there is no tool %.100q; POST /v1/tools lists them", called)}
			}
			return t.Call(ctx, asked.Arguments)
		})(w, r)
	}), false}
}

// methodsOf returns the methods of a path.
func methodsOf(all []operation, path string) (methods []string) {
	for _, o := range all {
		prefix, _, tool := strings.Cut(o.path, "{name}")
		name, below := strings.CutPrefix(path, prefix)
		if o.path != path && !(tool && below && name != "" && !strings.Contains(name, "/")) {
			continue
		}
		if methods = append(methods, o.method); o.method == http.MethodGet {
			methods = append(methods, http.MethodHead)
		}
	}
	return methods
}
