package turn

import (
	"context"
	"slices"
	"strings"

	"github.com/memcore/memcore/formatter"
)

// AnthropicJSON does what JSON does for a request of Anthropic's Messages API. The memory is a text block in the last message in
// which the user says something: at its beginning, but behind tool results, which the API wants first. The other blocks stay as they are, with their cache_control.
func AnthropicJSON(ctx context.Context, r retriever, request []byte, options Options) ([]byte, Report, error) {
	return injectJSON(ctx, r, request, anthropicAPI, options)
}

var anthropicAPI = api{
	key:  "messages",
	read: readAnthropic,
	text: func(m rawMessage) string {
		if words := blockTexts(m.raw, true); len(words) > 0 {
			return strings.Join(words, "\n")
		}
		return contentText(m.raw)
	},
	held:     func(m rawMessage) bool { return slices.ContainsFunc(blockTexts(m.raw, false), formatter.IsBlock) },
	position: positionAnthropic,
}

func readAnthropic(request []byte, list span) ([]rawMessage, error) {
	return readEach(request, list, func(m *rawMessage, _ map[string]span) {
		for _, block := range objectsAt(request, m.content) {
			switch stringOf(block["type"].of(request)) {
			case "tool_use":
				m.calls = append(m.calls, stringOf(block["id"].of(request)))
			case "tool_result":
				m.answers = append(m.answers, stringOf(block["tool_use_id"].of(request)))
			}
		}
		if m.role == "user" && len(m.answers) > 0 && len(blockTexts(m.raw, true)) == 0 {
			m.role = "tool"
		}
	})
}

// blockTexts are the texts of an array of content blocks. Only those that a person wrote, if asked for: agents put notes of their
// own beside them, as <system-reminder>, which would drown a short question.
func blockTexts(content []byte, written bool) []string {
	var texts []string
	for _, block := range objectsAt(content, span{0, len(content)}) {
		if stringOf(block["type"].of(content)) != "text" {
			continue
		}
		text := strings.TrimSpace(stringOf(block["text"].of(content)))
		reminder := strings.HasPrefix(text, "<system-reminder>") && strings.HasSuffix(text, "</system-reminder>")
		if text != "" && !(written && reminder) {
			texts = append(texts, text)
		}
	}
	return texts
}

func positionAnthropic(request []byte, m rawMessage) (at span, before, after []byte) {
	const opening, closing = `{"type":"text","text":`, `},`
	if m.raw[0] == '"' {
		return m.content, []byte("[" + opening), []byte(closing + opening + string(m.raw) + "}]")
	}
	for block := range elements(request, m.content) {
		at = span{block.start, block.start}
		if stringOf(objectAt(request, block)["type"].of(request)) != "tool_result" {
			break // there is one, or the message would have no text
		}
	}
	return at, []byte(opening), []byte(closing)
}
