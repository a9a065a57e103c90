package turn

import (
	"context"

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
	return Inject(ctx, r, messages, Shape[Message]{
		Role:  func(m Message) string { return m.Role },
		Text:  func(m Message) string { return m.Text },
		Calls: func(m Message) []string { return m.ToolCalls },
		Answers: func(m Message) []string {
			if m.Role != "tool" && m.Role != "function" {
				return nil
			}
			return []string{m.ToolCallID}
		},
		System: func(text string) Message { return Message{Role: "system", Text: text} },
		User:   func(text string) Message { return Message{Role: "user", Text: text} },
		Extend: func(m Message, text string) Message {
			m.Text = formatter.Join(m.Text, text)
			return m
		},
	}, options)
}
