package httpapi

import (
	"encoding/json"
	"reflect"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/notes"
)

// An operation is a route as the document describes it.
type operation struct {
	method, path, summary string
	in, out               *jsonschema.Schema // nil for none
}

func schemaOf[T any]() *jsonschema.Schema {
	s, err := jsonschema.For[T](&jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{reflect.TypeFor[json.RawMessage](): {}}}) // any JSON, not bytes
	if err != nil {
		panic("httpapi: " + err.Error()) // the types are part of the program
	}
	return s
}

var operations = sync.OnceValue(func() []operation {
	return []operation{
		{"POST", "/v1/retrieve", "What is worth knowing for a turn, above the threshold and within the budget", schemaOf[RetrieveRequest](), schemaOf[Retrieved]()},
		{"POST", "/v1/search", "Find what is known, also weak matches", schemaOf[SearchRequest](), schemaOf[core.Result]()},
		{"POST", "/v1/explain", "Why each candidate would be given for a turn or not", schemaOf[RetrieveRequest](), schemaOf[Retrieved]()},
		{"POST", "/v1/context", "Curated memory, as text for a system prompt", schemaOf[ContextRequest](), schemaOf[TextReply]()},
		{"POST", "/v1/index", "Bring the index in step with the files", schemaOf[IndexRequest](), schemaOf[core.IndexReport]()},
		{"POST", "/v1/save", "Save something to remember: the tool save_memory", schemaOf[ToolRequest](), schemaOf[notes.Answer]()},
		{"POST", "/v1/recall", "Search working memory: the tool recall_memory", schemaOf[ToolRequest](), schemaOf[notes.Answer]()},
		{"POST", "/v1/tools", "List the tools for a model", schemaOf[Target](), schemaOf[ToolsReply]()},
		{"POST", "/v1/tools/{name}", "Call a tool", schemaOf[ToolRequest](), schemaOf[notes.Answer]()},
		{"POST", "/v1/hook", "Answer a hook of a coding agent", schemaOf[HookRequest](), schemaOf[HookReply]()},
		{"POST", "/v1/status", "What is indexed, and how it is", schemaOf[Target](), schemaOf[core.Status]()},
		{"GET", "/v1/events", "What happens to workspaces, as server-sent events", nil, schemaOf[Event]()},
		{"GET", "/v1/health", "Whether the daemon is alive, and which it is", nil, schemaOf[Health]()},
		{"GET", "/v1/ready", "Whether it takes requests now", nil, nil},
		{"POST", "/v1/shutdown", "End the daemon", nil, nil},
		{"GET", "/metrics", "Metrics for Prometheus", nil, nil},
		{"GET", "/v1/openapi.json", "This document", nil, nil},
	}
})

// openAPI is the description of the service, made of its Go types.
func openAPI(version string) map[string]any {
	paths := map[string]map[string]any{}
	for _, o := range operations() {
		kind := "application/json"
		switch o.path {
		case "/v1/events":
			kind = "text/event-stream"
		case "/metrics":
			kind = "text/plain"
		}
		content := map[string]any{}
		if o.out != nil {
			content["schema"] = o.out
		}
		described := map[string]any{"summary": o.summary, "operationId": strings.Trim(strings.NewReplacer("/v1/", "", "/", "_", "{", "", "}", "", ".json", "").Replace(o.path), "_"),
			"responses": map[string]any{
				"200":     map[string]any{"description": "OK", "content": map[string]any{kind: content}},
				"default": map[string]any{"description": "What is wrong, in words", "content": map[string]any{"application/json": map[string]any{"schema": map[string]any{"$ref": "#/components/schemas/Error"}}}},
			}}
		if o.in != nil {
			described["requestBody"] = map[string]any{"required": true, "content": map[string]any{"application/json": map[string]any{"schema": o.in}}}
		}
		if strings.Contains(o.path, "{name}") {
			described["parameters"] = []any{map[string]any{"name": "name", "in": "path", "required": true, "schema": map[string]any{"type": "string"}}}
		}
		if o.path == "/v1/events" {
			described["parameters"] = []any{map[string]any{"name": "workspace", "in": "query", "schema": map[string]any{"type": "string"}}}
		}
		if paths[o.path] == nil {
			paths[o.path] = map[string]any{}
		}
		paths[o.path][strings.ToLower(o.method)] = described
	}
	return map[string]any{
		"openapi": "3.1.0",
		"info":    map[string]any{"title": "memcore", "version": version, "description": "Memory for AI agents.", "license": map[string]any{"name": "Apache-2.0", "identifier": "Apache-2.0"}},
		"paths":   paths,
		"components": map[string]any{
			"schemas": map[string]any{"Error": map[string]any{"type": "object", "required": []string{"error"}, "properties": map[string]any{"error": map[string]any{
				"type": "object", "properties": map[string]any{"status": map[string]any{"type": "integer"}, "message": map[string]any{"type": "string"}}}}}},
			"securitySchemes": map[string]any{"bearer": map[string]any{"type": "http", "scheme": "bearer"}},
		},
	}
}
