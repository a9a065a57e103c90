package httpapi

import (
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/notes"
	"github.com/memcore/memcore/inject/hook"
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

// mostHits is the largest limit that a request may ask for.
const mostHits = 10_000

// bodyOf is the schema of a request's body: that of its type, and what the type cannot say. Bodies are held against it, so what the document describes is what is
// taken.
func bodyOf[T any]() *jsonschema.Schema {
	s := schemaOf[T]()
	for name, p := range s.Properties {
		if len(p.Types) > 0 { // a slice may be nil in Go; here it is left out instead
			p.Type, p.Types = p.Types[len(p.Types)-1], nil
		}
		switch name {
		case "workspace":
			if p.Pattern = `^/`; runtime.GOOS == "windows" {
				p.Pattern = `^([A-Za-z]:[/\\]|\\\\)`
			}
		case "scope":
			p.Enum = []any{"", core.ScopeProject, core.ScopeGlobal}
		case "kind":
			p.Enum = []any{"", "markdown", "conversation"}
		case "agent":
			for _, agent := range hook.Agents {
				p.Enum = append(p.Enum, agent)
			}
		case "limit":
			p.Minimum, p.Maximum = jsonschema.Ptr(0.0), jsonschema.Ptr(float64(mostHits))
		case "tokenBudget": // numbers that an int holds on every machine
			p.Minimum, p.Maximum = jsonschema.Ptr(float64(math.MinInt32)), jsonschema.Ptr(float64(math.MaxInt32))
		case "minSimilarity":
			p.Maximum = jsonschema.Ptr(1.0)
		case "arguments":
			p.Types = []string{"object", "null"}
		case "event":
			p.Types = []string{"object", "string"}
		}
	}
	if query := s.Properties["query"]; query != nil && slices.Contains(s.Required, "query") && s.Properties["path"] == nil { // a search for nothing finds nothing
		query.Pattern = `\S`
	}
	return s
}

// bodies are the resolved schemas of bodies by their Go type, so that each is made once.
var bodies sync.Map

// schemaOfBody is the resolved schema of a body.
func schemaOfBody[T any]() (*jsonschema.Resolved, error) {
	of := reflect.TypeFor[T]()
	resolved, ok := bodies.Load(of)
	if !ok {
		made, err := bodyOf[T]().Resolve(nil)
		if err != nil {
			return nil, err
		}
		resolved, _ = bodies.LoadOrStore(of, made)
	}
	return resolved.(*jsonschema.Resolved), nil
}

// withWholeNumbers writes whole numbers of a body without fraction and exponent: 5.0 and 5e0 are integers to JSON Schema, but not to encoding/json.
func withWholeNumbers[T any](data []byte) []byte {
	schema, err := schemaOfBody[T]()
	var all map[string]json.RawMessage
	if err != nil || json.Unmarshal(data, &all) != nil {
		return data
	}
	for name, p := range schema.Schema().Properties {
		if n, err := strconv.ParseFloat(string(all[name]), 64); p.Type == "integer" && err == nil && n == math.Trunc(n) && math.Abs(n) <= math.MaxInt32 {
			all[name] = strconv.AppendInt(nil, int64(n), 10)
		}
	}
	if again, err := json.Marshal(all); err == nil {
		return again
	}
	return data
}

// checkBody holds a body against the schema of its type, which encoding/json does not: it takes null for anything, keys in any case and text behind the end.
func checkBody[T any](data []byte) error {
	if !utf8.Valid(data) {
		return errors.New("it is not UTF-8")
	}
	var instance any
	if err := json.Unmarshal(data, &instance); err != nil {
		return err
	}
	schema, err := schemaOfBody[T]()
	if err != nil {
		return err
	}
	return schema.Validate(instance)
}

var operations = sync.OnceValue(func() []operation {
	return []operation{
		{"POST", "/v1/retrieve", "What is worth knowing for a turn, above the threshold and within the budget", bodyOf[RetrieveRequest](), schemaOf[Retrieved]()},
		{"POST", "/v1/search", "Find what is known, also weak matches", bodyOf[SearchRequest](), schemaOf[core.Result]()},
		{"POST", "/v1/explain", "Why each candidate would be given for a turn or not", bodyOf[RetrieveRequest](), schemaOf[Retrieved]()},
		{"POST", "/v1/context", "Curated memory, as text for a system prompt", bodyOf[ContextRequest](), schemaOf[TextReply]()},
		{"POST", "/v1/index", "Bring the index in step with the files", bodyOf[IndexRequest](), schemaOf[core.IndexReport]()},
		{"POST", "/v1/save", "Save something to remember: the tool save_memory", bodyOf[ToolRequest](), schemaOf[notes.Answer]()},
		{"POST", "/v1/recall", "Search working memory: the tool recall_memory", bodyOf[ToolRequest](), schemaOf[notes.Answer]()},
		{"POST", "/v1/tools", "List the tools for a model", bodyOf[Target](), schemaOf[ToolsReply]()},
		{"POST", "/v1/tools/{name}", "Call a tool", bodyOf[ToolRequest](), schemaOf[notes.Answer]()},
		{"POST", "/v1/hook", "Answer a hook of a coding agent", bodyOf[HookRequest](), schemaOf[HookReply]()},
		{"POST", "/v1/status", "What is indexed, and how it is", bodyOf[Target](), schemaOf[core.Status]()},
		{"GET", "/v1/events", "What happens to workspaces, as server-sent events", nil, schemaOf[Event]()},
		{"GET", "/v1/health", "Whether the daemon is alive, and which it is", nil, schemaOf[Health]()},
		{"GET", "/v1/ready", "Whether it takes requests now", nil, nil},
		{"POST", "/v1/shutdown", "End the daemon", nil, nil},
		{"GET", "/metrics", "Metrics for Prometheus", nil, nil},
		{"GET", "/v1/openapi.json", "This document", nil, nil},
	}
})

// methodsOf are the methods that a path takes; none if there is no such path.
func methodsOf(path string) []string {
	var methods []string
	for _, o := range operations() {
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
		// Over the socket no token is needed; over TCP every request takes one.
		"security": []any{map[string]any{"bearer": []string{}}},
		"components": map[string]any{
			"schemas": map[string]any{"Error": map[string]any{"type": "object", "required": []string{"error"}, "properties": map[string]any{"error": map[string]any{
				"type": "object", "properties": map[string]any{"status": map[string]any{"type": "integer"}, "message": map[string]any{"type": "string"}}}}}},
			"securitySchemes": map[string]any{"bearer": map[string]any{"type": "http", "scheme": "bearer"}},
		},
	}
}
