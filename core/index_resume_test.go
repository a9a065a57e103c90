package core_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/store"
	"github.com/memcore/memcore/store/keyword"
)

// A continued log gives the same records as one read at once: neighbours, headings, and the last
// answer.
func TestALogReadOnIsAsReadAtOnce(t *testing.T) {
	logs := map[string][]string{}
	for i := range 30 {
		logs["chat"] = append(logs["chat"], fmt.Sprintf(`{"role":"user","timestamp":"2026-01-01T10:00:%02dZ","content":"turn %d of the talk"}`, i, i))
	}
	logs["chat that turns out to be an agent's"] = append(slices.Clone(logs["chat"]),
		`{"role":"assistant","content":"","tool_calls":[{"id":"c1","function":{"name":"bash","arguments":"{}"}}]}`, `{"role":"tool","tool_call_id":"c1","content":"done"}`,
		`{"role":"user","content":"Always talk in turns of at most ten words, please."}`)
	for i := range 10 { // one answer in three, the others call tools
		content := `{"type":"text","text":"The hinges of the mill were set too low, so I have raised them by a finger."}`
		if i%3 > 0 {
			content = `{"type":"tool_use","id":"c1","name":"Bash","input":{"command":"measure door"}}`
		}
		logs["answers between calls"] = append(logs["answers between calls"], fmt.Sprintf(`{"type":"assistant","sessionId":"s","message":{"id":"m%d","role":"assistant","content":[%s]}}`, i, content))
	}
	for seed := range uint64(4) {
		logs[fmt.Sprintf("agent %d", seed)] = sessionLog(rand.New(rand.NewPCG(seed, 1)), 40)
	}
	for name, lines := range logs {
		t.Run(name, func(t *testing.T) {
			chance := rand.New(rand.NewPCG(uint64(len(lines)), 2))
			mem := newMemory(t)
			m := mem.open()
			for i := range lines {
				if i == len(lines)-1 || chance.IntN(2) == 0 {
					mem.write("chat.jsonl", strings.Join(lines[:i+1], "\n")+"\n")
					index(t, m)
				}
			}
			on := recordsIn(t, filepath.Join(mem.options.Folder, "1", "keywords"), "notes/chat.jsonl")
			saidOn := digestIn(t, m, "notes/chat.jsonl")
			_, err := m.Index(t.Context(), core.IndexOptions{Rebuild: true})
			require.NoError(t, err)
			require.Equal(t, digestIn(t, m, "notes/chat.jsonl"), saidOn)
			once := recordsIn(t, filepath.Join(mem.options.Folder, "2", "keywords"), "notes/chat.jsonl")
			if name == "chat" {
				require.Len(t, once, len(lines))
			}
			require.NotEmpty(t, once)
			require.Equal(t, once, on)
		})
	}
}

// sessionLog makes the lines of an agent's session.
func sessionLog(chance *rand.Rand, n int) []string {
	text := func(block string) string { return fmt.Sprintf(`{"type":"text","text":%q}`, block) }
	user, assistant, message := "user", "assistant", 0
	said := []func(i int) (role, content string){
		func(i int) (string, string) { return user, text(fmt.Sprintf("Why does door %d of the mill stick?", i)) },
		func(i int) (string, string) {
			return user, text(fmt.Sprintf("Never oil door %d, we use graphite. The password of the mill is gr1nd-%d-stone.", i, i))
		},
		func(int) (string, string) { return user, text("ok, go on") },
		func(i int) (string, string) {
			return user, text(fmt.Sprintf("2026-01-01 10:00:00 ERROR sluice %d is shut\n", i)) + "," + text(fmt.Sprintf("What is this about sluice %d?", i))
		},
		func(int) (string, string) { return assistant, text("Let me look at the hinges first.") },
		func(i int) (string, string) {
			return assistant, text(fmt.Sprintf("The hinges of door %d were set too low, so I have raised them by the breadth of a finger.", i))
		},
		func(i int) (string, string) {
			return assistant, text(fmt.Sprintf("Root cause: the frame of door %d has warped, because the roof above it let in rain for the whole of last winter.", i))
		},
		func(i int) (string, string) {
			return assistant, fmt.Sprintf(`{"type":"tool_use","id":"c%d","name":"Bash","input":{"command":"measure door"}}`, i)
		},
		func(i int) (string, string) {
			return user, fmt.Sprintf(`{"type":"tool_result","tool_use_id":"c%d","content":"2 cm"}`, i-1)
		},
	}
	var lines []string
	for i := range n {
		role, content := said[chance.IntN(len(said))](i)
		if role == user || chance.IntN(4) > 0 { // else one more piece of the message before
			message++
		}
		lines = append(lines, fmt.Sprintf(`{"type":%q,"sessionId":"s","timestamp":"2026-01-01T10:00:%02dZ","message":{"id":"m%d","role":%q,"content":[%s]}}`, role, i, message, role, content))
	}
	return lines
}

func recordsIn(t *testing.T, folder, path string) []store.Record {
	t.Helper()
	ix, err := keyword.Open(t.Context(), folder)
	require.NoError(t, err)
	defer ix.Close()
	records, err := ix.Document(t.Context(), path)
	require.NoError(t, err)
	return records
}
