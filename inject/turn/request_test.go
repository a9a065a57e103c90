package turn_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/inject/turn"
)

var update = flag.Bool("update", false, "write the golden files")

type editor func(ctx context.Context, r *knows, request []byte, options turn.Options) ([]byte, turn.Report, error)

// editors edit JSON, by folder of testdata.
var editors = map[string]editor{
	"chat": func(ctx context.Context, r *knows, request []byte, options turn.Options) ([]byte, turn.Report, error) {
		return turn.JSON(ctx, r, request, options)
	},
	"responses": func(ctx context.Context, r *knows, request []byte, options turn.Options) ([]byte, turn.Report, error) {
		return turn.ResponsesJSON(ctx, r, request, options)
	},
	"anthropic": func(ctx context.Context, r *knows, request []byte, options turn.Options) ([]byte, turn.Report, error) {
		return turn.AnthropicJSON(ctx, r, request, options)
	},
	"ollama": func(ctx context.Context, r *knows, request []byte, options turn.Options) ([]byte, turn.Report, error) {
		return turn.OllamaJSON(ctx, r, request, options)
	},
}

// Requests of testdata become their golden files (go test -update), and memory is asked what the
// user said.
func TestRequests(t *testing.T) {
	for _, tt := range []struct{ api, file, query string }{
		{"chat", "history", "which port is it?"},
		{"chat", "parts", "which port\nis this?"},
		{"chat", "tools_answered", "which port?"},
		{"responses", "string", "which \"port\"?"},
		{"responses", "items", "which port?"},
		{"responses", "tools_answered", "which port?"},
		{"responses", "shorthand", "which port?"},
		{"anthropic", "string", "which \"port\"?"},
		{"anthropic", "blocks", "which port?"},
		{"anthropic", "tools_answered", "which port?"},
		{"anthropic", "text_behind_results", "which port?"},
		{"anthropic", "reminders", "which port?"},
		{"ollama", "history", "which port?"},
		{"ollama", "tools_answered", "which port?"},
		{"ollama", "tools_answered_without_names", "which port?"},
	} {
		t.Run(tt.api+"/"+tt.file, func(t *testing.T) {
			name := filepath.Join("testdata", tt.api, tt.file)
			in, err := os.ReadFile(name + ".json")
			require.NoError(t, err)
			memory := &knows{hits: port}
			got, report, err := editors[tt.api](t.Context(), memory, in, turn.Options{})
			require.NoError(t, err)
			require.Equal(t, 1, report.Injected, report.Reason)
			require.Equal(t, []string{"notes/staging.md#L3"}, report.Sources)
			require.Equal(t, []string{tt.query}, memory.asked)
			require.True(t, json.Valid(got))
			if *update {
				require.NoError(t, os.WriteFile(name+".golden", got, 0o644))
			}
			want, err := os.ReadFile(name + ".golden")
			require.NoError(t, err)
			if !bytes.Equal(got, want) {
				t.Errorf("%s.json becomes\n%s\nwant\n%s", name, got, want)
			}
			again, report, err := editors[tt.api](t.Context(), memory, got, turn.Options{})
			require.NoError(t, err)
			if !bytes.Equal(again, got) || report.Reason != turn.ReasonPresent {
				t.Errorf("a second time: reason %q, want %q; got\n%s", report.Reason, turn.ReasonPresent, again)
			}
		})
	}
}

