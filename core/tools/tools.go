// Package tools describes functions that a model can call.
package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// A Tool is a function that a model can call.
type Tool struct {
	Name        string
	Description string
	Schema      *jsonschema.Schema // of the arguments
	ReadOnly    bool               // it changes nothing
	Destructive bool               // it removes or overwrites
	Unlisted    bool               // it answers by its name, but models are not told of it

	aliases []string
	choices map[string][]any
	call    func(ctx context.Context, arguments []byte) (Answer, error)
}

// An Answer has Text for the model, and Data for programs and the model.
type Answer struct {
	Text string `json:"text"`
	Data any    `json:"data"`
}

// ErrArguments means that the arguments of a call do not fit the schema.
var ErrArguments = errors.New("the arguments do not fit")

// Call calls the tool with a JSON object. The model may read its errors.
func (t Tool) Call(ctx context.Context, arguments []byte) (Answer, error) {
	answer, err := t.Do(ctx, arguments)
	if err != nil {
		return Answer{}, fmt.Errorf("%s: %w", t.Name, err)
	}
	return answer, nil
}

// Do is Call for a function of Calling: its errors do not name the tool, which Call does once.
func (t Tool) Do(ctx context.Context, arguments []byte) (Answer, error) {
	return t.call(ctx, arguments)
}

// Calling returns the tool with another function.
func (t Tool) Calling(call func(ctx context.Context, arguments []byte) (Answer, error)) Tool {
	t.call = call
	return t
}

// Definition returns the tool as OpenAI's chat completions define tools.
func (t Tool) Definition() map[string]any {
	return map[string]any{"type": "function", "function": map[string]any{"name": t.Name, "description": t.Description, "parameters": t.Schema}}
}

// Listed returns the tools that models are told of.
func Listed(all []Tool) []Tool {
	return slices.DeleteFunc(slices.Clone(all), func(t Tool) bool { return t.Unlisted })
}

// Find returns the tool with a name, if any.
func Find(all []Tool, name string) (found Tool, ok bool) {
	i := slices.IndexFunc(all, func(t Tool) bool { return t.Name == name })
	if i < 0 {
		return Tool{}, false
	}
	return all[i], true
}

// An Option sets something about a Tool.
type Option func(*Tool)

// ReadOnly marks a tool that changes nothing.
func ReadOnly(t *Tool) { t.ReadOnly = true }

// Destructive marks a tool that removes or overwrites.
func Destructive(t *Tool) { t.Destructive = true }

// Choices lists the values that a parameter can have.
func Choices(parameter string, values ...any) Option {
	return func(t *Tool) { t.choices[parameter] = values }
}

// Default shows what a parameter is if a call leaves it out.
func Default(parameter string, value any) Option {
	return func(t *Tool) { t.Schema.Properties[parameter].Default, _ = json.Marshal(value) }
}

// Aliases lists keys that the parameters' UnmarshalJSON accepts but the schema does not show.
func Aliases(keys ...string) Option { return func(t *Tool) { t.aliases = keys } }

// New returns a tool that calls a function. The schema comes from the JSON names and jsonschema
// tags of P. New panics if P has no schema.
func New[P any](name, description string, call func(context.Context, P) (Answer, error), options ...Option) Tool {
	schema, err := jsonschema.For[P](nil)
	if err != nil {
		panic(fmt.Sprintf("tools: schema of %s: %v", name, err))
	}
	if schema.Properties == nil { // some model APIs want the key
		schema.Properties = map[string]*jsonschema.Schema{}
	}
	t := Tool{Name: name, Description: description, Schema: schema, choices: map[string][]any{}}
	for _, option := range options {
		option(&t)
	}
	for key, property := range schema.Properties {
		if len(property.Types) > 0 { // do not offer null for a slice
			property.Type, property.Types = property.Types[len(property.Types)-1], nil
		}
		property.Enum = t.choices[key]
	}
	t.call = func(ctx context.Context, arguments []byte) (Answer, error) {
		if trimmed := bytes.TrimSpace(arguments); len(trimmed) == 0 || string(trimmed) == "null" {
			arguments = []byte("{}")
		}
		var p P
		if err := t.check(arguments); err != nil {
			return Answer{}, fmt.Errorf("%w: %w", ErrArguments, err)
		}
		if err := json.Unmarshal(arguments, &p); err != nil {
			return Answer{}, fmt.Errorf("%w: %w", ErrArguments, t.wanted(err))
		}
		return call(ctx, p)
	}
	return t
}

// check checks the keys of arguments, and values that have choices.
func (t Tool) check(arguments []byte) error {
	var values map[string]json.RawMessage
	if err := json.Unmarshal(arguments, &values); err != nil {
		return fmt.Errorf("want a JSON object: %w", err)
	}
	for key, value := range values {
		if t.Schema.Properties[key] == nil && !slices.Contains(t.aliases, key) {
			return fmt.Errorf("there is no parameter %q%s", key, t.parameters())
		}
		var one any
		if wanted := t.choices[key]; wanted != nil && json.Unmarshal(value, &one) == nil && one != nil && one != "" && !slices.Contains(wanted, one) {
			return fmt.Errorf("%s is %.100q, want one of %q", key, fmt.Sprint(one), wanted)
		}
	}
	return nil
}

// parameters names those that a tool has, for a model that guessed one.
func (t Tool) parameters() string {
	names := slices.Sorted(maps.Keys(t.Schema.Properties))
	switch len(names) {
	case 0:
		return ", want none"
	case 1:
		return ", want " + names[0]
	}
	return ", want one of " + strings.Join(names, ", ")
}

// wanted says what a model got wrong, without types of Go.
func (t Tool) wanted(err error) error {
	var wrong *json.UnmarshalTypeError
	if !errors.As(err, &wrong) || wrong.Field == "" {
		return err
	}
	want := wrong.Type.Kind().String()
	if property := t.Schema.Properties[wrong.Field]; property != nil {
		want = property.Type
	}
	switch want {
	case "integer":
		want = "whole number"
	case "array", "slice":
		want = "list"
	case "bool":
		want = "boolean"
	}
	return fmt.Errorf("%s is a %s, want a %s", wrong.Field, wrong.Value, want)
}
