package digest_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/chunker"
	"github.com/memcore/memcore/core/digest"
)

// Reduced tool calls have the same digest as the whole ones.
func TestReduced(t *testing.T) {
	long := strings.Repeat("all quiet at the mill\n", 4000)
	patch := `*** Begin Patch\n*** Update File: door.go\n` + strings.Repeat(`+ oil the hinges\n`, 400) + `*** Add File: mill.go\n*** End Patch`
	same := func(text string) string { return text }
	for _, tt := range []struct {
		name string
		use  chunker.ToolUse
		most int // bytes that are left
	}{
		{"a file that was read", chunker.ToolUse{Name: "Read", Input: `{"file_path":"/mill.go"}`, Output: long}, 10},
		{"a file that was written", chunker.ToolUse{Name: "Write", Input: `{"file_path":"/mill.go","content":"` + strings.Repeat("flour ", 9000) + `"}`, Output: "ok"}, 1200},
		{"a patch", chunker.ToolUse{Name: "apply_patch", Input: strings.ReplaceAll(patch, `\n`, "\n"), Output: "Done"}, 200},
		{"a patch in JSON", chunker.ToolUse{Name: "shell", Input: `{"command":["apply_patch","` + patch + `"]}`, Output: "Exit code: 0\nDone"}, 200},
		{"a command", chunker.ToolUse{Name: "Bash", Input: `{"command":"mill grind"}`, Output: long}, 60},
		{"a command that failed", chunker.ToolUse{Name: "Bash", Input: `{"command":"mill grind --fine"}`, Output: "Exit code 2\n" + long + "mill: unknown flag: --fine\n", Failed: true}, 5000},
		{"a command with an exit code", chunker.ToolUse{Name: "shell", Input: `{"command":["bash","-lc","mill grind --fine"]}`, Output: "Exit code: 2\nmill: unknown flag: --fine"}, 200},
		{"a long command", chunker.ToolUse{Name: "Bash", Input: `{"command":"mill grind <<EOF ` + strings.Repeat("flour ", 9000) + `"}`, Output: "mill: command not found", Failed: true}, 1200},
		{"nothing", chunker.ToolUse{Name: "Bash", Input: `{"command":"true"}`}, 60},
	} {
		t.Run(tt.name, func(t *testing.T) {
			turns := func(use chunker.ToolUse) []chunker.Turn {
				return []chunker.Turn{{Line: 1, EndLine: 1, Role: "user", Text: "Repair the mill."}, {Line: 2, EndLine: 3, Role: "assistant", Tools: []chunker.ToolUse{use}}}
			}
			got := digest.Reduced(tt.use, same)
			require.LessOrEqual(t, len(got.Input)+len(got.Output), tt.most)
			require.Equal(t, digest.Of(turns(tt.use), digest.Digest{}, nil), digest.Of(turns(got), digest.Digest{}, nil))
			require.Equal(t, got, digest.Reduced(got, same), "reduced again")
		})
	}
}

// No part of a secret is left where a text is cut.
func TestReducedHasNoSecrets(t *testing.T) {
	const key = "<the whole key of the mill>"
	redact := func(text string) string { return strings.ReplaceAll(text, key, "[]") }
	for n := 960; n < 1100; n++ {
		text := strings.Repeat("x", n) + key + strings.Repeat("y", 9000)
		for _, use := range []chunker.ToolUse{
			{Name: "Bash", Input: `{"command":"` + text + `"}`},
			{Name: "Bash", Input: text},
			{Name: "Write", Input: `{"content":"` + text + `"}`},
			{Name: "Bash", Input: "mill", Failed: true, Output: strings.Repeat("x", 1024) + text + text},
		} {
			got := digest.Reduced(use, redact)
			require.NotContains(t, got.Input+got.Output, "whole", "%d", n)
			require.NotContains(t, got.Input+got.Output, "key of", "%d", n)
		}
	}
}