// Nothing is injected, and the request is unchanged.
func TestRequestsThatStay(t *testing.T) {
	for _, tt := range []struct{ name, api, in, reason, failure string }{
		{name: "a chat's call waits", api: "chat", in: `{"messages":[{"role":"user","content":"x"},{"role":"assistant","tool_calls":[{"id":"a"},{"id":"b"}]},{"role":"tool","tool_call_id":"a"}]}`, reason: turn.ReasonPending},
		{name: "a function call waits", api: "responses", in: `{"input":[{"role":"user","content":"x"},{"type":"function_call","call_id":"a","name":"f"}]}`, reason: turn.ReasonPending},
		{name: "a custom call waits", api: "responses", in: `{"input":[{"role":"user","content":"x"},{"type":"custom_tool_call","call_id":"a"},{"type":"function_call_output","call_id":"b"}]}`, reason: turn.ReasonPending},
		{name: "only results are new", api: "responses", in: `{"input":[{"type":"function_call_output","call_id":"b","output":"x"}]}`, reason: turn.ReasonNoUser},
		{name: "the server has the turns before", api: "responses", in: `{"previous_response_id":"r1","input":"x"}`, reason: turn.ReasonKept},
		{name: "the server has the conversation", api: "responses", in: `{"conversation":{"id":"c"},"input":"x"}`, reason: turn.ReasonKept},
		{name: "no input", api: "responses", in: `{"prompt":{"id":"x"}}`, failure: `no "input"`},
		{name: "input of another kind", api: "responses", in: `{"input":7}`, failure: "no array"},
		{name: "blank input", api: "responses", in: `{"input":" "}`, reason: turn.ReasonBlank},
		{name: "items no array of requests", api: "responses", in: `[{"role":"user","content":"x"}]`, failure: "no object"},
		{name: "a tool_use waits", api: "anthropic", in: `{"messages":[{"role":"user","content":"x"},{"role":"assistant","content":[{"type":"text","text":"?"},{"type":"tool_use","id":"a","name":"f","input":{}}]}]}`, reason: turn.ReasonPending},
		{name: "one of two tool_uses waits", api: "anthropic", in: `{"messages":[{"role":"user","content":"x"},{"role":"assistant","content":[{"type":"tool_use","id":"a"},{"type":"tool_use","id":"b"}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"b"}]}]}`, reason: turn.ReasonPending},
		{name: "nothing but a picture", api: "anthropic", in: `{"messages":[{"role":"user","content":[{"type":"image","source":{}}]}]}`, reason: turn.ReasonBlank},
		{name: "an answer is begun", api: "anthropic", in: `{"messages":[{"role":"assistant","content":"x"}]}`, reason: turn.ReasonNoUser},
		{name: "no content", api: "anthropic", in: `{"messages":[{"role":"user"}]}`, reason: turn.ReasonBlank},
		{name: "Ollama's call waits", api: "ollama", in: `{"messages":[{"role":"user","content":"x"},{"role":"assistant","content":"","tool_calls":[{"function":{"name":"f","arguments":{}}}]}]}`, reason: turn.ReasonPending},
		{name: "one of two calls of a tool waits", api: "ollama", in: `{"messages":[{"role":"user","content":"x"},{"role":"assistant","tool_calls":[{"function":{"name":"f"}},{"function":{"name":"f"}}]},{"role":"tool","tool_name":"f","content":"y"}]}`, reason: turn.ReasonPending},
		{name: "a call waits, another tool answered", api: "ollama", in: `{"messages":[{"role":"user","content":"x"},{"role":"assistant","tool_calls":[{"id":"1","function":{"name":"f"}}]},{"role":"tool","tool_call_id":"2","content":"y"}]}`, reason: turn.ReasonPending},
		{name: "a model is loaded", api: "ollama", in: `{"model":"m"}`, failure: `no "messages"`},
		{name: "a message of another kind", api: "ollama", in: `{"messages":[null]}`, failure: "message 1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, report, err := editors[tt.api](t.Context(), &knows{hits: port}, []byte(tt.in), turn.Options{})
			if tt.failure != "" {
				require.ErrorContains(t, err, tt.failure)
			} else {
				require.NoError(t, err)
			}
			if string(got) != tt.in || report.Reason != tt.reason {
				t.Errorf("%s\nbecomes %s, reason %q; want it as it was, reason %q", tt.in, got, report.Reason, tt.reason)
			}
		})
	}
}

