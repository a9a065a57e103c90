package source

import (
	"encoding/json"
	"testing"
)

// A prompt is read without the text that hooks added to it.
func TestGeminiHookContext(t *testing.T) {
	for content, want := range map[string]string{
		`[{"text":"which port?"},{"text":"<hook_context>## Relevant Memory\n\n&lt;memory&gt;\n• 5433\n&lt;/memory&gt;</hook_context>"}]`: "which port?",
		`"<hook_context>x</hook_context>\n\nwhich port?"`: "which port?",
		`[{"text":"plain"}]`:                              "plain",
	} {
		if got := geminiText(json.RawMessage(content)); got != want {
			t.Errorf("geminiText(%s) = %q, want %q", content, got, want)
		}
	}
}
