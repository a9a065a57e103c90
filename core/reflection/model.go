package reflection

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/sashabaranov/go-openai"

	"github.com/memcore/memcore/core/tools"
	"github.com/memcore/memcore/internal/web/baseurl"
	"github.com/memcore/memcore/internal/web/reply"
)

// A Model is a chat model, safe for concurrent use.
type Model interface {
	Chat(ctx context.Context, messages []Message, available []tools.Tool) (Reply, error)
}

// Roles of a Message.
const (
	RoleSystem    = openai.ChatMessageRoleSystem
	RoleUser      = openai.ChatMessageRoleUser
	RoleAssistant = openai.ChatMessageRoleAssistant
	RoleTool      = openai.ChatMessageRoleTool
)

// A Message is one of the chat with the model.
type Message struct {
	Role    string
	Content string
	Calls   []Call // of an assistant
	CallID  string // of a tool: the call that it answers
}

// A Call is a tool that a model wants to call.
type Call struct {
	ID        string
	Name      string
	Arguments string // a JSON object

	broken bool // Arguments were not JSON
}

// A Reply is an answer; the last has no calls.
type Reply struct {
	Text   string
	Calls  []Call
	Tokens int // of prompt and answer; 0 if the server does not tell
}

// ServerOptions name a model and its server.
type ServerOptions struct {
	BaseURL string // up to and without "/chat/completions"
	Model   string
	Key     string // bearer token; it is in no error
	// Transport carries the requests; nil means http.DefaultTransport.
	Transport http.RoundTripper
}

// ErrAnswer is wrapped by errors about a server's answer.
var ErrAnswer = errors.New("the chat model gave no usable answer")

// maxAnswer is in bytes.
const maxAnswer = 8 << 20

type server struct {
	name, model string
	key         func() string // so that fmt does not print it
	client      *openai.Client
}

// NewOpenAI returns a model of OpenAI's protocol, without asking it.
func NewOpenAI(o ServerOptions) (Model, error) {
	base, err := baseurl.Parse(o.BaseURL)
	if err != nil {
		return nil, fmt.Errorf("the address of the chat model %w", err)
	}
	if o.Model == "" {
		return nil, errors.New("no chat model is named")
	}
	config := openai.DefaultConfig(o.Key)
	config.BaseURL, config.HTTPClient = strings.TrimRight(o.BaseURL, "/"), reply.Client(o.Transport, maxAnswer)
	name := fmt.Sprintf("chat model %q at %s", o.Model, base.Host)
	return &server{name, o.Model, func() string { return o.Key }, openai.NewClientWithConfig(config)}, nil
}

// Chat implements Model.
func (s *server) Chat(ctx context.Context, messages []Message, available []tools.Tool) (Reply, error) {
	answer, err := s.chat(ctx, messages, available)
	if err != nil {
		return Reply{}, fmt.Errorf("%s: %w", s.name, reply.New(err, s.key()))
	}
	return answer, nil
}

func (s *server) chat(ctx context.Context, messages []Message, available []tools.Tool) (Reply, error) {
	request := openai.ChatCompletionRequest{Model: s.model}
	for _, m := range messages {
		message := openai.ChatCompletionMessage{Role: m.Role, Content: m.Content, ToolCallID: m.CallID}
		for _, call := range m.Calls {
			message.ToolCalls = append(message.ToolCalls, openai.ToolCall{
				ID: call.ID, Type: openai.ToolTypeFunction,
				Function: openai.FunctionCall{Name: call.Name, Arguments: call.Arguments},
			})
		}
		request.Messages = append(request.Messages, message)
	}
	for _, t := range available {
		request.Tools = append(request.Tools, openai.Tool{
			Type:     openai.ToolTypeFunction,
			Function: &openai.FunctionDefinition{Name: t.Name, Description: t.Description, Parameters: t.Schema},
		})
	}
	response, err := s.client.CreateChatCompletion(ctx, request)
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
		return Reply{}, fmt.Errorf("%w: it was cut at its token limit", ErrAnswer)
	default:
		return Reply{}, fmt.Errorf("%w: it ended by %q", ErrAnswer, choice.FinishReason)
	}
	answer := Reply{Text: choice.Message.Content, Tokens: response.Usage.TotalTokens}
	for _, call := range choice.Message.ToolCalls {
		answer.Calls = append(answer.Calls, Call{ID: call.ID, Name: call.Function.Name, Arguments: call.Function.Arguments})
	}
	return answer, nil
}
