package turn

import (
	"context"
	"strings"

	openai "github.com/sashabaranov/go-openai"
)

// A Message is one message of a chat, whatever the client's own type.
type Message struct {
	Role       string   // "system", "user", "assistant" or "tool"
	Text       string   // what it says
	ToolCalls  []string // IDs of the tool calls of an assistant message
	ToolCallID string   // of a tool message: the call it answers
}

// Messages returns the messages with memory before the last user message. The slice it is given is
// never changed; if there is nothing to inject, it is returned as it is.
func Messages(ctx context.Context, r retriever, messages []Message, options Options) ([]Message, Report) {
	return inject(ctx, r, messages, shape[Message]{
		role:  func(m Message) string { return m.Role },
		text:  func(m Message) string { return m.Text },
		calls: func(m Message) []string { return m.ToolCalls },
		answers: func(m Message) []string {
			if m.Role != "tool" && m.Role != "function" {
				return nil
			}
			return []string{m.ToolCallID}
		},
	}, func(text string) Message { return Message{Role: "user", Text: text} }, options)
}

// OpenAI does what Messages does for the types of go-openai.
func OpenAI(ctx context.Context, r retriever, messages []openai.ChatCompletionMessage, options Options) ([]openai.ChatCompletionMessage, Report) {
	return inject(ctx, r, messages, shape[openai.ChatCompletionMessage]{
		role:    func(m openai.ChatCompletionMessage) string { return m.Role },
		text:    openAIText,
		calls:   openAICalls,
		answers: openAIAnswers,
	}, func(text string) openai.ChatCompletionMessage {
		return openai.ChatCompletionMessage{Role: openai.ChatMessageRoleUser, Content: text}
	}, options)
}

func openAIText(m openai.ChatCompletionMessage) string {
	if len(m.MultiContent) == 0 {
		return m.Content
	}
	var parts []string
	for _, part := range m.MultiContent {
		if part.Type == openai.ChatMessagePartTypeText {
			parts = append(parts, part.Text)
		}
	}
	return strings.Join(parts, "\n")
}

func openAICalls(m openai.ChatCompletionMessage) []string {
	var ids []string
	for _, call := range m.ToolCalls {
		ids = append(ids, call.ID)
	}
	if m.FunctionCall != nil {
		ids = append(ids, functionID(m.FunctionCall.Name))
	}
	return ids
}

func openAIAnswers(m openai.ChatCompletionMessage) []string {
	switch m.Role {
	case openai.ChatMessageRoleTool:
		return []string{m.ToolCallID}
	case openai.ChatMessageRoleFunction:
		return []string{functionID(m.Name)}
	}
	return nil
}
