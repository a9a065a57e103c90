package httpapi

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

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
		post(s, "/v1/retrieve", "Retrieve what is relevant for a turn, above the threshold and within the budget", Retrieve),
		post(s, "/v1/search", "Search, also for weak matches", func(ctx context.Context, ws Workspace, r SearchRequest) (core.Result, error) {
			return ws.Search(ctx, r)
		}),
		post(s, "/v1/context", "Get what a session begins with, such as curated memory, as text for a system prompt", func(ctx context.Context, ws Workspace, r ContextRequest) (TextReply, error) {
			return ws.Context(ctx, r)
		}),
		post(s, "/v1/index", "Bring the index in step with the files", func(ctx context.Context, ws Workspace, r IndexRequest) (core.IndexReport, error) {
			return ws.Reindex(ctx, r)
		}),
		post(s, "/v1/tools", "List the tools for a model", func(_ context.Context, ws Workspace, _ Target) (ToolsReply, error) {
			return DescribeTools(ws.Tools()), nil
		}),
		s.tool(),
		post(s, "/v1/hook", "Answer a hook of a coding agent", func(ctx context.Context, ws Workspace, r HookRequest) (HookReply, error) {
			answer, err := ws.Hook(ctx, r)
			if answer.Entry != "" {
				s.publishTurn(r.Workspace)
			}
			return answer, err
		}),
		post(s, "/v1/status", "Describe the index", func(ctx context.Context, ws Workspace, _ Target) (core.Status, error) {
			return ws.Status(ctx)
		}),
		personal(post(s, "/v1/view", "Make a link that opens the pages of a workspace in a browser", s.view)),
		{"GET", "/v1/events", "Stream events of workspaces, as server-sent events", nil, schemaOf[Event], http.HandlerFunc(s.events), false},
		{"GET", "/v1/health", "Describe the daemon", nil, schemaOf[Health], answer(func() any { return s.Health() }), false},
		{"POST", "/v1/shutdown", "End the daemon", nil, nil, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			Reply(w, http.StatusOK, map[string]bool{"ending": true})
			s.stop()
		}), false},
	}
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

// DescribeTools describes those of all tools that models are told of.
func DescribeTools(all []tools.Tool) ToolsReply {
	reply := ToolsReply{Tools: []map[string]any{}}
	for _, t := range tools.Listed(all) {
		reply.Tools = append(reply.Tools, t.Definition())
	}
	return reply
}

// Retrieve answers a RetrieveRequest, whose query must not be empty.
func Retrieve(ctx context.Context, ws Workspace, r RetrieveRequest) (Retrieved, error) {
	if strings.TrimSpace(r.Query) == "" {
		return Retrieved{}, &Error{400, "query is missing: the text of the user's turn"}
	}
	return ws.Retrieve(ctx, r)
}

// view makes a link to the pages.
func (s *Server) view(_ context.Context, _ Workspace, r Target) (ViewReply, error) {
	if s.o.View == nil {
		return ViewReply{}, &Error{404, "this service has no pages"}
	}
	workspace, err := s.o.WorkspaceOf(r.Workspace)
	if err != nil {
		return ViewReply{}, err
	}
	return s.o.View(workspace)
}

// tool returns the operation that calls the tool which its path names.
func (s *Server) tool() operation {
	return operation{"POST", "/v1/tools/{name}", "Call a tool", bodyOf[ToolRequest], schemaOf[tools.Answer], http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		called := r.PathValue("name")
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
