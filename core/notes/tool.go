package notes

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// A Tool is what a model may call. Its schema is made of the Go type of its parameters.
type Tool struct {
	Name        string
	Description string
	Schema      *jsonschema.Schema
	// ReadOnly tools change nothing; Destructive ones take away what was there.
	ReadOnly, Destructive bool
	call                  func(ctx context.Context, arguments []byte) (Answer, error)
}

// An Answer is what a tool says: Text to the model, Data to programs, which may show it to the model as well.
type Answer struct {
	Text string `json:"text"`
	Data any    `json:"data"`
}

// ErrArguments means that the arguments of a call do not fit its schema.
var ErrArguments = errors.New("the arguments do not fit")

// Call calls the tool with its arguments as a JSON object. Errors are for the model to read, too.
func (t Tool) Call(ctx context.Context, arguments []byte) (Answer, error) {
	answer, err := t.call(ctx, arguments)
	if err != nil {
		return Answer{}, fmt.Errorf("%s: %w", t.Name, err)
	}
	return answer, nil
}

// Definition is the tool as APIs in the style of OpenAI's chat completions want it.
func (t Tool) Definition() map[string]any {
	return map[string]any{"type": "function", "function": map[string]any{"name": t.Name, "description": t.Description, "parameters": t.Schema}}
}

// A ToolOption adds to a Tool.
type ToolOption func(*toolOptions)

type toolOptions struct {
	readOnly, destructive bool
	aliases               []string
	choices               map[string][]any
}

// ReadOnly marks a tool that changes nothing.
func ReadOnly(o *toolOptions) { o.readOnly = true }

// Destructive marks a tool that takes away what was there.
func Destructive(o *toolOptions) { o.destructive = true }

// Choices names the values that a parameter can have.
func Choices(parameter string, values ...any) ToolOption {
	return func(o *toolOptions) {
		if o.choices == nil {
			o.choices = map[string][]any{}
		}
		o.choices[parameter] = values
	}
}

// Aliases names keys that the parameters' UnmarshalJSON takes beside those of the schema.
func Aliases(keys ...string) ToolOption { return func(o *toolOptions) { o.aliases = keys } }

// NewTool makes a tool of a function of a struct, whose JSON names and jsonschema tags are the schema. P is part of the program: one that no schema can be
// made of panics.
func NewTool[P any](name, description string, call func(context.Context, P) (Answer, error), options ...ToolOption) Tool {
	var o toolOptions
	for _, option := range options {
		option(&o)
	}
	schema, err := jsonschema.For[P](nil)
	if err != nil {
		panic(fmt.Sprintf("notes: schema of %s: %v", name, err))
	}
	if schema.Properties == nil { // some model APIs want the key
		schema.Properties = map[string]*jsonschema.Schema{}
	}
	known := map[string]bool{}
	for key, property := range schema.Properties {
		known[key] = true
		if len(property.Types) > 0 { // a slice may be nil in Go; a model shall give one
			property.Type, property.Types = property.Types[len(property.Types)-1], nil
		}
		property.Enum = o.choices[key]
	}
	for _, key := range o.aliases {
		known[key] = true
	}
	return Tool{Name: name, Description: description, Schema: schema, ReadOnly: o.readOnly, Destructive: o.destructive, call: func(ctx context.Context, arguments []byte) (Answer, error) {
		if trimmed := bytes.TrimSpace(arguments); len(trimmed) == 0 || string(trimmed) == "null" {
			arguments = []byte("{}")
		}
		var given map[string]json.RawMessage
		if err := json.Unmarshal(arguments, &given); err != nil {
			return Answer{}, fmt.Errorf("%w: want a JSON object: %w", ErrArguments, err)
		}
		for key, value := range given {
			if !known[key] {
				return Answer{}, fmt.Errorf("%w: there is no parameter %q", ErrArguments, key)
			}
			var one any
			if wanted := o.choices[key]; wanted != nil && json.Unmarshal(value, &one) == nil && one != nil && one != "" && !slices.Contains(wanted, one) {
				return Answer{}, fmt.Errorf("%w: %s is %.100q, want one of %q", ErrArguments, key, fmt.Sprint(one), wanted)
			}
		}
		var p P
		if err := json.Unmarshal(arguments, &p); err != nil {
			return Answer{}, fmt.Errorf("%w: %w", ErrArguments, err)
		}
		return call(ctx, p)
	}}
}

type readParams struct {
	Path string `json:"path" jsonschema:"path of a memory file, such as facts/user.md"`
}

type writeParams struct {
	Path    string `json:"path" jsonschema:"path of a memory file, such as facts/user.md"`
	Content string `json:"content" jsonschema:"the whole new text of the file, Markdown"`
}

