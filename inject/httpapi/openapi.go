package httpapi

import (
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/source"
	"github.com/memcore/memcore/inject/agents"
)

func schemaOf[T any]() *jsonschema.Schema {
	s, err := jsonschema.For[T](&jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[json.RawMessage](): {}, // any JSON, not bytes
	}})
	if err != nil {
		panic("httpapi: " + err.Error()) // the types are part of the program
	}
	return s
}

// maxHits bounds the limit of a request.
const maxHits = 10_000

// bodyOf returns a body's schema, which validates, with more than its type says.
func bodyOf[T any]() *jsonschema.Schema {
	s := schemaOf[T]()
	for name, p := range s.Properties {
		if len(p.Types) > 0 { // a slice may be nil in Go; here it is left out instead
			p.Type, p.Types = p.Types[len(p.Types)-1], nil
		}
		if p.Type == "integer" { // numbers that an int holds on every machine
			p.Minimum, p.Maximum = jsonschema.Ptr(float64(math.MinInt32)), jsonschema.Ptr(float64(math.MaxInt32))
		}
		switch name {
		case "workspace":
			if p.Pattern = `^/`; runtime.GOOS == "windows" {
				p.Pattern = `^([A-Za-z]:[/\\]|\\\\)`
			}
		case "scope":
			p.Enum = []any{"", core.ScopeProject, core.ScopeGlobal}
		case "kind":
			p.Enum = []any{""}
			for _, kind := range source.Kinds {
				p.Enum = append(p.Enum, kind)
			}
		case "agent":
			for _, agent := range agents.Names() {
				p.Enum = append(p.Enum, agent)
			}
		case "limit":
			p.Minimum, p.Maximum = jsonschema.Ptr(0.0), jsonschema.Ptr(float64(maxHits))
		case "minSimilarity":
			p.Maximum = jsonschema.Ptr(1.0)
		case "arguments":
			p.Types = []string{"object", "null"}
		case "event":
			p.Types = []string{"object", "string"}
		}
	}
	return s
}

// bodies caches resolved schemas by Go type.
var bodies sync.Map

// schemaOfBody returns the resolved schema of a body.
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

// withWholeNumbers writes 5.0 and 5e0 as 5: only JSON Schema takes them as integers.
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

// checkBody validates: encoding/json takes null for anything and keys in any case.
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

// openAPI describes the service by its operations' types.
func openAPI(version string, all []operation) map[string]any {
	paths := map[string]map[string]any{}
	for _, o := range all {
		kind := "application/json"
		if o.path == "/v1/events" {
			kind = "text/event-stream"
		}
		content := map[string]any{}
		if o.out != nil {
			content["schema"] = o.out()
		}
		described := map[string]any{"summary": o.summary, "operationId": strings.Trim(strings.NewReplacer("/v1/", "", "/", "_", "{", "", "}", "", ".json", "").Replace(o.path), "_"),
			"responses": map[string]any{
				"200":     map[string]any{"description": "OK", "content": map[string]any{kind: content}},
				"default": map[string]any{"description": "Error", "content": map[string]any{"application/json": map[string]any{"schema": map[string]any{"$ref": "#/components/schemas/Error"}}}},
			}}
		if o.in != nil {
			described["requestBody"] = map[string]any{"required": true, "content": map[string]any{"application/json": map[string]any{"schema": o.in()}}}
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
		// For TCP; the socket needs no token.
		"security": []any{map[string]any{"bearer": []string{}}},
		"components": map[string]any{
			"schemas": map[string]any{"Error": map[string]any{"type": "object", "required": []string{"error"}, "properties": map[string]any{"error": map[string]any{
				"type": "object", "properties": map[string]any{"status": map[string]any{"type": "integer"}, "message": map[string]any{"type": "string"}}}}}},
			"securitySchemes": map[string]any{"bearer": map[string]any{"type": "http", "scheme": "bearer"}},
		},
	}
}