// fuzz checks that a request changes by one insertion in its messages only.
func fuzz(f *testing.F, api, key string, seeds ...string) {
	files, err := filepath.Glob(filepath.Join("testdata", api, "*.json"))
	require.NoError(f, err)
	require.NotEmpty(f, files)
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(f, err)
		f.Add(data)
	}
	for _, seed := range append(seeds, `[null]`, `{}`, `{"`+key+`":[{}]}`, `{"`+key+`":[{"role":"user","content":"x"}],"`+key+`":[]}`, `{"`+key+`":[{"r\u006fle":"user","content":"\ud800"}]} `) {
		f.Add([]byte(seed))
	}
	memory := encoded(f)
	f.Fuzz(func(t *testing.T, in []byte) {
		before := bytes.Clone(in)
		got, report, err := editors[api](t.Context(), &knows{hits: port}, in, turn.Options{Logger: slog.New(slog.DiscardHandler)})
		if !bytes.Equal(in, before) {
			t.Fatalf("the input was changed: %s", in)
		}
		if report.Injected == 0 {
			if !bytes.Equal(got, in) {
				t.Errorf("%s becomes %s, nothing injected (%v)", in, got, err)
			}
			return
		}
		if !json.Valid(got) || bytes.Count(got, []byte(memory)) != bytes.Count(in, []byte(memory))+1 {
			t.Fatalf("%s becomes %s, which is no JSON or has not the block", in, got)
		}
		checkRest(t, in, got)
		checkList(t, in, got, key)
	})
}

// checkRest checks that got has all of in, apart from a string that became a list.
func checkRest(t *testing.T, in, got []byte) {
	t.Helper()
	head := 0
	for head < len(in) && in[head] == got[head] {
		head++
	}
	tail := 0
	for tail < len(in)-head && in[len(in)-1-tail] == got[len(got)-1-tail] {
		tail++
	}
	rest, inserted := in[head:len(in)-tail], got[head:len(got)-tail]
	if len(rest) > 0 && !bytes.Contains(inserted, rest) {
		t.Errorf("%s becomes %s, which has lost %s", in, got, rest)
	}
}

// checkList checks that members beside the messages are equal.
func checkList(t *testing.T, in, got []byte, key string) {
	t.Helper()
	was, is := decode(t, in), decode(t, got)
	if object, ok := was.(map[string]any); ok {
		delete(object, key)
		delete(is.(map[string]any), key)
		if !reflect.DeepEqual(was, is) {
			t.Errorf("%s becomes %s, which differs beside %q", in, got, key)
		}
	}
}

// decode keeps numbers as text: some exceed a float64.
func decode(t *testing.T, text []byte) (value any) {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	require.NoError(t, decoder.Decode(&value))
	return value
}

func FuzzJSON(f *testing.F) {
	fuzz(f, "chat", "messages", `[{"role":"user","content":"x"}]`, `{"messages":[{"role":"tool","tool_call_id":"x"}]}`)
}

func FuzzResponsesJSON(f *testing.F) {
	fuzz(f, "responses", "input", `{"input":"x"}`, `{"input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"x"}]}]}`)
}

func FuzzAnthropicJSON(f *testing.F) {
	fuzz(f, "anthropic", "messages", `{"messages":[{"role":"user","content":[1,{"type":"tool_result"},{"type":"text","text":"x"}]}]}`)
}

func FuzzOllamaJSON(f *testing.F) {
	fuzz(f, "ollama", "messages", `{"messages":[{"role":"tool","content":"x"},{"role":"user","content":"x"}]}`)
}

// BenchmarkJSON edits a request with 1 MB of history.
func BenchmarkJSON(b *testing.B) {
	var request strings.Builder
	request.WriteString(`{"model":"m","messages":[`)
	for range 500 {
		request.WriteString(`{"role":"user","content":"` + strings.Repeat("a line of a file\\n", 60) + `"},{"role":"assistant","content":"` + strings.Repeat("and an answer to it. ", 50) + `"},`)
	}
	request.WriteString(`{"role":"user","content":"which port?"}]}`)
	in := []byte(request.String())
	b.SetBytes(int64(len(in)))
	for b.Loop() {
		if _, report, err := turn.JSON(b.Context(), instant{}, in, turn.Options{}); err != nil || report.Injected != 1 {
			b.Fatal(report, err)
		}
	}
}

// instant is a memory that takes no time.
type instant struct{}

func (instant) RetrieveRelevant(context.Context, string, core.RetrieveOptions) (core.Result, error) {
	return core.Result{Hits: port, State: core.StateReady}, nil
}
