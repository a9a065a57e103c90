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

// A shell command that fails is a call that succeeds.
func TestGeminiExitCode(t *testing.T) {
	for output, failed := range map[string]bool{
		"Command: make\nDirectory: (root)\nOutput: no rule\nError: (none)\nExit Code: 2\nSignal: 0": true,
		"Output: ok\nExit Code: 0":      false,
		"Output: ok\nExit Code: (none)": false,
		"Output: ok":                    false,
	} {
		raw, err := json.Marshal([]any{map[string]any{"functionResponse": map[string]any{"response": map[string]any{"output": output}}}})
		if err != nil {
			t.Fatal(err)
		}
		if got := (geminiToolCall{Name: "run_shell_command", Result: raw, Status: "success"}).call(); got.failed != failed {
			t.Errorf("%q failed: %t, want %t", output, got.failed, failed)
		}
	}
}
