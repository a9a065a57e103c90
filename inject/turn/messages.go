package turn

import (
	"context"
	"slices"
	"strings"

	openai "github.com/sashabaranov/go-openai"

	"github.com/memcore/memcore/formatter"
)

// A Message is for clients with types of their own.
type Message struct {
	Role       string   // "system", "user", "assistant" or "tool"
	Text       string   // what it says
	ToolCalls  []string // IDs of the tool calls of an assistant message
	ToolCallID string   // of a tool message: the call it answers
}

// Messages returns a copy with memory before the last user message, or messages itself.
func Messages(ctx context.Context, r Retriever, messages []Message, options Options) ([]Message, Report) {
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
		system: func(text string) Message { return Message{Role: "system", Text: text} },
		extend: func(m Message, text string) Message {
			m.Text = formatter.Join(m.Text, text)
			return m
		},
	}, func(text string) Message { return Message{Role: "user", Text: text} }, options)
}

// OpenAI is Messages for go-openai's types.
func OpenAI(ctx context.Context, r Retriever, messages []openai.ChatCompletionMessage, options Options) ([]openai.ChatCompletionMessage, Report) {
	return inject(ctx, r, messages, shape[openai.ChatCompletionMessage]{
		role:    func(m openai.ChatCompletionMessage) string { return m.Role },
		text:    openAIText,
		calls:   openAICalls,
		answers: openAIAnswers,
		system: func(text string) openai.ChatCompletionMessage {
			return openai.ChatCompletionMessage{Role: openai.ChatMessageRoleSystem, Content: text}
		},
		extend: openAIExtended,
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

func openAIExtended(m openai.ChatCompletionMessage, text string) openai.ChatCompletionMessage {
	if len(m.MultiContent) > 0 {
		m.MultiContent = append(slices.Clip(m.MultiContent), openai.ChatMessagePart{Type: openai.ChatMessagePartTypeText, Text: text})
		return m
	}
	m.Content = formatter.Join(m.Content, text)
	return m
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
