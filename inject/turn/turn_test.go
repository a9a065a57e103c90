package turn_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"reflect"
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

// knows answers every question with the same hits.
type knows struct {
	hits  []core.MemoryHit
	err   error
	wait  time.Duration
	asked []string
	not   []string // what was not to be found at last
	given []string // what was given before, at last
}

func (k *knows) RetrieveRelevant(ctx context.Context, request string, o core.RetrieveOptions) (core.Result, error) {
	k.asked, k.not, k.given = append(k.asked, request), o.Not, o.Given
	select {
	case <-time.After(k.wait):
	case <-ctx.Done():
		return core.Result{}, ctx.Err()
	}
	return core.Result{Hits: k.hits, State: core.StateReady}, k.err
}

var port = []core.MemoryHit{{Text: "Staging postgres listens on 5433.", Source: "notes/staging.md#L3", TokenEstimate: 9}}

func block(t *testing.T) string {
	text, _ := formatter.Block(port)
	require.NotEmpty(t, text)
	return text
}

// encoded returns the block as a JSON string.
func encoded(t testing.TB) string {
	text, _ := formatter.Block(port)
	data, err := json.Marshal(text)
	require.NoError(t, err)
	return string(data)
}

func user(text string) turn.Message      { return turn.Message{Role: "user", Text: text} }
func assistant(text string) turn.Message { return turn.Message{Role: "assistant", Text: text} }

func TestMessages(t *testing.T) {
	call := turn.Message{Role: "assistant", ToolCalls: []string{"a", "b"}}
	answer := func(id string) turn.Message { return turn.Message{Role: "tool", ToolCallID: id, Text: "done"} }
	memory := user(block(t))
	for _, tt := range []struct {
		name   string
		in     []turn.Message
		memory *knows
		reason string
		at     int // where the memory is expected
	}{
		{name: "before the last user message", in: []turn.Message{{Role: "system"}, user("hi"), assistant("hello"), user("which port?")}, at: 3},
		{name: "a single message", in: []turn.Message{user("which port?")}, at: 0},
		{name: "in mid-turn at the same place", in: []turn.Message{user("which port?"), call, answer("a"), answer("b")}, at: 0},
		{name: "a call waits", in: []turn.Message{user("which port?"), call, answer("a")}, reason: turn.ReasonPending},
		{name: "a call waits behind which the user spoke", in: []turn.Message{call, user("which port?")}, reason: turn.ReasonPending},
		{name: "no messages", reason: turn.ReasonNoUser},
		{name: "no user message", in: []turn.Message{{Role: "system", Text: "x"}}, reason: turn.ReasonNoUser},
		{name: "blank", in: []turn.Message{user(" \n")}, reason: turn.ReasonBlank},
		{name: "nothing known", in: []turn.Message{user("x")}, memory: &knows{}, reason: turn.ReasonNothing},
		{name: "memory fails", in: []turn.Message{user("x")}, memory: &knows{hits: port, err: errors.New("disk")}, reason: turn.ReasonFailed},
		{name: "memory is late", in: []turn.Message{user("x")}, memory: &knows{hits: port, wait: time.Minute}, reason: turn.ReasonLate},
		{name: "already there", in: []turn.Message{memory, user("x")}, reason: turn.ReasonPresent},
		{name: "a quoted block does not switch memory off", in: []turn.Message{user("what is this:\n" + memory.Text), assistant("a block"), user("x")}, at: 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in := append(make([]turn.Message, 0, 20), tt.in...) // room behind the slice must stay as it is
			before := append([]turn.Message(nil), in[:cap(in)]...)
			if tt.memory == nil {
				tt.memory = &knows{hits: port}
			}
			timeout := time.Minute
			if tt.reason == turn.ReasonLate {
				timeout = 50 * time.Millisecond
			}
			got, report := turn.Messages(t.Context(), tt.memory, in, turn.Options{Timeout: timeout, Logger: slog.New(slog.DiscardHandler)})
			if !reflect.DeepEqual(in[:cap(in)], before) {
				t.Errorf("the caller's slice was changed: %v", in)
			}
			if report.Reason != tt.reason {
				t.Fatalf("Messages: reason %q, want %q", report.Reason, tt.reason)
			}
			want := tt.in
			if tt.reason == "" {
				want = append(append(append([]turn.Message(nil), tt.in[:tt.at]...), memory), tt.in[tt.at:]...)
				if report.Injected != 1 || report.Tokens != 9 {
					t.Errorf("report %+v, want one hit of 9 tokens", report)
				}
			}
			if len(got) != len(want) || len(want) > 0 && !reflect.DeepEqual(got, want) {
				t.Errorf("Messages = %v, want %v", got, want)
			}
		})
	}
}

func TestCancelledTurn(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	memory := &knows{hits: port}
	if got, report := turn.Messages(ctx, memory, []turn.Message{user("x")}, turn.Options{}); len(got) != 1 || report.Reason != turn.ReasonCancelled || len(memory.asked) != 0 {
		t.Errorf("cancelled before: %v, %+v, memory asked %q", got, report, memory.asked)
	}
	ctx, cancel = context.WithCancel(t.Context())
	time.AfterFunc(5*time.Millisecond, cancel)
	if got, report := turn.Messages(ctx, &knows{hits: port, wait: time.Minute}, []turn.Message{user("x")}, turn.Options{}); len(got) != 1 || report.Reason != turn.ReasonCancelled {
		t.Errorf("cancelled meanwhile: %v, %+v", got, report)
	}
}

