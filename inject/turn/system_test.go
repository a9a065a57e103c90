package turn_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	openai "github.com/sashabaranov/go-openai"
	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/formatter"
	"github.com/memcore/memcore/inject/turn"
	"github.com/memcore/memcore/inject/turn/goopenai"
)

var (
	memoryText = "## User Instructions\n\nBe <brief>.\n\n## Memory Core: Project Context\n\nTest on \"Fridays\"."
	reference  = formatter.Reference(formatter.Start{Index: "- facts/user.md (9B): name", ReadAt: "data/memory"})
)

func standing(s turn.System) turn.Options {
	return turn.Options{System: func(context.Context) (turn.System, error) { return s, nil }, Logger: slog.New(slog.DiscardHandler)}
}

// inner returns a text as within a JSON string.
func inner(t testing.TB, text string) string {
	data, err := json.Marshal(text)
	require.NoError(t, err)
	return string(data[1 : len(data)-1])
}

// The text follows the caller's, in the shape of each API. All other bytes stay, and it is not
// added twice.
func TestSystem(t *testing.T) {
	text := memoryText + "\n\n" + reference
	const mark = `"cache_control":{"type":"ephemeral","ttl":"1h"}`
	for _, tt := range []struct{ name, api, in, want string }{
		{"a chat without", "chat", `{"messages":[ {"role":"user","content":"x"}]}`, `{"messages":[{"role":"system","content":"SYS"}, {"role":"user","content":"x"}]}`},
		{"an array of messages", "chat", `[{"role":"user","content":"x"}]`, `[{"role":"system","content":"SYS"},{"role":"user","content":"x"}]`},
		{"behind the caller's", "chat", `{"messages":[{"role":"system","content":"Hi"},{"role":"user","content":"x"}]}`, `{"messages":[{"role":"system","content":"Hi\n\nSYS"},{"role":"user","content":"x"}]}`},
		{"behind the last of the caller's", "chat", `{"messages":[{"role":"system","content":"a"},{"role":"developer","content":"b"},{"role":"user","content":"x"},{"role":"system","content":"c"}]}`,
			`{"messages":[{"role":"system","content":"a"},{"role":"developer","content":"b\n\nSYS"},{"role":"user","content":"x"},{"role":"system","content":"c"}]}`},
		{"in parts", "chat", `{"messages":[{"role":"developer","content":[{"type":"text","text":"a"} ]},{"role":"user","content":"x"}]}`,
			`{"messages":[{"role":"developer","content":[{"type":"text","text":"a"} ,{"type":"text","text":"SYS"}]},{"role":"user","content":"x"}]}`},
		{"no parts", "chat", `{"messages":[{"role":"system","content":[]},{"role":"user","content":"x"}]}`, `{"messages":[{"role":"system","content":[{"type":"text","text":"SYS"}]},{"role":"user","content":"x"}]}`},
		{"an empty one", "chat", `{"messages":[{"role":"system","content":""},{"role":"user","content":"x"}]}`, `{"messages":[{"role":"system","content":"SYS"},{"role":"user","content":"x"}]}`},
		{"one without content", "chat", `{"messages":[{"role":"system"},{"role":"user","content":"x"}]}`, `{"messages":[{"role":"system","content":"SYS"},{"role":"system"},{"role":"user","content":"x"}]}`},
		{"a tool call waits", "chat", `{"messages":[{"role":"user","content":"x"},{"role":"assistant","tool_calls":[{"id":"a"}]}]}`,
			`{"messages":[{"role":"system","content":"SYS"},{"role":"user","content":"x"},{"role":"assistant","tool_calls":[{"id":"a"}]}]}`},
		{"no messages", "chat", `{"messages":[]}`, `{"messages":[]}`},
		{"Ollama", "ollama", `{"model":"m","messages":[{"role":"system","content":"a"},{"role":"user","content":"x"}]}`, `{"model":"m","messages":[{"role":"system","content":"a\n\nSYS"},{"role":"user","content":"x"}]}`},
		{"Ollama without", "ollama", `{"messages":[{"role":"user","content":"x"}]}`, `{"messages":[{"role":"system","content":"SYS"},{"role":"user","content":"x"}]}`},
		{"Ollama loads a model", "ollama", `{"model":"m","messages":[]}`, `{"model":"m","messages":[]}`},
		{"Responses without", "responses", `{"input":"x"}`, `{"instructions":"SYS","input":"x"}`},
		{"Responses with instructions", "responses", `{"input":[{"role":"user","content":"x"}],"instructions":"Hi"}`, `{"input":[{"role":"user","content":"x"}],"instructions":"Hi\n\nSYS"}`},
		{"Responses with null", "responses", `{"instructions": null,"input":"x"}`, `{"instructions": "SYS","input":"x"}`},
		{"Responses of another kind", "responses", `{"instructions":[7],"input":"x"}`, `{"instructions":[7],"input":"x"}`},
		{"Responses, a conversation that the server keeps", "responses", `{"previous_response_id":"r","input":[7]}`, `{"instructions":"SYS","previous_response_id":"r","input":[7]}`},
		{"Anthropic without", "anthropic", `{"messages":[{"role":"user","content":"x"}]}`, `{"system":"SYS","messages":[{"role":"user","content":"x"}]}`},
		{"Anthropic, a text", "anthropic", `{"system": "Hi","messages":[{"role":"user","content":"x"}]}`,
			`{"system": [{"type":"text","text":"Hi"},{"type":"text","text":"SYS"}],"messages":[{"role":"user","content":"x"}]}`},
		{"Anthropic, an empty text", "anthropic", `{"system":"","messages":[{"role":"user","content":"x"}]}`, `{"system":"SYS","messages":[{"role":"user","content":"x"}]}`},
		{"Anthropic, blocks", "anthropic", `{"system":[{"type":"text","text":"Hi"}],"messages":[{"role":"user","content":"x"}]}`,
			`{"system":[{"type":"text","text":"Hi"},{"type":"text","text":"SYS"}],"messages":[{"role":"user","content":"x"}]}`},
		{"Anthropic, a mark at the end of the system", "anthropic", `{"system":[{"type":"text","text":"Hi",` + mark + `}],"messages":[{"role":"user","content":"x"}]}`,
			`{"system":[{"type":"text","text":"Hi",` + mark + `},{"type":"text","text":"SYS",` + mark + `}],"messages":[{"role":"user","content":"x"}]}`},
		{"Anthropic, a mark in the messages covers it", "anthropic", `{"system":[{"type":"text","text":"Hi",` + mark + `}],"messages":[{"role":"user","content":[{"type":"text","text":"x",` + mark + `}]}]}`,
			`{"system":[{"type":"text","text":"Hi",` + mark + `},{"type":"text","text":"SYS"}],"messages":[{"role":"user","content":[{"type":"text","text":"x",` + mark + `}]}]}`},
		{"Anthropic, as many marks as may be", "anthropic", `{"tools":[{` + mark + `},{` + mark + `},{` + mark + `}],"system":[{"type":"text","text":"Hi",` + mark + `}],"messages":[{"role":"user","content":"x"}]}`,
			`{"tools":[{` + mark + `},{` + mark + `},{` + mark + `}],"system":[{"type":"text","text":"Hi",` + mark + `},{"type":"text","text":"SYS"}],"messages":[{"role":"user","content":"x"}]}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			options := standing(turn.System{Curated: memoryText, Reference: reference})
			got, report, err := editors[tt.api](t.Context(), &knows{}, []byte(tt.in), options)
			require.NoError(t, err)
			require.Equal(t, strings.ReplaceAll(tt.want, "SYS", inner(t, text)), string(got))
			if tt.in == tt.want {
				require.Zero(t, report.System)
				return
			}
			require.Equal(t, len([]rune(text)), report.System)
			again, report, err := editors[tt.api](t.Context(), &knows{}, got, options)
			require.NoError(t, err)
			require.Equal(t, string(got), string(again))
			require.Zero(t, report.System)
		})
	}
}

// Curated memory is not added if the request has it, even of other files or from a hook.
func TestSystemIsNotDoubled(t *testing.T) {
	own := turn.System{Curated: "## User Instructions\n\nBe brief."}
	both := turn.System{Curated: memoryText, Reference: reference}
	for _, tt := range []struct {
		name   string
		system turn.System
		in     string
		want   string // that is added
	}{
		{"all of it in the system message", both, `{"system":"Hi\n\nCURATED\n\nREFERENCE","messages":[]}`, ""},
		{"curated memory from a hook", both, `{"messages":[{"role":"user","content":[{"type":"text","text":"<system-reminder>\nSessionStart hook additional context: ## Memory Core: Project Context\n\nOlder.\n</system-reminder>"},{"type":"text","text":"x"}]}]}`, reference},
		{"the reference from a hook", both, `{"messages":[{"role":"user","content":"REFERENCE\n\nx"}]}`, memoryText},
		{"an answer that speaks of it", both, `{"messages":[{"role":"user","content":"x"},{"role":"assistant","content":"CURATED"},{"role":"user","content":"REFERENCE"}]}`, memoryText + "\n\n" + reference},
		{"a file that speaks of it", both, `{"messages":[{"role":"user","content":"[quoted] ## Memory Core: Project Context\nx"}]}`, memoryText + "\n\n" + reference},
		{"another's User Instructions", own, `{"system":"## User Instructions\n\nBe kind.","messages":[{"role":"user","content":"x"}]}`, own.Curated},
		{"the same User Instructions", own, `{"system":"## User Instructions\n\nBe brief.","messages":[{"role":"user","content":"x"}]}`, ""},
		{"nothing", turn.System{}, `{"messages":[{"role":"user","content":"x"}]}`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in := strings.NewReplacer("CURATED", inner(t, memoryText), "REFERENCE", inner(t, reference)).Replace(tt.in)
			got, report, err := turn.AnthropicJSON(t.Context(), &knows{}, []byte(in), standing(tt.system))
			require.NoError(t, err)
			require.Equal(t, len([]rune(tt.want)), report.System)
			require.Equal(t, tt.want == "", string(got) == in)
			if tt.want != "" {
				require.Equal(t, strings.Count(in, inner(t, tt.want))+1, strings.Count(string(got), inner(t, tt.want)))
			}
		})
	}
}

// A request gets both the system text and the block, also with the library's types.
func TestSystemBesideTheBlock(t *testing.T) {
	options := standing(turn.System{Curated: memoryText})
	got, report, err := turn.JSON(t.Context(), &knows{hits: port}, []byte(`[{"role":"user","content":"which port?"}]`), options)
	require.NoError(t, err)
	require.Equal(t, 1, report.Injected)
	require.Equal(t, `[{"role":"system","content":"`+inner(t, memoryText)+`"},{"role":"user","content":`+encoded(t)+`},{"role":"user","content":"which port?"}]`, string(got))

	messages := []turn.Message{{Role: "system", Text: "Hi"}, user("which port?")}
	with, report := turn.Messages(t.Context(), &knows{hits: port}, messages, options)
	require.Equal(t, []turn.Message{{Role: "system", Text: "Hi\n\n" + memoryText}, user(block(t)), user("which port?")}, with)
	require.Equal(t, len([]rune(memoryText)), report.System)
	require.Equal(t, "Hi", messages[0].Text, "the caller's messages are never changed")
	with, _ = turn.Messages(t.Context(), &knows{}, []turn.Message{user("x")}, options)
	require.Equal(t, []turn.Message{{Role: "system", Text: memoryText}, user("x")}, with)
	empty, _ := turn.Messages(t.Context(), &knows{}, nil, options)
	require.Empty(t, empty)

	parts := []openai.ChatCompletionMessage{{Role: "developer", MultiContent: []openai.ChatMessagePart{{Type: "text", Text: "Hi"}}}, {Role: "user", Content: "x"}}
	chat, _ := goopenai.Messages(t.Context(), &knows{}, parts, options)
	require.Equal(t, []openai.ChatMessagePart{{Type: "text", Text: "Hi"}, {Type: "text", Text: memoryText}}, chat[0].MultiContent)
	require.Len(t, parts[0].MultiContent, 1)
	chat, _ = goopenai.Messages(t.Context(), &knows{}, parts[1:], options)
	require.Equal(t, openai.ChatCompletionMessage{Role: "system", Content: memoryText}, chat[0])
}

// Documents in the system message are not retrieved, also if they were there before.
func TestSystemIsNotRetrieved(t *testing.T) {
	options := standing(turn.System{Curated: memoryText, Reference: reference, Whole: []string{"BEANS.md"}})
	options.Retrieve.Not = []string{"drafts/"}
	for _, tt := range []struct {
		name, system string
		want         []string
	}{
		{"added", "Hi", []string{"drafts/", "BEANS.md"}},
		{"there before", memoryText, []string{"drafts/", "BEANS.md"}},
		{"of other files", "## Memory Core: Project Context\n\nOlder.", []string{"drafts/"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			memory := &knows{hits: port}
			messages := []turn.Message{{Role: "system", Text: tt.system}, user("which port?")}
			turn.Messages(t.Context(), memory, messages, options)
			require.Equal(t, tt.want, memory.not)
			data, err := json.Marshal(map[string]any{"system": tt.system, "messages": []any{map[string]string{"role": "user", "content": "which port?"}}})
			require.NoError(t, err)
			_, _, err = turn.AnthropicJSON(t.Context(), memory, data, options)
			require.NoError(t, err)
			require.Equal(t, tt.want, memory.not)
		})
	}
}

// What the system message says is not given again, but at its moment, and there not with the first
// message. Results of tools are no messages of the user.
func TestStandingIsGivenOnce(t *testing.T) {
	options := standing(turn.System{Reference: reference, Standing: []core.Statement{{Key: "said-1"}}})
	for _, tt := range []struct {
		name, before string
		want         []string
	}{
		{"first", ``, []string{"start-said-1", "said-1"}},
		{"later", `{"role":"user","content":"hi"},{"role":"assistant","content":"Hello"},`, []string{"start-said-1"}},
		{"a result", `{"role":"user","content":[{"type":"tool_result","tool_use_id":"a"}]},`, []string{"start-said-1", "said-1"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			memory := &knows{}
			for range 2 { // the same however often it is asked
				_, _, err := turn.AnthropicJSON(t.Context(), memory, []byte(`{"messages":[`+tt.before+`{"role":"user","content":"commit"}]}`), options)
				require.NoError(t, err)
				require.Equal(t, tt.want, memory.given)
			}
		})
	}
	memory := &knows{}
	turn.Messages(t.Context(), memory, []turn.Message{user("hi"), assistant("Hello"), user("commit")}, options)
	require.Equal(t, []string{"start-said-1"}, memory.given)
}

// If System fails, the turn goes on with its text.
func TestSystemThatFails(t *testing.T) {
	request := []byte(`{"messages":[{"role":"user","content":"x"}]}`)
	for name, options := range map[string]turn.Options{
		"an error": {System: func(context.Context) (turn.System, error) { return turn.System{}, errors.New("no") }},
		"late": {Timeout: time.Millisecond, System: func(ctx context.Context) (turn.System, error) {
			<-ctx.Done()
			return turn.System{}, ctx.Err()
		}},
	} {
		options.Logger = slog.New(slog.DiscardHandler)
		got, report, err := turn.JSON(t.Context(), &knows{}, request, options)
		require.NoError(t, err, name)
		require.Equal(t, string(request), string(got), name)
		require.Zero(t, report.System, name)
	}
	half := turn.Options{Logger: slog.New(slog.DiscardHandler), System: func(context.Context) (turn.System, error) {
		return turn.System{Curated: "c"}, errors.New("the index cannot be read")
	}}
	_, report, _ := turn.JSON(t.Context(), &knows{}, request, half)
	require.Equal(t, 1, report.System)
}

// fuzzSystem checks that a request stays JSON, gets the text once or not at all, and does not
// change a second time.
func fuzzSystem(f *testing.F, api string, seeds ...string) {
	for _, seed := range append(seeds, `[null]`, `{}`, `{"messages":[{"role":"system","content":"x"}],"messages":[]}`, `{"system":"\ud800","input":"x","messages":[{"role":"user","content":"x"}]}`, `{"system":[ ],"instructions":{},"messages":[{"role":"system","content":{}}]}`) {
		f.Add([]byte(seed))
	}
	options := standing(turn.System{Curated: memoryText, Reference: reference})
	text := []byte(inner(f, memoryText+"\n\n"+reference))
	f.Fuzz(func(t *testing.T, in []byte) {
		before := bytes.Clone(in)
		got, report, _ := editors[api](t.Context(), &knows{}, in, options)
		require.Equal(t, before, in, "the input was changed")
		if report.System == 0 {
			require.Equal(t, string(in), string(got))
			return
		}
		if !json.Valid(got) {
			t.Fatalf("%s becomes %s, which is no JSON", in, got)
		}
		if report.System == len([]rune(memoryText+"\n\n"+reference)) {
			require.Equal(t, bytes.Count(in, text)+1, bytes.Count(got, text))
		}
		again, _, err := editors[api](t.Context(), &knows{}, got, options)
		require.NoError(t, err)
		require.Equal(t, string(got), string(again))
	})
}

func FuzzSystemOfChats(f *testing.F) {
	fuzzSystem(f, "chat", `[{"role":"user","content":"x"}]`, `{"messages":[{"role":"developer","content":[]}]}`)
}

func FuzzSystemOfResponses(f *testing.F) {
	fuzzSystem(f, "responses", `{"input":"x"}`, `{"input":[],"instructions":"x"}`, `{"conversation":"c","input":7}`)
}

func FuzzSystemOfAnthropic(f *testing.F) {
	fuzzSystem(f, "anthropic", `{"messages":[]}`, `{"system":"x","messages":[]}`, `{"system":[{"type":"text","text":"x","cache_control":{}}],"messages":[{"role":"user","content":"x"}]}`)
}

func FuzzSystemOfOllama(f *testing.F) { fuzzSystem(f, "ollama", `{"messages":[{"role":"user"}]}`) }
