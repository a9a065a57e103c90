package turn

import (
	"context"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/memcore/memcore/formatter"
)

// AnthropicJSON is JSON for Anthropic's Messages API. Memory is a text block in the last user
// message, behind tool results, which the API wants first.
func AnthropicJSON(ctx context.Context, r Retriever, request []byte, options Options) ([]byte, Report, error) {
	return injectJSON(ctx, r, request, anthropicAPI, options)
}

var anthropicAPI = api{
	key:  "messages",
	read: readAnthropic,
	text: func(m rawMessage) string {
		if words := blockTexts(m.content(), true); len(words) > 0 {
			return strings.Join(words, "\n")
		}
		return contentText(m.content())
	},
	held:  func(m rawMessage) bool { return slices.ContainsFunc(blockTexts(m.content(), false), formatter.IsBlock) },
	place: placeBlock,

	system:      systemBlock,
	systemField: "system",
}

func readAnthropic(list gjson.Result) ([]rawMessage, error) {
	return readEach(list, func(m *rawMessage) {
		for _, block := range objectsOf(m.content()) {
			switch block.Get("type").Str {
			case "tool_use":
				m.calls = append(m.calls, block.Get("id").Str)
			case "tool_result":
				m.answers = append(m.answers, block.Get("tool_use_id").Str)
			}
		}
		if m.role == "user" && len(m.answers) > 0 && len(blockTexts(m.content(), true)) == 0 {
			m.role = "tool"
		}
	})
}

// blockTexts leaves out, if written, agents' <system-reminder> notes: they drown a short question.
func blockTexts(content gjson.Result, written bool) (texts []string) {
	for _, block := range objectsOf(content) {
		if block.Get("type").Str != "text" {
			continue
		}
		text := strings.TrimSpace(block.Get("text").Str)
		reminder := strings.HasPrefix(text, "<system-reminder>") && strings.HasSuffix(text, "</system-reminder>")
		if text != "" && !(written && reminder) {
			texts = append(texts, text)
		}
	}
	return texts
}

func placeBlock(m rawMessage, block string) edit {
	const opening, closing = `{"type":"text","text":`, `},`
	content := m.content()
	if content.Type == gjson.String {
		return edit{content.Index, endOf(content), "[" + opening + block + closing + opening + content.Raw + "}]"}
	}
	at := 0
	content.ForEach(func(_, element gjson.Result) bool {
		at = element.Index
		return element.IsObject() && element.Get("type").Str == "tool_result"
	})
	return insertion(at, opening+block+closing)
}