func TestLongMessageIsCutForTheQuery(t *testing.T) {
	memory := &knows{hits: port}
	turn.Messages(t.Context(), memory, []turn.Message{user("Explain this: " + strings.Repeat("ü", 50_000) + " and mind the port")}, turn.Options{})
	if q := memory.asked[0]; len(q) > 4200 || !strings.HasPrefix(q, "Explain this") || !strings.HasSuffix(q, "mind the port") || strings.ContainsRune(q, '\uFFFD') {
		t.Errorf("query of a long message has %d bytes: %.40q…", len(q), q)
	}
}

func TestLongMessageThatIsNoUTF8HasAQuery(t *testing.T) {
	memory := &knows{hits: port}
	turn.Messages(t.Context(), memory, []turn.Message{user(strings.Repeat("\x80", 50_000))}, turn.Options{})
	if q := memory.asked[0]; len(q) < 4000 || len(q) > 4200 {
		t.Errorf("query of a long message that is no UTF-8 has %d bytes, want about 4096", len(q))
	}
}

// The older API has a single function call without an ID.
func TestFunctionCall(t *testing.T) {
	turns := []openai.ChatCompletionMessage{
		{Role: "user", Content: "which port?"},
		{Role: "assistant", FunctionCall: &openai.FunctionCall{Name: "look", Arguments: "{}"}},
		{Role: "function", Name: "look", Content: "done"},
	}
	const question, call, answer = `{"role":"user","content":"which port?"}`, `{"role":"assistant","function_call":{"name":"look"}}`, `{"role":"function","name":"look","content":"done"}`
	for n, tt := range map[int]struct{ request, reason string }{
		2: {"[" + question + "," + call + "]", turn.ReasonPending},
		3: {"[" + question + "," + call + "," + answer + "]", ""},
	} {
		if _, report := goopenai.Messages(t.Context(), &knows{hits: port}, turns[:n], turn.Options{}); report.Reason != tt.reason {
			t.Errorf("goopenai.Messages of %d messages: reason %q, want %q", n, report.Reason, tt.reason)
		}
		if _, report, err := turn.JSON(t.Context(), &knows{hits: port}, []byte(tt.request), turn.Options{}); err != nil || report.Reason != tt.reason {
			t.Errorf("JSON of %d messages: reason %q, %v, want %q", n, report.Reason, err, tt.reason)
		}
	}
}

func TestOpenAI(t *testing.T) {
	in := []openai.ChatCompletionMessage{
		{Role: "system", Content: "Be brief."},
		{Role: "user", MultiContent: []openai.ChatMessagePart{
			{Type: openai.ChatMessagePartTypeText, Text: "which port"},
			{Type: openai.ChatMessagePartTypeImageURL, ImageURL: &openai.ChatMessageImageURL{URL: "data:x"}},
			{Type: openai.ChatMessagePartTypeText, Text: "is this?"},
		}},
	}
	memory := &knows{hits: port}
	got, report := goopenai.Messages(t.Context(), memory, in, turn.Options{})
	require.Equal(t, 1, report.Injected)
	require.Equal(t, []string{"which port\nis this?"}, memory.asked)
	want := []openai.ChatCompletionMessage{in[0], {Role: "user", Content: block(t)}, in[1]}
	if !reflect.DeepEqual(got, want) || len(in) != 2 {
		t.Errorf("goopenai.Messages = %+v, want %+v", got, want)
	}
}

func TestJSON(t *testing.T) {
	memory := `{"role":"user","content":` + encoded(t) + `}`
	for _, tt := range []struct{ name, in, want, failure string }{
		{name: "object, all else as it was", in: `{ "n": 1.0,"messages":[ {"role":"user","content":"x","z":[1, 2]} ] ,"stream":true}`,
			want: `{ "n": 1.0,"messages":[ ` + memory + `,{"role":"user","content":"x","z":[1, 2]} ] ,"stream":true}`},
		{name: "space after the key", in: `{"messages" : [ {"role":"user","content":"x"} ] , "b":2}`,
			want: `{"messages" : [ ` + memory + `,{"role":"user","content":"x"} ] , "b":2}`},
		{name: "array", in: `[{"role":"user","content":[{"type":"text","text":"x"}]}]` + "\n",
			want: `[` + memory + `,{"role":"user","content":[{"type":"text","text":"x"}]}]` + "\n"},
		{name: "unchanged", in: `{"messages": [ {"role":"assistant","content":"x"} ]}`, want: `{"messages": [ {"role":"assistant","content":"x"} ]}`},
		{name: "a call waits", in: `[{"role":"user","content":"x"},{"role":"assistant","tool_calls":[{"id":"c"}]}]`, want: `[{"role":"user","content":"x"},{"role":"assistant","tool_calls":[{"id":"c"}]}]`},
		{name: "no JSON", in: `messages`, failure: "not JSON"},
		{name: "cut", in: `{"messages":[`, failure: "not JSON"},
		{name: "no messages", in: `{"prompt":"x"}`, failure: `no "messages"`},
		{name: "messages of another kind", in: `{"messages":"x"}`, failure: "no array"},
		{name: "a message of another kind", in: `["x"]`, failure: "message 1"},
		{name: "a number", in: `7`, failure: "neither"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, _, err := turn.JSON(t.Context(), &knows{hits: port}, []byte(tt.in), turn.Options{})
			if tt.failure != "" {
				require.ErrorContains(t, err, tt.failure)
				tt.want = tt.in
			} else {
				require.NoError(t, err)
			}
			if string(got) != tt.want {
				t.Errorf("JSON(%s) =\n%s, want\n%s", tt.in, got, tt.want)
			}
		})
	}
}
