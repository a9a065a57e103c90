// Package goopenai injects memory into messages of github.com/sashabaranov/go-openai.
package goopenai

import (
	"context"
	"slices"
	"strings"

	openai "github.com/sashabaranov/go-openai"

	"github.com/memcore/memcore/formatter"
	"github.com/memcore/memcore/inject/turn"
)

// Messages returns a copy with memory before the last user message, or messages itself.
func Messages(ctx context.Context, r turn.Retriever, messages []openai.ChatCompletionMessage, options turn.Options) ([]openai.ChatCompletionMessage, turn.Report) {
	return turn.Inject(ctx, r, messages, turn.Shape[openai.ChatCompletionMessage]{
		Role:    func(m openai.ChatCompletionMessage) string { return m.Role },
		Text:    textOf,
		Calls:   callsOf,
		Answers: answersOf,
		System: func(text string) openai.ChatCompletionMessage {
			return openai.ChatCompletionMessage{Role: openai.ChatMessageRoleSystem, Content: text}
		},
		User: func(text string) openai.ChatCompletionMessage {
			return openai.ChatCompletionMessage{Role: openai.ChatMessageRoleUser, Content: text}
		},
		Extend: extended,
	}, options)
}

func textOf(m openai.ChatCompletionMessage) string {
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

func extended(m openai.ChatCompletionMessage, text string) openai.ChatCompletionMessage {
	if len(m.MultiContent) > 0 {
		m.MultiContent = append(slices.Clip(m.MultiContent), openai.ChatMessagePart{Type: openai.ChatMessagePartTypeText, Text: text})
		return m
	}
	m.Content = formatter.Join(m.Content, text)
	return m
}

func callsOf(m openai.ChatCompletionMessage) []string {
	var ids []string
	for _, call := range m.ToolCalls {
		ids = append(ids, call.ID)
	}
	if m.FunctionCall != nil {
		ids = append(ids, functionID(m.FunctionCall.Name))
	}
	return ids
}

func answersOf(m openai.ChatCompletionMessage) []string {
	switch m.Role {
	case openai.ChatMessageRoleTool:
		return []string{m.ToolCallID}
	case openai.ChatMessageRoleFunction:
		return []string{functionID(m.Name)}
	}
	return nil
}

// functionID stands in for IDs, which calls of the older API lack. The prefix keeps them apart.
func functionID(name string) string { return "function:" + name }