type patchParams struct {
	Path    string  `json:"path" jsonschema:"path of a memory file, such as facts/user.md"`
	Patches []Patch `json:"patches" jsonschema:"replacements, made in order"`
	All     bool    `json:"all,omitempty" jsonschema:"true to make all of them or none"`
}

type appendParams struct {
	Path    string `json:"path,omitempty" jsonschema:"path of a memory file; default this month's episodes, such as episodes/2026-02.md"`
	Entry   string `json:"entry" jsonschema:"a Markdown block: a heading, then - Summary: in under ten words, - Date: and what happened"`
	Summary string `json:"summary,omitempty" jsonschema:"the file's summary line, instead of the one made of its entries"`
}

type listParams struct{}

// toldSaved is a Saved without its diff, which has lines of the file around the change as they stand: the model has not asked for them.
type toldSaved struct {
	Saved
	Diff *struct{} `json:"diff,omitempty"` // hides that of the Change
}

// Tools are those for a model: save_memory if there is a saver, and memory_read, memory_write, memory_patch, memory_append and memory_list if there is
// a data folder.
func Tools(saver *Saver, data *Data) []Tool {
	var tools []Tool
	if saver != nil {
		tools = append(tools, NewTool("save_memory", "Save important information to persistent memory for future sessions.\n"+
			"Use this when the user asks you to remember something, or when you discover\nimportant project conventions that should be preserved.",
			func(ctx context.Context, r SaveRequest) (Answer, error) {
				saved, err := saver.Save(ctx, r)
				return Answer{saved.Answer(), toldSaved{Saved: saved}}, err
			}, Aliases("fact", "scope"), Choices("target", TargetProject, TargetGlobal)))
	}
	if data == nil {
		return tools
	}
	return append(tools, FileTools(data)...)
}

// RecallTool is recall_memory. sessions are those that are searched, the agent's own first; it is called each time.
func RecallTool(sessions func(context.Context) ([]*Session, error), o RecallOptions) Tool {
	return NewTool("recall_memory", "Search external memory for relevant information.\n\nSearches:\n- detail/: Summaries and notes you've written\n"+
		"- messages.jsonl: Raw conversation history\n\nReturns: Matching entries with citations.",
		func(ctx context.Context, r RecallRequest) (Answer, error) {
			in, err := sessions(ctx)
			if err != nil {
				return Answer{}, err
			}
			found, err := Recall(ctx, in, r, o)
			return Answer{RecallAnswer(r.Query, found), found}, err
		}, ReadOnly, Choices("scope", "all", SourceDetail, SourceMessages))
}

// FileTools are memory_read, memory_write, memory_patch, memory_append and memory_list.
func FileTools(data Files) []Tool {
	return []Tool{
		NewTool("memory_read", "Read a memory file.", func(ctx context.Context, p readParams) (Answer, error) {
			text, err := data.Read(ctx, p.Path)
			return Answer{text, text}, err
		}, ReadOnly),
		NewTool("memory_write", "Create or overwrite a memory file, for facts that last. Read the file first: what it says now is lost.", func(ctx context.Context, p writeParams) (Answer, error) {
			return written(data.Write(ctx, p.Path, p.Content))
		}, Destructive),
		NewTool("memory_patch", "Replace parts of a memory file, to update single facts without writing all of it again.", func(ctx context.Context, p patchParams) (Answer, error) {
			w, err := data.Patch(ctx, p.Path, p.Patches, p.All)
			answer, err := written(w, err)
			if err == nil {
				answer.Text = fmt.Sprintf("%d of %d patches applied to %s.", w.Applied, len(p.Patches), w.Path) + takenOut("\n", w.Redacted)
				for _, failed := range w.Failed {
					answer.Text += "\n" + failed
				}
				answer.Data = map[string]any{"success": len(w.Failed) == 0, "appliedCount": w.Applied, "failed": w.Failed}
			}
			return answer, err
		}, Destructive),
		NewTool("memory_append", "Append an entry to an episode file, after a task whose outcome is worth remembering.", func(ctx context.Context, p appendParams) (Answer, error) {
			return written(data.Append(ctx, p.Path, p.Entry, p.Summary))
		}),
		NewTool("memory_list", "List the memory files with a summary of each.", func(ctx context.Context, _ listParams) (Answer, error) {
			items, err := data.List(ctx)
			text := strings.TrimSuffix(IndexMessage(items), indexHint)
			if text == "" {
				text = "There are no memory files yet."
			}
			return Answer{text, items}, err
		}, ReadOnly),
	}
}

func written(w Written, err error) (Answer, error) {
	text := fmt.Sprintf("Wrote %s. Summary: %s", w.Path, w.Summary) + takenOut("\n", w.Redacted)
	return Answer{text, map[string]any{"success": err == nil}}, err
}
