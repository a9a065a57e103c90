package reflection

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/ollama/ollama/api"
	"github.com/sashabaranov/go-openai"

	"github.com/memcore/memcore/core/notes"
	"github.com/memcore/memcore/internal/baseurl"
	"github.com/memcore/memcore/internal/told"
)

// ServerOptions say which model is asked, and where.
type ServerOptions struct {
	// BaseURL is the address: for OpenAI's protocol up to and without "/chat/completions", for Ollama's that of the server.
	BaseURL string
	Model   string
	Key     string // sent as bearer token, to OpenAI's protocol only; it is in no error
	// Transport carries the requests; nil is http.DefaultTransport.
	Transport http.RoundTripper
}

// ErrAnswer is wrapped by errors about what a server answers.
var ErrAnswer = errors.New("the chat model gave no usable answer")

func (o ServerOptions) check() (*url.URL, error) {
	base, err := baseurl.Parse(o.BaseURL)
	if err != nil {
		return nil, fmt.Errorf("the address of the chat model %w", err)
	}
	if o.Model == "" {
		return nil, errors.New("no chat model is named")
	}
	return base, nil
}

// longestAnswer bounds what is read of an answer, in bytes.
const longestAnswer = 8 << 20

// A server asks a model at a host.
type server struct {
	name string
	key  func() string // so that fmt does not print it
	ask  func(ctx context.Context, messages []Message, tools []notes.Tool) (Reply, error)
}

// Chat implements Model.
func (s server) Chat(ctx context.Context, messages []Message, tools []notes.Tool) (Reply, error) {
	reply, err := s.ask(ctx, messages, tools)
	if err != nil {
		return Reply{}, fmt.Errorf("%s: %w", s.name, told.New(err, s.key()))
	}
	return reply, nil
}

// NewOpenAI returns a model behind OpenAI's chat completions, which Ollama, vLLM and llama.cpp also speak. It asks nothing yet.
func NewOpenAI(o ServerOptions) (Model, error) {
	base, err := o.check()
	if err != nil {
		return nil, err
	}
	config := openai.DefaultConfig(o.Key)
	config.BaseURL, config.HTTPClient = strings.TrimRight(o.BaseURL, "/"), told.Client(o.Transport, longestAnswer)
	client := openai.NewClientWithConfig(config)
	return server{fmt.Sprintf("chat model %q at %s", o.Model, base.Host), func() string { return o.Key }, func(ctx context.Context, messages []Message, tools []notes.Tool) (Reply, error) {
		request := openai.ChatCompletionRequest{Model: o.Model}
		for _, m := range messages {
			said := openai.ChatCompletionMessage{Role: m.Role, Content: m.Content, ToolCallID: m.CallID}
			for _, call := range m.Calls {
				said.ToolCalls = append(said.ToolCalls, openai.ToolCall{ID: call.ID, Type: openai.ToolTypeFunction, Function: openai.FunctionCall{Name: call.Name, Arguments: call.Arguments}})
			}
			request.Messages = append(request.Messages, said)
		}
		for _, t := range tools {
			request.Tools = append(request.Tools, openai.Tool{Type: openai.ToolTypeFunction, Function: &openai.FunctionDefinition{Name: t.Name, Description: t.Description, Parameters: t.Schema}})
		}
		response, err := client.CreateChatCompletion(ctx, request)
		if err != nil {
			return Reply{}, err
		}
		if len(response.Choices) == 0 {
			return Reply{}, fmt.Errorf("%w: it has no choices", ErrAnswer)
		}
		choice := response.Choices[0]
		switch choice.FinishReason {
		case openai.FinishReasonStop, openai.FinishReasonToolCalls, openai.FinishReasonFunctionCall, openai.FinishReasonNull, "":
		case openai.FinishReasonLength:
			return Reply{}, fmt.Errorf("%w: it was cut, at its limit of tokens", ErrAnswer)
		default:
			return Reply{}, fmt.Errorf("%w: it ended by %q", ErrAnswer, choice.FinishReason)
		}
		reply := Reply{Text: choice.Message.Content, Tokens: response.Usage.TotalTokens}
		for _, call := range choice.Message.ToolCalls {
			reply.Calls = append(reply.Calls, Call{ID: call.ID, Name: call.Function.Name, Arguments: call.Function.Arguments})
		}
		return reply, nil
	}}, nil
}

// NewOllama returns a model behind Ollama's own protocol. It asks nothing yet.
func NewOllama(o ServerOptions) (Model, error) {
	base, err := o.check()
	if err != nil {
		return nil, err
	}
	client := api.NewClient(base, told.Client(o.Transport, longestAnswer))
	return server{fmt.Sprintf("chat model %q at %s", o.Model, base.Host), func() string { return o.Key }, func(ctx context.Context, messages []Message, tools []notes.Tool) (Reply, error) {
		request, err := ollamaRequest(o.Model, messages, tools)
		if err != nil {
			return Reply{}, err
		}
		var answer api.ChatResponse
		if err := client.Chat(ctx, request, func(r api.ChatResponse) error { answer = r; return nil }); err != nil {
			return Reply{}, err
		}
		switch {
		case !answer.Done:
			return Reply{}, fmt.Errorf("%w: it has no end", ErrAnswer)
		case answer.DoneReason == "length":
			return Reply{}, fmt.Errorf("%w: it was cut, at its limit of tokens", ErrAnswer)
		}
		reply := Reply{Text: answer.Message.Content, Tokens: answer.PromptEvalCount + answer.EvalCount}
		for _, call := range answer.Message.ToolCalls {
			arguments, err := json.Marshal(call.Function.Arguments)
			if err != nil {
				return Reply{}, fmt.Errorf("%w: %w", ErrAnswer, err)
			}
			reply.Calls = append(reply.Calls, Call{ID: call.ID, Name: call.Function.Name, Arguments: string(arguments)})
		}
		return reply, nil
	}}, nil
}

func ollamaRequest(model string, messages []Message, tools []notes.Tool) (*api.ChatRequest, error) {
	stream := false
	request := &api.ChatRequest{Model: model, Stream: &stream}
	for _, m := range messages {
		said := api.Message{Role: m.Role, Content: m.Content, ToolName: m.Name, ToolCallID: m.CallID}
		for _, call := range m.Calls {
			var arguments api.ToolCallFunctionArguments
			if err := json.Unmarshal([]byte(call.Arguments), &arguments); err != nil {
				return nil, fmt.Errorf("%w: arguments of %s: %w", ErrAnswer, call.Name, err)
			}
			said.ToolCalls = append(said.ToolCalls, api.ToolCall{ID: call.ID, Function: api.ToolCallFunction{Name: call.Name, Arguments: arguments}})
		}
		request.Messages = append(request.Messages, said)
	}
	for _, t := range tools {
		definition, err := json.Marshal(t.Definition())
		if err != nil {
			return nil, err
		}
		var tool api.Tool
		if err := json.Unmarshal(definition, &tool); err != nil {
			return nil, fmt.Errorf("schema of %s: %w", t.Name, err)
		}
		request.Tools = append(request.Tools, tool)
	}
	return request, nil
}
